//! The outbox of webhooks: deliveries are written in the transaction that ends their run,
//! taken by one node at a time, and stay until their run goes.

mod list;
mod outbox;

pub use list::{Delivery, DeliveryAttempt, DeliveryState};
pub(crate) use outbox::insert;
pub use outbox::{AttemptResult, DueDelivery, NewAttempt, TakenDelivery};

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_core::webhook::{DiffCounts, Event};

/// A delivery to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// The webhook-id that receivers see; unique.
    pub message_id: String,
    /// What it tells.
    pub event: Event,
    /// Where it goes.
    pub url: String,
    /// scheme://host:port of the URL.
    pub target: String,
}

/// What a run that ends tells its webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunWebhook {
    /// These deliveries; at least one.
    Deliver {
        /// One per event.
        deliveries: Vec<NewDelivery>,
        /// What the run has otherwise than the one before.
        diff: Option<DiffCounts>,
    },
    /// Nothing, and that is on record: `suppressed_no_change` or `suppressed_no_baseline`.
    Suppressed(&'static str),
}

/// The outbox's row of a run that ends, for [`insert`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub project: ProjectId,
    pub run: RunId,
    pub now: DateTime<Utc>,
}

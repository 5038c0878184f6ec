//! The outbox of webhooks: deliveries are written in the transaction that ends their run or job,
//! taken by one node at a time, and kept until it is deleted. Those of `crawl.page` are written
//! while the run goes on (`feed`). What belongs to no run goes to the project's receiver (`receiver`).

pub(crate) mod feed;
mod list;
pub(crate) mod outbox;
pub(crate) mod receiver;
mod taken;

pub use feed::{MAX_PAGES, TakenPages};
pub use list::{Delivery, DeliveryAttempt, DeliveryState};
pub use outbox::{AttemptResult, DueDelivery, NewAttempt, TakenDeliveries};
pub use receiver::{ProjectReceiver, QuarantineNotice, ReceiverDelivery};
pub use taken::{DeliverySubject, EndedRun, TakenDelivery};

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_core::webhook::{DiffCounts, DiffUrls, Event};

/// A delivery to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// Message id sent to receivers (header `webhook-id`); unique.
    pub message_id: String,
    /// Its event.
    pub event: Event,
    /// URL of the receiver.
    pub url: String,
    /// scheme://host:port of the URL.
    pub target: String,
    /// The body, where hooks have made it; otherwise it is made at each attempt.
    pub payload: Option<String>,
}

/// The webhook deliveries of a run that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunWebhook {
    /// These deliveries; at least one.
    Deliver {
        /// One delivery per event.
        deliveries: Vec<NewDelivery>,
        /// Difference to the previous run.
        diff: Option<DiffCounts>,
        /// The first pages that differ.
        urls: Option<DiffUrls>,
    },
    /// None.
    Suppressed {
        /// The reason: `suppressed_no_change` or `suppressed_no_baseline`.
        status: &'static str,
        /// More about it, for people.
        why: Option<&'static str>,
    },
    /// None for the end: only the event of pages was asked for.
    OnlyPages,
}

/// The run that ends, for [`RunWebhook`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub project: ProjectId,
    pub run: RunId,
    pub now: DateTime<Utc>,
}

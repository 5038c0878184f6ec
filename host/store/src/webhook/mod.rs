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
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

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

/// The column `diff_urls`: the URLs, and the count that has no column of its own.
#[derive(Debug, Default, Serialize, Deserialize)]
struct DiffColumn {
    #[serde(flatten)]
    urls: Option<DiffUrls>,
    #[serde(default)]
    unavailable_pages: u64,
}

impl DiffColumn {
    /// `None` where there is nothing to keep.
    fn write(
        diff: Option<DiffCounts>,
        urls: Option<&DiffUrls>,
    ) -> Result<Option<String>, StoreError> {
        let unavailable_pages = diff.map_or(0, |diff| diff.unavailable);
        if urls.is_none() && unavailable_pages == 0 {
            return Ok(None);
        }
        let column = Self {
            urls: urls.cloned(),
            unavailable_pages,
        };
        let json = serde_json::to_string(&column);
        json.map(Some)
            .map_err(|error| StoreError::Damaged(error.to_string()))
    }

    /// Empty if the column has nothing that can be read.
    fn read(json: Option<&str>) -> Self {
        json.and_then(|json| serde_json::from_str(json).ok())
            .unwrap_or_default()
    }
}

/// The run that ends, for [`RunWebhook`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub project: ProjectId,
    pub run: RunId,
    pub now: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_of_urls_has_the_unavailable_pages_too() {
        let some = DiffCounts {
            unavailable: 3,
            ..DiffCounts::default()
        };
        let urls = DiffUrls {
            gone: vec!["https://example.org/".to_owned()],
            complete: true,
            ..DiffUrls::default()
        };
        for (diff, urls) in [
            (Some(some), Some(&urls)),
            (Some(some), None),
            (Some(DiffCounts::default()), Some(&urls)),
            (None, None),
        ] {
            let json = DiffColumn::write(diff, urls).unwrap();
            let read = DiffColumn::read(json.as_deref());
            let unavailable = diff.map_or(0, |diff| diff.unavailable);
            assert_eq!(read.unavailable_pages, unavailable, "{json:?}");
            assert_eq!(read.urls.as_ref(), urls, "{json:?}");
        }
        // Written by a program that kept neither.
        let before = r#"{"added":["a"],"removed":[],"changed":[],"gone":[],"complete":true}"#;
        let read = DiffColumn::read(Some(before));
        assert_eq!(read.urls.map(|urls| urls.added.len()), Some(1));
        // Such a program can read this form.
        let json = DiffColumn::write(Some(some), Some(&urls)).unwrap().unwrap();
        assert_eq!(serde_json::from_str::<DiffUrls>(&json).unwrap(), urls);
    }
}

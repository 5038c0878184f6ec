//! Identifiers: one type per table, so that a page's id cannot be used as a run's.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// A plain number in JSON and in the database.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl $name {
            /// The number itself, for the database.
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl From<i64> for $name {
            fn from(id: i64) -> Self {
                Self(id)
            }
        }

        impl From<$name> for i64 {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )*};
}

ids! {
    /// A project: the tenant that every other resource belongs to.
    ProjectId;
    /// An API key's row; clients identify a key by its prefix.
    KeyId;
    /// A crawl run.
    RunId;
    /// A stored page, unique across runs and projects.
    PageId;
    /// A stored body, shared by all pages with the same decoded content.
    BlobId;
    /// A monitor: a recurring crawl.
    MonitorId;
    /// A webhook delivery in the outbox.
    DeliveryId;
    /// A usage event: one chargeable call.
    UsageId;
    /// A request in the log.
    RequestLogId;
    /// A signup intent that waits for payment.
    IntentId;
    /// A reservation of pages for work in progress.
    ReservationId;
    /// A mail in the outbox.
    MailId;
    /// A job: a run of an actor in the background.
    JobId;
    /// An export of a run to a bucket.
    ExportId;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_numbers_in_json_and_paths() {
        let id: PageId = serde_json::from_str("9007199254740993").unwrap();
        assert_eq!(id, PageId(9_007_199_254_740_993));
        assert_eq!(serde_json::to_string(&id).unwrap(), "9007199254740993");
        assert_eq!("-3".parse(), Ok(RunId(-3)));
        assert_eq!(i64::from(ProjectId::from(7)), 7);
        assert!("7a".parse::<RunId>().is_err());
        assert!("9223372036854775808".parse::<RunId>().is_err());
    }
}

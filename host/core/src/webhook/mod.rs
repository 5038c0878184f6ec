//! Webhooks: the events of a run, signatures of deliveries, and the retry schedule.

mod event;
mod retry;
mod signature;
mod target;

pub use event::{DiffCounts, DiffUrls, Event, Outcome, Selection, UnknownEvent, select};
pub use retry::{Next, RetryPolicy, Verdict};
pub use signature::{SIGNATURE_HEADER, Signatures, sign};
pub use target::{ACTOR_RUN_COMPLETE, target};

//! Webhooks: which events a run causes, how a delivery is signed, and when it is tried again.

mod event;
mod retry;
mod signature;

pub use event::{DiffCounts, DiffUrls, Event, Outcome, Selection, UnknownEvent, select};
pub use retry::{Next, RetryPolicy, Verdict};
pub use signature::{SIGNATURE_HEADER, Signatures, sign};

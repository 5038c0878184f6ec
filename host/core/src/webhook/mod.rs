//! Webhooks: the events of a run and of plugins, signatures of deliveries, and the retry schedule.

mod event;
mod plugin_event;
mod retry;
mod signature;
mod target;

pub use event::{DiffCounts, DiffUrls, Event, Outcome, Selection, UnknownEvent, select};
pub use plugin_event::{PluginEvent, UnknownPluginEvent};
pub use retry::{Next, RetryPolicy, Verdict};
pub use signature::{SIGNATURE_HEADER, Signatures, sign};
pub use target::{ACTOR_RUN_COMPLETE, target};

//! Webhooks: events of runs, and their delivery.
//!
//! A run ends in the same transaction that queues its deliveries ([`end_run`]): nothing is
//! sent for a run that did not end, and the events of an ended run are sent even if this
//! process dies. Workers take due deliveries and try them (`worker`): at least once, always
//! with the same `webhook-id`. Pages are sent while their run goes on (`crawl.page`): the worker
//! makes the next delivery of a run when the one before is accepted.

mod attempt;
mod body;
mod ending;
mod pages_body;
mod plan;
mod secret;
pub(crate) mod signals;
mod worker;

pub use body::WebhookBody;
pub use ending::end_run;
pub use secret::secret;
pub use signals::Webhooks;
pub use worker::run as work;

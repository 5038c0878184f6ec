//! Webhooks: what a run that ends tells, and delivering it.
//!
//! A run and its deliveries end up in the database in one transaction ([`end_run`]), so that
//! nothing is told of a run that did not end, and a run that ended is told of whatever
//! happens to this process. Workers take what is due and try it (`worker`): at least once,
//! with the same `webhook-id` every time.

mod attempt;
mod body;
mod ending;
mod plan;
mod secret;
pub(crate) mod signals;
mod worker;

pub use body::WebhookBody;
pub use ending::end_run;
pub use secret::secret;
pub use signals::Webhooks;
pub use worker::run as work;

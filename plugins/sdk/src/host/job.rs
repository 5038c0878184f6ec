//! An actor's own call: what it is part of, its progress, and items that it hands over before it
//! ends. Needs no permission.
//!
//! A request waits for an actor's answer (`POST /v1/actors/NAME`), or the actor runs in the
//! background (`POST /v1/actors/NAME/runs`): then its caller follows the progress and reads the
//! items meanwhile. An actor that serves both emits items only in a run:
//!
//! ```text
//! let in_background = job::context().run_id.is_some();
//! for (at, url) in urls.iter().enumerate() {
//!     let finding = check(url).await?;
//!     if in_background {
//!         job::emit(&finding)?;
//!     }
//!     job::progress(at as u64 + 1, Some(urls.len() as u64), url);
//!     if job::is_cancelled() {
//!         break;
//!     }
//! }
//! ```

use std::time::Duration;

use serde::Serialize;

use crate::Error;

/// What a call is part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Identifies the request that called the actor, or started its run, in the host's log.
    pub request_id: String,
    /// The run in the background; `None` if a request waits for the answer.
    pub run_id: Option<i64>,
    /// Time until the host ends the call.
    pub time_left: Duration,
    /// How often the run was started, this time included: a run whose host died is started again
    /// from the beginning. 1 without a run.
    pub attempts: u32,
}

/// What this call is part of.
pub fn context() -> Context {
    super::backend::job_context()
}

/// Says how far the work is: `done` of `total` steps, if their number is known. The last word
/// counts; it is shown within about a second. Without a run nobody sees it.
pub fn progress(done: u64, total: Option<u64>, message: &str) {
    super::backend::progress(done, total, message);
}

/// Hands over one item of the run's result; waits while earlier items are being stored. Each item
/// of the run's last attempt is kept exactly once, in this order.
///
/// # Errors
/// [`Code::Budget`](crate::Code::Budget) beyond the host's limits on items;
/// [`Code::InvalidInput`](crate::Code::InvalidInput) without a run.
pub fn emit(item: &impl Serialize) -> Result<(), Error> {
    super::backend::emit(serde_json::to_string(item)?)
}

/// Whether the caller has asked for the run's end. The host ends a run that does not end within a
/// few seconds after that.
pub fn is_cancelled() -> bool {
    super::backend::is_cancelled()
}

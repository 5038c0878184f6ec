//! Jobs: runs of actors in the background.
//!
//! A job is a row that any worker may lease. An attempt begins from the start: progress and items
//! of an attempt whose process died are dropped, and it is not billed. The end of a job, its bill
//! and its webhook are one transaction, so that a crash neither loses nor doubles any of them.

mod cleanup;
mod completion_webhook;
pub(crate) mod live;
mod run;
pub(crate) mod sink;
mod submit;
mod worker;

pub use cleanup::{retain, run as clean_up};
pub use live::LiveJobs;
pub use submit::{JobRequest, submit, submitted};
pub use worker::run as work;

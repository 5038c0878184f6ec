//! The caller of a plugin: a request, or a run in the background.

use std::sync::Arc;

use crate::jobs::sink::JobSink;

/// What a call is part of.
pub(crate) enum Caller {
    /// A request of this id, which waits for the answer.
    Request(String),
    /// A run in the background.
    Job(Arc<JobSink>),
}

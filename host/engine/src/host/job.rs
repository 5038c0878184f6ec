//! The host's interface for an actor's own call: its context, progress and items.

use async_trait::async_trait;

use crate::error::CodedError;

/// The call as a part of a request or of a run in the background.
#[async_trait]
pub trait JobHost: Send + Sync {
    /// What the call is part of.
    fn context(&self) -> JobContext;

    /// Takes what the actor says of its progress; the last word counts. Must not block.
    fn progress(&self, progress: CallProgress);

    /// Takes one item, which is JSON text; waits while earlier items are being stored.
    ///
    /// # Errors
    /// A [`CodedError`], which the plugin gets.
    async fn emit(&self, item: String) -> Result<(), CodedError>;

    /// Whether the actor is asked to end.
    fn is_cancelled(&self) -> bool;
}

/// What a call is part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobContext {
    /// Id of the request, as in the log; empty if there is none.
    pub request_id: String,
    /// The run in the background, if it is one.
    pub run_id: Option<i64>,
    /// How often the run was started, this time included; 1 for other calls.
    pub attempts: u32,
    /// Longest item, in bytes.
    pub max_item_bytes: usize,
}

/// What an actor says of its progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallProgress {
    /// Steps done.
    pub done: u64,
    /// Steps in all, if known.
    pub total: Option<u64>,
    /// What it is doing; control characters are escaped.
    pub message: String,
}

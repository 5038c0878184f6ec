//! The call itself, for the plugin.

use async_trait::async_trait;
use orbweaver_engine::{CallProgress, CodedError, JobContext, JobHost};

use super::CallHost;
use crate::caller::Caller;

#[async_trait]
impl JobHost for CallHost {
    fn context(&self) -> JobContext {
        match &self.caller {
            Caller::Request(id) => JobContext {
                request_id: id.clone(),
                run_id: None,
                attempts: 1,
                max_item_bytes: 0,
            },
            Caller::Job(sink) => sink.context(),
        }
    }

    fn progress(&self, progress: CallProgress) {
        if let Caller::Job(sink) = &self.caller {
            sink.progress(progress);
        }
    }

    async fn emit(&self, item: String) -> Result<(), CodedError> {
        match &self.caller {
            Caller::Request(_) => Err(CodedError::invalid(
                "emit: items can be emitted only in a background run".to_owned(),
            )),
            Caller::Job(sink) => sink.emit(item).await,
        }
    }

    fn is_cancelled(&self) -> bool {
        match &self.caller {
            Caller::Request(_) => false,
            Caller::Job(sink) => sink.is_cancelled(),
        }
    }
}

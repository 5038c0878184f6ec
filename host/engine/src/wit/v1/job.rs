//! The interface `job`.

use super::bindings::actor::orbweaver::plugin::job;
use super::bindings::extractor::orbweaver::plugin::types;
use crate::capability::failure::CallFailure;
use crate::state::State;

impl job::Host for State {
    async fn context(&mut self) -> wasmtime::Result<job::JobContext> {
        self.meter.check_if_overdue()?;
        let capabilities = self.capabilities()?;
        let context = capabilities.job.context();
        Ok(job::JobContext {
            request_id: context.request_id.clone(),
            run_id: context.run_id,
            deadline_ms: capabilities.job.deadline_ms(),
            attempts: context.attempts,
        })
    }

    async fn progress(
        &mut self,
        done: u64,
        total: Option<u64>,
        message: String,
    ) -> wasmtime::Result<()> {
        self.meter.check_if_overdue()?;
        self.capabilities()?.job.progress(done, total, &message);
        Ok(())
    }

    async fn emit(&mut self, item: String) -> wasmtime::Result<Result<(), types::Error>> {
        self.meter.check_if_overdue()?;
        let capabilities = self.capabilities()?;
        match capabilities.job.emit(item).await {
            Ok(()) => Ok(Ok(())),
            Err(CallFailure::Refused(error)) => Ok(Err(error.into())),
            Err(CallFailure::Stopped(reason)) => Err(reason.into()),
        }
    }

    async fn cancelled(&mut self) -> wasmtime::Result<bool> {
        self.meter.check_if_overdue()?;
        Ok(self.capabilities()?.job.is_cancelled())
    }
}

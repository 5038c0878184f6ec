//! The capability `job`: context, progress and items of one call. Always granted: it leads nowhere
//! but to the caller.

use std::sync::Arc;
use std::time::Duration;

use super::failure::CallFailure;
use crate::error::{CodedError, ErrorCode};
use crate::host::Host;
use crate::host::job::{CallProgress, JobContext};
use crate::host_tasks::HostTasks;
use crate::meter::{Meter, measured};
use crate::output;
use crate::text::clean;

/// Longest message of a progress report that is kept, in bytes before its control characters are
/// escaped.
const MAX_PROGRESS_BYTES: usize = 500;

/// Access of one call to its own context.
pub(crate) struct JobCapability {
    host: Arc<dyn Host>,
    context: JobContext,
    wall: Duration,
    meter: Arc<Meter>,
}

impl JobCapability {
    pub fn new(host: &Arc<dyn Host>, wall: Duration, meter: &Arc<Meter>) -> Self {
        let context = match host.job() {
            Some(job) => job.context(),
            None => JobContext {
                attempts: 1,
                ..JobContext::default()
            },
        };
        Self {
            host: Arc::clone(host),
            context,
            wall,
            meter: Arc::clone(meter),
        }
    }

    /// What the call is part of.
    pub fn context(&self) -> &JobContext {
        &self.context
    }

    /// Milliseconds until the call is ended.
    pub fn deadline_ms(&self) -> u64 {
        let left = self.wall.saturating_sub(self.meter.wall());
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
    }

    /// Passes on what the guest says of its progress.
    pub fn progress(&self, done: u64, total: Option<u64>, message: &str) {
        if let Some(job) = self.host.job() {
            job.progress(CallProgress {
                done,
                total,
                message: clean(message, MAX_PROGRESS_BYTES),
            });
        }
    }

    /// Checks an item and passes it on. The check counts as CPU time of the guest.
    #[crate::boxed]
    pub async fn emit(&self, item: String) -> Result<(), CallFailure> {
        if self.host.job().is_none() || self.context.run_id.is_none() {
            return Err(no_items().into());
        }
        let most = self.context.max_item_bytes;
        if item.len() > most {
            let rule =
                format!("emit: an item has at most {most} bytes (setting jobs.max_item_kib)");
            return Err(CodedError::new(ErrorCode::Budget, rule).into());
        }
        let (valid, cpu) = measured(|| output::valid(&item));
        self.meter.spend(cpu);
        self.meter.check()?;
        if let Err(why) = valid {
            return Err(CodedError::failed(format!("emit: the item is not JSON: {why}")).into());
        }
        let host = Arc::clone(&self.host);
        let work = async move {
            let job = host.job().ok_or_else(no_items)?;
            Ok::<_, CallFailure>(job.emit(item).await?)
        };
        HostTasks::current().run(&self.meter, work).await
    }

    /// Whether the guest is asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.host.job().is_some_and(|job| job.is_cancelled())
    }
}

fn no_items() -> CodedError {
    CodedError::invalid(
        "this actor emits items, which only a run in the background keeps: start it with POST \
         /v1/actors/{name}/runs"
            .to_owned(),
    )
}

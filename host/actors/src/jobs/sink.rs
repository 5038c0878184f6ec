//! What an attempt tells before its end: progress and items, written in batches under its lease.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_engine::{CallProgress, CodedError, ErrorCode, JobContext};
use orbweaver_store::Store;
use orbweaver_store::jobs::{Job, JobProgress};
use parking_lot::Mutex;

use super::live::{Fate, JobHandle};
use crate::config::JobsConfig;

/// Items that wait; the guest then waits until they are stored.
const MOST_WAITING: usize = 200;
/// Bytes of items that wait.
const MOST_WAITING_BYTES: usize = 1 << 20;
/// Time between two attempts to write.
const RETRY: Duration = Duration::from_millis(500);
/// Attempts to write before the job is handed back.
const RETRIES: u32 = 120;

/// Takes progress and items of one attempt.
pub(crate) struct JobSink {
    store: Store,
    handle: Arc<JobHandle>,
    context: JobContext,
    most_items: u64,
    most_bytes: u64,
    waiting: Mutex<Waiting>,
    /// Held while a batch is written, so that batches are written in their order.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    progress: JobProgress,
    changed: bool,
    items: Vec<String>,
    bytes: usize,
    /// Items and bytes taken so far.
    taken: u64,
    taken_bytes: u64,
}

/// The lease is lost, or the database can't be written: the attempt is void.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Void;

impl JobSink {
    pub(super) fn new(
        store: &Store,
        handle: &Arc<JobHandle>,
        job: &Job,
        config: &JobsConfig,
    ) -> Arc<Self> {
        Arc::new(Self {
            store: store.clone(),
            handle: Arc::clone(handle),
            context: JobContext {
                request_id: job.request_id.clone(),
                run_id: Some(job.id.get()),
                attempts: job.attempts,
                max_item_bytes: config.max_item_kib.saturating_mul(1 << 10),
            },
            most_items: config.max_items,
            most_bytes: config.max_items_mib.saturating_mul(1 << 20),
            waiting: Mutex::default(),
            writing: tokio::sync::Mutex::new(()),
        })
    }

    /// What the call is part of.
    pub(crate) fn context(&self) -> JobContext {
        self.context.clone()
    }

    /// Whether the job's end is asked for.
    pub(crate) fn is_cancelled(&self) -> bool {
        *self.handle.cancel.borrow()
    }

    /// Number of items taken.
    pub(super) fn taken(&self) -> u64 {
        self.waiting.lock().taken
    }

    /// Keeps the latest progress; it is written with the next batch.
    pub(crate) fn progress(&self, progress: CallProgress) {
        let mut waiting = self.waiting.lock();
        waiting.changed = true;
        waiting.progress = JobProgress {
            done: progress.done,
            total: progress.total,
            message: (!progress.message.is_empty()).then_some(progress.message),
        };
    }

    /// Takes an item. Waits while a full batch is written.
    pub(crate) async fn emit(self: &Arc<Self>, item: String) -> Result<(), CodedError> {
        let full = {
            let mut waiting = self.waiting.lock();
            if waiting.taken >= self.most_items {
                return Err(CodedError::new(
                    ErrorCode::Budget,
                    format!(
                        "emit: a run has at most {} items (setting jobs.max_items)",
                        self.most_items
                    ),
                ));
            }
            let bytes = waiting.taken_bytes.saturating_add(item.len() as u64);
            if bytes > self.most_bytes {
                return Err(CodedError::new(
                    ErrorCode::Budget,
                    format!(
                        "emit: the items of a run have at most {} MiB (setting \
                         jobs.max_items_mib)",
                        self.most_bytes >> 20
                    ),
                ));
            }
            waiting.taken += 1;
            waiting.taken_bytes = bytes;
            waiting.bytes += item.len();
            waiting.items.push(item);
            waiting.items.len() >= MOST_WAITING || waiting.bytes >= MOST_WAITING_BYTES
        };
        if full && self.flush().await.is_err() {
            return Err(CodedError::new(
                ErrorCode::Cancelled,
                "emit: the run is being ended",
            ));
        }
        Ok(())
    }

    /// Writes what waits. Once begun, a batch is written even if this is dropped, so that no item
    /// is lost or written twice.
    pub(super) async fn flush(self: &Arc<Self>) -> Result<(), Void> {
        let sink = Arc::clone(self);
        let written = tokio::spawn(async move { sink.write().await }).await;
        written.unwrap_or(Err(Void))
    }

    async fn write(&self) -> Result<(), Void> {
        let _alone = self.writing.lock().await;
        let (progress, first, items) = {
            let mut waiting = self.waiting.lock();
            if !waiting.changed && waiting.items.is_empty() {
                return Ok(());
            }
            waiting.changed = false;
            waiting.bytes = 0;
            let items = std::mem::take(&mut waiting.items);
            let first = waiting.taken - items.len() as u64;
            (waiting.progress.clone(), first, items)
        };
        let lease = self.handle.lease;
        for _ in 0..RETRIES {
            match self.store.write_job(lease, &progress, first, &items).await {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    self.handle.doom(Fate::Lost);
                    return Err(Void);
                }
                Err(error) => tracing::warn!(%error, "cannot store the items of a run yet"),
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                _ = self.handle.doomed() => return Err(Void),
            }
        }
        self.handle.doom(Fate::HandBack);
        Err(Void)
    }
}

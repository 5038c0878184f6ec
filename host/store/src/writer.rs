//! The one task per process for writes that requests do not wait for: the request log, last uses
//! of keys, stored scans and their usage.
//!
//! Jobs wait in a queue that is bounded in number and in bytes. The task takes as many as are there, up to [`BATCH`], and
//! commits them in one transaction, so that under load a commit is shared by many requests
//! and without load nothing waits. Entries of the request log, for which nobody waits, gather for
//! up to 50 ms: their commits would be what stored scans wait for. A batch that fails is done again
//! job by job, so that one bad row costs its own request only.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::FutureExt as _;
use orbweaver_core::ids::{KeyId, PageId, ProjectId, ReservationId};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::bodies::rows::{BodyKey, NewBody};
use crate::db::{Db, transact};
use crate::error::StoreError;
use crate::logs::recent::{LogEntry, RecentLogs};
use crate::pages::new_page::NewPage;
use crate::quota::{Amount, NewUsage};
use crate::time::to_ms;

/// Jobs per transaction.
pub const BATCH: usize = 250;
/// The longest that an entry of the request log waits for others, unless its writing is asked for.
const LINGER: Duration = Duration::from_millis(50);
/// Bytes of the pages and log entries that wait or are being written. One page that is larger
/// has the queue to itself.
const QUEUE_BYTES: usize = 64 << 20;
/// Bytes that one permit of the queue's semaphore stands for.
const UNIT: usize = 1 << 10;
const QUEUE_UNITS: u32 = (QUEUE_BYTES / UNIT) as u32;

type Saved = Result<Option<PageId>, StoreError>;

/// A job, and its bytes in the queue until it is done.
type Queued = (Job, Option<OwnedSemaphorePermit>);

enum Job {
    Log(ProjectId, Arc<LogEntry>),
    Touch(KeyId, DateTime<Utc>),
    Release(ReservationId, Amount),
    Scan(Box<Scan>, oneshot::Sender<Saved>),
    Barrier(oneshot::Sender<()>),
    Stop,
}

struct Scan {
    page: Option<NewPage>,
    usage: Option<NewUsage>,
}

impl Scan {
    fn held_bytes(&self) -> usize {
        let page = self.page.as_ref().map_or(0, |page| {
            let metadata = page.metadata.as_ref().map_or(0, String::len);
            let body = page.body.as_ref().map_or(0, |body| body.bytes.len());
            page.url.len() + page.final_url.len() + page.headers.len() + metadata + body
        });
        size_of::<Self>() + page
    }
}

/// Permits for so many bytes.
fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).map_or(QUEUE_UNITS, |units| units.min(QUEUE_UNITS))
}

/// The sending end of the writer's queue.
#[derive(Debug)]
pub struct Writer {
    jobs: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
    task: Mutex<Option<JoinHandle<()>>>,
    lost: Arc<AtomicI64>,
    /// Releases that wait or are being written.
    releases: Arc<AtomicUsize>,
}

impl Writer {
    /// `stages`: whether new bodies are to go on to the blob store.
    /// `recent` learns which entries of the request log were written.
    pub(crate) fn start(db: Db, recent: RecentLogs, queue: usize, stages: bool) -> Self {
        let (jobs, queue) = mpsc::channel(queue.max(1));
        let releases = Arc::<AtomicUsize>::default();
        let target = Target { db, recent, stages };
        let task = tokio::spawn(run(target, queue, Arc::clone(&releases)));
        Self {
            jobs,
            room: Arc::new(Semaphore::new(QUEUE_UNITS as usize)),
            task: Mutex::new(Some(task)),
            lost: Arc::new(AtomicI64::new(0)),
            releases,
        }
    }

    /// Never blocks: a request must not hang because its log entry cannot be written. If the
    /// queue is full, the entry is lost and counted.
    pub(crate) fn log(&self, project: ProjectId, entry: Arc<LogEntry>) {
        let units = units(entry.held_bytes());
        let room = Arc::clone(&self.room).try_acquire_many_owned(units);
        match room {
            Ok(room) => self.offer(Job::Log(project, entry), Some(room)),
            Err(_) => self.lose(),
        }
    }

    pub(crate) fn touch(&self, key: KeyId, at: DateTime<Utc>) {
        self.offer(Job::Touch(key, at), None);
    }

    /// Never blocks either: a reservation whose release is lost expires.
    pub(crate) fn release(&self, reservation: ReservationId, amount: Amount) {
        self.releases.fetch_add(1, Ordering::AcqRel);
        let job = Job::Release(reservation, amount);
        if self.jobs.try_send((job, None)).is_err() {
            self.releases.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Waits until every release queued before is committed. Returns whether there was one.
    pub(crate) async fn released(&self) -> Result<bool, StoreError> {
        if self.releases.load(Ordering::Acquire) == 0 {
            return Ok(false);
        }
        self.barrier().await?;
        Ok(true)
    }

    pub(crate) async fn scan(&self, page: Option<NewPage>, usage: Option<NewUsage>) -> Saved {
        let (done, answer) = oneshot::channel();
        let scan = Box::new(Scan { page, usage });
        let room = Arc::clone(&self.room)
            .acquire_many_owned(units(scan.held_bytes()))
            .await
            .map_err(|_| StoreError::Closed)?;
        self.jobs
            .send((Job::Scan(scan, done), Some(room)))
            .await
            .map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Returns when every job queued before is committed.
    pub(crate) async fn barrier(&self) -> Result<(), StoreError> {
        let (done, answer) = oneshot::channel();
        self.jobs
            .send((Job::Barrier(done), None))
            .await
            .map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)
    }

    pub(crate) async fn stop(&self) {
        let task = self.task.lock().await.take();
        if let Some(task) = task
            && self.jobs.send((Job::Stop, None)).await.is_ok()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the store's writer failed at shutdown");
        }
    }

    fn offer(&self, job: Job, room: Option<OwnedSemaphorePermit>) {
        if self.jobs.try_send((job, room)).is_err() {
            self.lose();
        }
    }

    fn lose(&self) {
        let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        // Powers of two, so that an outage does not flood the log.
        if lost.count_ones() == 1 {
            tracing::warn!(
                store.lost = lost,
                "request log entries lost: the writer is behind"
            );
        }
    }
}

/// What the writer writes to.
struct Target {
    db: Db,
    recent: RecentLogs,
    /// Whether new bodies are to go on to the blob store. They do so in the background: a slow
    /// store delays neither a scan nor the request log.
    stages: bool,
}

/// Entries of the request log that wait to be written together.
#[derive(Default)]
struct Gathered {
    logs: Vec<(ProjectId, Arc<LogEntry>)>,
    rooms: Vec<OwnedSemaphorePermit>,
    /// When the first of them has waited long enough.
    until: Option<Instant>,
}

impl Gathered {
    fn push(
        &mut self,
        project: ProjectId,
        entry: Arc<LogEntry>,
        room: Option<OwnedSemaphorePermit>,
        now: Instant,
    ) {
        self.until.get_or_insert(now + LINGER);
        self.logs.push((project, entry));
        self.rooms.extend(room);
    }

    fn is_due(&self, now: Instant) -> bool {
        self.logs.len() >= BATCH || self.until.is_some_and(|until| until <= now)
    }
}

async fn run(target: Target, mut queue: mpsc::Receiver<Queued>, releases: Arc<AtomicUsize>) {
    let mut jobs = Vec::with_capacity(BATCH);
    let mut gathered = Gathered::default();
    loop {
        jobs.clear();
        let next = queue.recv_many(&mut jobs, BATCH);
        let is_closed = match gathered.until {
            Some(until) => timeout_at(until, next).await == Ok(0),
            None => next.await == 0,
        };
        let now = Instant::now();
        let mut batch = Batch::default();
        let mut barriers = Vec::new();
        let mut rooms = Vec::new();
        let mut stop = is_closed;
        let mut released = 0;
        for (job, room) in jobs.drain(..) {
            match job {
                Job::Log(project, entry) => {
                    gathered.push(project, entry, room, now);
                    continue;
                }
                Job::Touch(key, at) => {
                    batch.touched.insert(key, at);
                }
                Job::Release(reservation, amount) => {
                    released += 1;
                    let sum = batch.released.entry(reservation).or_default();
                    *sum = sum.plus(amount);
                }
                Job::Scan(scan, done) => batch.scans.push((scan, done)),
                Job::Barrier(done) => barriers.push(done),
                Job::Stop => stop = true,
            }
            rooms.extend(room);
        }
        if stop || !barriers.is_empty() || gathered.is_due(now) {
            let gathered = std::mem::take(&mut gathered);
            batch.logs = gathered.logs;
            rooms.extend(gathered.rooms);
        }
        // A panic costs the jobs of its batch, whose senders learn of it, and not all that follow.
        // The panic hook tells of it; a line of the log here could be what panics.
        let _ = AssertUnwindSafe(batch.write(&target)).catch_unwind().await;
        releases.fetch_sub(released, Ordering::AcqRel);
        drop(rooms);
        for done in barriers {
            let _ = done.send(());
        }
        if stop {
            return;
        }
    }
}

#[derive(Default)]
struct Batch {
    logs: Vec<(ProjectId, Arc<LogEntry>)>,
    touched: BTreeMap<KeyId, DateTime<Utc>>,
    released: BTreeMap<ReservationId, Amount>,
    scans: Vec<(Box<Scan>, oneshot::Sender<Saved>)>,
}

impl Batch {
    async fn write(self, target: &Target) {
        if self.logs.is_empty()
            && self.touched.is_empty()
            && self.released.is_empty()
            && self.scans.is_empty()
        {
            return;
        }
        let scans: Vec<&Scan> = self.scans.iter().map(|(scan, _)| &**scan).collect();
        let notes = Notes {
            logs: &self.logs,
            touched: &self.touched,
            released: &self.released,
        };
        match write(target, &notes, &scans).await {
            Ok(ids) => {
                for ((_, done), id) in self.scans.into_iter().zip(ids) {
                    let _ = done.send(Ok(id));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a batch of writes failed; writing one by one");
                self.write_one_by_one(target).await;
            }
        }
    }

    async fn write_one_by_one(self, target: &Target) {
        let nothing = Self::default();
        let none = Notes {
            logs: &[],
            touched: &nothing.touched,
            released: &nothing.released,
        };
        let touched = Notes {
            touched: &self.touched,
            released: &self.released,
            ..none
        };
        if let Err(error) = write(target, &touched, &[]).await {
            tracing::error!(%error, "cannot record uses of keys and released reservations");
        }
        for entry in &self.logs {
            let logs = Notes {
                logs: std::slice::from_ref(entry),
                ..none
            };
            if let Err(error) = write(target, &logs, &[]).await {
                tracing::error!(%error, request_id = %entry.1.request_id, "cannot log a request");
            }
        }
        for (scan, done) in self.scans {
            let saved = write(target, &none, &[&scan]).await;
            let _ = done.send(saved.map(|ids| ids.into_iter().next().flatten()));
        }
    }
}

/// Writes that no request waits for: last uses of keys and releases of reservations.
#[derive(Clone, Copy)]
struct Notes<'a> {
    logs: &'a [(ProjectId, Arc<LogEntry>)],
    touched: &'a BTreeMap<KeyId, DateTime<Utc>>,
    released: &'a BTreeMap<ReservationId, Amount>,
}

/// The bodies of scans, sorted so that two nodes never deadlock.
fn bodies<'a>(scans: &[&'a Scan]) -> Vec<NewBody<'a>> {
    let mut bodies: BTreeMap<BodyKey, NewBody<'_>> = BTreeMap::new();
    for page in scans.iter().filter_map(|scan| scan.page.as_ref()) {
        if let Some(body) = &page.body {
            let new = NewBody {
                project: page.project,
                body,
                refs: 0,
                place: None,
            };
            bodies.entry(new.key()).or_insert(new).refs += 1;
        }
    }
    bodies.into_values().collect()
}

/// The usage of scans, sorted so that two nodes never deadlock.
fn usage<'a>(scans: &[&'a Scan]) -> Vec<&'a NewUsage> {
    let usage = scans.iter().filter_map(|scan| scan.usage.as_ref());
    let mut usage: Vec<&NewUsage> = usage.collect();
    usage.sort_by(|a, b| (a.project, &a.token).cmp(&(b.project, &b.token)));
    usage
}

/// Writes everything in one transaction; returns the ids of the scans' pages in their order.
async fn write(
    target: &Target,
    notes: &Notes<'_>,
    scans: &[&Scan],
) -> Result<Vec<Option<PageId>>, StoreError> {
    let Notes {
        logs,
        touched,
        released,
    } = *notes;
    // Log entries and last uses of keys do not change usage.
    let quiet = scans.is_empty();
    let (bodies, usage) = (bodies(scans), usage(scans));
    let pages = scans.iter().filter_map(|scan| scan.page.as_ref());
    let first = pages.map(|page| to_ms(page.fetched_at)).min();
    let staged_at = first.filter(|_| target.stages);
    let written: Result<_, StoreError> = transact!(quiet quiet, target.db, tx => {
        let blobs = sql::bodies::keep(tx, &bodies, staged_at).await?;
        let mut ids = Vec::with_capacity(scans.len());
        for scan in scans {
            let Some(page) = &scan.page else {
                ids.push(None);
                continue;
            };
            let body = page.body.as_ref();
            let blob = body.and_then(|body| blobs.get(&(page.project, body.hash)).copied());
            ids.push(Some(sql::pages::insert_scan(tx, page, blob).await?));
        }
        sql::usage::bill(tx, &usage).await?;
        sql::reservations::shrink(tx, released).await?;
        let last = sql::logs::insert(tx, logs).await?;
        sql::keys::touch(tx, touched).await?;
        Ok((ids, last))
    });
    let (ids, last) = written?;
    if let Some(last) = last {
        target.recent.written(logs.len(), last);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Arc<LogEntry> {
        Arc::new(LogEntry {
            ts: DateTime::UNIX_EPOCH,
            method: "GET".to_owned(),
            path: "/v1/usage".to_owned(),
            status: 200,
            duration_ms: 1,
            client_ip: "127.0.0.1".to_owned(),
            request_id: "id".to_owned(),
            key_prefix: "orb_12345678".to_owned(),
        })
    }

    #[test]
    fn log_entries_wait_for_a_while_or_for_a_full_batch() {
        let now = Instant::now();
        let mut gathered = Gathered::default();
        assert!(!gathered.is_due(now + LINGER));
        gathered.push(ProjectId(1), entry(), None, now);
        assert!(!gathered.is_due(now));
        // The first decides, not the last.
        gathered.push(ProjectId(1), entry(), None, now + LINGER / 2);
        assert!(!gathered.is_due(now + LINGER / 2) && gathered.is_due(now + LINGER));
        for _ in 2..BATCH {
            gathered.push(ProjectId(1), entry(), None, now);
        }
        assert!(gathered.is_due(now));
    }
}

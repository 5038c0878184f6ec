//! The task that writes the results of all runs of the process.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use orbweaver_core::ids::RunId;
use orbweaver_store::crawl::{
    BatchParts, Committed, CrawledPage, FailedUrl, FrontierChange, NewFrontier, NewNote, NewReport,
    PartLease, Progress, RunBatch,
};
use orbweaver_store::{NewUsage, Store, StoreError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::handle::{Fate, RunHandle};

/// Maximum number of items in one transaction.
const BATCH: usize = 250;
/// Number of items that a transaction waits for, for at most [`LINGER`].
const WORTHWHILE: usize = 128;
/// How long the first item of a transaction waits for others.
const LINGER: Duration = Duration::from_millis(40);
/// Items that may wait for the writer; beyond that, runs wait.
const QUEUE: usize = 512;
/// Bytes of bodies and words that wait for the writer before fetches do, in KiB.
const QUEUE_KIB: u32 = 16 << 10;
/// Most discovered URLs in one transaction: SQLite has one writer, for whom every project's requests wait.
const BATCH_URLS: usize = 4_000;
/// KiB of discovered URLs that may wait for the writer; beyond that, runs wait.
const QUEUE_URLS_KIB: u32 = 16 << 10;
/// Commits that the database refuses after which a run is given up. A commit that was refused for the
/// name of its segment has another one at the next attempt.
const TRIES: u32 = 3;
/// Pause between two attempts while the database is away.
const PAUSE: Duration = Duration::from_millis(500);

/// The changes of one fetch.
#[derive(Debug)]
pub(super) struct CommitItem {
    pub run: Arc<RunHandle>,
    /// The run's counts with this item, and not with what follows it.
    pub progress: Progress,
    /// The engine's notes of the same time, if they have changed.
    pub engine_state: Option<String>,
    pub page: Option<CrawledPage>,
    pub discovered: Vec<NewFrontier>,
    pub changes: Vec<FrontierChange>,
    /// URLs that were given up.
    pub errors: Vec<FailedUrl>,
    /// What plugins said of URLs.
    pub notes: Vec<NewNote>,
    /// What a part reports.
    pub reports: Vec<NewReport>,
    /// URLs whose reports were read.
    pub read: Vec<i64>,
    /// What the page costs.
    pub usage: Option<NewUsage>,
    /// The item's share of the queue, released when it is written.
    pub room: Option<OwnedSemaphorePermit>,
    /// The same for the URLs that it discovers.
    pub url_room: Option<OwnedSemaphorePermit>,
}

impl CommitItem {
    /// An item of this run without changes. Its counts are those of when it is sent.
    pub fn of(run: Arc<RunHandle>) -> Self {
        Self {
            run,
            progress: Progress::default(),
            engine_state: None,
            page: None,
            discovered: Vec::new(),
            changes: Vec::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            reports: Vec::new(),
            read: Vec::new(),
            usage: None,
            room: None,
            url_room: None,
        }
    }
}

/// The sender's side of the queue, held by runs.
#[derive(Clone, Debug)]
pub(super) struct Committer {
    items: mpsc::Sender<CommitItem>,
    room: Arc<Semaphore>,
    /// Separate from the permits of bodies: a body waits for its run, which may wait for these.
    url_room: Arc<Semaphore>,
    /// Told when somebody waits for what is queued.
    hurry: Arc<Notify>,
}

impl Committer {
    /// Starts the task, which ends when every clone has been dropped.
    pub fn start(store: Store) -> (Self, JoinHandle<()>) {
        let (items, queue) = mpsc::channel(QUEUE);
        let hurry = Arc::new(Notify::new());
        let task = tokio::spawn(run(store, queue, Arc::clone(&hurry)));
        let room = Arc::new(Semaphore::new(QUEUE_KIB as usize));
        let url_room = Arc::new(Semaphore::new(QUEUE_URLS_KIB as usize));
        let committer = Self {
            items,
            room,
            url_room,
            hurry,
        };
        (committer, task)
    }

    /// Lets the writer take what is queued now, without waiting for more.
    pub fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// Whether the writer keeps up: at most a quarter of the queue waits. If it does not, pages
    /// leave to others what need not be written with them.
    pub fn keeps_up(&self) -> bool {
        let free_kib = self.room.available_permits();
        self.items.capacity() >= QUEUE / 4 * 3 && free_kib >= QUEUE_KIB as usize / 4 * 3
    }

    /// Waits for room for a page of so many bytes.
    #[crate::boxed]
    pub async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        take_room(&self.room, bytes, QUEUE_KIB).await
    }

    /// Queues an item; waits while the queue is full, in items or in bytes of URLs.
    #[crate::boxed]
    pub async fn send(&self, mut item: CommitItem) {
        let bytes: usize = item.discovered.iter().map(|new| new.url.len()).sum();
        if bytes > 0 {
            item.url_room = take_room(&self.url_room, bytes, QUEUE_URLS_KIB).await;
        }
        // Fails only when the process is ending; the item is fetched again then.
        let _ = self.items.send(item).await;
    }
}

async fn take_room(
    room: &Arc<Semaphore>,
    bytes: usize,
    most_kib: u32,
) -> Option<OwnedSemaphorePermit> {
    let kib = u32::try_from(bytes >> 10).unwrap_or(most_kib);
    let room = Arc::clone(room);
    room.acquire_many_owned(kib.saturating_add(1).min(most_kib))
        .await
        .ok()
}

async fn run(store: Store, mut queue: mpsc::Receiver<CommitItem>, hurry: Arc<Notify>) {
    let mut items = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut items, BATCH).await > 0 {
        let until = Instant::now() + LINGER;
        let mut hurried = false;
        while items.len() < WORTHWHILE {
            let room = BATCH - items.len();
            if hurried && queue.is_empty() {
                break;
            }
            tokio::select! {
                biased;
                more = queue.recv_many(&mut items, room) => if more == 0 { break },
                () = hurry.notified() => hurried = true,
                () = sleep_until(until) => break,
            }
        }
        write(&store, &mut items).await;
    }
}

/// The items of one run, which are written together.
struct Work {
    handle: Arc<RunHandle>,
    batch: RunBatch,
    items: u64,
    rooms: Vec<OwnedSemaphorePermit>,
}

/// The items of each lease and part.
type Works = BTreeMap<(RunId, Option<PartLease>, i64), Work>;

fn gather(items: &mut Vec<CommitItem>) -> Works {
    let mut works = Works::new();
    for item in items.drain(..) {
        let (lease, part) = (item.run.lease, item.run.part);
        let work = works
            .entry((lease.run, part, lease.epoch))
            .or_insert_with(|| Work {
                batch: batch_of(&item.run),
                handle: Arc::clone(&item.run),
                items: 0,
                rooms: Vec::new(),
            });
        work.items += 1;
        // Those of the last item. What came after it is not in this transaction: the next worker would
        // count it again.
        work.batch.progress = item.progress;
        work.batch.engine_state = item.engine_state.or(work.batch.engine_state.take());
        work.batch.pages.extend(item.page);
        work.batch.discovered.extend(item.discovered);
        work.batch.changes.extend(item.changes);
        work.batch.errors.extend(item.errors);
        work.batch.notes.extend(item.notes);
        work.batch.parts.reports.extend(item.reports);
        work.batch.parts.read.extend(item.read);
        work.rooms.extend(item.room);
        work.rooms.extend(item.url_room);
        if let Some(usage) = item.usage {
            add(&mut work.batch.usage, usage);
        }
    }
    works
}

/// A batch of this run without changes.
fn batch_of(run: &RunHandle) -> RunBatch {
    RunBatch {
        lease: run.lease,
        progress: run.written_progress.lock().clone(),
        engine_state: None,
        pages: Vec::new(),
        discovered: Vec::new(),
        changes: Vec::new(),
        errors: Vec::new(),
        notes: Vec::new(),
        usage: Vec::new(),
        parts: BatchParts {
            part: run.part,
            has_parts: run.part.is_some() || run.has_parts.load(Ordering::Acquire),
            ..BatchParts::default()
        },
    }
}

/// What is written in one transaction.
enum Step {
    /// URLs of an item that follows. If the process dies before it is written, its page is fetched again, and
    /// what is known already is not taken twice.
    Ahead(Arc<RunHandle>, Vec<NewFrontier>),
    Together(Vec<CommitItem>),
}

/// Divides items into transactions of few URLs. A run's URLs stay in their order.
fn steps(items: impl Iterator<Item = CommitItem>) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut together, mut urls) = (Vec::new(), 0);
    for mut item in items {
        if urls + item.discovered.len() > BATCH_URLS && !together.is_empty() {
            steps.push(Step::Together(std::mem::take(&mut together)));
            urls = 0;
        }
        let mut discovered = std::mem::take(&mut item.discovered).into_iter();
        while discovered.len() > BATCH_URLS {
            let piece = discovered.by_ref().take(BATCH_URLS).collect();
            steps.push(Step::Ahead(Arc::clone(&item.run), piece));
        }
        item.discovered = discovered.collect();
        urls += item.discovered.len();
        together.push(item);
    }
    if !together.is_empty() {
        steps.push(Step::Together(together));
    }
    steps
}

async fn write(store: &Store, items: &mut Vec<CommitItem>) {
    for step in steps(items.drain(..)) {
        match step {
            Step::Together(mut items) => write_together(store, &mut items).await,
            Step::Ahead(run, discovered) => {
                let batch = RunBatch {
                    discovered,
                    ..batch_of(&run)
                };
                persist(store, &batch, &run, 0).await;
            }
        }
    }
}

async fn write_together(store: &Store, items: &mut Vec<CommitItem>) {
    let (batches, rest): (Vec<RunBatch>, Vec<_>) = gather(items)
        .into_values()
        .map(|work| (work.batch, (work.handle, work.items, work.rooms)))
        .unzip();
    match commit(store, &batches).await {
        Ok(committed) => {
            let done = committed.into_iter().zip(&batches);
            for ((committed, batch), (handle, items, _rooms)) in done.zip(rest) {
                settle(&handle, batch, committed, items);
            }
        }
        Err(error) => {
            tracing::warn!(%error, "a commit of crawls failed; trying run by run");
            for (batch, (handle, items, _rooms)) in batches.into_iter().zip(rest) {
                persist(store, &batch, &handle, items).await;
            }
        }
    }
}

/// Commits all of it or nothing. A panic counts as an error: it costs its run, and not those that
/// are written with it or later.
async fn commit(store: &Store, batches: &[RunBatch]) -> Result<Vec<Committed>, StoreError> {
    let done = AssertUnwindSafe(store.commit_crawl(batches)).catch_unwind();
    done.await.unwrap_or(Err(StoreError::Fault))
}

/// Adds a page's usage to that of earlier pages: one event per transaction, under the token
/// of its first page, which no other transaction has.
fn add(events: &mut Vec<NewUsage>, usage: NewUsage) {
    let same = events
        .iter_mut()
        .find(|event| event.reservation == usage.reservation && event.at == usage.at);
    match same {
        Some(event) => {
            event.pages += usage.pages;
            event.cloud_pages += usage.cloud_pages;
            event.cost_micros += usage.cost_micros;
        }
        None => events.push(usage),
    }
}

/// Writes one run's batch. A run that the database refuses is given up without a pause, in which all others
/// of the process would wait.
async fn persist(store: &Store, batch: &RunBatch, handle: &RunHandle, items: u64) {
    let mut tries = 0;
    loop {
        match commit(store, std::slice::from_ref(batch)).await {
            Ok(committed) => {
                let committed = committed.first().copied().unwrap_or(Committed::Fenced);
                return settle(handle, batch, committed, items);
            }
            // The database may come back, or another node takes the run over.
            Err(error) if error.is_transient() => {
                tracing::error!(%error, run.id = %batch.lease.run, "cannot write a crawl");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => {
                tries += 1;
                tracing::error!(%error, run.id = %batch.lease.run, tries, "cannot write a crawl");
                if tries >= TRIES {
                    return handle.doom(Fate::Broken(format!("the database refused it: {error}")));
                }
            }
        }
    }
}

fn settle(handle: &RunHandle, batch: &RunBatch, committed: Committed, items: u64) {
    match committed {
        Committed::Written => {
            handle.written_progress.lock().clone_from(&batch.progress);
            handle.written.send_modify(|written| *written += items);
        }
        Committed::Fenced => handle.doom(Fate::Lost),
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_core::ids::ProjectId;
    use orbweaver_store::crawl::Lease;

    use super::*;

    #[test]
    fn a_batch_has_the_counts_of_its_last_item_and_not_of_later_ones() {
        let lease = Lease {
            run: RunId(1),
            project: ProjectId(1),
            epoch: 1,
        };
        let counts = |plugin_errors| Progress {
            plugin_errors,
            ..Progress::default()
        };
        // An item that follows these waits for room.
        let run = RunHandle::new(lease, counts(3));
        let item = |plugin_errors, notes: Option<&str>| CommitItem {
            progress: counts(plugin_errors),
            engine_state: notes.map(str::to_owned),
            ..CommitItem::of(Arc::clone(&run))
        };
        let mut items = vec![item(0, Some("a")), item(1, Some("b")), item(2, None)];
        let works: Vec<Work> = gather(&mut items).into_values().collect();
        let [work] = works.as_slice() else {
            panic!("one run")
        };
        assert_eq!(work.items, 3);
        assert_eq!(work.batch.progress, counts(2));
        assert_eq!(work.batch.engine_state.as_deref(), Some("b"));
    }

    #[test]
    fn a_transaction_has_few_urls_and_they_stay_in_order() {
        let lease = Lease {
            run: RunId(1),
            project: ProjectId(1),
            epoch: 1,
        };
        let run = RunHandle::new(lease, Progress::default());
        let most = i64::try_from(BATCH_URLS).unwrap();
        let mut seqs = 0..;
        let found = |seq: i64| NewFrontier {
            seq,
            url: String::new(),
            key_hash: 0,
            depth: 1,
            priority: 0,
        };
        let mut item = |urls| CommitItem {
            discovered: seqs.by_ref().take(urls).map(found).collect(),
            ..CommitItem::of(Arc::clone(&run))
        };
        let items = [10, 2 * BATCH_URLS + 5, BATCH_URLS - 5, 1, 0].map(&mut item);
        let steps = steps(items.into_iter());
        let counts: Vec<(usize, usize)> = steps
            .iter()
            .map(|step| match step {
                Step::Ahead(_, urls) => (0, urls.len()),
                Step::Together(items) => {
                    let urls = items.iter().map(|item| item.discovered.len());
                    (items.len(), urls.sum())
                }
            })
            .collect();
        let all = BATCH_URLS;
        assert_eq!(counts, [(1, 10), (0, all), (0, all), (2, all), (2, 1)]);
        let written = steps.into_iter().flat_map(|step| match step {
            Step::Ahead(_, urls) => urls,
            Step::Together(items) => items.into_iter().flat_map(|item| item.discovered).collect(),
        });
        let written = written.map(|url| url.seq);
        assert!(written.eq(0..3 * most + 11));
    }
}

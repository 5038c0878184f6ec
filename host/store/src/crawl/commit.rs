//! The commit of a crawl's work: pages, their links, bodies, records and words, discovered URLs, new states
//! of URLs, usage events and the run's counters, all in one transaction. A crash neither
//! loses nor duplicates a page. A batch is idempotent: the caller repeats it if the connection is lost
//! before the database has confirmed the commit.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{BlobId, PageId, ProjectId, RunId};

use super::errors::FailedUrl;
use super::frontier::{FrontierChange, NewFrontier};
use super::notes::NewNote;
use crate::accounts::CloudMode;
use crate::bodies::encoding::StoredBody;
use crate::bodies::rows::{BlobRow, BodyRows, NewBody};
use crate::bodies::upload::Uploaded;
use crate::db::{per_database, transact};
use crate::error::StoreError;
use crate::pages::CrawledPage;
use crate::pages::rows::PageIds;
use crate::quota::NewUsage;
use crate::runs::{BatchParts, Lease, Progress};
use crate::search::NewDocument;
use crate::store::Store;
use crate::time::to_ms;

/// Work done for a run since its last commit.
#[derive(Clone, Debug)]
pub struct RunBatch {
    /// Lease under which the work was done.
    pub lease: Lease,
    /// The run's counters after it.
    pub progress: Progress,
    /// The engine's state, if it changed: a JSON object that only the engine reads.
    pub engine_state: Option<String>,
    /// Fetched pages.
    pub pages: Vec<CrawledPage>,
    /// Discovered URLs.
    pub discovered: Vec<NewFrontier>,
    /// New states of known URLs.
    pub changes: Vec<FrontierChange>,
    /// URLs that were given up, for the count and the list.
    pub errors: Vec<FailedUrl>,
    /// What plugins said of URLs.
    pub notes: Vec<NewNote>,
    /// Usage events of the pages. Their tokens name the pages, so that each is billed once.
    pub usage: Vec<NewUsage>,
    /// What a run on which several nodes work has besides. In a batch of a part's worker only the
    /// pages, the usage and changes of kind [`FrontierChange::Again`] are written, and its reports.
    pub parts: BatchParts,
}

/// Result of committing a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The batch was written.
    Written,
    /// Nothing was written: the run was deleted, has ended or is leased to another worker.
    Fenced,
}

per_database! {
    /// Lets the transaction's statements keep their plans. Left to choose, PostgreSQL plans a statement on a
    /// partitioned table again each time, because it thinks that a kept plan asks all partitions; it leaves
    /// out all but one when it begins. A commit finds rows by their keys alone, for which there is one
    /// good plan.
    pub(crate) async fn keep_plans(conn: &mut Conn) -> Result<(), StoreError> {
        if IS_SHARED {
            sqlx::query("SET LOCAL plan_cache_mode = force_generic_plan")
                .execute(&mut *conn)
                .await?;
        }
        Ok(())
    }
}

impl Store {
    /// Writes batches of several runs in one transaction; the result of each, in order.
    #[crate::boxed]
    pub async fn commit_crawl(&self, batches: &[RunBatch]) -> Result<Vec<Committed>, StoreError> {
        // Before the transaction, which must not wait for the blob store.
        let uploaded = match self.blobs_for_new() {
            Some(blobs) => {
                let all: Vec<&RunBatch> = batches.iter().collect();
                self.upload(blobs, &WantedBodies::new(&all, None).new)
                    .await?
            }
            None => None,
        };
        let uploaded = uploaded.as_ref();
        transact!(self.db, tx => {
            sql::commit::keep_plans(tx).await?;
            let committed = sql::runs::record_progress(tx, batches).await?;
            let live = written(batches, &committed);
            let in_parts = in_parts(&live);
            let wanted = WantedBodies::new(&live, uploaded);
            let segment = match uploaded {
                Some(uploaded) => Some(sql::segments::insert(tx, &uploaded.row).await?),
                None => None,
            };
            let (stored, shared) =
                sql::bodies::upsert(tx, &wanted.new, &wanted.shared, segment).await?;
            if let Some(segment) = segment {
                sql::segments::set_live(tx, segment, stored.in_segment).await?;
            }
            if let Some(blobs) = self.blobs_for_new() {
                sql::segments::stage(tx, &stored.inline, to_ms(blobs.now())).await?;
            }
            let pages = with_bodies(&live, &stored, &shared);
            sql::run_parts::in_order(tx, &in_parts).await?;
            let ids = sql::pages::insert_crawled(tx, &pages).await?;
            sql::bodies::release(tx, unused(&pages, &ids)).await?;
            sql::segments::shrink(tx, &stored.lost).await?;
            sql::page_links::insert(tx, &linked(&pages, &ids)).await?;
            sql::page_records::insert(tx, &recorded(&pages, &ids)).await?;
            for batch in &live {
                let Lease { project, run, .. } = batch.lease;
                sql::frontier::insert(tx, project, run, &batch.discovered).await?;
                sql::frontier::change(tx, project, run, &batch.changes).await?;
                sql::frontier::lend(tx, project, run, &batch.changes).await?;
                let errors = sql::run_errors::insert(tx, batch.lease, &batch.errors).await?;
                sql::run_notes::insert(tx, batch.lease, &batch.notes).await?;
                match batch.parts.part {
                    Some(part) => {
                        let is_stored = |seq| ids.contains_key(&(run, seq));
                        sql::run_parts::report(tx, part, &batch.parts.reports, is_stored).await?;
                    }
                    None => {
                        let read = &batch.parts.read;
                        let of_parts = sql::run_parts::forget_reports(tx, project, run, read).await?;
                        let pages = count(batch, &ids) + of_parts;
                        sql::runs::count_stored(tx, run, pages, errors).await?;
                    }
                }
            }
            for (run, first) in first_pages(&live) {
                sql::page_feeds::pages_stored(tx, run, first).await?;
            }
            let billed: Vec<_> = live.iter().map(|batch| billed(batch, &ids)).collect();
            sql::usage::bill(tx, &in_order(&billed)).await?;
            if !self.is_shared() {
                // The last statements: see `search`. Where others write, too, words are added
                // later, a page at a time, so that nobody waits for a run's commit.
                sql::search::add(tx, &documents(&pages, &ids)).await?;
            }
            Ok(committed)
        })
    }
}

/// The batches that may be written.
fn written<'a>(batches: &'a [RunBatch], committed: &[Committed]) -> Vec<&'a RunBatch> {
    let pairs = batches.iter().zip(committed);
    pairs
        .filter(|(_, committed)| **committed == Committed::Written)
        .map(|(batch, _)| batch)
        .collect()
}

/// Runs of which other nodes store pages, too, sorted so that two nodes never deadlock.
fn in_parts(batches: &[&RunBatch]) -> Vec<RunId> {
    let shared = batches
        .iter()
        .filter(|batch| batch.parts.has_parts && !batch.pages.is_empty());
    let mut runs: Vec<RunId> = shared.map(|batch| batch.lease.run).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// The time of the first page of each run, sorted so that two nodes never deadlock.
fn first_pages(batches: &[&RunBatch]) -> BTreeMap<RunId, DateTime<Utc>> {
    let mut runs = BTreeMap::new();
    for batch in batches {
        for page in &batch.pages {
            let at = page.page.fetched_at;
            let first = runs.entry(batch.lease.run).or_insert(at);
            *first = at.min(*first);
        }
    }
    runs
}

/// Bodies needed by the pages of a commit.
struct WantedBodies<'a> {
    /// Distinct bodies, sorted so that two nodes never deadlock.
    new: Vec<NewBody<'a>>,
    /// Bodies already stored, with the number of pages that share each.
    shared: BTreeMap<BlobRow, i64>,
}

impl<'a> WantedBodies<'a> {
    fn new(batches: &[&'a RunBatch], uploaded: Option<&Uploaded>) -> Self {
        let mut new: BTreeMap<(ProjectId, &[u8; 32]), (&StoredBody, i64)> = BTreeMap::new();
        let mut shared: BTreeMap<BlobRow, i64> = BTreeMap::new();
        for page in batches.iter().flat_map(|batch| &batch.pages) {
            if let Some(body) = &page.page.body {
                let (_, refs) = new
                    .entry((page.page.project, &body.hash))
                    .or_insert((body, 0));
                *refs += 1;
            } else if let Some(blob) = page.same_body {
                *shared.entry((blob, page.page.project)).or_default() += 1;
            }
        }
        let new = new
            .into_iter()
            .map(|((project, _), (body, refs))| NewBody {
                project,
                body,
                refs,
                place: uploaded.and_then(|uploaded| uploaded.place(&(project, body.hash))),
            })
            .collect();
        Self { new, shared }
    }
}

/// Every page with the row of its body. A shared body may have been deleted with the page it
/// was stored for; the page then has none.
fn with_bodies<'a>(
    batches: &[&'a RunBatch],
    stored: &BodyRows,
    shared: &[BlobId],
) -> Vec<(&'a CrawledPage, Option<i64>)> {
    let pages = batches.iter().flat_map(|batch| &batch.pages);
    pages
        .map(|page| {
            let blob = match (&page.page.body, page.same_body) {
                (Some(body), _) => stored.ids.get(&(page.page.project, body.hash)).copied(),
                (None, Some(blob)) => shared.binary_search(&blob).is_ok().then_some(blob.get()),
                (None, None) => None,
            };
            (page, blob)
        })
        .collect()
}

/// The page's id, unless it was skipped because its run already has its URL.
fn id_of(page: &CrawledPage, ids: &PageIds) -> Option<i64> {
    ids.get(&(page.page.run?, page.seq)).copied()
}

/// Bodies of skipped pages.
fn unused<'a>(
    pages: &'a [(&CrawledPage, Option<i64>)],
    ids: &'a PageIds,
) -> impl Iterator<Item = BlobRow> + 'a {
    pages
        .iter()
        .filter(|(page, _)| id_of(page, ids).is_none())
        .filter_map(|(page, blob)| Some((BlobId((*blob)?), page.page.project)))
}

/// Stored pages with links, with their ids.
fn linked<'a>(
    pages: &[(&'a CrawledPage, Option<i64>)],
    ids: &PageIds,
) -> Vec<(i64, &'a CrawledPage)> {
    pages
        .iter()
        .filter(|(page, _)| !page.links.is_empty())
        .filter_map(|(page, _)| Some((id_of(page, ids)?, *page)))
        .collect()
}

/// Stored pages with records, with their ids.
fn recorded<'a>(
    pages: &[(&'a CrawledPage, Option<i64>)],
    ids: &PageIds,
) -> Vec<(i64, &'a CrawledPage)> {
    pages
        .iter()
        .filter(|(page, _)| !page.records.is_empty())
        .filter_map(|(page, _)| Some((id_of(page, ids)?, *page)))
        .collect()
}

/// Stored pages whose words are known.
fn documents<'a>(pages: &[(&'a CrawledPage, Option<i64>)], ids: &PageIds) -> Vec<NewDocument<'a>> {
    let with_body = pages.iter().filter(|(_, blob)| blob.is_some());
    with_body
        .filter_map(|(page, _)| {
            Some(NewDocument {
                page: PageId(id_of(page, ids)?),
                project: page.page.project,
                url_key: &page.page.url_key,
                // A crawl's pages have the URLs that answered.
                asked_key: None,
                words: page.words.as_ref()?,
            })
        })
        .collect()
}

/// Number of a batch's pages that were stored.
fn count(batch: &RunBatch, ids: &PageIds) -> u64 {
    let stored = batch
        .pages
        .iter()
        .filter(|page| ids.contains_key(&(batch.lease.run, page.seq)));
    stored.count() as u64
}

/// A batch's usage events, without pages that were not stored: several nodes may fetch a page that
/// URLs of different hosts redirect to, and the run has it once.
fn billed<'a>(batch: &'a RunBatch, ids: &PageIds) -> Cow<'a, [NewUsage]> {
    let unstored = batch.pages.iter().filter(|page| id_of(page, ids).is_none());
    let mut usage = Cow::Borrowed(batch.usage.as_slice());
    for page in unstored {
        let events = usage.to_mut();
        let is_cloud = page.page.cloud_mode != CloudMode::None;
        let cloud = |event: &mut NewUsage| take_one(&mut event.cloud_pages);
        let plain = |event: &mut NewUsage| take_one(&mut event.pages);
        // In a run that renders every page, those that were only fetched are cloud pages, too.
        let _ = (is_cloud && events.iter_mut().any(cloud))
            || events.iter_mut().any(plain)
            || events.iter_mut().any(cloud);
    }
    usage
}

/// Takes one off a count; `false` if nothing is left.
fn take_one(count: &mut u64) -> bool {
    let left = count.checked_sub(1);
    *count = left.unwrap_or_default();
    left.is_some()
}

/// Usage events of all batches, sorted so that two nodes never deadlock.
fn in_order<'a>(batches: &'a [Cow<'_, [NewUsage]>]) -> Vec<&'a NewUsage> {
    let mut usage: Vec<&NewUsage> = batches.iter().flat_map(|batch| batch.iter()).collect();
    usage.sort_by(|a, b| (a.project, &a.token).cmp(&(b.project, &b.token)));
    usage
}

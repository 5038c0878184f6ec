//! The commit of what workers have done: pages, their links and bodies, what they
//! discovered, their own change of state, what they cost and the run's counters, all in
//! one transaction. A crash neither loses nor doubles a page.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use orbweaver_core::ids::BlobId;

use super::lease::Lease;
use super::runs::Progress;
use crate::blobs::StoredBody;
use crate::db::{Store, transact};
use crate::error::StoreError;
use crate::pages::{NewPage, kind_word};
use crate::time::to_ms;
use crate::usage::{NewUsage, bill};

/// Rows of one statement. Few sizes, so that each is prepared once.
const CHUNKS: [usize; 4] = [64, 16, 4, 1];

/// A page of a crawl.
#[derive(Clone, Debug)]
pub struct CrawledPage {
    /// What every stored page has.
    pub page: NewPage,
    /// Of the frontier's row that led to it.
    pub seq: i64,
    /// Hash of the page's own key.
    pub key_hash: u64,
    /// Links from the seed.
    pub depth: u32,
    /// Its title.
    pub title: Option<String>,
    /// Its canonical URL.
    pub canonical: Option<String>,
    /// Its robots directives as words.
    pub robots: Option<String>,
    /// Outputs of the extractors that the run names: a JSON object.
    pub extensions: Option<String>,
    /// A stored body to share, for a page that answered "not modified".
    pub same_body: Option<BlobId>,
    /// Hashes of its targets in the run's scope, packed little-endian.
    pub targets: Vec<u8>,
    /// Its links, packed; empty when it has none.
    pub links: Vec<u8>,
}

/// A URL that a page led to.
#[derive(Clone, Debug)]
pub struct NewFrontier {
    /// Its place in the order of discovery.
    pub seq: i64,
    /// As written, resolved.
    pub url: String,
    /// Hash of its normalised URL.
    pub key_hash: u64,
    /// Links from the seed.
    pub depth: u32,
}

/// What became of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontierChange {
    /// It was fetched; `redirect_to` is the page it redirects to within the scope.
    Done {
        /// Which.
        seq: i64,
        /// Hash of that page's key.
        redirect_to: Option<u64>,
    },
    /// It is tried again later.
    Again {
        /// Which.
        seq: i64,
        /// Fetches that failed so far.
        attempts: u32,
        /// Not before.
        next_at: DateTime<Utc>,
    },
    /// It was given up.
    Failed {
        /// Which.
        seq: i64,
    },
    /// It is left out: robots.txt, or known under another URL.
    Skipped {
        /// Which.
        seq: i64,
    },
}

/// What a run's workers have done since the last commit.
#[derive(Clone, Debug)]
pub struct RunBatch {
    /// The right to write it.
    pub lease: Lease,
    /// The run's counts after it.
    pub progress: Progress,
    /// The engine's own notes, where they have changed: a JSON object.
    pub engine_state: Option<String>,
    /// Pages.
    pub pages: Vec<CrawledPage>,
    /// URLs discovered.
    pub discovered: Vec<NewFrontier>,
    /// What became of known ones.
    pub changes: Vec<FrontierChange>,
    /// Failures on the crawler's side to count.
    pub errors: u64,
    /// What the pages cost: its tokens name them, so that it is billed once.
    pub usage: Vec<NewUsage>,
}

/// Whether a batch was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It was.
    Written,
    /// Nothing was: the run was deleted, has ended or is another worker's.
    Fenced,
}

#[derive(sqlx::FromRow)]
struct BlobKey {
    id: i64,
    project_id: i64,
    hash: Vec<u8>,
}

#[derive(sqlx::FromRow)]
struct PageKey {
    id: i64,
    run_id: i64,
    seq: i64,
}

/// Runs `$each` for pieces of `$rows`, as few as [`CHUNKS`] allows.
macro_rules! in_chunks {
    ($rows:expr, $piece:ident => $each:expr) => {{
        let mut rest: &[_] = $rows;
        for size in CHUNKS {
            while let Some(($piece, tail)) = rest.split_at_checked(size) {
                $each;
                rest = tail;
            }
        }
    }};
}

impl Store {
    /// Writes batches of several runs in one transaction; what became of each, in order.
    pub async fn commit_crawl(&self, batches: &[RunBatch]) -> Result<Vec<Committed>, StoreError> {
        let mut order: Vec<usize> = (0..batches.len()).collect();
        order.sort_by_key(|at| batches.get(*at).map(|batch| batch.lease.run));
        transact!(self.db, tx => {
            let mut committed = vec![Committed::Fenced; batches.len()];
            let mut live: Vec<&RunBatch> = Vec::with_capacity(batches.len());
            // The run's row is held until the end, so that no epoch can change in between.
            for at in order {
                let Some(batch) = batches.get(at) else { continue };
                let progress = serde_json::to_string(&batch.progress).unwrap_or_default();
                let done = sqlx::query(
                    "UPDATE runs SET progress = $3, engine_state = COALESCE($4, engine_state),
                         error_count = error_count + $5
                     WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
                )
                .bind(batch.lease.run.get())
                .bind(batch.lease.epoch)
                .bind(progress)
                .bind(batch.engine_state.as_deref())
                .bind(signed(batch.errors))
                .execute(&mut *tx)
                .await?;
                if done.rows_affected() == 1 {
                    live.push(batch);
                    if let Some(slot) = committed.get_mut(at) {
                        *slot = Committed::Written;
                    }
                }
            }

            // Equal bodies once, and in one order, so that two nodes never wait for each other.
            let mut bodies: BTreeMap<(i64, &[u8; 32]), (&StoredBody, i64)> = BTreeMap::new();
            let mut shared: BTreeMap<i64, i64> = BTreeMap::new();
            for page in live.iter().flat_map(|batch| &batch.pages) {
                if let Some(body) = &page.page.body {
                    bodies
                        .entry((page.page.project.get(), &body.hash))
                        .or_insert((body, 0))
                        .1 += 1;
                } else if let Some(blob) = page.same_body {
                    *shared.entry(blob.get()).or_default() += 1;
                }
            }
            let bodies: Vec<(i64, &StoredBody, i64)> = bodies
                .into_iter()
                .map(|((project, _), (body, refs))| (project, body, refs))
                .collect();
            let mut blobs: HashMap<(i64, Vec<u8>), i64> = HashMap::with_capacity(bodies.len());
            in_chunks!(&bodies, piece => {
                let mut insert = sqlx::QueryBuilder::new(
                    "INSERT INTO blobs (project_id, hash, size, encoding, bytes, refs) ",
                );
                insert.push_values(piece, |mut row, (project, body, refs)| {
                    row.push_bind(*project)
                        .push_bind(body.hash.as_slice())
                        .push_bind(signed(body.size))
                        .push_bind(body.encoding.as_str())
                        .push_bind(&body.bytes[..])
                        .push_bind(*refs);
                });
                insert.push(
                    " ON CONFLICT (project_id, hash) DO UPDATE SET refs = blobs.refs + excluded.refs
                      RETURNING id, project_id, hash",
                );
                let keys: Vec<BlobKey> = insert.build_query_as().fetch_all(&mut *tx).await?;
                blobs.extend(keys.into_iter().map(|key| ((key.project_id, key.hash), key.id)));
            });
            let mut kept: HashMap<i64, i64> = HashMap::new();
            for (blob, refs) in shared {
                // It may have gone with the page it was stored for.
                let done = sqlx::query("UPDATE blobs SET refs = refs + $2 WHERE id = $1")
                    .bind(blob)
                    .bind(refs)
                    .execute(&mut *tx)
                    .await?;
                if done.rows_affected() == 1 {
                    kept.insert(blob, blob);
                }
            }

            let pages: Vec<(&CrawledPage, Option<i64>)> = live
                .iter()
                .flat_map(|batch| &batch.pages)
                .map(|page| {
                    let blob = match (&page.page.body, page.same_body) {
                        (Some(body), _) => blobs
                            .get(&(page.page.project.get(), body.hash.to_vec()))
                            .copied(),
                        (None, Some(blob)) => kept.get(&blob.get()).copied(),
                        (None, None) => None,
                    };
                    (page, blob)
                })
                .collect();
            let mut ids: HashMap<(i64, i64), i64> = HashMap::with_capacity(pages.len());
            in_chunks!(&pages, piece => {
                let mut insert = sqlx::QueryBuilder::new(
                    "INSERT INTO pages (project_id, run_id, url, url_key, final_url, status, bytes,
                         fetched_at, content_hash, kind, user_agent, cloud_mode, headers, metadata,
                         blob_id, seq, key_hash, depth, title, canonical, robots, extensions) ",
                );
                insert.push_values(piece, |mut row, (crawled, blob)| {
                    let page = &crawled.page;
                    row.push_bind(page.project.get())
                        .push_bind(page.run.map(|run| run.get()))
                        .push_bind(page.url.as_str())
                        .push_bind(page.url_key.as_str())
                        .push_bind(page.final_url.as_str())
                        .push_bind(i64::from(page.status))
                        .push_bind(signed(page.bytes))
                        .push_bind(to_ms(page.fetched_at))
                        .push_bind(page.content_hash.as_deref())
                        .push_bind(kind_word(page.kind))
                        .push_bind(page.user_agent.as_str())
                        .push_bind(page.cloud_mode.as_str())
                        .push_bind(page.headers.as_str())
                        .push_bind(page.metadata.as_deref())
                        .push_bind(*blob)
                        .push_bind(crawled.seq)
                        .push_bind(crawled.key_hash.cast_signed())
                        .push_bind(i64::from(crawled.depth))
                        .push_bind(crawled.title.as_deref())
                        .push_bind(crawled.canonical.as_deref())
                        .push_bind(crawled.robots.as_deref())
                        .push_bind(crawled.extensions.as_deref());
                });
                insert.push(
                    " ON CONFLICT (run_id, url_key) WHERE run_id IS NOT NULL DO NOTHING
                      RETURNING id, run_id, seq",
                );
                let keys: Vec<PageKey> = insert.build_query_as().fetch_all(&mut *tx).await?;
                ids.extend(keys.into_iter().map(|key| ((key.run_id, key.seq), key.id)));
            });

            let mut linked: Vec<(i64, &CrawledPage)> = Vec::with_capacity(pages.len());
            for (page, blob) in &pages {
                let run = page.page.run.map_or(0, |run| run.get());
                match (ids.get(&(run, page.seq)), blob) {
                    (Some(id), _) if !page.links.is_empty() => linked.push((*id, page)),
                    (Some(_), _) | (None, None) => {}
                    // The page was there already: its body is not used after all.
                    (None, Some(blob)) => {
                        sqlx::query("UPDATE blobs SET refs = refs - 1 WHERE id = $1")
                            .bind(*blob)
                            .execute(&mut *tx)
                            .await?;
                    }
                }
            }
            in_chunks!(&linked, piece => {
                let mut insert = sqlx::QueryBuilder::new(
                    "INSERT INTO page_links (page_id, run_id, project_id, targets, links) ",
                );
                insert.push_values(piece, |mut row, (id, page)| {
                    row.push_bind(*id)
                        .push_bind(page.page.run.map(|run| run.get()))
                        .push_bind(page.page.project.get())
                        .push_bind(page.targets.as_slice())
                        .push_bind(page.links.as_slice());
                });
                insert.build().execute(&mut *tx).await?;
            });

            for batch in &live {
                let run = batch.lease.run.get();
                in_chunks!(&batch.discovered, piece => {
                    let mut insert = sqlx::QueryBuilder::new(
                        "INSERT INTO frontier (run_id, seq, url, key_hash, depth, state) ",
                    );
                    insert.push_values(piece, |mut row, new| {
                        row.push_bind(run)
                            .push_bind(new.seq)
                            .push_bind(new.url.as_str())
                            .push_bind(new.key_hash.cast_signed())
                            .push_bind(i64::from(new.depth))
                            .push("0");
                    });
                    insert.build().execute(&mut *tx).await?;
                });
                let mut done: Vec<i64> = Vec::with_capacity(batch.changes.len());
                for change in &batch.changes {
                    let (seq, state, attempts, next_at, target) = match *change {
                        FrontierChange::Done { seq, redirect_to: None } => {
                            done.push(seq);
                            continue;
                        }
                        FrontierChange::Done { seq, redirect_to } => (seq, 1, 0, None, redirect_to),
                        FrontierChange::Again { seq, attempts, next_at } => {
                            (seq, 0, i64::from(attempts), Some(next_at), None)
                        }
                        FrontierChange::Failed { seq } => (seq, 2, 0, None, None),
                        FrontierChange::Skipped { seq } => (seq, 3, 0, None, None),
                    };
                    sqlx::query(
                        "UPDATE frontier SET state = $3, attempts = $4, next_at = $5,
                             redirect_to = $6
                         WHERE run_id = $1 AND seq = $2",
                    )
                    .bind(run)
                    .bind(seq)
                    .bind(state)
                    .bind(attempts)
                    .bind(next_at.map_or(0, to_ms))
                    .bind(target.map(u64::cast_signed))
                    .execute(&mut *tx)
                    .await?;
                }
                in_chunks!(&done, piece => {
                    let mut update =
                        sqlx::QueryBuilder::new("UPDATE frontier SET state = 1 WHERE run_id = ");
                    update.push_bind(run).push(" AND seq IN (");
                    let mut list = update.separated(", ");
                    for seq in piece {
                        list.push_bind(*seq);
                    }
                    update.push(")");
                    update.build().execute(&mut *tx).await?;
                });

                let written = batch
                    .pages
                    .iter()
                    .filter(|page| ids.contains_key(&(run, page.seq)))
                    .count();
                if written > 0 {
                    sqlx::query("UPDATE runs SET page_count = page_count + $2 WHERE id = $1")
                        .bind(run)
                        .bind(i64::try_from(written).unwrap_or(i64::MAX))
                        .execute(&mut *tx)
                        .await?;
                }
            }
            // One order in every transaction, so that two nodes never wait for each other.
            let mut usage: Vec<&NewUsage> = live.iter().flat_map(|batch| &batch.usage).collect();
            usage.sort_by(|a, b| (a.project, &a.token).cmp(&(b.project, &b.token)));
            if !usage.is_empty() {
                bill!(tx, &usage);
            }
            Ok(committed)
        })
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

//! Indexing stored pages for search: what a page's words are, and the task that indexes, in the
//! background, those pages that were stored without them.

mod backlog;
mod documents;
mod settled;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use orbweaver_accounts::clock::Clock;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_core::key_hash::url_key;
use orbweaver_core::page::page_text;
use orbweaver_core::page_source::page_source;
use orbweaver_core::words::index_words;
use orbweaver_store::{
    IndexClaim, IndexEntry, PageWords, Store, StoreError, StoredBody, UnindexedPage, indexed_key,
};
use orbweaver_urls::KeyRules;
use tokio::time::{Instant, sleep};

use crate::blocking::blocking_of;
use crate::pipeline::Pipeline;
use settled::Settled;

pub use backlog::Backlog;

/// Least time between two looks for new pages.
const LOOK: Duration = Duration::from_millis(1_000);
/// Most bytes of bodies that are read ahead for a claim.
const AHEAD_BYTES: u64 = 16 << 20;
/// Bytes of bodies that one piece of work reads: a short one, so that it keeps no thread for long.
const TOGETHER_BYTES: usize = 512 << 10;
/// Most bytes of a page's text that are indexed.
pub const TEXT_BYTES: usize = 256 << 10;

/// The words of a page: of its title and the first [`TEXT_BYTES`] of its text. CPU-bound.
pub fn page_words(title: Option<&str>, text: &str) -> PageWords {
    PageWords {
        title: index_words(title.unwrap_or_default()),
        text: index_words(text),
    }
}

/// Runs as long as the process. Sleeps until the database changes.
#[crate::boxed]
pub async fn run(store: Store, pipeline: Pipeline, clock: Clock) {
    if let Err(error) = store.end_left_index_claims().await {
        tracing::warn!(%error, "cannot take over the indexing of pages from before");
    }
    tokio::join!(
        pages(&store, &pipeline.index_backlog, &clock),
        documents::run(&store, &pipeline.engine, &clock)
    );
}

/// Indexes pages as they are stored.
async fn pages(store: &Store, backlog: &Backlog, clock: &Clock) {
    let mut changes = store.watch_changes();
    let mut rounds = Rounds::default();
    loop {
        let all = match advance(store, backlog, clock, &mut rounds).await {
            Ok(all) => all,
            Err(error) => {
                tracing::warn!(%error, "cannot index pages for search");
                false
            }
        };
        sleep(LOOK).await;
        if all {
            backlog.note_none_left();
            changes.changed().await;
        }
    }
}

/// What one round of indexing leaves to the next.
#[derive(Default)]
struct Rounds {
    settled: Settled,
    /// Up to which page all are wanted soon, as long as some may not be indexed yet or are not.
    wanted: Option<i64>,
}

/// Indexes new pages that no other node indexes. If other nodes write too, ids do not commit in order:
/// then only pages are indexed before which none will come. Returns whether no page is left, other
/// nodes' included.
async fn advance(
    store: &Store,
    backlog: &Backlog,
    clock: &Clock,
    Rounds { settled, wanted }: &mut Rounds,
) -> Result<bool, StoreError> {
    if wanted.is_none() {
        backlog.wait_idle().await;
    }
    let are_wanted = backlog.begin();
    let newest = store.newest_page().await.inspect_err(|_| {
        if are_wanted {
            backlog.hurry();
        }
    })?;
    if are_wanted {
        *wanted = Some(newest);
    }
    let through = if store.is_shared() {
        if newest > settled.through() {
            settled.note(newest, &store.page_writers().await?, Instant::now());
        }
        settled.through()
    } else {
        newest
    };
    while let Some(claim) = store.claim_unindexed(through, clock.now()).await? {
        let done = index(store, claim).await;
        store.end_index_claim(claim, done.is_ok()).await?;
        done?;
        if wanted.is_none() {
            backlog.wait_idle().await;
        }
    }
    wanted.take_if(|wanted| *wanted <= through);
    Ok(newest <= through && !store.has_index_claims().await?)
}

/// Indexes the pages of a claim. Documents only wait from now on: their conversion takes long.
///
/// # Errors
/// A temporary failure of the database or the blob store: the pages are to be read again once it is back.
async fn index(store: &Store, claim: IndexClaim) -> Result<(), StoreError> {
    let unindexed = store.unindexed(claim).await?.into_iter();
    let (documents, pages): (Vec<_>, Vec<_>) = unindexed.partition(|page| page.is_document);
    store.queue_documents(&documents).await?;
    let mut ahead = read_ahead(store, &pages).await?;
    let mut entries: Vec<IndexEntry> = Vec::with_capacity(pages.len());
    let (mut together, mut bytes) = (Vec::new(), 0);
    for page in pages {
        let id = page.page;
        let body = match ahead.remove(&id) {
            Some(body) => Ok(Some(body)),
            None => store.body(page.project, page.blob).await,
        };
        match body {
            Ok(Some(body)) => {
                let size = usize::try_from(body.size).unwrap_or(usize::MAX);
                if bytes > 0 && size.saturating_add(bytes) > TOGETHER_BYTES {
                    let works = std::mem::take(&mut together);
                    entries.extend(read(works, bytes).await);
                    bytes = 0;
                }
                bytes = bytes.saturating_add(size);
                together.push((page, body));
            }
            Ok(None) => {}
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => not_indexed(id, &error),
        }
    }
    entries.extend(read(together, bytes).await);
    store.index(&entries).await
}

/// Bodies of the pages, as many as there is room for.
async fn read_ahead(
    store: &Store,
    pages: &[UnindexedPage],
) -> Result<HashMap<PageId, StoredBody>, StoreError> {
    let mut projects: HashMap<ProjectId, Vec<PageId>> = HashMap::new();
    for page in pages {
        projects.entry(page.project).or_default().push(page.page);
    }
    let mut left = AHEAD_BYTES;
    let mut bodies = HashMap::new();
    for (project, pages) in projects {
        let read = store.bodies_ahead(project, &pages, left).await?;
        let bytes: usize = read.values().map(|body| body.bytes.len()).sum();
        left = left.saturating_sub(bytes as u64);
        bodies.extend(read);
    }
    Ok(bodies)
}

fn not_indexed(page: PageId, error: &dyn std::fmt::Display) {
    tracing::warn!(page = page.get(), %error, "a page is not indexed");
}

/// The words of some pages that have `bytes` bytes in all. A page that cannot be read is left out.
async fn read(pages: Vec<(UnindexedPage, StoredBody)>, bytes: usize) -> Vec<IndexEntry> {
    let ids: Vec<PageId> = pages.iter().map(|(page, _)| page.page).collect();
    // One piece after the other, to leave the other cores to running crawls.
    let work = move || {
        let opened = pages.into_iter().map(|page| {
            // A panic costs its page, and not those that are read with it.
            let opened = catch_unwind(AssertUnwindSafe(|| open(page)));
            opened.unwrap_or(Err(StoreError::Fault))
        });
        opened.collect::<Vec<_>>()
    };
    let opened = match blocking_of(bytes, work).await {
        Ok(opened) => opened,
        Err(error) => {
            ids.into_iter().for_each(|id| not_indexed(id, &error));
            return Vec::new();
        }
    };
    let mut entries = Vec::with_capacity(ids.len());
    for (id, opened) in ids.into_iter().zip(opened) {
        match opened {
            Ok(entry) => entries.push(entry),
            Err(error) => not_indexed(id, &error),
        }
    }
    entries
}

/// Reads a page. CPU-bound.
fn open((page, body): (UnindexedPage, StoredBody)) -> Result<IndexEntry, StoreError> {
    let body = body.unpack()?;
    let headers = headers(&page);
    let html = page_source(&body, content_type(&headers));
    Ok(entry(page, &html))
}

fn headers(page: &UnindexedPage) -> Vec<(String, String)> {
    serde_json::from_str(&page.headers).unwrap_or_default()
}

fn content_type(headers: &[(String, String)]) -> Option<&str> {
    let mut headers = headers.iter();
    let header = headers.find(|(name, _)| name == "content-type");
    header.map(|(_, value)| value.as_str())
}

/// The words of a page's HTML. CPU-bound.
fn entry(page: UnindexedPage, html: &str) -> IndexEntry {
    let (facts, text) = page_text(html, &page.final_url, TEXT_BYTES);
    let (url_key, asked_key) = keys(page.url_key, &page.final_url);
    IndexEntry {
        page: page.page,
        project: page.project,
        url_key,
        asked_key,
        words: page_words(facts.title.as_deref(), &text),
    }
}

/// The key of the URL that answered, and that of the one that was asked for where it led to another one.
fn keys(stored: String, final_url: &str) -> (String, Option<String>) {
    // Crawls drop tracking parameters or keep them, as they are asked; scans keep them.
    let dropped = url_key(
        final_url,
        KeyRules {
            drop_tracking: true,
        },
    );
    let kept = url_key(
        final_url,
        KeyRules {
            drop_tracking: false,
        },
    );
    if stored == indexed_key(&dropped) || stored == indexed_key(&kept) {
        return (stored, None);
    }
    (kept, Some(stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_indexed_under_the_url_that_answered() {
        let of = |stored: &str, final_url| keys(stored.to_owned(), final_url);
        let (x, tracked) = ("https://a.example/x", "https://a.example/x?utm_source=b");
        assert_eq!(of(x, "https://A.example/x#top"), (x.to_owned(), None));
        assert_eq!(of(x, tracked), (x.to_owned(), None));
        assert_eq!(of(tracked, tracked), (tracked.to_owned(), None));
        let asked = "https://a.example/r";
        assert_eq!(of(asked, x), (x.to_owned(), Some(asked.to_owned())));
        let long = format!("{x}?{}", "y".repeat(2_000));
        let stored = indexed_key(&long);
        assert_eq!(of(&stored, &long), (stored.clone().into_owned(), None));
    }
}

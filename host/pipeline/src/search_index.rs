//! Indexes stored pages for search, in the background and outside all requests and crawls.

use std::time::Duration;

use orbweaver_core::charset;
use orbweaver_core::page::page_text;
use orbweaver_core::words::index_words;
use orbweaver_store::{IndexEntry, Store, StoreError, UnindexedPage};
use tokio::time::{MissedTickBehavior, interval};

use crate::blocking::blocking;

/// How often new pages are looked for. This is also the time allowed for a transaction with
/// a lower id to commit after one with a higher id was seen.
const LOOK: Duration = Duration::from_millis(1_000);
/// Pages per batch. On SQLite a batch is one transaction and one segment of the index, which is
/// merged later: small batches cost more merging, large ones block other writers longer.
const BATCH: u32 = 200;
/// Most bytes of a page's text that are indexed.
const TEXT_BYTES: usize = 256 << 10;

/// Runs as long as the process.
#[crate::boxed]
pub async fn run(store: Store) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = 0;
    loop {
        ticks.tick().await;
        match advance(&store, seen).await {
            Ok(newest) => seen = newest,
            Err(error) => tracing::warn!(%error, "cannot index pages for search"),
        }
    }
}

/// Indexes new pages. If other nodes write too, ids do not commit in order: then only pages
/// seen at the previous look are indexed. Returns the newest page's id.
async fn advance(store: &Store, seen: i64) -> Result<i64, StoreError> {
    let newest = store.newest_page().await?;
    let through = if store.is_shared() { seen } else { newest };
    let mut after = store.indexed_through().await?;
    while after < through {
        let pages = store.unindexed(after, through, BATCH).await?;
        let full = pages.len() >= BATCH as usize;
        after = match pages.last() {
            Some(last) if full => last.page.get(),
            _ => through,
        };
        // One after the other, to leave the other cores to running crawls.
        let mut entries: Vec<IndexEntry> = Vec::with_capacity(pages.len());
        for page in pages {
            let id = page.page;
            match read(store, page).await {
                Ok(entry) => entries.extend(entry),
                Err(error) => tracing::warn!(page = id.get(), %error, "a page is not indexed"),
            }
        }
        store.index(&entries, after).await?;
    }
    Ok(newest)
}

/// A page's words; `None` if its body no longer exists.
async fn read(store: &Store, page: UnindexedPage) -> Result<Option<IndexEntry>, anyhow::Error> {
    let Some(body) = store.body(page.project, page.blob).await? else {
        return Ok(None);
    };
    let entry = blocking(move || {
        let body = body.unpack()?;
        let headers: Vec<(String, String)> =
            serde_json::from_str(&page.headers).unwrap_or_default();
        let content_type = headers
            .iter()
            .find(|(name, _)| name == "content-type")
            .map(|(_, value)| value.as_str());
        let html = charset::decode(&body, content_type, charset::Limits::default()).text;
        let (facts, text) = page_text(&html, &page.final_url, TEXT_BYTES);
        Ok::<_, StoreError>(IndexEntry {
            page: page.page,
            project: page.project,
            url_key: page.url_key,
            title: index_words(&facts.title.unwrap_or_default()),
            text: index_words(&text),
        })
    })
    .await??;
    Ok(Some(entry))
}

//! Indexing stored pages for search: what a page's words are, and the task that indexes, in the
//! background, those pages that were stored without them.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::charset;
use orbweaver_core::content::{self, Kind};
use orbweaver_core::ids::PageId;
use orbweaver_core::page::page_text;
use orbweaver_core::words::index_words;
use orbweaver_engine::{Engine, Page, PageParts};
use orbweaver_store::{IndexEntry, PageWords, Store, StoreError, UnindexedPage};
use tokio::time::sleep;

use crate::blocking::blocking;
use crate::conversion::convert_document;
use crate::document::Document;

/// Least time between two looks for new pages. This is also the time allowed for a transaction
/// with a lower id to commit after one with a higher id was seen.
const LOOK: Duration = Duration::from_millis(1_000);
/// Pages per batch. On SQLite a batch is one transaction and one segment of the index, which is
/// merged later: small batches cost more merging, large ones block other writers longer.
const BATCH: u32 = 200;
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
pub async fn run(store: Store, engine: Engine) {
    let mut pulse = store.pulse();
    let mut seen = 0;
    loop {
        let all = match advance(&store, &engine, seen).await {
            Ok(newest) => {
                // Where others write, too, what is new waits for the next look.
                let all = newest == seen || !store.is_shared();
                seen = newest;
                all
            }
            Err(error) => {
                tracing::warn!(%error, "cannot index pages for search");
                false
            }
        };
        sleep(LOOK).await;
        if all {
            pulse.changed().await;
        }
    }
}

/// Indexes new pages. If other nodes write too, ids do not commit in order: then only pages
/// seen at the previous look are indexed. Returns the newest page's id.
async fn advance(store: &Store, engine: &Engine, seen: i64) -> Result<i64, StoreError> {
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
            match read(store, engine, page).await {
                Ok(entry) => entries.extend(entry),
                Err(error) => match error.downcast::<StoreError>() {
                    // Read again once the database or the blob store is back.
                    Ok(error) if error.is_transient() => return Err(error),
                    Ok(error) => not_indexed(id, &error),
                    Err(error) => not_indexed(id, &error),
                },
            }
        }
        store.index(&entries, after).await?;
    }
    Ok(newest)
}

fn not_indexed(page: PageId, error: &dyn std::fmt::Display) {
    tracing::warn!(page = page.get(), %error, "a page is not indexed");
}

/// A page's words; `None` if its body no longer exists, or is a document that cannot be converted.
async fn read(
    store: &Store,
    engine: &Engine,
    page: UnindexedPage,
) -> Result<Option<IndexEntry>, anyhow::Error> {
    let Some(body) = store.body(page.project, page.blob).await? else {
        return Ok(None);
    };
    let (page, source) = blocking(move || {
        let body = body.unpack()?;
        let headers: Vec<(String, String)> =
            serde_json::from_str(&page.headers).unwrap_or_default();
        let content_type = headers
            .iter()
            .find(|(name, _)| name == "content-type")
            .map(|(_, value)| value.as_str());
        let kind = content::sniff(content_type, &body).kind;
        let parts = PageParts {
            url: page.final_url.clone(),
            final_url: page.final_url.clone(),
            status: 200,
            ..PageParts::default()
        };
        let source = match kind {
            Kind::Document => Document::page_of(PageParts {
                body: Arc::from(&body[..]),
                headers,
                ..parts
            }),
            _ => {
                let limits = charset::Limits::default();
                Page::new(PageParts {
                    html: Arc::from(charset::decode(&body, content_type, limits).text),
                    ..parts
                })
            }
        };
        Ok::<_, StoreError>((page, (kind, source)))
    })
    .await??;
    let source = match source {
        (Kind::Document, source) => {
            let engine = engine.of_project(page.project);
            match convert_document(&engine, &source).await {
                Ok(converted) => source.with_html(converted.html),
                Err(_) => return Ok(None),
            }
        }
        (_, source) => source,
    };
    let entry = blocking(move || {
        let (facts, text) = page_text(&source.parts().html, &page.final_url, TEXT_BYTES);
        IndexEntry {
            page: page.page,
            project: page.project,
            url_key: page.url_key,
            words: page_words(facts.title.as_deref(), &text),
        }
    })
    .await?;
    Ok(Some(entry))
}

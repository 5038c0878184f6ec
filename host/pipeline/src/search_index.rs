//! Indexing stored pages for search: what a page's words are, and the task that indexes, in the
//! background, those pages that were stored without them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::clock::Clock;
use orbweaver_core::charset;
use orbweaver_core::content::{self, Kind};
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_core::page::page_text;
use orbweaver_core::words::index_words;
use orbweaver_engine::{Engine, Page, PageParts};
use orbweaver_store::{
    IndexClaim, IndexEntry, PageWords, Store, StoreError, StoredBody, UnindexedPage,
};
use tokio::time::sleep;

use crate::blocking::blocking_of;
use crate::conversion::convert_document;
use crate::document::Document;

/// Least time between two looks for new pages. This is also the time allowed for a transaction
/// with a lower id to commit after one with a higher id was seen.
const LOOK: Duration = Duration::from_millis(1_000);
/// Most bytes of bodies that are read ahead for a claim.
const AHEAD_BYTES: u64 = 16 << 20;
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
pub async fn run(store: Store, engine: Engine, clock: Clock) {
    let mut pulse = store.pulse();
    let mut seen = 0;
    if let Err(error) = store.end_left_index_claims().await {
        tracing::warn!(%error, "cannot take over the indexing of pages from before");
    }
    loop {
        let all = match advance(&store, &engine, &clock, seen).await {
            Ok((newest, all)) => {
                // Where others write, too, what is new waits for the next look.
                let all = all && (newest == seen || !store.is_shared());
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

/// Indexes new pages that no other node indexes. If other nodes write too, ids do not commit in order:
/// then only pages seen at the previous look are indexed. Returns the newest page's id, and whether no
/// page is left, other nodes' included.
async fn advance(
    store: &Store,
    engine: &Engine,
    clock: &Clock,
    seen: i64,
) -> Result<(i64, bool), StoreError> {
    let newest = store.newest_page().await?;
    let through = if store.is_shared() { seen } else { newest };
    while let Some(claim) = store.claim_unindexed(through, clock.now()).await? {
        let done = index(store, engine, claim).await;
        store.end_index_claim(claim, done.is_ok()).await?;
        done?;
    }
    Ok((newest, !store.has_index_claims().await?))
}

/// Indexes the pages of a claim.
///
/// # Errors
/// A temporary failure of the database or the blob store: the pages are to be read again once it is back.
async fn index(store: &Store, engine: &Engine, claim: IndexClaim) -> Result<(), StoreError> {
    let pages = store.unindexed(claim).await?;
    let mut ahead = read_ahead(store, &pages).await?;
    // One after the other, to leave the other cores to running crawls.
    let mut entries: Vec<IndexEntry> = Vec::with_capacity(pages.len());
    for page in pages {
        let id = page.page;
        let body = ahead.remove(&id);
        match read(store, engine, page, body).await {
            Ok(entry) => entries.extend(entry),
            Err(error) => match error.downcast::<StoreError>() {
                Ok(error) if error.is_transient() => return Err(error),
                Ok(error) => not_indexed(id, &error),
                Err(error) => not_indexed(id, &error),
            },
        }
    }
    store.index(&entries).await
}

/// Bodies that are in the blob store, as many as there is room for.
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

/// A page's words; `None` if its body no longer exists, or is a document that cannot be converted.
async fn read(
    store: &Store,
    engine: &Engine,
    page: UnindexedPage,
    ahead: Option<StoredBody>,
) -> Result<Option<IndexEntry>, anyhow::Error> {
    let body = match ahead {
        Some(body) => Some(body),
        None => store.body(page.project, page.blob).await?,
    };
    let Some(body) = body else {
        return Ok(None);
    };
    let (page, source) = blocking_of(body.size as usize, move || {
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
    let entry = blocking_of(source.parts().html.len(), move || {
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

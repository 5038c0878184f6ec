//! Documents (PDF and the like) of the search index: converted one at a time, of each project in turn.
//! Their conversion may take many seconds, and pages do not wait for it.

use std::sync::Arc;

use orbweaver_accounts::clock::Clock;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{Engine, Page, PageParts};
use orbweaver_store::{DocumentClaim, IndexEntry, Store, StoreError, StoredBody, UnindexedPage};
use tokio::time::sleep;

use super::{LOOK, entry, headers, not_indexed};
use crate::blocking::blocking_of;
use crate::conversion::convert_document;
use crate::document::Document;

/// Runs as long as the process.
pub(crate) async fn run(store: &Store, engine: &Engine, clock: &Clock) {
    let mut changes = store.watch_changes();
    let mut last = ProjectId(0);
    loop {
        let all = match convert_waiting(store, engine, clock, &mut last).await {
            Ok(all) => all,
            Err(error) => {
                tracing::warn!(%error, "cannot index documents for search");
                false
            }
        };
        sleep(LOOK).await;
        if all {
            changes.changed().await;
        }
    }
}

/// Converts and indexes waiting documents until none is to be had. `last` is the project that had the last
/// turn. Returns whether none waits, those that other nodes convert included.
async fn convert_waiting(
    store: &Store,
    engine: &Engine,
    clock: &Clock,
    last: &mut ProjectId,
) -> Result<bool, StoreError> {
    while let Some(claim) = store.claim_document(*last, clock.now()).await? {
        *last = claim.project;
        let done = index(store, engine, claim).await;
        store.end_document_claim(claim, done.is_ok()).await?;
        done?;
    }
    Ok(!store.has_queued_documents().await?)
}

/// Indexes a document, unless it cannot be converted.
///
/// # Errors
/// A temporary failure of the database or the blob store.
async fn index(store: &Store, engine: &Engine, claim: DocumentClaim) -> Result<(), StoreError> {
    match converted(store, engine, claim).await {
        Ok(Some(entry)) => store.index(&[entry]).await,
        Ok(None) => Ok(()),
        Err(error) if error.is_transient() => Err(error),
        Err(error) => {
            not_indexed(claim.page, &error);
            Ok(())
        }
    }
}

/// The words of a document; `None` if it is gone, or cannot be converted.
async fn converted(
    store: &Store,
    engine: &Engine,
    claim: DocumentClaim,
) -> Result<Option<IndexEntry>, StoreError> {
    let Some(page) = store.unindexed_document(claim).await? else {
        return Ok(None);
    };
    let Some(body) = store.body(page.project, page.blob).await? else {
        return Ok(None);
    };
    let bytes = usize::try_from(body.size).unwrap_or(usize::MAX);
    let opened = blocking_of(bytes, move || open(page, body)).await;
    let (page, source) = opened.map_err(|_| StoreError::Fault)??;
    let engine = engine.of_project(page.project);
    let Ok(document) = convert_document(&engine, &source).await else {
        return Ok(None);
    };
    let html = document.html;
    let words = blocking_of(html.len(), move || entry(page, &html)).await;
    words.map(Some).map_err(|_| StoreError::Fault)
}

/// The document as plugins get it. CPU-bound.
fn open(page: UnindexedPage, body: StoredBody) -> Result<(UnindexedPage, Arc<Page>), StoreError> {
    let body = body.unpack()?;
    let source = Document::page_of(PageParts {
        url: page.final_url.clone(),
        final_url: page.final_url.clone(),
        status: 200,
        body: Arc::from(&body[..]),
        headers: headers(&page),
        ..PageParts::default()
    });
    Ok((page, source))
}

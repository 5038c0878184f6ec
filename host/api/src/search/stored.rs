//! Search over the project's own stored pages.

use futures::{StreamExt as _, TryStreamExt as _};
use orbweaver_core::page::page_text;
use orbweaver_core::words::query_terms;
use orbweaver_store::Principal;

use super::{SearchResult, fitting};
use crate::app::App;
use orbweaver_pipeline::convert::Format;
use orbweaver_pipeline::{AnswerBudget, Document, ScanError, blocking_of};

/// Terms of a query that count.
const MAX_TERMS: usize = 32;
/// Pages extracted at once.
const EXTRACTIONS: usize = 4;
/// The beginning of a page's text that stands for its content.
const SNIPPET_BYTES: usize = 300;

pub(super) async fn search(
    app: &App,
    principal: &Principal,
    query: &str,
    limit: usize,
    format: Format,
    room: &AnswerBudget,
) -> Result<Vec<SearchResult>, ScanError> {
    let project = principal.project;
    let pipeline = &app.pipeline.of_project(project);
    let terms = query_terms(query, MAX_TERMS);
    let wanted = u32::try_from(limit).unwrap_or(u32::MAX);
    let hits = app.store.search(project, &terms, wanted).await?;
    let _slot = app.scans.slots.acquire(project).await?;
    let found: Vec<Option<SearchResult>> = futures::stream::iter(hits)
        .map(|hit| async move {
            // A page may be deleted between the search and here.
            let Some(record) = app.store.page(project, hit.page).await? else {
                return Ok(None);
            };
            let Some(mut document) = Document::from_store(&app.store, project, record.page) else {
                return Ok(None);
            };
            let page = document.page().await?;
            let url = document.final_url.clone();
            let bytes = page.parts().html.len();
            let begin = move || page_text(&page.parts().html, "", SNIPPET_BYTES);
            let (facts, snippet) = blocking_of(bytes, begin).await?;
            // Pages that do not fit, or have no content, are answered with the snippet.
            let content = match room.check() {
                Ok(()) => pipeline.convert(&mut document, format, false).await,
                Err(_) => Ok(snippet.clone()),
            };
            let content = match content {
                Ok(content) => fitting(room, content, snippet),
                Err(error) => {
                    tracing::debug!(%error, url, "a found page has no content");
                    snippet
                }
            };
            Ok::<_, ScanError>(Some(SearchResult {
                url,
                title: facts.title.unwrap_or_default(),
                content,
                cost_micros: 0,
            }))
        })
        .buffered(EXTRACTIONS)
        .try_collect()
        .await?;
    Ok(found.into_iter().flatten().collect())
}

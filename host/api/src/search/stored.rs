//! Search over the project's own stored pages.

use futures::{StreamExt as _, TryStreamExt as _};
use orbweaver_core::page::page_pass;
use orbweaver_core::words::query_terms;
use orbweaver_store::Principal;

use super::SearchResult;
use crate::app::App;
use orbweaver_pipeline::convert::Format;
use orbweaver_pipeline::{Document, ScanError, blocking_of};

/// Terms of a query that count.
const MAX_TERMS: usize = 32;
/// Pages extracted at once.
const EXTRACTIONS: usize = 4;

pub(super) async fn search(
    app: &App,
    principal: &Principal,
    query: &str,
    limit: usize,
    format: Format,
) -> Result<Vec<SearchResult>, ScanError> {
    let project = principal.project;
    let pipeline = &app.pipeline.of_project(project);
    let terms = query_terms(query, MAX_TERMS);
    let wanted = u32::try_from(limit).unwrap_or(u32::MAX);
    let hits = app.store.search(project, &terms, wanted).await?;
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
            let title = move || page_pass(&page.parts().html, "").title;
            let title = blocking_of(bytes, title).await?;
            let content = pipeline.convert(&mut document, format, false).await?;
            Ok::<_, ScanError>(Some(SearchResult {
                url,
                title: title.unwrap_or_default(),
                content,
                cost_micros: 0,
            }))
        })
        .buffered(EXTRACTIONS)
        .try_collect()
        .await?;
    Ok(found.into_iter().flatten().collect())
}

//! Stored pages and runs as resources, for the links in results.

use rmcp::model::{ResourceContents, ResourceTemplate};
use serde_json::Value;

use crate::context::Ctx;
use crate::error::ApiError;
use crate::inside::{Call, Failure, Inside, segment};

const PAGE: &str = "orbweaver://pages/";
const CRAWL: &str = "orbweaver://crawls/";
/// Characters of one resource; a longer page is read in parts by the tool `page`.
const MAX_CHARS: usize = 1_000_000;

/// The URI of a stored page as Markdown.
pub(super) fn page_uri(id: i64) -> String {
    format!("{PAGE}{id}/markdown")
}

/// What resources there are.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{PAGE}{{id}}/{{format}}"), "page")
            .with_title("A stored page")
            .with_description("Formats: markdown, article, html. Same as GET /v1/pages/{id}."),
        ResourceTemplate::new(format!("{CRAWL}{{id}}"), "crawl")
            .with_title("A crawl")
            .with_description("Status and counts. Same as GET /v1/crawls/{id}.")
            .with_mime_type("application/json"),
    ]
}

/// The content of a resource.
///
/// # Errors
/// The API's error; 404 for what is no resource.
pub(super) async fn read(
    inside: &Inside,
    ctx: &Ctx,
    uri: &str,
) -> Result<ResourceContents, Failure> {
    if let Some(id) = uri.strip_prefix(CRAWL) {
        let run = Call::get(format!("/v1/crawls/{}", segment(id)));
        let run = inside.json(ctx, run).await?;
        let text = ResourceContents::text(run.to_string(), uri);
        return Ok(text.with_mime_type("application/json"));
    }
    let page = uri.strip_prefix(PAGE).and_then(|rest| rest.split_once('/'));
    let Some((id, format)) = page else {
        return Err(ApiError::not_found("there is no such resource").into());
    };
    let (member, mime_type) = match format {
        "markdown" => ("markdown", "text/markdown"),
        "article" => ("article_text", "text/plain"),
        "html" => ("html", "text/html"),
        _ => {
            let rule = "must end with /markdown, /article or /html";
            return Err(ApiError::invalid("uri", rule).into());
        }
    };
    let page = Call::get(format!("/v1/pages/{}", segment(id))).with("format", format);
    let mut page = inside.json(ctx, page).await?;
    let mut text = match page.get_mut(member).map(Value::take) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
        text.push_str("\n\n[cut here; the tool `page` reads on with `offset`]");
    }
    Ok(ResourceContents::text(text, uri).with_mime_type(mime_type))
}

//! A stored page.

use axum::Extension;
use axum::extract::{Path, Query};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::render;
use super::visitor::Visitor;
use crate::inside::{Call, Inside, segment};

/// Characters of a page that are shown.
const MAX_SHOWN: usize = 100_000;

/// Which form of the page.
#[derive(Debug, Default, Deserialize)]
pub(super) struct View {
    #[serde(default)]
    view: String,
}

/// GET /console/pages/{id}.
pub(super) async fn page(
    visitor: Visitor,
    Extension(inside): Extension<Inside>,
    Path(id): Path<String>,
    Query(view): Query<View>,
) -> Response {
    let (view, member) = match view.view.as_str() {
        "source" => ("source", "markdown"),
        "article" => ("article", "article_text"),
        "html" => ("html", "html"),
        "signals" => ("signals", "signals"),
        _ => ("markdown", "markdown"),
    };
    let format = if view == "source" { "markdown" } else { view };
    let path = format!("/v1/pages/{}", segment(&id));
    let call = Call::get(&path).with("format", format);
    let mut page = match inside.json(&visitor.ctx, call).await {
        Ok(page) => page,
        Err(failure) => return render::error_to(&visitor, &failure),
    };
    let content = page.get_mut(member).map(Value::take).unwrap_or_default();
    let mut is_cut = false;
    let content = match content {
        Value::String(mut text) => {
            if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
                text.truncate(end);
                is_cut = true;
            }
            Value::String(text)
        }
        other => other,
    };
    let line = format!("curl -s '{}{path}?format={format}'", visitor.base);
    let curl = format!("{line} -H \"Authorization: Bearer $KEY\"");
    let values = json!({
        "page": page,
        "view": view,
        "content": content,
        "is_cut": is_cut,
        "curl": curl,
    });
    render::page(&visitor, "page.html", values)
}

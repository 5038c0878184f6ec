//! A stored page.

use axum::Extension;
use axum::extract::Path;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::given::Given;
use super::render;
use super::visitor::Visitor;
use crate::inside::{Call, Inside, segment};

/// Characters of a page that are shown.
const MAX_SHOWN: usize = 100_000;

/// Views, with the member of the API's answer that they show.
const MARKDOWN: (&str, &str) = ("markdown", "markdown");
const SIGNALS: (&str, &str) = ("signals", "signals");

/// The API's `format` of a view.
fn format_of(view: &str) -> &str {
    if view == "source" { "markdown" } else { view }
}

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
    Given(view): Given<View>,
) -> Response {
    let asked = match view.view.as_str() {
        "source" => Some(("source", "markdown")),
        "article" => Some(("article", "article_text")),
        "html" => Some(("html", "html")),
        "signals" => Some(SIGNALS),
        "markdown" => Some(MARKDOWN),
        _ => None,
    };
    let (mut view, mut member) = asked.unwrap_or(MARKDOWN);
    let path = format!("/v1/pages/{}", segment(&id));
    let get = |format: &str| Call::get(&path).with("format", format);
    let mut problem = None;
    let answer = match inside.json(&visitor.ctx, get(format_of(view))).await {
        // A page without its HTML has its signals all the same, and what else its row has.
        Err(failure) if failure.status == StatusCode::UNPROCESSABLE_ENTITY => {
            if asked.is_some() {
                problem = Some(render::said(&failure));
            } else {
                (view, member) = SIGNALS;
            }
            inside.json(&visitor.ctx, get("signals")).await
        }
        answer => answer,
    };
    let mut page = match answer {
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
    let line = format!(
        "curl -s '{}{path}?format={}'",
        visitor.base,
        format_of(view)
    );
    let curl = format!("{line} -H \"Authorization: Bearer $KEY\"");
    let values = json!({
        "page": page,
        "view": view,
        "content": content,
        "is_cut": is_cut,
        "problem": problem,
        "curl": curl,
    });
    render::page(&visitor, "page.html", values)
}

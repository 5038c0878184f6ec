//! The scan result, put together from the plugins' JSON as it is.

use orbweaver_core::content::Kind;
use orbweaver_store::CloudMode;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::json::Object;
use crate::roles::{Outcome, RoleError};
use crate::site::Site;
use crate::spec::Content;

/// What of the article's answer a scan shows.
#[derive(Deserialize)]
struct Article<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
    #[serde(borrow)]
    html: &'a RawValue,
}

/// A picture: PNG in base64, or why there is none.
pub type Picture = Result<String, String>;

/// The answer of `POST /v1/scan`; `mode`: how the page came; `picture`: where one was asked
/// for.
pub fn assemble(
    document: &Document,
    mode: CloudMode,
    content: &Content,
    outcome: &Outcome,
    site: &Site,
    picture: Option<&Picture>,
) -> String {
    let mut errors: Vec<RoleError> = outcome.errors.clone();
    let article = outcome.role("article").and_then(|json| {
        serde_json::from_str::<Article<'_>>(json)
            .inspect_err(|error| {
                errors.push(RoleError {
                    role: "article".to_owned(),
                    plugin: None,
                    message: format!("its answer is no article: {error}"),
                });
            })
            .ok()
    });
    let mut out = Object::with_capacity(size(outcome) + 4_096);
    out.value("url", &document.url);
    out.value("final_url", &document.final_url);
    out.value("status", &document.status);
    out.value("cloud_mode", mode.as_str());
    out.value("bytes", &document.bytes);
    out.value("content_hash", &document.content_hash);
    out.raw("markdown", outcome.role("markdown").unwrap_or("null"));
    out.raw(
        "article",
        article
            .as_ref()
            .map_or("null", |article| article.text.get()),
    );
    out.raw(
        "article_html",
        article
            .as_ref()
            .map_or("null", |article| article.html.get()),
    );
    out.raw("metadata", outcome.role("metadata").unwrap_or("null"));
    out.raw("signals", outcome.role("signals").unwrap_or("null"));
    out.raw("ai_bot_policy", site.policy.as_deref().unwrap_or("null"));
    out.value("llms_txt", &site.llms);
    out.value("llms_full_txt", &site.llms_full);
    if content.include_links {
        // A body that is no page has no links; a plugin that failed leaves null.
        let none = if document.kind == Kind::Html {
            "null"
        } else {
            "[]"
        };
        out.raw("links", outcome.role("links").unwrap_or(none));
    }
    match picture {
        Some(Ok(png)) => out.value("screenshot", png),
        Some(Err(why)) => {
            out.raw("screenshot", "null");
            out.value("screenshot_error", why);
        }
        None => {}
    }
    let extensions = extensions(outcome);
    if let Some(extensions) = extensions {
        out.raw("extensions", &extensions);
    }
    out.value("errors", &errors);
    out.finish()
}

fn extensions(outcome: &Outcome) -> Option<String> {
    let mut json = String::new();
    for (name, answer) in outcome.extensions() {
        json.push(if json.is_empty() { '{' } else { ',' });
        json.push_str(&serde_json::Value::from(name).to_string());
        json.push(':');
        json.push_str(answer);
    }
    (!json.is_empty()).then(|| json + "}")
}

fn size(outcome: &Outcome) -> usize {
    ["markdown", "article", "metadata", "signals", "links"]
        .iter()
        .filter_map(|role| outcome.role(role))
        .map(str::len)
        .sum()
}

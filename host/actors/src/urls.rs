//! Checks the URLs of an input before the actor runs.

use orbweaver_engine::PluginInfo;
use serde_json::Value;

use crate::context::Actors;

/// Checks every URL of an input with the guard: `url`, which the answer repeats, and every
/// property or list item whose schema has the `format` `uri`. The error names the field.
///
/// # Errors
/// The first URL that is refused, as `field: rule`.
pub fn check_urls(actors: &Actors, actor: &PluginInfo, input: &Value) -> Result<(), String> {
    let Some(properties) = actor
        .input_schema
        .as_ref()
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object)
    else {
        return Ok(());
    };
    let judge = |field: String, url: &str| {
        let judged = actors.pipeline.fetcher.judge(url);
        judged
            .map(drop)
            .map_err(|refusal| format!("{field}: {refusal}"))
    };
    for (name, schema) in properties {
        match input.get(name) {
            Some(Value::String(url)) if name == "url" || is_uri(schema) => {
                judge(name.clone(), url)?;
            }
            Some(Value::Array(items)) if schema.get("items").is_some_and(is_uri) => {
                for (at, item) in items.iter().enumerate() {
                    if let Some(url) = item.as_str() {
                        judge(format!("{name}[{at}]"), url)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_uri(schema: &Value) -> bool {
    schema.get("format").and_then(Value::as_str) == Some("uri")
}

/// The answer's `url`: the input's, or the URL of the crawl that the input names.
pub(super) fn subject(input: &Value) -> Option<String> {
    if let Some(url) = input.get("url").and_then(Value::as_str) {
        return Some(url.to_owned());
    }
    let crawl = input.get("crawl_id").and_then(Value::as_i64)?;
    Some(format!("/v1/crawls/{crawl}"))
}

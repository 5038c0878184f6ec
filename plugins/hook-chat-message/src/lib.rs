//! Writes the webhooks of a crawl as messages for a chat tool.

use orbweaver_sdk::Error;
use orbweaver_sdk::hook::Delivery;
use serde::Deserialize;
use serde_json::{Map, Value};

orbweaver_sdk::delivery_hook! { deliver: deliver }

/// The configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The member that holds the message; `text` if absent.
    pub field: Option<String>,
    /// The message, with placeholders; one that says what has happened if absent.
    pub template: Option<String>,
    /// Further members.
    pub members: Map<String, Value>,
}

/// The message of a run that is done.
const DONE: &str = "{event}: {url} is {status}, {page_count} pages, {error_count} errors";
/// The message of a run that failed.
const FAILED: &str = "{event}: {url} has {status}: {error_message}";
/// The message of a monitor's run that found differences.
const DIFF: &str = "{event}: {url} has {added} new, {removed} missing and {changed} changed pages";

/// Makes the message.
pub fn deliver(config: Config, delivery: &Delivery, payload: Value) -> Result<Value, Error> {
    let template = match &config.template {
        Some(template) => template,
        None if payload.get("status").and_then(Value::as_str) == Some("failed") => FAILED,
        None if delivery.event == "crawl.diff_detected" => DIFF,
        None => DONE,
    };
    let field = config.field.unwrap_or_else(|| "text".to_owned());
    let mut message = config.members;
    message.insert(field, Value::String(filled(template, &payload)));
    Ok(Value::Object(message))
}

/// The template with its placeholders replaced; unknown ones stay as they are.
fn filled(template: &str, payload: &Value) -> String {
    let mut out = String::with_capacity(template.len() + 64);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after
            .split_once('}')
            .map(|(name, rest)| (value(name, payload), rest))
        {
            Some((Some(value), tail)) => {
                out.push_str(&value);
                rest = tail;
            }
            _ => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The value of a placeholder; empty where the payload has none, `None` for an unknown name.
fn value(name: &str, payload: &Value) -> Option<String> {
    let found = match name {
        "event" | "url" | "status" | "id" | "page_count" | "error_count" | "error_message" => {
            payload.get(name)
        }
        "added" | "removed" | "changed" => payload.get("diff").and_then(|diff| diff.get(name)),
        _ => return None,
    };
    Some(match found {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    })
}

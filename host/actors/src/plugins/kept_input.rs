//! Inputs of failed calls as they are kept: bounded, without credentials.

use std::borrow::Cow;
use std::sync::Arc;

use orbweaver_core::redact;
use orbweaver_engine::{CallInput, HookPoint, Page};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Longest input kept, in bytes.
const MAX_INPUT_BYTES: usize = 64 << 10;
/// Longest text of a page kept, in bytes.
const MAX_BODY_BYTES: usize = 256 << 10;
/// Response headers kept with a page.
const KEPT_HEADERS: [&str; 4] = [
    "content-type",
    "content-language",
    "last-modified",
    "x-robots-tag",
];

/// An input as it is kept.
pub(super) struct KeptInput {
    /// What was called and with what: JSON.
    pub(super) json: Value,
    /// SHA-256 of the whole input, lower-case hex.
    pub(super) digest: String,
    /// Text of the page.
    pub(super) body: Option<String>,
    /// Why the call cannot be made again; empty if it can.
    pub(super) not_replayable: &'static str,
}

const CREDENTIALS: &str = "its input had credentials, which are not kept";
const TOO_LARGE: &str = "its input is too large to be kept";
const NO_TEXT: &str = "its page is no text, which is not kept";
const HOOK: &str = "calls of hooks are part of a crawl's page";

impl KeptInput {
    pub(super) fn new(input: &CallInput) -> Self {
        let mut digest = Sha256::new();
        let mut hash = |parts: &[&[u8]]| {
            for part in parts {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
        };
        let mut why = "";
        let (json, body) = match input {
            CallInput::Role {
                page,
                role,
                options,
            } => {
                let parts = page.parts();
                hash(&[
                    role.as_bytes(),
                    uniform(options).as_bytes(),
                    parts.final_url.as_bytes(),
                    parts.html.as_bytes(),
                    if parts.html.is_empty() {
                        &*parts.body
                    } else {
                        &[]
                    },
                ]);
                let (page, body, page_why) = kept_page(page);
                why = page_why;
                let options = kept_json(options, &mut why);
                let json = json!({
                    "kind": "extractor", "role": role, "options": options, "page": page,
                });
                (json, body)
            }
            CallInput::Actor { input } => {
                hash(&[uniform(input).as_bytes()]);
                let input = kept_json(input, &mut why);
                (json!({"kind": "actor", "input": input}), None)
            }
            CallInput::Fetcher {
                domain,
                path,
                params,
            } => {
                hash(&[
                    domain.as_bytes(),
                    path.as_bytes(),
                    uniform(params).as_bytes(),
                ]);
                let params = kept_json(params, &mut why);
                let url = format!("https://{domain}/{path}");
                let safe = redact::url(&url);
                if safe != url {
                    why = CREDENTIALS;
                }
                let path = safe.splitn(4, '/').nth(3).unwrap_or_default();
                let json = json!({
                    "kind": "fetcher", "domain": domain, "path": path, "params": params,
                });
                (json, None)
            }
            CallInput::Hook {
                point,
                config,
                url,
                page,
            } => {
                let html = page.as_ref().map(|page| Arc::clone(&page.parts().html));
                let html = html.unwrap_or_default();
                hash(&[config.as_bytes(), url.as_bytes(), html.as_bytes()]);
                let config = kept_json(config, &mut why);
                let kept = page.as_ref().map(|page| kept_page(page));
                let (page, body) = match kept {
                    Some((page, body, _)) => (page, body),
                    None => (Value::Null, None),
                };
                why = HOOK;
                let json = json!({
                    "kind": "hook", "point": point_word(*point), "config": config,
                    "url": redact::url(url), "page": page,
                });
                (json, body)
            }
        };
        Self {
            json,
            digest: hex::encode(digest.finalize()),
            body,
            not_replayable: why,
        }
    }
}

const fn point_word(point: HookPoint) -> &'static str {
    match point {
        HookPoint::Discover => "discover",
        HookPoint::Record => "record",
        HookPoint::Request => "request",
        HookPoint::Response => "response",
        HookPoint::Deliver => "deliver",
    }
}

/// JSON of an input in one form, so that a call that is made again has the digest of the first.
fn uniform(text: &str) -> Cow<'_, str> {
    match text {
        "" => Cow::Borrowed("{}"),
        text if text.len() > MAX_INPUT_BYTES => Cow::Borrowed(text),
        text => serde_json::from_str(text).map_or(Cow::Borrowed(text), |value: Value| {
            Cow::Owned(value.to_string())
        }),
    }
}

/// JSON of an input without credentials; null if it is too large.
fn kept_json(text: &str, why: &mut &'static str) -> Value {
    if text.len() > MAX_INPUT_BYTES {
        *why = TOO_LARGE;
        return Value::Null;
    }
    let mut value: Value = match text {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or_default(),
    };
    if redact::json(&mut value) {
        *why = CREDENTIALS;
    }
    value
}

/// A page without credentials, its text if it is small enough, and why the call cannot be made again.
fn kept_page(page: &Page) -> (Value, Option<String>, &'static str) {
    let parts = page.parts();
    let headers = parts.headers.iter();
    let headers: Vec<[&str; 2]> = headers
        .filter(|(name, _)| KEPT_HEADERS.contains(&name.as_str()))
        .map(|(name, value)| [name.as_str(), value.as_str()])
        .collect();
    let (body, why) = match &*parts.html {
        "" if !parts.body.is_empty() => (None, NO_TEXT),
        html if html.len() > MAX_BODY_BYTES => (None, TOO_LARGE),
        html => (Some(html.to_owned()), ""),
    };
    let json = json!({
        "url": redact::url(&parts.url),
        "final_url": redact::url(&parts.final_url),
        "status": parts.status,
        "headers": headers,
        "bytes": parts.body.len(),
    });
    (json, body, why)
}

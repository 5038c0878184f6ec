//! Headers of the caller in a page's requests.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::render::RenderExtras;

/// A request that the browser has stopped before it is sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paused {
    request_id: String,
    request: PausedRequest,
}

#[derive(Deserialize)]
struct PausedRequest {
    url: String,
    headers: Map<String, Value>,
}

/// The command that sends a stopped request on, with the headers that its URL may receive. The
/// browser asks again for every redirect.
pub(super) fn send_on(
    params: &str,
    extras: Option<&RenderExtras>,
) -> Option<(&'static str, Value)> {
    let paused: Paused = serde_json::from_str(params).ok()?;
    let mut command = json!({"requestId": paused.request_id});
    let extras = extras.filter(|extras| {
        let receives = extras.receives.as_ref();
        receives.is_some_and(|receives| receives.0(&paused.request.url))
    });
    if let (Some(extras), Value::Object(command)) = (extras, &mut command) {
        let is_ours = |name: &str| {
            let mut ours = extras.headers.iter();
            ours.any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        let theirs = paused.request.headers.iter();
        let theirs = theirs.filter(|(name, _)| !is_ours(name)).map(
            |(name, value)| json!({"name": name, "value": value.as_str().unwrap_or_default()}),
        );
        let ours = extras.headers.iter();
        let ours = ours.map(|(name, value)| json!({"name": name, "value": value}));
        command.insert("headers".to_owned(), theirs.chain(ours).collect());
    }
    Some(("Fetch.continueRequest", command))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::browser::render::Receives;

    #[test]
    fn headers_go_to_accepted_urls_only_and_replace_the_browsers() {
        let extras = RenderExtras {
            headers: vec![("X-Key".to_owned(), "k".to_owned())],
            receives: Some(Receives(Arc::new(|url| {
                url.starts_with("https://a.example/")
            }))),
            ..RenderExtras::default()
        };
        let paused = |url: &str| {
            let request = json!({"url": url, "headers": {"x-key": "page", "Accept": "*/*"}});
            json!({"requestId": "7", "request": request}).to_string()
        };
        let (method, own) = send_on(&paused("https://a.example/x"), Some(&extras)).unwrap();
        assert_eq!(method, "Fetch.continueRequest");
        assert_eq!(
            own["headers"],
            json!([{"name": "Accept", "value": "*/*"}, {"name": "X-Key", "value": "k"}])
        );
        for (url, extras) in [
            ("https://b.example/", Some(&extras)),
            ("https://a.example/", None),
        ] {
            let (_, other) = send_on(&paused(url), extras).unwrap();
            assert_eq!(other, json!({"requestId": "7"}));
        }
    }
}

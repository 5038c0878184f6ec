//! Messages of done, failed and changed runs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use orbweaver_hook_chat_message::{Config, deliver};
use orbweaver_sdk::hook::Delivery;
use serde_json::{Value, json};

fn said(config: Value, event: &str, payload: Value) -> Value {
    let config: Config = serde_json::from_value(config).unwrap();
    let delivery = Delivery {
        event: event.to_owned(),
        run_id: 7,
        run_url: "https://example.org/".to_owned(),
    };
    deliver(config, &delivery, payload).unwrap()
}

fn payload(status: &str) -> Value {
    json!({
        "event": "crawl.done", "id": 7, "url": "https://example.org/", "status": status,
        "page_count": 12, "error_count": 1, "error_message": if status == "failed" { "no answer" } else { "" },
        "diff": {"added": 2, "removed": 0, "changed": 3},
    })
}

#[test]
fn without_a_template_the_message_says_what_has_happened() {
    let done = said(json!({}), "crawl.done", payload("done"));
    let text = "crawl.done: https://example.org/ is done, 12 pages, 1 errors";
    assert_eq!(done, json!({"text": text}));
    let failed = said(json!({}), "crawl.done", payload("failed"));
    let text = "crawl.done: https://example.org/ has failed: no answer";
    assert_eq!(failed["text"], text);
    let diff = said(json!({}), "crawl.diff_detected", payload("done"));
    let text = diff["text"].as_str().unwrap();
    assert!(
        text.ends_with("has 2 new, 0 missing and 3 changed pages"),
        "{text}"
    );
}

#[test]
fn a_template_is_filled_and_members_are_added() {
    let config = json!({
        "field": "content",
        "template": "{url} {{id}} {unknown} {added}{ {error_message}|",
        "members": {"username": "Orbweaver"},
    });
    assert_eq!(
        said(config, "crawl.done", payload("done")),
        json!({"username": "Orbweaver", "content": "https://example.org/ {7} {unknown} 2{ |"})
    );
}

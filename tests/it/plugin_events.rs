//! The events `plugin.quarantined` and `plugin.recovered`: who is told, and how often.

use chrono::TimeDelta;
use orbweaver_core::webhook::sign;
use serde_json::{Value, json};

use crate::plugin_figures::{pages, scanned, trap, with_quarantine};
use crate::support::http::Answer;
use crate::support::{Client, ReceivedRequest, Receiver, Service};
use crate::tenant_plugins::installed;

async fn put(client: &Client, body: &Value) -> Answer {
    let headers = [("content-type", "application/json")];
    let body = body.to_string();
    client
        .send("PUT", "/v1/webhook", &headers, body.as_bytes())
        .await
}

/// Sets the receiver of a client's project for all events; the answer.
async fn set(client: &Client, receiver: &Receiver) -> Value {
    let answer = put(client, &json!({"url": receiver.url()})).await;
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    answer.json()
}

/// The events of all deliveries of a client's project, oldest first, once everything that has happened
/// is written.
async fn told(service: &Service, client: &Client) -> Vec<String> {
    service.app.actors.journal.written().await;
    let shown = client.get("/v1/webhook").await.ok();
    let items = shown["deliveries"].as_array().expect("a list").iter().rev();
    let event = |item: &Value| item["event"].as_str().unwrap_or_default().to_owned();
    items.map(event).collect()
}

/// Checks the signature by the secret of a client's project, and returns the body.
async fn verified(service: &Service, client: &Client, request: &ReceivedRequest) -> Value {
    let secret = client.get("/v1/webhook/secret").await.ok();
    let secret = hex::decode(secret["secret_hex"].as_str().expect("digits")).expect("bytes");
    let now = service.app.clock.now();
    let signed = sign(&secret, request.header("webhook-id"), now, &request.body);
    assert_eq!(request.header("x-crawler-signature"), signed.crawler);
    let body = request.json();
    assert_eq!(
        Value::from(request.header("x-crawler-event")),
        body["event"]
    );
    body
}

async fn a_quarantine_is_told_once(postgres: bool) {
    const BEGUN: &str = "plugin.quarantined";
    const ENDED: &str = "plugin.recovered";
    let service = match postgres {
        true => Service::on_postgres_with(with_quarantine(0)).await,
        false => Service::with(with_quarantine(0)).await,
    };
    let ours = service.other_project("ours").await;
    let origin = pages().await;
    let mut receiver = Receiver::start(&[]).await;
    ours.get("/v1/webhook").await.error(404, "NOT_FOUND");
    assert_eq!(set(&ours, &receiver).await["events"], json!([BEGUN, ENDED]));
    let item = installed(&ours, "trap", &trap("1.0.0")).await;

    for _ in 0..2 {
        assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    }
    let begun = verified(&service, &ours, &receiver.next().await).await;
    let plugin = json!({
        "kind": "extractor", "name": "trap", "scope": "project", "version": "1.0.0",
        "digest": item["digest"],
    });
    assert_eq!(
        (&begun["event"], &begun["plugin"]),
        (&json!(BEGUN), &plugin)
    );
    assert_eq!(
        (&begun["crashes"], &begun["error"], &begun["refused_ms"]),
        (&json!(2), &json!("trap"), &json!(0))
    );
    // A crash on trial prolongs it.
    assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    assert_eq!(told(&service, &ours).await, [BEGUN]);
    assert_eq!(scanned(&ours, &origin, "good-again").await, "");
    let ended = verified(&service, &ours, &receiver.next().await).await;
    assert_eq!(
        (&ended["event"], &ended["plugin"]),
        (&json!(ENDED), &plugin)
    );
    assert!(ended.get("crashes").is_none(), "{ended}");

    // Again so soon: it is told when it lasts.
    for _ in 0..2 {
        assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    }
    assert_eq!(told(&service, &ours).await, [BEGUN, ENDED]);
    service.clock.advance(TimeDelta::seconds(300));
    assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    assert_eq!(told(&service, &ours).await, [BEGUN, ENDED, BEGUN]);
    receiver.next().await;

    // A new version begins without one.
    installed(&ours, "trap", &trap("2.0.0")).await;
    for _ in 0..2 {
        assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    }
    let begun = verified(&service, &ours, &receiver.next().await).await;
    assert_eq!(begun["plugin"]["version"], "2.0.0");

    // What was sent is deleted with what plugins logged, and nothing is sent without a receiver.
    let later = service.app.clock.now() + TimeDelta::seconds(1);
    let path = "/v1/webhook";
    ours.until(path, |answer| {
        answer.ok()["deliveries"][0]["status"] == "delivered"
    })
    .await;
    let store = &service.app.store;
    assert!(store.sweep_receivers(later).await.expect("a database") >= 4);
    assert_eq!(told(&service, &ours).await, [] as [&str; 0]);
    let removed = ours.send("DELETE", path, &[], b"").await;
    assert_eq!(removed.status, 204);
    assert_eq!(scanned(&ours, &origin, "good-again").await, "");
    service.app.actors.journal.written().await;
    assert!(receiver.is_quiet());
    ours.send("DELETE", path, &[], b"")
        .await
        .error(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_quarantine_and_its_end_are_told_once() {
    a_quarantine_is_told_once(false).await;
}

#[tokio::test]
async fn a_quarantine_and_its_end_are_told_once_on_postgres() {
    a_quarantine_is_told_once(true).await;
}

#[tokio::test]
async fn only_the_project_whose_calls_are_refused_is_told() {
    let service = Service::with(with_quarantine(0)).await;
    let (bad, good) = (
        service.other_project("bad").await,
        service.other_project("good").await,
    );
    let administrator = service.client();
    let origin = pages().await;
    let (mut ours, mut theirs) = (Receiver::start(&[]).await, Receiver::start(&[]).await);
    set(&bad, &ours).await;
    for client in [&good, &administrator] {
        set(client, &theirs).await;
    }
    installed(&administrator, "trap", &trap("1.0.0")).await;
    for _ in 0..2 {
        assert_eq!(scanned(&bad, &origin, "panic").await, "trap");
        assert_eq!(scanned(&good, &origin, "good-again").await, "");
    }
    let begun = verified(&service, &bad, &ours.next().await).await;
    assert_eq!(begun["plugin"]["scope"], "instance");
    for client in [&good, &administrator] {
        assert_eq!(told(&service, client).await, [] as [&str; 0]);
    }
    assert!(theirs.is_quiet());
}

#[tokio::test]
async fn a_receiver_has_a_url_and_known_events() {
    let service = Service::with(with_quarantine(0)).await;
    let ours = service.other_project("ours").await;
    let origin = pages().await;
    let receiver = Receiver::start(&[]).await;
    for (body, field) in [
        (json!({"url": "ftp://hooks.example/"}), "url"),
        (json!({"url": "hooks"}), "url"),
        (json!({"url": receiver.url(), "events": []}), "events"),
        (
            json!({"url": receiver.url(), "events": ["plugin.recovered", "crawl.done"]}),
            "events[1]",
        ),
    ] {
        let refused = put(&ours, &body).await;
        let message = refused.error(422, "INVALID_INPUT");
        assert!(message.starts_with(field), "{message}");
    }
    let ends = json!({"url": receiver.url(), "events": ["plugin.recovered", "plugin.recovered"]});
    let set = put(&ours, &ends).await;
    assert_eq!(
        (set.status, &set.json()["events"]),
        (201, &json!(["plugin.recovered"]))
    );
    installed(&ours, "trap", &trap("1.0.0")).await;
    for role in ["panic", "panic", "good-again"] {
        scanned(&ours, &origin, role).await;
    }
    assert_eq!(told(&service, &ours).await, ["plugin.recovered"]);
}

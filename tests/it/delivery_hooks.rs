//! Hooks that change the payloads of webhooks.

use orbweaver_core::webhook::sign;
use orbweaver_crawl::webhooks;
use orbweaver_origin::{Origin, Reply as Page};
use serde_json::{Value, json};

use crate::support::{Client, Receiver, Reply, Service, fixture, runs};

async fn site() -> Origin {
    let origin = Origin::start().await.unwrap();
    origin
        .set("/robots.txt", Page::text(""))
        .set("/", Page::html("<title>Home</title>"));
    origin
}

/// Loads the tests' hook.
async fn load(client: &Client) {
    let component = std::fs::read(fixture("hook-delivery")).unwrap();
    let headers = [("content-type", "application/wasm")];
    let path = "/v1/plugins/hook-delivery?grant=all";
    let loaded = client.send("PUT", path, &headers, &component).await;
    assert_eq!(loaded.status, 201, "{}", loaded.text());
}

/// Starts a crawl with these hooks that tells the receiver; its id.
async fn crawl(client: &Client, site: &Origin, receiver: &Receiver, hooks: Value) -> Value {
    let body = json!({"url": site.url("/"), "webhook_url": receiver.url(), "hooks": hooks});
    let begun = client.post("/v1/crawls", &body).await;
    assert_eq!(begun.status, 202, "{}", begun.text());
    begun.json()["id"].clone()
}

#[tokio::test]
async fn a_chat_tool_gets_its_own_message_signed_and_the_same_at_each_attempt() {
    let service = Service::start().await;
    let client = service.client();
    let site = site().await;
    let mut receiver = Receiver::start(&[Reply::Status(500)]).await;
    let hooks = json!([{"name": "chat-message", "config": {"members": {"username": "O"}}}]);
    let id = crawl(&client, &site, &receiver, hooks).await;
    let first = receiver.next().await;
    let text = format!("crawl.done: {} is done, 1 pages, 0 errors", site.url("/"));
    assert_eq!(first.json(), json!({"username": "O", "text": text}));
    assert_eq!(first.header("x-crawler-run-id"), id.to_string());
    // The attempt is written before the clock moves, since the next one is due relative to its end.
    let path = format!("/v1/crawls/{id}");
    let written = async {
        while client.get(&path).await.ok()["webhook_attempts"] != 1 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let deadline = std::time::Duration::from_secs(60);
    tokio::time::timeout(deadline, written)
        .await
        .expect("the attempt is written");
    service.clock.advance(chrono::TimeDelta::hours(1));
    let second = receiver.next().await;
    assert_eq!(second.body, first.body, "made once");
    assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
    let at = service.app.clock.now();
    let project = runs::project(&service).await;
    let secret = webhooks::secret(&service.app.store, project, at)
        .await
        .unwrap();
    let signed = sign(&secret, second.header("webhook-id"), at, &second.body);
    assert_eq!(second.header("webhook-signature"), signed.standard);
}

#[tokio::test]
async fn hooks_change_a_payload_one_after_the_other() {
    let service = Service::start().await;
    let client = service.client();
    load(&client).await;
    let site = site().await;
    let mut receiver = Receiver::start(&[]).await;
    let hooks = json!([
        {"name": "delivery"},
        {"name": "chat-message", "config": {"template": "{event} {url} {id}"}},
    ]);
    let id = crawl(&client, &site, &receiver, hooks).await;
    let told = receiver.next().await.json();
    // The second hook sees what the first has made, which has no `id`.
    assert_eq!(
        told,
        json!({"text": format!("crawl.done {} ", site.url("/"))})
    );
    let hooks = json!([{"name": "delivery"}]);
    let next = crawl(&client, &site, &receiver, hooks).await;
    let told = receiver.next().await.json();
    assert_eq!(
        (&told["run"], &told["calls"]),
        (&next, &json!(1)),
        "a new instance"
    );
    assert_eq!(told["event"], "crawl.done");
    assert_eq!(told["payload"]["id"], next);
    assert_eq!(told["payload"]["page_count"], 1);
    assert_eq!(told["payload"]["status"], "done");
    assert_ne!(id, next);
}

#[tokio::test]
async fn a_failed_hook_leaves_the_payload_and_is_listed() {
    let service = Service::start().await;
    let client = service.client();
    load(&client).await;
    let site = site().await;
    let mut receiver = Receiver::start(&[]).await;
    for what in [
        "spin", "eat", "recurse", "shout", "panic", "error", "not-json", "big",
    ] {
        let hooks = json!([{"name": "delivery", "config": {"do": what}}]);
        let id = crawl(&client, &site, &receiver, hooks).await;
        let told = receiver.next().await.json();
        assert_eq!(
            (&told["id"], &told["status"]),
            (&id, &json!("done")),
            "{what}: {told}"
        );
        let run = client.get(&format!("/v1/crawls/{id}")).await.ok();
        assert_eq!(run["plugin_error_count"], 1, "{what}: {run}");
        let errors = client.get(&format!("/v1/crawls/{id}/errors")).await.ok();
        let error = &errors["items"][0];
        assert_eq!(error["kind"], "plugin", "{what}: {errors}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("deliver: "), "{message}");
        assert!(!message.contains('\u{1b}'), "{message}");
    }
}

#[tokio::test]
async fn a_hook_whose_failure_ends_the_run_makes_it_fail() {
    let service = Service::start().await;
    let client = service.client();
    load(&client).await;
    let site = site().await;
    let mut receiver = Receiver::start(&[]).await;
    let hooks = json!([{"name": "delivery", "config": {"do": "error"}, "on_error": "fail"}]);
    let id = crawl(&client, &site, &receiver, hooks).await;
    let told = receiver.next().await.json();
    assert_eq!((&told["id"], &told["status"]), (&id, &json!("failed")));
    let why = told["error_message"].as_str().unwrap();
    assert!(
        why.starts_with("hook delivery: ") && why.contains("red"),
        "{why}"
    );
    let run = client.get(&format!("/v1/crawls/{id}")).await.ok();
    assert_eq!(run["status"], "failed");
    assert_eq!(run["page_count"], 1, "its pages stay");
}

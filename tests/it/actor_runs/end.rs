//! Runs that end before their actor has answered: cancelled, deleted, too long, beyond limits.

use orbweaver_core::setting::Millis;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Role;
use serde_json::{Value, json};

use super::{RUNS, begin, finished, is_hidden, items, run, service, service_with};
use crate::support::Receiver;

async fn origin() -> Origin {
    let origin = Origin::start().await.unwrap();
    origin.set("/page", Reply::html("<p>here"));
    origin
}

#[tokio::test]
async fn a_cancelled_actor_ends_by_itself_and_its_items_stay() {
    let (service, _folder) = service().await;
    let client = service.client();
    let origin = origin().await;
    let mut receiver = Receiver::start(&[]).await;
    let path = format!("{RUNS}?webhook_url={}", receiver.url());
    let input = json!({"do": "wait", "url": origin.url("/page")});
    let begun = client.post(&path, &input).await.json();
    let path = format!("{RUNS}/{}", begun["id"]);
    origin.asked("/page", 2).await;
    let answer = client
        .send("POST", &format!("{path}/cancel"), &[], b"")
        .await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let ended = finished(&client, &path).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert_eq!(ended["cancel_requested"], true);
    assert_eq!(
        (&ended["result"], &ended["error"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(items(&client, &path).await, json!([1]));
    assert_eq!(ended["billing"]["pages"], 1, "one URL, however often");
    assert_eq!(service.billed().await, (1, 0));
    // Again, it is as it was.
    let again = client
        .send("POST", &format!("{path}/cancel"), &[], b"")
        .await;
    assert_eq!(
        (again.status, &again.json()["status"]),
        (202, &json!("cancelled"))
    );
    // The end of this run is not told; that of the next one is.
    let path = format!("{RUNS}?webhook_url={}", receiver.url());
    let next = client.post(&path, &json!({"do": "emit"})).await.json();
    assert_eq!(receiver.next().await.json()["id"], next["id"]);
    let done = format!("{RUNS}/{}/cancel", next["id"]);
    let late = client.send("POST", &done, &[], b"").await;
    late.error(409, "CONFLICT");
}

#[tokio::test]
async fn an_actor_that_ignores_that_it_is_cancelled_is_ended() {
    let (service, _folder) = service_with(|config| {
        config.jobs.cancel_grace_ms = Millis(200);
    })
    .await;
    let client = service.client();
    let origin = origin().await;
    let path = begin(
        &client,
        &json!({"do": "ignore", "url": origin.url("/page")}),
    )
    .await;
    origin.asked("/page", 1).await;
    client
        .send("POST", &format!("{path}/cancel"), &[], b"")
        .await;
    let ended = finished(&client, &path).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert_eq!(items(&client, &path).await, json!([1]));
    assert_eq!(service.billed().await, (1, 0));
    assert_eq!(run(&client, &json!({"do": "emit"})).await["status"], "done");
}

#[tokio::test]
async fn a_queued_run_is_cancelled_at_once() {
    let (service, _folder) = service_with(|config| config.roles = vec![Role::Api]).await;
    let client = service.client();
    let path = begin(&client, &json!({"do": "emit"})).await;
    let answer = client
        .send("POST", &format!("{path}/cancel"), &[], b"")
        .await;
    assert_eq!(answer.json()["status"], "cancelled");
    let ended = finished(&client, &path).await;
    assert_eq!(
        (&ended["status"], &ended["attempts"]),
        (&json!("cancelled"), &json!(0))
    );
}

#[tokio::test]
async fn a_deleted_run_is_gone_and_what_it_fetched_is_billed() {
    let (service, _folder) = service().await;
    let client = service.client();
    let origin = origin().await;
    let path = begin(
        &client,
        &json!({"do": "ignore", "url": origin.url("/page")}),
    )
    .await;
    origin.asked("/page", 2).await;
    let follow = client.follow(&format!("{path}/events")).await;
    let deleted = client.send("DELETE", &path, &[], b"").await;
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    assert!(is_hidden(&client, &path).await);
    // Its followers are told, and the bill is written when the guest is gone.
    let events = follow.end().await;
    assert_eq!(events.status, 200);
    let events = events.text();
    assert!(
        events.is_empty() || events.contains("cancelled"),
        "{events}"
    );
    let mut changes = service.app.store.watch_changes();
    while service.billed().await != (1, 0) {
        changes.changed().await;
    }
    // The items go, too.
    while service.app.store.remove_job_items().await.unwrap() {}
    assert_eq!(run(&client, &json!({"do": "emit"})).await["status"], "done");
}

#[tokio::test]
async fn a_run_ends_at_its_time_limit_and_keeps_its_items() {
    let (service, _folder) = service_with(|config| config.jobs.max_seconds = 1).await;
    let client = service.client();
    let origin = origin().await;
    let path = begin(
        &client,
        &json!({"do": "ignore", "url": origin.url("/page")}),
    )
    .await;
    let ended = finished(&client, &path).await;
    assert_eq!(ended["status"], "failed");
    assert_eq!(ended["error"]["code"], "TIMEOUT", "{ended}");
    assert_eq!(items(&client, &path).await, json!([1]));
    assert_eq!(ended["billing"]["pages"], 1);
}

#[tokio::test]
async fn floods_of_items_and_progress_stay_within_the_limits() {
    let (service, _folder) = service_with(|config| {
        config.jobs.max_items = 1_000;
        config.jobs.max_cpu_seconds = 1;
    })
    .await;
    let client = service.client();
    let path = begin(&client, &json!({"do": "flood"})).await;
    let ended = finished(&client, &path).await;
    assert_eq!(ended["status"], "done", "{ended}");
    assert_eq!(
        (&ended["result"]["emitted"], &ended["item_count"]),
        (&json!(1_000), &json!(1_000))
    );
    assert_eq!(items(&client, &path).await.as_array().unwrap().len(), 1_000);
    let ended = run(&client, &json!({"do": "bad-items"})).await;
    assert_eq!(
        ended["result"],
        json!(["failed", "failed", "failed", "failed", "budget", "failed"])
    );
    assert_eq!(ended["item_count"], 0);
    for (what, code) in [
        ("progress-flood", "PLUGIN_FAILED"),
        ("huge-item", "PLUGIN_FAILED"),
        ("spin", "PLUGIN_FAILED"),
        ("long", "PLUGIN_FAILED"),
        ("leak", "PLUGIN_FAILED"),
        ("eat", "PLUGIN_FAILED"),
    ] {
        let ended = run(&client, &json!({"do": what})).await;
        assert_eq!(ended["status"], "failed", "{what}: {ended}");
        assert_eq!(ended["error"]["code"], code, "{what}: {ended}");
        let shown = ended["progress"]["message"].as_str().unwrap_or_default();
        assert!(
            shown.len() <= 6 * 500 && !shown.contains('\u{1b}'),
            "{shown}"
        );
    }
    assert_eq!(run(&client, &json!({"do": "emit"})).await["status"], "done");
}

#[tokio::test]
async fn the_size_of_all_items_is_limited() {
    let (service, _folder) = service_with(|config| config.jobs.max_items_mib = 0).await;
    let ended = run(&service.client(), &json!({"do": "emit"})).await;
    assert_eq!(ended["status"], "failed");
    let message = ended["error"]["message"].as_str().unwrap();
    assert!(message.contains("jobs.max_items_mib"), "{message}");
}

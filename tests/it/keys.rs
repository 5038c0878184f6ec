//! API keys: listed, rotated, revoked.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{Client, KEY, Service};

const KEYS: &str = "/v1/keys";
const ROTATE: &str = "/v1/keys/rotate";
const LOGS: &str = "/v1/logs";

async fn rotate(client: &Client, body: &Value) -> (Client, Value) {
    let rotated = client.post(ROTATE, body).await.ok();
    let key = rotated["api_key"].as_str().unwrap();
    (client.with_key(key), rotated)
}

async fn states(client: &Client) -> Vec<String> {
    let keys = client.get(KEYS).await.ok();
    keys["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["state"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_listing_shows_keys_by_prefix_only() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let client = service.client();
        client.get(LOGS).await.ok();
        let answer = client.get(KEYS).await;
        let keys = answer.ok();
        assert!(!answer.text().contains(KEY));
        let now = service.app.clock.now().to_rfc3339();
        let now = now.replace("+00:00", "Z");
        assert_eq!(
            keys["items"],
            json!([{
                "prefix": &KEY[..12], "label": "first key", "created_at": now,
                "last_used_at": now, "revoked_at": null, "expires_at": null, "state": "active",
            }])
        );
    }
}

#[tokio::test]
async fn a_rotation_without_grace_revokes_the_old_key_at_once() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let old = service.client();
        let (new, rotated) = rotate(&old, &json!({"label": "ci", "grace_seconds": 0})).await;
        old.get(LOGS).await.error(401, "UNAUTHORIZED");
        new.get(LOGS).await.ok();
        let key = rotated["api_key"].as_str().unwrap();
        assert_eq!(rotated["prefix"], &key[..12]);
        assert_eq!(
            (&rotated["label"], &rotated["grace_seconds"]),
            (&json!("ci"), &json!(0))
        );
        assert_eq!(rotated.as_object().unwrap().len(), 4);
        assert_eq!(states(&new).await, ["expired", "active"]);
    }
}

#[tokio::test]
async fn the_old_key_works_until_its_grace_ends() {
    let service = Service::start().await;
    let old = service.client();
    let (new, _) = rotate(&old, &json!({"grace_seconds": 5})).await;
    service.clock.advance(TimeDelta::milliseconds(4_999));
    old.get(LOGS).await.ok();
    assert_eq!(states(&new).await, ["active", "active"]);
    service.clock.advance(TimeDelta::milliseconds(1));
    old.get(LOGS).await.error(401, "UNAUTHORIZED");
    new.get(LOGS).await.ok();
    assert_eq!(states(&new).await, ["expired", "active"]);
}

#[tokio::test]
async fn the_default_grace_is_a_day() {
    let service = Service::start().await;
    let old = service.client();
    let answer = old.send("POST", ROTATE, &[], b"").await.ok();
    assert_eq!(answer["grace_seconds"], 86_400);
    assert_eq!(answer["label"], Value::Null);
    service.clock.advance(TimeDelta::seconds(86_399));
    old.get(LOGS).await.ok();
    service.clock.advance(TimeDelta::seconds(1));
    old.get(LOGS).await.error(401, "UNAUTHORIZED");
    let (new, _) = rotate(
        &old.with_key(answer["api_key"].as_str().unwrap()),
        &json!({"grace_seconds": 100}),
    )
    .await;
    // A later rotation does not extend the grace of an earlier one.
    let keys = new.get(KEYS).await.ok();
    let ends: Vec<bool> = keys["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["expires_at"].is_string())
        .collect();
    assert_eq!(ends, [true, true, false]);
    assert_eq!(keys["items"][0]["expires_at"], "2026-03-02T12:00:00Z");
}

#[tokio::test]
async fn an_invalid_rotation_names_field_and_rule() {
    let service = Service::start().await;
    let client = service.client();
    for (body, field) in [
        (json!({"grace_seconds": -1}), "grace_seconds"),
        (json!({"grace_seconds": "1"}), "grace_seconds"),
        (json!({"grace_seconds": 31_536_001}), "grace_seconds"),
        (json!({"label": "x".repeat(101)}), "label"),
        (json!({"label": "a\nb"}), "label"),
        (json!({"label": 1}), "label"),
        (json!([]), "body"),
    ] {
        let message = client.post(ROTATE, &body).await.error(422, "INVALID_INPUT");
        assert!(message.starts_with(&format!("{field}: ")), "{message}");
    }
    let answer = client.send("POST", ROTATE, &[], b"{").await;
    answer.error(400, "INVALID_INPUT");
    assert_eq!(states(&client).await, ["active"]);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once_and_the_last_key_is_kept() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let first = service.client();
        let mine = format!("{KEYS}/{}", &KEY[..12]);
        let message = first
            .send("DELETE", &mine, &[], b"")
            .await
            .error(409, "CONFLICT");
        assert!(message.contains("last active key"), "{message}");
        first.get(LOGS).await.ok();

        let (second, rotated) = rotate(&first, &json!({})).await;
        second.get(LOGS).await.ok();
        let answer = second.send("DELETE", &mine, &[], b"").await;
        assert_eq!((answer.status, answer.body.len()), (204, 0));
        first.get(LOGS).await.error(401, "UNAUTHORIZED");
        assert_eq!(states(&second).await, ["revoked", "active"]);
        // Revoking it again changes nothing.
        assert_eq!(second.send("DELETE", &mine, &[], b"").await.status, 204);
        let theirs = format!("{KEYS}/{}", rotated["prefix"].as_str().unwrap());
        second
            .send("DELETE", &theirs, &[], b"")
            .await
            .error(409, "CONFLICT");
        second
            .send("DELETE", &format!("{KEYS}/orb_nobodys0"), &[], b"")
            .await
            .error(404, "NOT_FOUND");

        let project = service.app.store.project_named("default").await.unwrap();
        let project = project.unwrap().id;
        let events = service.app.store.key_events(project).await.unwrap();
        let events: Vec<(&str, &str, &str)> = events
            .iter()
            .map(|event| {
                (
                    event.prefix.as_str(),
                    event.action.as_str(),
                    event.actor.as_str(),
                )
            })
            .collect();
        let (one, two) = (&KEY[..12], rotated["prefix"].as_str().unwrap());
        assert_eq!(
            events,
            [
                (one, "issued", "start"),
                (one, "grace", one),
                (two, "issued", one),
                (one, "revoked", two),
            ]
        );
    }
}

#[tokio::test]
async fn a_key_in_its_grace_period_stays_when_the_new_one_is_revoked() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let old = service.client();
        let (new, rotated) = rotate(&old, &json!({})).await;
        let theirs = format!("{KEYS}/{}", rotated["prefix"].as_str().unwrap());
        assert_eq!(old.send("DELETE", &theirs, &[], b"").await.status, 204);
        new.get(LOGS).await.error(401, "UNAUTHORIZED");
        // It is the last one, and so does not expire any more.
        service.clock.advance(TimeDelta::hours(25));
        old.get(LOGS).await.ok();
        let keys = old.get(KEYS).await.ok();
        let mine = keys["items"].as_array().unwrap();
        let mine = mine.iter().find(|key| key["prefix"] == KEY[..12]);
        assert_eq!(mine.unwrap()["expires_at"], Value::Null, "{keys}");
        let path = format!("{KEYS}/{}", &KEY[..12]);
        let last = old.send("DELETE", &path, &[], b"").await;
        last.error(409, "CONFLICT");
        let project = service.app.store.project_named("default").await.unwrap();
        let project = project.unwrap().id;
        let events = service.app.store.key_events(project).await.unwrap();
        let kept = events.iter().filter(|event| event.action == "kept");
        let kept: Vec<&str> = kept.map(|event| event.prefix.as_str()).collect();
        assert_eq!(kept, [&KEY[..12]]);
    }
}

#[tokio::test]
async fn of_several_keys_that_expire_the_last_one_is_kept() {
    let service = Service::start().await;
    let first = service.client();
    let (second, _) = rotate(&first, &json!({"grace_seconds": 60})).await;
    let (third, rotated) = rotate(&second, &json!({"grace_seconds": 600})).await;
    let theirs = format!("{KEYS}/{}", rotated["prefix"].as_str().unwrap());
    assert_eq!(third.send("DELETE", &theirs, &[], b"").await.status, 204);
    service.clock.advance(TimeDelta::hours(1));
    first.get(LOGS).await.error(401, "UNAUTHORIZED");
    second.get(LOGS).await.ok();
}

#[tokio::test]
async fn two_keys_that_revoke_each_other_leave_one() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let first = service.client();
        let (second, rotated) = rotate(&first, &json!({})).await;
        let (one, two) = (
            format!("{KEYS}/{}", &KEY[..12]),
            format!("{KEYS}/{}", rotated["prefix"].as_str().unwrap()),
        );
        let (a, b) = tokio::join!(
            first.send("DELETE", &two, &[], b""),
            second.send("DELETE", &one, &[], b""),
        );
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        // The slower request fails: its own key is revoked, or it would revoke the last key.
        assert!(matches!(statuses, [204, 401 | 409]), "{statuses:?}");
    }
}

#[tokio::test]
async fn another_node_refuses_a_revoked_key() {
    let service = Service::on_postgres().await;
    let node = service.node().await;
    let here = service.client();
    let (second, _) = rotate(&here, &json!({})).await;
    let there = here.at(node.address);
    there.get(LOGS).await.ok();
    let mine = format!("{KEYS}/{}", &KEY[..12]);
    assert_eq!(second.send("DELETE", &mine, &[], b"").await.status, 204);
    here.get(LOGS).await.error(401, "UNAUTHORIZED");
    // Half a second at most: the node checks the database before it trusts its cache. A cache
    // entry expires only after a minute.
    let forgotten = there.until(LOGS, |answer| answer.status != 200);
    let refused = tokio::time::timeout(Duration::from_secs(20), forgotten).await;
    refused
        .expect("the other node refuses the key")
        .error(401, "UNAUTHORIZED");
    second.at(node.address).get(LOGS).await.ok();
}

#[tokio::test]
async fn the_log_names_the_key_of_each_request() {
    let service = Service::start().await;
    let first = service.client();
    let (second, rotated) = rotate(&first, &json!({})).await;
    second.get("/v1/usage").await.ok();
    let prefix = rotated["prefix"].as_str().unwrap();
    let log = second
        .get(&format!("/v1/logs?key_prefix={prefix}"))
        .await
        .ok();
    let items = log["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{log}");
    assert_eq!(items[0]["path"], "/v1/usage");
    for other in ["orb_", "%00aaaaaaaaaaa", "orb_aaaaaaa%C3"] {
        let message = first
            .get(&format!("/v1/logs?key_prefix={other}"))
            .await
            .error(422, "INVALID_INPUT");
        assert!(message.starts_with("key_prefix: "), "{message}");
    }
}

#[tokio::test]
async fn a_webhook_secret_is_created_once_per_project() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let client = service.client();
        let first = client.get("/v1/webhook/secret").await.ok();
        assert_eq!(first, client.get("/v1/webhook/secret").await.ok());
        let secret = first["secret_hex"].as_str().unwrap();
        assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(first["alg"], "sha256");
        assert_eq!(first["header"], "X-Crawler-Signature");
        assert_eq!(first["signature_format"], "sha256=<hex>");
        let other = service.other_project("shop").await;
        assert_ne!(other.get("/v1/webhook/secret").await.ok(), first);
        let client = client.clone();
        let service = service.restart().await;
        let after = client.at(service.address).get("/v1/webhook/secret").await;
        assert_eq!(after.ok(), first);
    }
}

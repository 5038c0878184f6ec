//! What a plugin logged and its failed calls: who sees them, what is not kept, bounds, and replay.

use orbweaver_origin::Reply;
use serde_json::{Value, json};

use crate::support::{Client, Service, closed_port};
use crate::tenant_plugins::{allowing, delete, extractor, installed, read, site, until};

/// Fails with a panic in role `panic`; answers in role `good-again`.
async fn install_trap(client: &Client) {
    installed(client, "trap", &read("trap")).await;
}

async fn fail(client: &Client, url: &str) -> String {
    let scan = json!({"url": url, "extractors": ["panic"]});
    let answer = client.post("/v1/scan", &scan).await;
    assert_eq!(
        answer.json()["errors"][0]["code"],
        "trap",
        "{}",
        answer.text()
    );
    answer.header("x-request-id").expect("an id").to_owned()
}

async fn items(client: &Client, path: &str) -> Vec<Value> {
    let list = client.get(path).await.ok();
    list["items"].as_array().expect("a list").clone()
}

async fn sees_records_of_its_own_only(service: Service) {
    let ours = service.other_project("ours").await;
    let others = service.other_project("others").await;
    let origin = site().await;
    let url = origin.url("/");
    install_trap(&ours).await;
    let request = fail(&ours, &url).await;

    let logs = items(&ours, "/v1/plugins/trap/logs").await;
    let panic = logs.iter().find(|line| {
        line["message"]
            .as_str()
            .is_some_and(|text| text.contains("a message for the log"))
    });
    let panic = panic.unwrap_or_else(|| panic!("{logs:?}"));
    assert_eq!(
        (&panic["request_id"], &panic["version"]),
        (&json!(request), &json!("0.1.0"))
    );
    assert!(panic["at"].is_string() && panic["run_id"].is_null());
    let errors = items(&ours, "/v1/plugins/trap/logs?level=error").await;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0]["message"]
            .as_str()
            .expect("text")
            .starts_with("trap: ")
    );
    let line = errors[0]["message"].as_str().expect("text");
    assert_eq!(line.matches("trap: ").count(), 1, "{line}");
    let none = items(&ours, "/v1/plugins/trap/logs?request_id=0").await;
    assert!(none.is_empty());

    let calls = items(&ours, "/v1/plugins/trap/calls").await;
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!(call["error"]["code"], "trap");
    let why = call["error"]["message"].as_str().expect("text");
    assert!(!why.starts_with("trap: "), "{why}");
    assert_eq!(
        (&call["input"]["kind"], &call["input"]["role"]),
        (&json!("extractor"), &json!("panic"))
    );
    assert_eq!(call["input"]["page"]["final_url"], json!(url));
    assert_eq!(
        (&call["request_id"], &call["replayable"]),
        (&json!(request), &json!(true))
    );
    assert!(call["memory_bytes"].as_u64().expect("bytes") > 0 && call.get("body").is_none());
    let one = ours
        .get(&format!("/v1/plugins/trap/calls/{}", call["id"]))
        .await
        .ok();
    assert!(
        one["body"]
            .as_str()
            .expect("text")
            .contains("Text of the page."),
        "{one}"
    );

    // A plugin of the same name in another project has its own.
    install_trap(&others).await;
    for path in ["/v1/plugins/trap/logs", "/v1/plugins/trap/calls"] {
        assert!(items(&others, path).await.is_empty());
        service.client().get(path).await.error(404, "NOT_FOUND");
    }
    let id = call["id"].clone();
    for id in [id.to_string().as_str(), "abc", "99999999999999999999"] {
        others
            .get(&format!("/v1/plugins/trap/calls/{id}"))
            .await
            .error(404, "NOT_FOUND");
    }
    let replay = format!("/v1/plugins/trap/calls/{id}/replay");
    others
        .post(&replay, &json!({}))
        .await
        .error(404, "NOT_FOUND");
    // Every node sees them.
    let there = service.node().await;
    let seen = ours.at(there.address);
    until(&seen, "/v1/plugins/trap/calls", |answer| {
        answer.status == 200 && answer.json()["items"][0]["id"] == id
    })
    .await;
    // They go with the plugin.
    assert_eq!(delete(&ours, "trap").await.status, 204);
    install_trap(&ours).await;
    assert!(items(&ours, "/v1/plugins/trap/calls").await.is_empty());
    assert!(items(&ours, "/v1/plugins/trap/logs").await.is_empty());
}

#[tokio::test]
async fn a_project_sees_the_records_of_its_own_plugins_alone_on_sqlite() {
    sees_records_of_its_own_only(Service::with(allowing(3)).await).await;
}

#[tokio::test]
async fn a_project_sees_the_records_of_its_own_plugins_alone_on_postgres() {
    sees_records_of_its_own_only(Service::on_postgres_with(allowing(3)).await).await;
}

#[tokio::test]
async fn of_the_instances_plugins_only_the_administrators_own_calls_are_kept() {
    let service = Service::with(allowing(1)).await;
    let administrator = service.client();
    let tenant = service.other_project("tenant").await;
    let origin = site().await;
    origin.set("/secret", Reply::html("<title>Ours</title>"));
    install_trap(&administrator).await;
    fail(&tenant, &origin.url("/secret")).await;
    fail(&administrator, &origin.url("/")).await;
    let calls = items(&administrator, "/v1/plugins/trap/calls").await;
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(
        calls[0]["input"]["page"]["final_url"],
        json!(origin.url("/"))
    );
    for line in items(&administrator, "/v1/plugins/trap/logs").await {
        assert!(!line.to_string().contains("/secret"), "{line}");
    }
    tenant
        .get("/v1/plugins/trap/calls")
        .await
        .error(404, "NOT_FOUND");
}

#[tokio::test]
async fn no_credentials_are_kept() {
    let service = Service::with(allowing(2)).await;
    let ours = service.other_project("ours").await;
    let origin = site().await;
    let page = Reply::html("<title>A</title>")
        .header("set-cookie", "sid=hunter2")
        .header("x-api-key", "hunter2");
    origin.set("/a", page);
    install_trap(&ours).await;
    fail(&ours, &origin.url("/a?access_token=hunter2&page=1")).await;
    installed(
        &ours,
        "two-pages-rs?grant=http",
        &read("actor-two-pages-rs"),
    )
    .await;
    let closed = format!("{}/x?password=hunter2&page=1", closed_port().await);
    let input = json!({"urls": [origin.url("/a?token=hunter2"), closed]});
    let failed = ours.post("/v1/actors/two-pages-rs", &input).await;
    assert!(failed.status >= 400, "{}", failed.text());
    for name in ["trap", "two-pages-rs"] {
        let calls = items(&ours, &format!("/v1/plugins/{name}/calls")).await;
        assert_eq!(calls.len(), 1, "{name}: {calls:?}");
        let path = format!("/v1/plugins/{name}/calls/{}", calls[0]["id"]);
        let logs = ours.get(&format!("/v1/plugins/{name}/logs")).await.text();
        for kept in [ours.get(&path).await.text(), logs] {
            assert!(!kept.contains("hunter2"), "{kept}");
        }
    }
    // An input that is not kept as a whole is not used as if it were.
    let calls = items(&ours, "/v1/plugins/two-pages-rs/calls").await;
    assert_eq!(calls[0]["replayable"], false);
    let replay = format!("/v1/plugins/two-pages-rs/calls/{}/replay", calls[0]["id"]);
    let refused = ours.post(&replay, &json!({})).await;
    assert!(refused.error(409, "CONFLICT").contains("credentials"));
}

#[tokio::test]
async fn what_is_kept_of_a_plugin_is_bounded_and_expires() {
    let service = Service::with(|config| {
        allowing(1)(config);
        config.plugins.quarantine_crashes = 0;
    })
    .await;
    let ours = service.other_project("ours").await;
    let origin = site().await;
    let large = format!("<title>L</title><p>{}", "text ".repeat(40_000));
    install_trap(&ours).await;
    let mut urls = Vec::new();
    for page in 0..60 {
        let path = format!("/{page}");
        origin.set(
            &path,
            Reply::html(if page % 2 == 0 { &large } else { "<p>small" }),
        );
        urls.push(origin.url(&path));
    }
    let bulk = json!({"urls": urls, "extractors": ["panic"]});
    ours.post("/v1/scan/bulk", &bulk).await.ok();
    let calls = items(&ours, "/v1/plugins/trap/calls?limit=500").await;
    assert!((20..=50).contains(&calls.len()), "{}", calls.len());
    let mut bytes = 0;
    for call in &calls {
        let one = ours
            .get(&format!("/v1/plugins/trap/calls/{}", call["id"]))
            .await
            .ok();
        bytes += one["body"].as_str().map_or(0, str::len);
    }
    assert!(bytes <= 4 << 20, "{bytes}");
    let first = ours.get("/v1/plugins/trap/calls?limit=10").await.ok();
    let next = format!(
        "/v1/plugins/trap/calls?limit=10&before={}",
        first["next_before"]
    );
    assert_eq!(items(&ours, &next).await[0]["id"], calls[10]["id"]);
    assert!(items(&ours, "/v1/plugins/trap/logs?limit=500").await.len() <= 500);
    for (field, path) in [
        ("limit", "/v1/plugins/trap/logs?limit=501"),
        ("before", "/v1/plugins/trap/calls?before=0"),
        ("level", "/v1/plugins/trap/logs?level=loud"),
        ("request_id", "/v1/plugins/trap/logs?request_id=%00"),
    ] {
        let refused = ours.get(path).await;
        assert!(refused.error(422, "INVALID_INPUT").starts_with(field));
    }
    let store = &service.app.store;
    let later = service.app.clock.now() + chrono::TimeDelta::days(1);
    assert!(store.sweep_plugin_records(later).await.expect("a database") > 0);
    assert!(items(&ours, "/v1/plugins/trap/calls").await.is_empty());
    assert!(items(&ours, "/v1/plugins/trap/logs").await.is_empty());
}

#[tokio::test]
async fn a_failed_call_is_made_again_with_the_version_that_serves_and_billed() {
    let service = Service::with(allowing(3)).await;
    let ours = service.other_project("ours").await;
    let origin = site().await;
    install_trap(&ours).await;
    fail(&ours, &origin.url("/")).await;
    let calls = items(&ours, "/v1/plugins/trap/calls").await;
    let path = format!("/v1/plugins/trap/calls/{}/replay", calls[0]["id"]);
    let pages = async || {
        ours.get("/v1/usage").await.ok()["today"]["pages"]
            .as_u64()
            .expect("pages")
    };
    let before = pages().await;
    let again = ours.post(&path, &json!({})).await.ok();
    assert_eq!(
        (&again["ok"], &again["error"]["code"]),
        (&json!(false), &json!("trap")),
        "{again}"
    );
    assert_eq!(pages().await - before, 1);
    let after = items(&ours, "/v1/plugins/trap/calls").await;
    assert_eq!(after.len(), 2, "the failure is kept as any other");
    assert_eq!(after[0]["input_digest"], calls[0]["input_digest"]);

    // The version that serves now answers for the role.
    let mended = extractor("trap", "2.0.0", "panic");
    installed(&ours, "trap", &mended).await;
    let again = ours.post(&path, &json!({})).await.ok();
    assert_eq!(
        (&again["ok"], &again["version"]),
        (&json!(true), &json!("2.0.0")),
        "{again}"
    );
    assert_eq!(again["result"]["role"], "panic");
    assert_eq!(again["result"]["status"], 200);
    let html = again["result"]["html"].as_u64().expect("a length");
    assert!(html > 0, "{again}");

    // Without the role, or without the plugin, there is nothing to call.
    installed(&ours, "trap", &extractor("trap", "3.0.0", "other")).await;
    ours.post(&path, &json!({})).await.error(409, "CONFLICT");
    let missing = "/v1/plugins/trap/calls/999999/replay";
    ours.post(missing, &json!({})).await.error(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_failed_call_of_an_actor_is_made_again() {
    let service = Service::with(allowing(1)).await;
    let ours = service.other_project("ours").await;
    let origin = site().await;
    installed(
        &ours,
        "two-pages-rs?grant=http",
        &read("actor-two-pages-rs"),
    )
    .await;
    // The second page redirects to itself at first.
    origin.set("/b", Reply::redirect(302, "/b"));
    let input = json!({"urls": [origin.url("/"), origin.url("/b")]});
    let failed = ours.post("/v1/actors/two-pages-rs", &input).await;
    assert!(failed.status >= 400, "{}", failed.text());
    let calls = items(&ours, "/v1/plugins/two-pages-rs/calls").await;
    assert_eq!(calls[0]["input"], json!({"kind": "actor", "input": input}));
    let path = format!("/v1/plugins/two-pages-rs/calls/{}/replay", calls[0]["id"]);
    assert_eq!(ours.post(&path, &json!({})).await.ok()["ok"], false);
    origin.set("/b", Reply::html("<title>B</title>"));
    let again = ours.post(&path, &json!({})).await.ok();
    assert_eq!(again["ok"], true, "{again}");
    assert_eq!(again["result"]["actor"], "two-pages-rs");
}

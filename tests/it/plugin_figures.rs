//! What the calls of a plugin used, by version, and its quarantine: who sees them, and what they show.

use std::sync::atomic::{AtomicUsize, Ordering};

use orbweaver_core::setting::Millis;
use orbweaver_engine::manifest;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Config;
use serde_json::{Value, json};

use crate::support::{Client, Service};
use crate::tenant_plugins::{allowing, delete, extractor, installed, read, site, until};

/// Allows projects three plugins, and quarantines a plugin after two crashes for this time.
pub fn with_quarantine(ms: u64) -> impl FnOnce(&mut Config) {
    move |config| {
        allowing(3)(config);
        config.plugins.quarantine_crashes = 2;
        config.plugins.quarantine_ms = Millis(ms);
    }
}

const HOUR: u64 = 3_600_000;

/// The hostile extractor `trap` with this version in its manifest.
pub fn trap(version: &str) -> Vec<u8> {
    let component = read("trap");
    let text = manifest::read_text(&component).expect("a manifest");
    let text = text.replace("version = \"0.1.0\"", &format!("version = \"{version}\""));
    manifest::embed(&component, &text).expect("a component")
}

/// A site with any number of different pages.
pub async fn pages() -> Origin {
    let origin = site().await;
    origin.set_under("/page/", |request| {
        Reply::html(format!("<title>{}</title>", request.target))
    });
    origin
}

/// The code of the error of a role in a scan of a new page, for which no result is kept; empty if it
/// succeeded.
pub async fn scanned(client: &Client, origin: &Origin, role: &str) -> String {
    static PAGES: AtomicUsize = AtomicUsize::new(0);
    let page = PAGES.fetch_add(1, Ordering::Relaxed);
    let scan = json!({"url": origin.url(&format!("/page/{page}")), "extractors": [role]});
    let answer = client.post("/v1/scan", &scan).await.ok();
    let code = answer["errors"][0]["code"].as_str();
    code.unwrap_or_default().to_owned()
}

async fn metrics(client: &Client, name: &str) -> Value {
    let path = format!("/v1/plugins/{name}/metrics");
    client.get(&path).await.ok()
}

async fn quarantine(client: &Client, name: &str) -> Value {
    let plugin = client.get(&format!("/v1/plugins/{name}")).await.ok();
    plugin["quarantine"].clone()
}

#[tokio::test]
async fn calls_are_counted_for_each_version_and_seen_by_the_project_alone() {
    let service = Service::with(with_quarantine(HOUR)).await;
    let ours = service.other_project("ours").await;
    let others = service.other_project("others").await;
    let origin = pages().await;
    installed(&ours, "trap", &trap("1.0.0")).await;
    for (role, code) in [("good-again", ""), ("panic", "trap"), ("good-again", "")] {
        assert_eq!(scanned(&ours, &origin, role).await, code);
    }
    let shown = metrics(&ours, "trap").await;
    assert_eq!(
        (&shown["kind"], &shown["name"]),
        (&json!("extractor"), &json!("trap"))
    );
    let versions = shown["versions"].as_array().expect("versions");
    assert_eq!(versions.len(), 1);
    let first = &versions[0];
    assert_eq!(
        (&first["version"], &first["serving"]),
        (&json!("1.0.0"), &json!(true))
    );
    assert_eq!(
        (&first["calls"], &first["error_count"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(first["errors"], json!({"trap": 1}));
    for time in ["wall_ms", "cpu_ms"] {
        let of = |field: &str| first[time][field].as_f64().expect("a number");
        assert!(of("p50") > 0.0 && of("p50") <= of("p99"), "{first}");
        assert!(of("p99") <= of("total") * 1.01, "{first}");
    }
    assert!(
        first["peak_memory_bytes"].as_u64().expect("bytes") > 65_536,
        "{first}"
    );
    assert!(first["since"].is_string() && first["digest"].is_string());

    // A new version begins at zero; the figures of the earlier one stay.
    installed(&ours, "trap", &trap("2.0.0")).await;
    assert_eq!(scanned(&ours, &origin, "good-again").await, "");
    let shown = metrics(&ours, "trap").await;
    let calls = |index: usize| {
        (
            &shown["versions"][index]["version"],
            &shown["versions"][index]["calls"],
        )
    };
    assert_eq!(calls(0), (&json!("2.0.0"), &json!(1)));
    assert_eq!(calls(1), (&json!("1.0.0"), &json!(3)));
    assert_eq!(shown["versions"][1]["serving"], false);

    for stranger in [&others, &service.client()] {
        for path in ["/v1/plugins/trap", "/v1/plugins/trap/metrics"] {
            stranger.get(path).await.error(404, "NOT_FOUND");
        }
    }
    // Figures of the instance's plugins are the administrator's, whoever called them.
    for path in ["/v1/plugins/metadata", "/v1/plugins/metadata/metrics"] {
        ours.get(path).await.error(404, "NOT_FOUND");
        let refused = ours.get(&format!("{path}?scope=instance")).await;
        refused.error(403, "FORBIDDEN");
    }
    let instance = metrics(&service.client(), "metadata").await;
    assert!(instance["versions"][0]["calls"].as_u64().expect("a number") > 0);

    // What is removed is forgotten, also for one that takes its name.
    assert_eq!(delete(&ours, "trap").await.status, 204);
    ours.get("/v1/plugins/trap/metrics")
        .await
        .error(404, "NOT_FOUND");
    installed(&ours, "trap", &extractor("trap", "3.0.0", "special")).await;
    let shown = metrics(&ours, "trap").await;
    assert_eq!(shown["versions"].as_array().expect("versions").len(), 1);
    assert_eq!(shown["versions"][0]["calls"], 0);
}

#[tokio::test]
async fn requests_for_what_is_not_granted_are_counted() {
    let service = Service::start().await;
    let client = service.client();
    let origin = pages().await;
    let component = read("actor-two-pages-rs");
    let path = "two-pages-rs?grant=http=https://*.example.com";
    installed(&client, path, &component).await;
    let input = json!({"urls": [origin.url("/page/1"), origin.url("/page/2")]});
    let refused = client.post("/v1/actors/two-pages-rs", &input).await;
    let message = refused.error(500, "PLUGIN_FAILED");
    assert!(message.starts_with("not-granted: "), "{message}");
    let version = &metrics(&client, "two-pages-rs").await["versions"][0];
    assert_eq!(
        (&version["calls"], &version["denials"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(version["errors"], json!({"not-granted": 1}));
}

#[tokio::test]
async fn a_plugin_that_crashes_again_and_again_is_refused_until_a_new_version() {
    let service = Service::with(with_quarantine(HOUR)).await;
    let ours = service.other_project("ours").await;
    let origin = pages().await;
    installed(&ours, "trap", &trap("1.0.0")).await;
    assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    // An answer in between ends the row.
    assert_eq!(scanned(&ours, &origin, "good-again").await, "");
    assert_eq!(scanned(&ours, &origin, "abort").await, "trap");
    assert_eq!(quarantine(&ours, "trap").await, Value::Null);
    assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    for role in ["panic", "good-again"] {
        assert_eq!(scanned(&ours, &origin, role).await, "quarantined");
    }
    let state = quarantine(&ours, "trap").await;
    assert_eq!(
        (&state["crashes"], &state["error"]),
        (&json!(2), &json!("trap"))
    );
    let left = state["retry_after_seconds"].as_u64().expect("seconds");
    assert!((3_500..=3_600).contains(&left), "{state}");
    let version = &metrics(&ours, "trap").await["versions"][0];
    assert_eq!(
        (&version["calls"], &version["refused"]),
        (&json!(4), &json!(2))
    );
    let own = ours.get("/v1/plugins").await.ok();
    assert_eq!(own["items"][0]["quarantine"]["crashes"], 2);

    installed(&ours, "trap", &trap("2.0.0")).await;
    assert_eq!(quarantine(&ours, "trap").await, Value::Null);
    assert_eq!(scanned(&ours, &origin, "good-again").await, "");
}

#[tokio::test]
async fn a_call_on_trial_that_succeeds_ends_a_quarantine() {
    let service = Service::with(with_quarantine(0)).await;
    let ours = service.other_project("ours").await;
    let origin = pages().await;
    installed(&ours, "trap", &trap("1.0.0")).await;
    for _ in 0..2 {
        assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    }
    let state = quarantine(&ours, "trap").await;
    assert_eq!(
        (&state["crashes"], &state["retry_after_seconds"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(scanned(&ours, &origin, "panic").await, "trap");
    assert_eq!(quarantine(&ours, "trap").await["crashes"], 3);
    assert_eq!(scanned(&ours, &origin, "good-again").await, "");
    assert_eq!(quarantine(&ours, "trap").await, Value::Null);
}

#[tokio::test]
async fn no_project_quarantines_an_instances_plugin_for_another() {
    let service = Service::with(with_quarantine(HOUR)).await;
    let (bad, good) = (
        service.other_project("bad").await,
        service.other_project("good").await,
    );
    let origin = pages().await;
    let administrator = service.client();
    installed(&administrator, "trap", &trap("1.0.0")).await;
    for code in ["trap", "trap", "quarantined"] {
        assert_eq!(scanned(&bad, &origin, "panic").await, code);
    }
    for client in [&good, &administrator] {
        assert_eq!(scanned(client, &origin, "good-again").await, "");
    }
    assert_eq!(scanned(&bad, &origin, "good-again").await, "quarantined");
    let state = quarantine(&administrator, "trap").await;
    assert_eq!(
        (&state["projects"], &state["crashes"]),
        (&json!(1), &json!(2))
    );
    bad.get("/v1/plugins/trap").await.error(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_call_of_an_actor_in_quarantine_is_503_and_free() {
    let service = Service::with(|config| {
        with_quarantine(HOUR)(config);
        config.plugins.quarantine_crashes = 1;
    })
    .await;
    let ours = service.other_project("ours").await;
    installed(&ours, "spin-actor?grant=http", &read("spin-actor")).await;
    let path = "/v1/actors/spin-actor";
    let input = json!({});
    ours.post(path, &input).await.error(500, "PLUGIN_FAILED");
    let refused = ours.post(path, &input).await;
    let message = refused.error(503, "PLUGIN_FAILED");
    assert!(message.contains("in quarantine"), "{message}");
    let seconds: u64 = refused
        .header("retry-after")
        .expect("a time")
        .parse()
        .expect("seconds");
    assert!((3_500..=3_600).contains(&seconds), "{seconds}");
    let usage = ours.get("/v1/usage").await.ok();
    assert_eq!(usage["today"]["pages"], 0, "{usage}");
    // A run in the background fails with the same words.
    let run = ours.post(&format!("{path}/runs"), &input).await;
    assert_eq!(run.status, 202, "{}", run.text());
    let run = format!("{path}/runs/{}", run.json()["id"]);
    until(&ours, &run, |run| run.json()["status"] == "failed").await;
    let run = ours.get(&run).await.ok();
    assert_eq!(run["error"]["code"], "PLUGIN_FAILED", "{run}");
}

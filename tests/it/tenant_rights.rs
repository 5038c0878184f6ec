//! Rights of a project's plugins that its tier takes away while they serve, and gives back.

use std::time::{Duration, Instant};

use orbweaver_accounts::tiers::Cap;
use orbweaver_origin::Origin;
use orbweaver_server::config::Config;
use orbweaver_store::ProjectChange;
use serde_json::json;

use crate::support::{Client, Service};
use crate::tenant_plugins::{allowing, delete, extractor, installed, read, site};

/// A tier `free` in which plugins fetch, and a tier `pro` in which they have less.
fn tiers(less: impl Fn(&mut Config)) -> impl FnOnce(&mut Config) {
    move |config| {
        allowing(2)(config);
        let caps = config.tiers.get("free").expect("a tier").plugins;
        config.tiers.get_mut("pro").expect("a tier").plugins = caps;
        less(config);
    }
}

async fn move_to(service: &Service, tier: &str) {
    let store = &service.app.store;
    let project = store.project_named("ours").await.unwrap();
    let change = ProjectChange {
        tier: Some(tier),
        ..ProjectChange::default()
    };
    let id = project.expect("a project").id;
    store.change_project(id, &change).await.unwrap();
}

/// Calls the actor until the answer has this status: nodes look for changes every second.
async fn until_actor_answers(client: &Client, origin: &Origin, status: u16) {
    let input = json!({"urls": [origin.url("/")]});
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = client.post("/v1/actors/two-pages-rs", &input).await;
        if answer.status == status {
            return;
        }
        assert!(Instant::now() < end, "{}", answer.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn until_status(client: &Client, path: &str, status: u16) {
    let end = Instant::now() + Duration::from_secs(60);
    while client.post(path, &json!({})).await.status != status {
        assert!(Instant::now() < end, "{path} never answers {status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn stops_and_serves_again(service: Service) {
    let ours = service.other_project("ours").await;
    let origin = site().await;
    let actor = read("actor-two-pages-rs");
    installed(&ours, "two-pages-rs?grant=http", &actor).await;
    installed(&ours, "mine", &extractor("mine", "1.0.0", "special")).await;
    until_actor_answers(&ours, &origin, 200).await;
    move_to(&service, "pro").await;
    until_actor_answers(&ours, &origin, 500).await;
    // The project sees which plugin that is, and why.
    let list = ours.get("/v1/plugins").await.ok();
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    let refused = &list["refused"];
    assert_eq!(refused[0]["file"], "actor-two-pages-rs.wasm", "{list}");
    let why = "the project's tier does not allow it";
    assert!(refused.to_string().contains(why), "{refused}");
    let shown = ours.get("/v1/plugins/two-pages-rs").await;
    assert!(shown.error(404, "NOT_FOUND").contains(why));
    let theirs = service.other_project("theirs").await;
    assert_eq!(theirs.get("/v1/plugins").await.ok()["refused"], json!([]));
    // What needs nothing of it goes on.
    let scan = json!({"url": origin.url("/"), "extractors": ["mine"]});
    ours.post("/v1/scan", &scan).await.ok();
    move_to(&service, "free").await;
    until_actor_answers(&ours, &origin, 200).await;
    let end = Instant::now() + Duration::from_secs(60);
    while ours.get("/v1/plugins").await.ok()["refused"] != json!([]) {
        assert!(Instant::now() < end, "it serves");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_plugin_ends_its_service_when_the_tier_takes_a_permission_that_it_needs() {
    let without_http = |config: &mut Config| {
        let tier = config.tiers.get_mut("pro").expect("a tier");
        tier.plugins.http = false;
    };
    stops_and_serves_again(Service::with(tiers(without_http)).await).await;
}

#[tokio::test]
async fn what_the_instance_has_does_not_serve_in_place_of_an_own_plugin_that_cannot_be_loaded() {
    let without_http = |config: &mut Config| {
        let tier = config.tiers.get_mut("pro").expect("a tier");
        tier.plugins.http = false;
    };
    let service = Service::with(tiers(without_http)).await;
    let (admin, ours) = (service.client(), service.other_project("ours").await);
    let origin = site().await;
    let actor = read("actor-two-pages-rs");
    let fetcher = read("good-fetcher");
    for (client, grant) in [(&admin, "all"), (&ours, "http")] {
        installed(client, &format!("two-pages-rs?grant={grant}"), &actor).await;
    }
    installed(&admin, "good-fetcher?grant=all", &fetcher).await;
    installed(&ours, "good-fetcher?grant=http", &fetcher).await;
    move_to(&service, "pro").await;
    until_actor_answers(&ours, &origin, 500).await;
    let input = json!({"urls": [origin.url("/")]});
    let refused = ours.post("/v1/actors/two-pages-rs", &input).await;
    let why = refused.error(500, "PLUGIN_FAILED");
    for part in [
        "own actor `two-pages-rs`",
        "the project's tier does not allow it",
    ] {
        assert!(why.contains(part), "{why}");
    }
    let run = ours.post("/v1/actors/two-pages-rs/runs", &input).await;
    assert_eq!(run.error(500, "PLUGIN_FAILED"), why);
    let listed = ours.get("/v1/actors").await.ok();
    assert!(!listed.to_string().contains("two-pages-rs"), "{listed}");
    let fetch = "/v1/cloud/fetch/example.com";
    until_status(&ours, fetch, 500).await;
    let why = ours
        .post(fetch, &json!({}))
        .await
        .error(500, "PLUGIN_FAILED");
    assert!(why.contains("own fetcher `good-fetcher`"), "{why}");
    // Others, and the project without it, are served by the instance's.
    admin.post("/v1/actors/two-pages-rs", &input).await.ok();
    admin.post(fetch, &json!({})).await.ok();
    for name in ["two-pages-rs", "good-fetcher"] {
        assert_eq!(delete(&ours, name).await.status, 204);
    }
    ours.post("/v1/actors/two-pages-rs", &input).await.ok();
    ours.post(fetch, &json!({})).await.ok();
}

#[tokio::test]
async fn a_plugin_goes_on_with_more_rights_than_before() {
    let more = |config: &mut Config| {
        let tier = config.tiers.get_mut("pro").expect("a tier");
        tier.plugins.cpu_ms = 1_000;
        tier.plugins.count = Cap::at(3);
    };
    let service = Service::with(tiers(more)).await;
    let ours = service.other_project("ours").await;
    let origin = site().await;
    let actor = read("actor-two-pages-rs");
    installed(&ours, "two-pages-rs?grant=http", &actor).await;
    move_to(&service, "pro").await;
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        // It serves all the time, first within the old tier and then within the new one.
        let input = json!({"urls": [origin.url("/")]});
        ours.post("/v1/actors/two-pages-rs", &input).await.ok();
        let list = ours.get("/v1/plugins").await.ok();
        if list["items"][0]["limits"]["cpu_ms"] == json!(1_000) {
            return;
        }
        assert!(Instant::now() < end, "{list}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

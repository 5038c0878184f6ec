//! Plugins that a project installs for itself: who sees, calls and pays for them, caps, versions.

use std::time::{Duration, Instant};

use orbweaver_accounts::tiers::Cap;
use orbweaver_engine::manifest;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Config;
use orbweaver_store::ProjectChange;
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service, fixture};

const WASM: [(&str, &str); 1] = [("content-type", "application/wasm")];

/// Allows projects of tier `free` this many plugins.
pub fn allowing(count: u64) -> impl FnOnce(&mut Config) {
    move |config| {
        let tier = config.tiers.get_mut("free").expect("a tier");
        tier.plugins.count = Cap::at(count);
        tier.plugins.cpu_ms = 900;
        tier.plugins.memory_mib = 100;
    }
}

pub fn read(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).expect("a fixture")
}

/// The extractor `good` as a plugin of this name, which returns the role that it was called with.
pub fn extractor(name: &str, version: &str, role: &str) -> Vec<u8> {
    let text = format!(
        "name = \"{name}\"\nkind = \"extractor\"\nversion = \"{version}\"\napi = \"1.0.0\"\n\
         roles = [\"{role}\"]\n"
    );
    manifest::embed(&read("good"), &text).expect("a component")
}

pub async fn put(client: &Client, path: &str, component: &[u8]) -> Answer {
    let path = format!("/v1/plugins/{path}");
    client.send("PUT", &path, &WASM, component).await
}

pub async fn installed(client: &Client, path: &str, component: &[u8]) -> Value {
    let answer = put(client, path, component).await;
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    answer.json()
}

pub async fn delete(client: &Client, name: &str) -> Answer {
    let path = format!("/v1/plugins/{name}");
    client.send("DELETE", &path, &[], b"").await
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("a list");
    let name = |item: &Value| item["name"].as_str().unwrap_or_default().to_owned();
    items.iter().map(name).collect()
}

async fn tools(client: &Client) -> Vec<String> {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let answer = client.post_with("/mcp", &headers, &message).await.ok();
    names(&json!({"items": answer["result"]["tools"]}))
}

pub async fn site() -> Origin {
    let origin = Origin::start().await.expect("a site");
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/", Reply::html("<title>Home</title><p>Text of the page."));
    origin
}

/// Asks until the answer is as wanted: nodes look for changes every second.
pub async fn until(client: &Client, path: &str, wanted: impl Fn(&Answer) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = client.get(path).await;
        if wanted(&answer) {
            return;
        }
        assert!(Instant::now() < end, "{}", answer.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_role_of_a_project_serves_its_scans_and_crawls_alone() {
    let service = Service::with(allowing(3)).await;
    let (ours, others) = (
        service.other_project("ours").await,
        service.other_project("others").await,
    );
    let origin = site().await;
    let url = origin.url("/");
    let scan = json!({"url": url, "max_age_seconds": 600});
    // Answers that are kept from before are no longer those of the role's new plugin.
    let before = ours.post("/v1/scan", &scan).await.ok();
    assert_eq!(before["metadata"]["title"], "Home");
    let item = installed(&ours, "mine", &extractor("mine", "1.0.0", "metadata")).await;
    assert_eq!(
        (&item["source"], &item["number"]),
        (&json!("project"), &json!(1))
    );
    assert_eq!((&item["limits"]["cpu_ms"]), &json!(900));
    assert_eq!((&item["limits"]["memory_mib"]), &json!(100));
    for _ in 0..2 {
        let answer = ours.post("/v1/scan", &scan).await.ok();
        assert_eq!(answer["metadata"]["role"], "metadata", "{answer}");
        for stranger in [&others, &service.client()] {
            let answer = stranger.post("/v1/scan", &scan).await.ok();
            assert_eq!(answer["metadata"]["title"], "Home", "{answer}");
        }
    }
    let crawl = json!({"url": url, "max_pages": 1, "store_html": false, "extractors": ["mine"]});
    let refused = others.post("/v1/crawls", &crawl).await;
    assert!(
        refused
            .error(422, "INVALID_INPUT")
            .contains("`mine` is not loaded")
    );
    let created = ours.post("/v1/crawls", &crawl).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let run = format!("/v1/crawls/{}", created.json()["id"]);
    until(&ours, &run, |run| run.json()["status"] == "done").await;
    let pages = ours.get(&format!("{run}/pages")).await.ok();
    let page = format!("/v1/pages/{}", pages["items"][0]["id"]);
    let page = ours.get(&format!("{page}?format=signals")).await;
    let page = page.json();
    assert_eq!(page["metadata"]["role"], "metadata", "{page}");
    assert_eq!(page["extensions"]["mine"]["role"], "metadata", "{page}");
    // Bulk scans and conversions of pages run it, too.
    let bulk = json!({"urls": [url], "extractors": ["mine"]});
    let answer = ours.post("/v1/scan/bulk", &bulk).await.ok();
    let result = &answer["items"][0]["result"];
    assert_eq!(result["extensions"]["mine"]["role"], "metadata", "{answer}");
    // It is gone for the next scan.
    assert_eq!(delete(&ours, "mine").await.status, 204);
    let after = ours.post("/v1/scan", &scan).await.ok();
    assert_eq!(after["metadata"]["title"], "Home");
}

#[tokio::test]
async fn two_projects_with_the_same_component_share_no_answers() {
    let service = Service::with(allowing(1)).await;
    let origin = site().await;
    let component = extractor("mine", "1.0.0", "special");
    let scan = json!({"url": origin.url("/"), "extractors": ["mine"]});
    for name in ["ours", "others"] {
        let client = service.other_project(name).await;
        installed(&client, "mine", &component).await;
        client.post("/v1/scan", &scan).await.ok();
        let list = client.get("/v1/plugins").await.ok();
        assert_eq!(list["items"][0]["calls"], 1, "{name}: {list}");
    }
}

#[tokio::test]
async fn nobody_else_sees_lists_or_calls_a_projects_plugins() {
    let service = Service::with(allowing(3)).await;
    let (ours, others) = (
        service.other_project("ours").await,
        service.other_project("others").await,
    );
    let origin = site().await;
    let own = |kind: &str, name: &str, more: &str| {
        format!("name = \"{name}\"\nkind = \"{kind}\"\nversion = \"1\"\napi = \"1.0.0\"\n{more}")
    };
    let actor = read("actor-two-pages-rs");
    installed(&ours, "two-pages-rs?grant=http", &actor).await;
    let more =
        "[permissions]\nhttp = [\"http://127.0.0.1:*\"]\n[fetcher]\ndomains = [\"mine.example\"]\n";
    let fetcher = manifest::embed(&read("good-fetcher"), &own("fetcher", "mine", more)).unwrap();
    installed(&ours, "site-mine?grant=http", &fetcher).await;
    installed(&ours, "tool?grant=all", &read("hook-tool")).await;

    let list = ours.get("/v1/plugins").await.ok();
    assert_eq!(names(&list), ["two-pages-rs", "mine", "tool"], "{list}");
    for stranger in [&others, &service.client()] {
        let list = stranger.get("/v1/plugins").await.ok();
        assert!(
            !names(&list).iter().any(|name| name == "two-pages-rs"),
            "{list}"
        );
        delete(stranger, "two-pages-rs")
            .await
            .error(404, "NOT_FOUND");
        for path in ["versions", "rollback"] {
            let path = format!("/v1/plugins/two-pages-rs/{path}");
            let answer = match path.ends_with("versions") {
                true => stranger.get(&path).await,
                false => stranger.post(&path, &json!({})).await,
            };
            answer.error(404, "NOT_FOUND");
        }
    }
    assert_eq!(
        names(&others.get("/v1/plugins").await.ok()),
        Vec::<String>::new()
    );

    let input = json!({"urls": [origin.url("/")]});
    let answer = ours.post("/v1/actors/two-pages-rs", &input).await.ok();
    assert_eq!(answer["data"]["items"][0]["title"], "Home", "{answer}");
    let known = |list: &[String], name: &str| list.iter().any(|known| known == name);
    assert!(known(
        &names(&ours.get("/v1/actors").await.ok()),
        "two-pages-rs"
    ));
    assert!(
        known(&tools(&ours).await, "actor_two-pages-rs"),
        "{:?}",
        tools(&ours).await
    );
    let body = json!({"url": origin.url("/"), "max_pages": 1, "hooks": [{"name": "tool"}]});
    assert_eq!(ours.post("/v1/crawls", &body).await.status, 202);
    let scrapers = ours.get("/v1/cloud/scrapers?limit=200").await.ok();
    assert!(
        scrapers.to_string().contains("\"mine.example\""),
        "{scrapers}"
    );
    let fetch = ours
        .post("/v1/cloud/fetch/mine.example", &json!({}))
        .await
        .ok();
    assert_eq!(fetch["data"], json!([]));
    for stranger in [&others, &service.client()] {
        let answer = stranger.post("/v1/actors/two-pages-rs", &input).await;
        let said = answer.error(404, "NOT_FOUND");
        assert!(!said.contains(", two-pages-rs"), "{said}");
        assert!(!known(
            &names(&stranger.get("/v1/actors").await.ok()),
            "two-pages-rs"
        ));
        assert!(!known(&tools(stranger).await, "actor_two-pages-rs"));
        let said = stranger.post("/v1/crawls", &body).await;
        let said = said.error(422, "INVALID_INPUT");
        assert!(
            said.starts_with("hooks[0].name: hook `tool` is not loaded"),
            "{said}"
        );
        let scrapers = stranger.get("/v1/cloud/scrapers?limit=200").await.ok();
        assert!(
            !scrapers.to_string().contains("\"mine.example\""),
            "{scrapers}"
        );
        let fetch = stranger
            .post("/v1/cloud/fetch/mine.example", &json!({}))
            .await;
        fetch.error(422, "INVALID_INPUT");
    }
    let openapi = service.stranger().get("/openapi.json").await.text();
    assert!(!openapi.contains("two-pages-rs"));
}

#[tokio::test]
async fn an_actor_of_a_project_runs_the_projects_extractors() {
    let service = Service::with(allowing(3)).await;
    let ours = service.other_project("ours").await;
    let origin = site().await;
    installed(
        &ours,
        "two-pages-rs?grant=http",
        &read("actor-two-pages-rs"),
    )
    .await;
    let input = json!({"urls": [origin.url("/")]});
    let answer = ours.post("/v1/actors/two-pages-rs", &input).await.ok();
    assert_eq!(answer["data"]["items"][0]["title"], "Home");
    installed(&ours, "mine", &extractor("mine", "1.0.0", "metadata")).await;
    let answer = ours.post("/v1/actors/two-pages-rs", &input).await.ok();
    assert_eq!(answer["data"]["items"][0]["title"], Value::Null, "{answer}");
}

#[tokio::test]
async fn a_tier_caps_the_plugins_of_a_project() {
    let service = Service::with(|config| {
        allowing(1)(config);
        let caps = &mut config.tiers.get_mut("free").expect("a tier").plugins;
        caps.http = false;
        caps.component_mib = 1;
        config.plugins.max_project_plugins = 2;
    })
    .await;
    let ours = service.other_project("ours").await;
    let said = put(&ours, "two-pages-rs?grant=all", &read("actor-two-pages-rs")).await;
    let said = said.error(422, "INVALID_INPUT");
    assert!(
        said.starts_with("body: ") && said.contains("http"),
        "{said}"
    );
    let large = vec![0; (1 << 20) + 1];
    put(&ours, "mine", &large)
        .await
        .error(413, "PAYLOAD_TOO_LARGE");
    let first = extractor("mine", "1.0.0", "special");
    assert_eq!(installed(&ours, "mine", &first).await["number"], 1);
    let second = extractor("second", "1.0.0", "other");
    let answer = put(&ours, "second", &second).await;
    assert!(answer.header("retry-after").is_some());
    let said = answer.error(429, "RATE_LIMITED");
    assert!(
        said.contains("1 plugins") && said.contains("tiers.NAME.plugins.count"),
        "{said}"
    );
    assert_eq!(names(&ours.get("/v1/plugins").await.ok()), ["mine"]);
    // A new version of a plugin is no new plugin.
    let newer = extractor("mine", "1.1.0", "special");
    assert_eq!(installed(&ours, "mine", &newer).await["number"], 2);

    let others = service.other_project("others").await;
    installed(&others, "mine", &first).await;
    let third = service.other_project("third").await;
    let said = put(&third, "mine", &first).await.error(429, "RATE_LIMITED");
    assert!(said.contains("plugins.max_project_plugins"), "{said}");

    // A tier without plugins ends their service, and their administration, at once.
    let origin = site().await;
    let scan = json!({"url": origin.url("/"), "extractors": ["mine"]});
    ours.post("/v1/scan", &scan).await.ok();
    let project = service.app.store.project_named("ours").await.unwrap();
    let change = ProjectChange {
        tier: Some("pro"),
        ..ProjectChange::default()
    };
    let store = &service.app.store;
    store
        .change_project(project.unwrap().id, &change)
        .await
        .unwrap();
    until(&ours, "/v1/plugins", |answer| answer.status == 403).await;
    let end = Instant::now() + Duration::from_secs(60);
    while ours.post("/v1/scan", &scan).await.status != 422 {
        assert!(Instant::now() < end, "the plugin still serves");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    others.post("/v1/scan", &scan).await.ok();
}

#[tokio::test]
async fn scopes_are_apart() {
    let service = Service::with(|config| {
        allowing(1)(config);
        config
            .tiers
            .get_mut("self_hosted")
            .expect("a tier")
            .plugins
            .count = Cap::at(1);
    })
    .await;
    let (admin, ours) = (service.client(), service.other_project("ours").await);
    let component = extractor("mine", "1.0.0", "special");
    put(&ours, "mine?scope=instance", &component)
        .await
        .error(403, "FORBIDDEN");
    ours.get("/v1/plugins?scope=instance")
        .await
        .error(403, "FORBIDDEN");
    let said = put(&ours, "mine?scope=all", &component).await;
    assert!(said.error(422, "INVALID_INPUT").starts_with("scope: "));
    let item = installed(&admin, "mine?scope=project", &component).await;
    assert_eq!(item["source"], "project");
    let origin = site().await;
    let scan = json!({"url": origin.url("/"), "extractors": ["mine"]});
    admin.post("/v1/scan", &scan).await.ok();
    ours.post("/v1/scan", &scan)
        .await
        .error(422, "INVALID_INPUT");
    // The instance's of that name serves the others, and both can be told apart.
    let item = installed(&admin, "mine", &extractor("mine", "2.0.0", "special")).await;
    assert_eq!(
        (&item["source"], &item["version"]),
        (&json!("upload"), &json!("2.0.0"))
    );
    ours.post("/v1/scan", &scan).await.ok();
    let own = admin.get("/v1/plugins?scope=project").await.ok();
    assert_eq!(
        (names(&own), &own["items"][0]["version"]),
        (vec!["mine".to_owned()], &json!("1.0.0"))
    );
    assert_eq!(delete(&admin, "mine").await.status, 204);
    assert_eq!(
        names(&admin.get("/v1/plugins?scope=project").await.ok()),
        ["mine"]
    );
}

/// Uploads three versions, goes back, and looks from another node and after a restart.
async fn versions_are_kept_and_served_again(service: Service, scope: &str) {
    let ours = match scope {
        "instance" => service.client(),
        _ => service.other_project("ours").await,
    };
    let node = service.node().await;
    let there = ours.at(node.address);
    for (number, version) in [(1, "1.0.0"), (2, "1.1.0"), (3, "1.2.0")] {
        let component = extractor("mine", version, "special");
        assert_eq!(installed(&ours, "mine", &component).await["number"], number);
        // The same again is no version.
        assert_eq!(installed(&ours, "mine", &component).await["number"], number);
    }
    let listed = |list: Value| -> Vec<(i64, bool)> {
        let items = list["items"].as_array().expect("a list").clone();
        let version = |item: &Value| (item["number"].as_i64().unwrap(), item["serving"] == true);
        items.iter().map(version).collect()
    };
    let versions = "/v1/plugins/mine/versions";
    let list = ours.get(versions).await.ok();
    assert_eq!(list["items"][0]["version"], "1.2.0");
    assert_eq!(listed(list), [(3, true), (2, false), (1, false)]);
    let back = ours
        .post("/v1/plugins/mine/rollback", &json!({}))
        .await
        .ok();
    assert_eq!(
        (&back["number"], &back["version"]),
        (&json!(2), &json!("1.1.0"))
    );
    let serves = |version: &'static str| {
        move |answer: &Answer| {
            let list = answer.json();
            let items = list["items"].as_array().cloned().unwrap_or_default();
            let mine = items.iter().find(|item| item["name"] == "mine");
            mine.is_some_and(|item| item["version"] == version)
        }
    };
    until(&there, "/v1/plugins", serves("1.1.0")).await;
    let rollback = |number: i64| json!({ "number": number });
    let path = "/v1/plugins/mine/rollback";
    assert_eq!(
        there.post(path, &rollback(1)).await.ok()["version"],
        "1.0.0"
    );
    until(&ours, "/v1/plugins", serves("1.0.0")).await;
    ours.post(path, &json!({})).await.error(409, "CONFLICT");
    ours.post(path, &rollback(9)).await.error(404, "NOT_FOUND");
    // A new upload is a new version, also after a rollback.
    let component = extractor("mine", "1.3.0", "special");
    assert_eq!(installed(&ours, "mine", &component).await["number"], 4);
    assert_eq!(ours.post(path, &rollback(3)).await.ok()["version"], "1.2.0");

    let service = service.restart().await;
    let ours = ours.at(service.address);
    let list = ours.get("/v1/plugins").await;
    assert!(serves("1.2.0")(&list), "{}", list.text());
    assert_eq!(delete(&ours, "mine").await.status, 204);
    ours.get(versions).await.error(404, "NOT_FOUND");
    until(&ours.at(node.address), "/v1/plugins", |answer| {
        !answer.text().contains("\"mine\"")
    })
    .await;
}

#[tokio::test]
async fn versions_of_a_projects_plugin_are_kept_on_sqlite() {
    let service = Service::with(allowing(1)).await;
    versions_are_kept_and_served_again(service, "project").await;
}

#[tokio::test]
async fn versions_of_a_projects_plugin_are_kept_on_postgres() {
    let service = Service::on_postgres_with(allowing(1)).await;
    versions_are_kept_and_served_again(service, "project").await;
}

#[tokio::test]
async fn versions_of_the_instances_plugin_are_kept() {
    versions_are_kept_and_served_again(Service::start().await, "instance").await;
}

#[tokio::test]
async fn only_so_many_versions_are_kept() {
    let service = Service::with(|config| {
        allowing(1)(config);
        config.plugins.kept_versions = 2;
    })
    .await;
    let ours = service.other_project("ours").await;
    for version in ["1", "2", "3", "4"] {
        installed(&ours, "mine", &extractor("mine", version, "special")).await;
    }
    let list = ours.get("/v1/plugins/mine/versions").await.ok();
    let numbers: Vec<&Value> = list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| &item["number"])
        .collect();
    assert_eq!(numbers, [&json!(4), &json!(3)]);
}

#[tokio::test]
async fn the_name_of_a_built_in_actor_does_not_change_what_a_projects_own_costs() {
    let service = Service::with(|config| {
        let tier = config.tiers.get_mut("self_hosted").expect("a tier");
        tier.plugins.count = Cap::at(1);
    })
    .await;
    let client = service.client();
    let text = manifest::read_text(&read("actor-two-pages-rs")).unwrap();
    let text = text.replace("name = \"two-pages-rs\"", "name = \"internal-link-graph\"");
    let component = manifest::embed(&read("actor-two-pages-rs"), &text).unwrap();
    installed(
        &client,
        "internal-link-graph?scope=project&grant=http",
        &component,
    )
    .await;
    let origin = site().await;
    origin.set("/a", Reply::html("<title>A</title>"));
    let before = service.billed().await.0;
    let input = json!({"urls": [origin.url("/"), origin.url("/a")]});
    client
        .post("/v1/actors/internal-link-graph", &input)
        .await
        .ok();
    assert_eq!(service.billed().await.0 - before, 2, "a page for each URL");
}

#[tokio::test]
async fn a_rollback_takes_the_turn_of_an_upload() {
    let service = Service::with(|config| {
        allowing(1)(config);
        config.plugins.upload_queue = 0;
    })
    .await;
    let ours = service.other_project("ours").await;
    for version in ["1", "2"] {
        installed(&ours, "mine", &extractor("mine", version, "special")).await;
    }
    let project = service.app.store.project_named("ours").await;
    let project = project.expect("a database").expect("a project").id;
    let mut held = Vec::new();
    while let Ok(turn) = service.app.actors.project_uploads.acquire(project).await {
        held.push(turn);
    }
    let path = "/v1/plugins/mine/rollback";
    ours.post(path, &json!({})).await.error(429, "RATE_LIMITED");
    drop(held);
    assert_eq!(ours.post(path, &json!({})).await.ok()["version"], "1");
}

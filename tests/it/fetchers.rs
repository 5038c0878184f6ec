//! Fetchers of single domains over HTTP. A test server replaces the sites' APIs: a proxy sends
//! every host to it, and the service trusts its certificate.

use std::path::Path;

use orbweaver_accounts::tiers::Cap;
use orbweaver_engine::manifest;
use orbweaver_origin::{Certificates, Proxy, Reply, TlsOrigin};
use orbweaver_store::ProjectChange;
use serde_json::{Value, json};

use crate::support::{Names, Service};
use crate::tenant_plugins::{installed, read};

/// Hosts of the documented APIs.
const HOSTS: [&str; 12] = [
    "hacker-news.firebaseio.com",
    "hn.algolia.com",
    "en.wikipedia.org",
    "api.github.com",
    "crates.io",
    "pypi.org",
    "registry.npmjs.org",
    "api.npmjs.org",
    "export.arxiv.org",
    "api.stackexchange.com",
    "lobste.rs",
    "unknown.example",
];

struct World {
    service: Service,
    sites: TlsOrigin,
    proxy: Proxy,
}

async fn world() -> World {
    let certificates = Certificates::new().unwrap();
    let sites = TlsOrigin::for_hosts(&certificates, &HOSTS).await.unwrap();
    let proxy = Proxy::http(sites.address()).await.unwrap();
    let names: Vec<(&str, &[&str])> = HOSTS
        .iter()
        .map(|host| (*host, &["127.0.0.1"][..]))
        .collect();
    let root = certificates.root();
    let service = Service::with_resolver(Names::of(&names), |config| {
        config.fetch.extra_roots.push(root);
        let tier = config.tiers.get_mut("self_hosted").expect("a tier");
        tier.plugins.count = Cap::at(1);
    })
    .await;
    let project = service
        .app
        .store
        .project_named("default")
        .await
        .unwrap()
        .unwrap();
    let url = proxy.url();
    let change = ProjectChange {
        proxy_url: Some(Some(url.as_str())),
        ..ProjectChange::default()
    };
    service
        .app
        .store
        .change_project(project.id, &change)
        .await
        .unwrap();
    World {
        service,
        sites,
        proxy,
    }
}

impl World {
    fn serve(&self, path: &str, site: &str, fixture: &str) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../plugins/site-{site}/fixtures/{fixture}"));
        let body = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.sites.set(
            path,
            Reply::new(200, body).header("Content-Type", "application/json"),
        );
    }

    async fn data(&self, path: &str, body: &Value) -> Value {
        let client = self.service.client();
        let answer = client
            .post(&format!("/v1/cloud/fetch/{path}"), body)
            .await
            .ok();
        assert_eq!(answer["cost_usd"], json!(0.0), "{path}");
        assert!(answer["elapsed_ms"].is_u64(), "{path}");
        answer["data"].clone()
    }
}

#[tokio::test]
async fn every_domain_is_fetched_through_its_documented_api() {
    let world = world().await;
    let cases = [
        (
            "/v0/topstories.json",
            "hackernews",
            "topstories.json",
            "",
            "",
        ),
        ("/v0/item/4001.json", "hackernews", "item-4001.json", "", ""),
        ("/v0/item/4002.json", "hackernews", "item-4002.json", "", ""),
        (
            "/v0/item/4003.json",
            "hackernews",
            "item-4003.json",
            "news.ycombinator.com",
            "Orb webs, measured",
        ),
        (
            "/api/rest_v1/page/summary/Orb-weaver_spider",
            "wikipedia",
            "summary.json",
            "en.wikipedia.org/wiki/Orb-weaver_spider",
            "Orb-weaver spider",
        ),
        (
            "/repos/weaver/orb",
            "github",
            "repository.json",
            "github.com/weaver/orb",
            "Builds webs",
        ),
        (
            "/api/v1/crates/orb",
            "crates-io",
            "crate.json",
            "crates.io/crates/orb",
            "MIT OR Apache-2.0",
        ),
        (
            "/pypi/orbweb/json",
            "pypi",
            "project.json",
            "pypi.org/project/orbweb",
            "Builds webs",
        ),
        (
            "/downloads/point/last-week/%40weaver%2Forb",
            "npm",
            "downloads.json",
            "",
            "",
        ),
        (
            "/%40weaver%2Forb/latest",
            "npm",
            "latest.json",
            "www.npmjs.com/package/@weaver/orb",
            "@weaver/orb",
        ),
        (
            "/api/query",
            "arxiv",
            "feed.xml",
            "arxiv.org/abs/2402.00001",
            "We measure webs & find spirals.",
        ),
        (
            "/2.3/questions/5001/answers",
            "stackoverflow",
            "answers.json",
            "",
            "",
        ),
        (
            "/2.3/questions/5001",
            "stackoverflow",
            "questions.json",
            "stackoverflow.com/questions/5001",
            "How to weave",
        ),
        (
            "/s/abc123.json",
            "lobsters",
            "story.json",
            "lobste.rs/s/abc123",
            "Only the spiral.",
        ),
    ];
    let mut calls = 0;
    for (api, site, fixture, call, part) in cases {
        world.serve(api, site, fixture);
        if call.is_empty() {
            continue;
        }
        let data = world.data(call, &json!({})).await;
        assert!(
            data.as_array().is_some_and(|items| !items.is_empty()),
            "{call}"
        );
        assert!(data.to_string().contains(part), "{call}: {data}");
        calls += 1;
    }
    assert_eq!(
        world.service.billed().await,
        (0, calls),
        "one cloud page each"
    );
    let asked = world.proxy.asked();
    assert!(
        asked
            .iter()
            .all(|target| HOSTS.iter().any(|host| target.starts_with(host)))
    );
}

#[tokio::test]
async fn a_projects_own_fetcher_is_billed_for_what_it_fetches() {
    let world = world().await;
    let client = world.service.client();
    let own = "name = \"mine\"\nkind = \"fetcher\"\nversion = \"1\"\napi = \"1.1.0\"\n\
               [permissions]\nhttp = [\"https://unknown.example\"]\n\
               [fetcher]\ndomains = [\"unknown.example\"]\n";
    let component = manifest::embed(&read("sync-fetcher"), own).unwrap();
    installed(&client, "mine?scope=project&grant=http", &component).await;
    for path in ["/a", "/b", "/c"] {
        world.sites.set(path, Reply::html("<p>Text"));
    }
    let data = world.data("unknown.example/a/b/a/c", &json!({})).await;
    assert_eq!(data.as_array().unwrap().len(), 4);
    assert_eq!(world.service.billed().await, (3, 0), "a page for each URL");
    // As of an actor: at least one page.
    assert_eq!(world.data("unknown.example", &json!({})).await, json!([]));
    assert_eq!(world.service.billed().await, (4, 0));
}

#[tokio::test]
async fn parameters_are_read_from_url_and_body_and_checked() {
    let world = world().await;
    for (path, fixture) in [
        ("/v0/topstories.json", "topstories.json"),
        ("/v0/item/4001.json", "item-4001.json"),
        ("/v0/item/4002.json", "item-4002.json"),
    ] {
        world.serve(path, "hackernews", fixture);
    }
    for body in [json!({"limit": 1}), json!({"params": {"limit": 1}})] {
        let data = world.data("news.ycombinator.com/top", &body).await;
        assert_eq!(data.as_array().unwrap().len(), 1, "{body}");
    }
    let client = world.service.client();
    let none = client
        .send("POST", "/v1/cloud/fetch/news.ycombinator.com", &[], b"")
        .await;
    // Without a body there are no parameters; the third story does not exist.
    none.error(422, "INVALID_INPUT");
    let path = "/v1/cloud/fetch/news.ycombinator.com/top";
    let said = client
        .post(path, &json!({"limit": 0}))
        .await
        .error(422, "INVALID_INPUT");
    assert_eq!(said, "limit: must be at least 1");
}

#[tokio::test]
async fn failures_name_their_cause() {
    let world = world().await;
    let client = world.service.client();
    for domain in ["nobody.example", "x%2F@evil.example%2F.wikipedia.org"] {
        let path = format!("/v1/cloud/fetch/{domain}");
        let said = client
            .post(&path, &json!({}))
            .await
            .error(422, "INVALID_INPUT");
        assert!(said.starts_with("domain: "), "{said}");
    }
    let said = client
        .post("/v1/cloud/fetch/crates.io/no/such/path", &json!({}))
        .await
        .error(422, "INVALID_INPUT");
    assert!(said.starts_with("path: "), "{said}");
    let wrong = json!({"params": "limit=1"});
    let said = client
        .post("/v1/cloud/fetch/crates.io/crates/gone", &wrong)
        .await;
    let said = said.error(422, "INVALID_INPUT");
    assert_eq!(said, "params: must be an object");
    assert_eq!(world.service.billed().await, (0, 0), "nothing was fetched");

    let crates = "/v1/cloud/fetch/crates.io/crates/gone";
    let said = client
        .post(crates, &json!({}))
        .await
        .error(422, "INVALID_INPUT");
    assert_eq!(said, "path: crates.io does not have this item");
    world
        .sites
        .set("/api/v1/crates/gone", Reply::new(429, "slow down"));
    client
        .post(crates, &json!({}))
        .await
        .error(502, "FETCH_FAILED");
    world
        .sites
        .set("/api/v1/crates/gone", Reply::new(200, r#"{"crate": 7}"#));
    let said = client
        .post(crates, &json!({}))
        .await
        .error(500, "PLUGIN_FAILED");
    assert!(said.contains("crates.io has an unknown form"), "{said}");
    assert_eq!(
        world.service.billed().await,
        (0, 3),
        "one cloud page for each answer"
    );
}

#[tokio::test]
async fn the_directory_lists_domains_paths_and_output_fields() {
    let service = Service::start().await;
    let client = service.client();
    let all = client.get("/v1/cloud/scrapers").await.ok();
    let items = all["items"].as_array().unwrap();
    assert!(items.len() >= 8);
    assert_eq!((&all["page"], &all["limit"]), (&json!(1), &json!(50)));
    assert_eq!(all["total"], json!(items.len()));
    let crates = items
        .iter()
        .find(|item| item["domain"] == "crates.io")
        .unwrap();
    assert_eq!(crates["paths"][0]["path"], "crates/{name}");
    assert!(!crates["data_shape"].as_str().unwrap().is_empty());
    let second = client.get("/v1/cloud/scrapers?page=2&limit=3").await.ok();
    assert_eq!(second["items"].as_array().unwrap(), &items[3..6]);
    for query in ["page=0", "limit=0", "limit=201", "limit=x"] {
        let answer = client.get(&format!("/v1/cloud/scrapers?{query}")).await;
        answer.error(422, "INVALID_INPUT");
    }
}

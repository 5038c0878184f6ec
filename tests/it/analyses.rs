//! The shipped actors in a running service: their results for a site, and their cost.

use std::time::{Duration, Instant};

use orbweaver_origin::{Origin, Reply};
use orbweaver_store::Amount;
use serde_json::{Value, json};

use crate::support::site::ARTICLE;
use crate::support::{Service, runs};

async fn run(service: &Service, actor: &str, input: Value) -> Value {
    let path = format!("/v1/actors/{actor}");
    let answer = service.client().post(&path, &input).await.ok();
    assert_eq!(answer["actor"], actor);
    answer
}

/// A small site: a start page that links to three others, of which one answers 404.
async fn site() -> Origin {
    let origin = Origin::start().await.unwrap();
    let page = |title: &str, body: &str| {
        Reply::html(format!(
            "<!doctype html><html lang=en><head><title>{title} | Webs</title>\
             <meta name=description content='About {title}.'></head><body>{body}</body></html>"
        ))
    };
    let links = "<a href=/docs/a>Read on</a> <a href=/docs/b>More</a> <a href=/gone>Old</a>";
    origin.set("/", page("Start", links));
    origin.set(
        "/docs/a",
        page("A", "<a href=/>Home</a> <a href=/docs/b>More</a>"),
    );
    origin.set("/docs/b", page("B", "<a href=/>Home</a>"));
    origin.set("/article", Reply::html(ARTICLE));
    let listed =
        ["/", "/docs/a", "/gone"].map(|path| format!("<url><loc>{}</loc></url>", origin.url(path)));
    let map = format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{}</urlset>",
        listed.concat()
    );
    origin.set(
        "/sitemap.xml",
        Reply::new(200, map).header("Content-Type", "application/xml"),
    );
    origin
}

/// Waits until a run has ended.
async fn over(service: &Service, id: i64) {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let run = service.client().get(&format!("/v1/crawls/{id}")).await.ok();
        if matches!(run["status"].as_str(), Some("done" | "failed")) {
            assert_eq!(run["status"], "done", "{run}");
            return;
        }
        assert!(Instant::now() < end, "{run}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn analyses_of_one_page_cost_one_page() {
    let (service, origin) = (Service::start().await, site().await);
    let url = origin.url("/article");
    let article = run(
        &service,
        "extract-article",
        json!({"url": url, "format": "text"}),
    )
    .await;
    assert_eq!(article["url"], url);
    assert!(
        article["data"]["word_count"].as_u64().unwrap() > 50,
        "{article}"
    );
    let audit = run(&service, "audit-onpage", json!({"url": url})).await;
    assert!(audit["data"]["findings"].is_array(), "{audit}");
    let data = run(&service, "structured-data", json!({"url": url})).await;
    assert_eq!(data["data"]["counts"]["json-ld"], 1, "{data}");
    assert_eq!(service.billed().await, (3, 0));
}

#[tokio::test]
async fn a_private_address_is_refused_before_an_actor_runs() {
    let service = Service::start().await;
    for actor in [
        "audit-onpage",
        "check-links",
        "extract-article",
        "render-diff",
        "sitemap-audit",
        "structured-data",
    ] {
        let path = format!("/v1/actors/{actor}");
        let input = json!({"url": "http://10.0.0.1/"});
        let answer = service.client().post(&path, &input).await;
        let message = answer.error(422, "INVALID_INPUT");
        assert!(message.starts_with("url: 10.0.0.1"), "{actor}: {message}");
    }
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn null_is_an_optional_field_that_is_not_given() {
    let (service, origin) = (Service::start().await, site().await);
    let input = json!({"url": origin.url("/article"), "format": null});
    let article = run(&service, "extract-article", input).await;
    assert_eq!(article["warnings"], Value::Null, "{article}");
    let path = "/v1/actors/extract-article";
    let answer = service.client().post(path, &json!({"url": null})).await;
    let said = answer.error(422, "INVALID_INPUT");
    assert!(said.starts_with("url: "), "{said}");
}

#[tokio::test]
async fn inputs_of_actors_are_read_as_all_other_bodies() {
    let (service, origin) = (Service::start().await, site().await);
    let input = json!({"url": origin.url("/article"), "wpm": 200.0, "include_comments": null});
    let article = run(&service, "extract-article", input).await;
    assert_eq!(article["warnings"], Value::Null, "{article}");
    for (actor, input, expected) in [
        (
            "check-links",
            r#"{"url": "foo"}"#,
            "url: must start with http:// or https://",
        ),
        (
            "sitemap-audit",
            r#"{"url": "https://a.example/", "max_urls": 1.5}"#,
            "max_urls: must be of type integer",
        ),
        (
            "internal-link-graph",
            r#"{"crawl_id": 10000000000000000000}"#,
            "crawl_id: must be at most 9007199254740991",
        ),
    ] {
        let input: Value = serde_json::from_str(input).unwrap();
        let path = format!("/v1/actors/{actor}");
        let answer = service.client().post(&path, &input).await;
        assert_eq!(answer.error(422, "INVALID_INPUT"), expected, "{actor}");
    }
    let path = "/v1/actors/internal-link-graph";
    let unknown = service.client().post(path, &json!({"crawl_id": 6.0})).await;
    let said = unknown.error(404, "NOT_FOUND");
    assert!(said.starts_with("crawl_id: "), "{said}");
}

#[tokio::test]
async fn published_schemas_take_null_for_optional_members() {
    let service = Service::start().await;
    let list = service.client().get("/v1/actors").await.ok();
    let document = service.stranger().get("/openapi.json").await.ok();
    let actors = list["items"].as_array().unwrap();
    let listed = actors.iter().find(|actor| actor["name"] == "check-links");
    let listed = &listed.unwrap()["input_schema"];
    let described = &document["components"]["schemas"]["ActorCheckLinksInput"];
    for schema in [listed, described] {
        let members = &schema["properties"];
        let width = &members["max_concurrent"]["type"];
        assert_eq!(*width, json!(["integer", "null"]), "{schema}");
        let modes = &members["cloud_retry_mode"]["enum"];
        assert_eq!(*modes, json!(["chrome", "proxy", null]), "{schema}");
    }
}

#[tokio::test]
async fn numbers_without_a_documented_maximum_are_clamped() {
    let (service, origin) = (Service::start().await, site().await);
    let input = json!({"urls": [origin.url("/")], "max_concurrent": 5_000_000_000_u64});
    let links = run(&service, "check-links", input).await;
    assert_eq!(links["data"]["ok"], 1, "{links}");
    let crawl = json!({"url": origin.url("/"), "max_pages": 1, "delay_ms": 0});
    let crawl = runs::crawled(&service.client(), &crawl).await;
    let input = json!({"crawl_id": crawl["id"], "top_n": 5_000_000_000_u64});
    let graph = run(&service, "internal-link-graph", input).await;
    assert_eq!(graph["data"]["stats"]["pages"], 1, "{graph}");
}

#[tokio::test]
async fn each_link_that_answers_costs_a_page() {
    let (service, origin) = (Service::start().await, site().await);
    let input = json!({"urls": [origin.url("/"), origin.url("/gone"), "mailto:a@b.example"]});
    let list = run(&service, "check-links", input).await;
    let data = &list["data"];
    assert_eq!(
        (&data["ok"], &data["broken"], &data["excluded"]),
        (&json!(1), &json!(1), &json!(1)),
        "{data}"
    );
    assert_eq!(service.billed().await, (2, 0));
    let page = run(&service, "check-links", json!({"url": origin.url("/")})).await;
    assert_eq!(page["data"]["total"], 3, "{page}");
    assert_eq!(
        service.billed().await,
        (6, 0),
        "the source page and its three links"
    );
}

#[tokio::test]
async fn render_diff_reports_what_only_scripts_add() {
    let (service, origin) = (Service::start().await, site().await);
    origin.set(
        "/app",
        Reply::html(
            "<!doctype html><title>App</title><h1>Plain</h1><p>Two words.</p>\
             <a href=/docs/a>A</a><div id=out></div><script>\
             fetch('/made.json').then(r => r.json()).then(made => {\
               out.innerHTML = '<h2>Made by a script</h2><p>' + made.text + '</p>' +\
                 '<a href=/docs/b>B</a><a href=/docs/c>C</a>';\
               const data = document.createElement('script');\
               data.type = 'application/ld+json';\
               data.textContent = JSON.stringify({'@type': 'Article'});\
               document.head.append(data);\
             })</script>",
        ),
    );
    origin.set(
        "/made.json",
        Reply::new(
            200,
            "{\"text\":\"Eight more words that no robot ever sees.\"}",
        )
        .header("Content-Type", "application/json"),
    );
    let url = origin.url("/app");
    let answer = run(&service, "render-diff", json!({"url": url})).await;
    assert_eq!(answer["url"], url);
    assert!(answer["elapsed_ms"].is_u64());
    let data = &answer["data"];
    let counts = |side: &str| {
        ["link_count", "heading_count", "json_ld_count"].map(|name| data[side][name].as_u64())
    };
    assert_eq!(counts("static"), [Some(1), Some(1), Some(0)], "{data}");
    assert_eq!(counts("rendered"), [Some(3), Some(2), Some(1)], "{data}");
    let bytes = |side: &str| data[side]["html_bytes"].as_u64().unwrap();
    assert!(bytes("rendered") > bytes("static"), "{data}");
    let delta = &data["delta"];
    assert_eq!(
        delta["links_only_after_render"].as_array().unwrap().len(),
        2,
        "{data}"
    );
    assert!(delta.to_string().contains("Made by a script"), "{data}");
    let blind = delta["ai_bot_blind_pct"].as_f64().unwrap();
    assert!((0.5..1.0).contains(&blind), "{data}");
    assert!(!delta["assessment"].as_str().unwrap().is_empty());
    assert_eq!(data["rendered_cost_usd"], 0.0);
    assert_eq!(service.billed().await, (1, 1));

    let without = Service::with(|config| config.browser = Some("/no/such/browser".into())).await;
    let said = without
        .client()
        .post("/v1/actors/render-diff", &json!({"url": url}))
        .await
        .error(501, "NOT_IMPLEMENTED");
    assert!(said.contains("--browser"), "{said}");
}

#[tokio::test]
async fn reading_sitemaps_is_free_and_checking_listed_urls_is_billed() {
    let (service, origin) = (Service::start().await, site().await);
    let url = origin.url("/");
    let dry = run(
        &service,
        "sitemap-audit",
        json!({"url": url, "dry_run": true}),
    )
    .await;
    assert_eq!(dry["data"]["total_urls_in_sitemap"], 3, "{dry}");
    assert_eq!(service.billed().await, (0, 0));
    let audit = run(&service, "sitemap-audit", json!({"url": url})).await;
    assert_eq!(audit["data"]["summary"]["client_error"], 1, "{audit}");
    let billed = audit["data"]["pages_billed"].as_u64().unwrap();
    assert_eq!(service.billed().await, (billed, 0));
}

#[tokio::test]
async fn the_audit_of_sitemaps_tells_the_pages_that_are_billed() {
    let (service, origin) = (Service::start().await, site().await);
    origin.set("/robots.txt", Reply::text("User-agent: *\nAllow: /\n"));
    // Fragments make no other page, and a listed URL is probed whatever is there.
    let listed = ["/docs/a", "/docs/a#1", "/docs/a#2", "/robots.txt"];
    let list: Vec<String> = listed.iter().map(|path| origin.url(path)).collect();
    origin.set("/list.txt", Reply::text(list.join("\n")));
    let input = json!({"url": origin.url("/list.txt")});
    let audit = run(&service, "sitemap-audit", input).await;
    let data = &audit["data"];
    assert_eq!(data["total_urls_probed"], 2, "{data}");
    assert_eq!(data["pages_billed"], 2, "{data}");
    assert_eq!(service.billed().await, (2, 0));
}

#[tokio::test]
async fn at_a_cap_audits_tell_what_they_did_not_request() {
    let (service, origin) = (Service::start().await, site().await);
    let paths: Vec<String> = (0..5).map(|at| format!("/many/{at}")).collect();
    for path in &paths {
        origin.set(path, Reply::html("<title>One of many</title>"));
    }
    let urls: Vec<String> = paths.iter().map(|path| origin.url(path)).collect();
    origin.set("/list.txt", Reply::text(urls.join("\n")));
    let audit = json!({"url": origin.url("/list.txt")});
    let links = json!({"urls": urls});
    for (actor, input, names) in [
        (
            "sitemap-audit",
            audit,
            ["total_urls_probed", "pages_billed", "not_probed"],
        ),
        ("check-links", links, ["total", "ok", "not_checked"]),
    ] {
        let client = service.other_project(actor).await;
        let project = service.app.store.project_named(actor).await;
        let project = project.unwrap().unwrap().id;
        let quota = &service.app.accounts.quota;
        // Two of the 200 pages of a day are left.
        let held = quota.reserve(project, Amount::pages(198)).await.unwrap();
        let path = format!("/v1/actors/{actor}");
        let answer = client.post(&path, &input).await.ok();
        let found = names.map(|name| answer["data"][name].as_u64());
        assert_eq!(found, [2, 2, 3].map(Some), "{answer}");
        drop(held);
    }
}

#[tokio::test]
async fn whatever_is_read_for_its_list_of_urls_is_free() {
    let (service, origin) = (Service::start().await, site().await);
    let listed = origin.url("/docs/a");
    let feed = format!("<rss><channel><item><link>{listed}</link></item></channel></rss>");
    origin.set("/feed.rss", Reply::new(200, feed));
    let index = format!(
        "<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>",
        origin.url("/none")
    );
    origin.set("/index.xml", Reply::new(200, index));
    let mut billed = 0;
    for (start, dry, pages) in [
        ("/feed.rss", true, 0),
        ("/feed.rss", false, 1),
        ("/index.xml", false, 0),
    ] {
        let input = json!({"url": origin.url(start), "dry_run": dry});
        let audit = run(&service, "sitemap-audit", input).await;
        assert_eq!(audit["data"]["pages_billed"], pages, "{audit}");
        billed += pages;
        assert_eq!(service.billed().await, (billed, 0), "{start}");
    }
}

#[tokio::test]
async fn sitemaps_are_read_at_a_full_cap_and_listed_urls_are_not() {
    let (service, origin) = (Service::start().await, site().await);
    origin.set(
        "/listed",
        Reply::text(format!("{}\n{}\n", origin.url("/"), origin.url("/gone"))),
    );
    let client = service.other_project("shop").await;
    service.has_used("shop", 200, 0).await;

    let path = "/v1/actors/sitemap-audit";
    let index = format!(
        "<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>",
        origin.url("/listed")
    );
    origin.set("/index.xml", Reply::new(200, index));
    for (start, urls) in [("/", 3), ("/index.xml", 2)] {
        let input = json!({"url": origin.url(start), "dry_run": true});
        let dry = client.post(path, &input).await.ok();
        assert_eq!(dry["data"]["total_urls_in_sitemap"], urls, "{dry}");
    }
    // At most one page is fetched in vain before it is known to be none of the free files.
    let asked = |path| origin.count(path);
    let whole = client.post(path, &json!({"url": origin.url("/")})).await;
    let said = whole.error(429, "RATE_LIMITED");
    assert_eq!(said, "daily page cap exceeded");
    assert!(asked("/") + asked("/docs/a") + asked("/gone") <= 1);
    let links = json!({"urls": [origin.url("/docs/b")]});
    let links = client.post("/v1/actors/check-links", &links).await;
    links.error(429, "RATE_LIMITED");
    let store = &service.app.store;
    let project = store.project_named("shop").await.unwrap().unwrap().id;
    let total = store.usage_total(project).await.unwrap();
    assert_eq!(total, (200, 0, 0));
}

#[tokio::test]
async fn a_listed_redirect_is_reported_and_not_followed() {
    let (service, origin) = (Service::start().await, site().await);
    origin.set("/moved", Reply::redirect(301, "/docs/a"));
    origin.set("/sitemap-moved.txt", Reply::text(origin.url("/moved")));
    let audit = run(
        &service,
        "sitemap-audit",
        json!({"url": origin.url("/sitemap-moved.txt")}),
    )
    .await;
    let item = &audit["data"]["items"][0];
    assert_eq!(item["bucket"], "redirect", "{audit}");
    assert_eq!(item["location"], origin.url("/docs/a"), "{audit}");
    assert_eq!(origin.count("/docs/a"), 0);
    assert_eq!(service.billed().await, (1, 0));
}

#[tokio::test]
async fn the_graph_of_a_finished_crawl_is_read_from_the_store() {
    let (service, origin) = (Service::start().await, site().await);
    let client = service.client();
    let crawl = json!({"url": origin.url("/"), "delay_ms": 0});
    let created = client.post("/v1/crawls", &crawl).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let id = created.json()["id"].as_i64().unwrap();
    over(&service, id).await;
    let before = service.billed().await;
    let graph = run(&service, "internal-link-graph", json!({"crawl_id": id})).await;
    assert_eq!(graph["url"], format!("/v1/crawls/{id}"));
    let data = &graph["data"];
    assert_eq!(data["stats"]["pages"], 4, "{data}");
    assert_eq!(data["stats"]["edges"], 6, "{data}");
    assert_eq!(data["top_recipients"][0]["edges"], 2, "{data}");
    assert!(
        data["anchor_text_by_target"]
            .to_string()
            .contains("Read on"),
        "{data}"
    );
    assert_eq!(service.billed().await, (before.0 + 1, 0));

    let path = "/v1/actors/internal-link-graph";
    let other = service.other_project("other").await;
    let said = other
        .post(path, &json!({"crawl_id": id}))
        .await
        .error(404, "NOT_FOUND");
    assert!(said.starts_with("crawl_id: "), "{said}");
}

#[tokio::test]
async fn llms_txt_is_built_from_one_crawl_that_is_reused() {
    let (service, origin) = (Service::start().await, site().await);
    let client = service.client();
    let path = "/v1/llms-txt-build";
    let url = origin.url("/");
    let early = client
        .post(path, &json!({"url": url, "wait_seconds": 0}))
        .await;
    early.error(408, "TIMEOUT");
    let id = early.json()["error"]["crawl_id"].as_i64().unwrap();
    over(&service, id).await;
    let asked = origin.count("/");
    let file = client
        .post(path, &json!({"url": url, "site_name": "Web site"}))
        .await;
    assert_eq!(file.status, 200, "{}", file.text());
    assert_eq!(
        file.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    let expected = format!(
        "# Web site\n\n> About Start.\n\n## Pages\n\n- [Start]({url}): About Start.\n\n## Docs\n\n\
         - [A]({a}): About A.\n- [B]({b}): About B.\n",
        a = origin.url("/docs/a"),
        b = origin.url("/docs/b"),
    );
    assert_eq!(file.text(), expected);
    assert_eq!(origin.count("/"), asked, "the finished run is reused");

    for (body, field) in [
        (json!({}), "url"),
        (json!({"url": "http://10.0.0.1/"}), "url"),
        (json!({"url": url, "max_pages": 201}), "max_pages"),
        (json!({"url": url, "wait_seconds": 181}), "wait_seconds"),
        (
            json!({"url": url, "site_name": "x".repeat(201)}),
            "site_name",
        ),
    ] {
        let said = client.post(path, &body).await.error(422, "INVALID_INPUT");
        assert!(said.starts_with(&format!("{field}: ")), "{said}");
    }
}

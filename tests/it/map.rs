//! POST /v1/map: the URLs of a site.

use orbweaver_core::ids::RunId;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Service, runs};

fn paths<'a>(answer: &'a Value, origin: &Origin) -> Vec<(&'a str, &'a str)> {
    let base = origin.url("");
    let urls = answer["urls"].as_array().expect("urls").iter();
    urls.map(|item| {
        let url = item["url"].as_str().expect("a url");
        (
            url.strip_prefix(&base).expect("a URL of the site"),
            item["source"].as_str().expect("a source"),
        )
    })
    .collect()
}

#[tokio::test]
async fn a_site_is_mapped_from_links_sitemaps_and_runs() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let client = service.client();
        let origin = Origin::start().await.expect("a site");
        let index = format!(
            "<sitemapindex><sitemap><loc>{}</loc></sitemap><sitemap><loc>{}</loc></sitemap>\
             </sitemapindex>",
            origin.url("/one.xml"),
            origin.url("/missing.xml"),
        );
        let urlset = format!(
            "<urlset><url><loc>{}</loc></url><url><loc>{}</loc></url><url><loc>https://other.example/\
             </loc></url></urlset>",
            origin.url("/a#x"),
            origin.url("/listed/price"),
        );
        origin
            .set(
                "/robots.txt",
                Reply::text(format!("Sitemap: {}\n", origin.url("/index.xml"))),
            )
            .set(
                "/index.xml",
                Reply::new(200, index).header("Content-Type", "text/xml"),
            )
            .set(
                "/one.xml",
                Reply::new(200, urlset).header("Content-Type", "text/xml"),
            )
            .set(
                "/",
                Reply::html("<a href=/a>a</a><a href=https://other.example/x>x</a>"),
            )
            .set("/a", Reply::html("<a href=/deep/price-list>d</a>"))
            .set("/deep/price-list", Reply::html("deep"));
        let body = json!({"url": origin.url("/")});
        let mapped = client.post("/v1/map", &body).await.ok();
        assert_eq!(
            paths(&mapped, &origin),
            [("/", "page"), ("/a", "page"), ("/listed/price", "sitemap")]
        );
        assert_eq!(
            (&mapped["sitemaps"], &mapped["total"]),
            (&json!(2), &json!(3))
        );
        assert_eq!(mapped["complete"], true);
        assert_eq!(mapped["incomplete_reason"], Value::Null);
        assert_eq!(service.billed().await, (1, 0));

        let crawl = json!({"url": origin.url("/"), "delay_ms": 0});
        let run = client.post("/v1/crawls", &crawl).await.json()["id"].as_i64();
        runs::ended(&service, RunId(run.expect("a run"))).await;
        let search = json!({"url": origin.url("/"), "search": "Price list"});
        let found = client.post("/v1/map", &search).await.ok();
        assert_eq!(
            paths(&found, &origin),
            [("/listed/price", "sitemap"), ("/deep/price-list", "run")]
        );
        let one = json!({"url": origin.url("/"), "limit": 1, "runs": false, "sitemaps": false});
        let one = client.post("/v1/map", &one).await.ok();
        assert_eq!(
            (paths(&one, &origin), &one["total"]),
            (vec![("/", "page")], &json!(2))
        );
        let other = service.other_project("other").await;
        let theirs = other.post("/v1/map", &body).await.ok();
        assert_eq!(
            theirs["total"], 3,
            "another project's runs are not looked at"
        );
    }
}

#[tokio::test]
async fn a_map_is_searched_for_words_of_any_script() {
    let service = Service::start().await;
    let origin = Origin::start().await.expect("a site");
    origin.set(
        "/",
        Reply::html("<a href='/новости/1'>n</a><a href=/caf%C3%A9>c</a>"),
    );
    for (search, path) in [
        ("Новости", "/%D0%BD%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D0%B8/1"),
        ("CAFÉ", "/caf%C3%A9"),
    ] {
        let body = json!({"url": origin.url("/"), "search": search});
        let found = service.client().post("/v1/map", &body).await.ok();
        assert_eq!(paths(&found, &origin), [(path, "page")]);
    }
}

#[tokio::test]
async fn a_map_is_refused_by_rule_and_fails_with_its_cause() {
    let service = Service::start().await;
    let client = service.client();
    for (body, rule) in [
        (json!({}), "url: is required"),
        (json!({"url": "http://10.0.0.1/"}), "url: "),
        (
            json!({"url": "https://example.com/", "limit": 0}),
            "limit: must be between",
        ),
        (
            json!({"url": "https://example.com/", "search": "x".repeat(201)}),
            "search: must",
        ),
        (
            json!({"url": "https://example.com/", "search": "a ".repeat(11)}),
            "search: must",
        ),
    ] {
        let said = client
            .post("/v1/map", &body)
            .await
            .error(422, "INVALID_INPUT");
        assert!(said.starts_with(rule), "{said}");
    }
    let down = client
        .post("/v1/map", &json!({"url": "http://nowhere.invalid/"}))
        .await;
    let said = down.error(502, "FETCH_FAILED");
    assert!(said.contains("nowhere.invalid"), "{said}");
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn a_map_says_what_could_not_be_read() {
    let service = Service::start().await;
    let client = service.client();
    let listed = |path: &str| Reply::text(format!("Sitemap: {path}\n"));
    for (robots, start, reason) in [
        (Reply::new(503, ""), 200, "the start page was not fetched: "),
        (
            Reply::text("User-agent: *\nDisallow: /\n"),
            200,
            "the start page was not fetched: ",
        ),
        (Reply::text(""), 500, "the start page answers 500"),
        (listed("/down.xml"), 200, "/down.xml answers 503"),
        (listed("/page.xml"), 200, "/page.xml cannot be read: "),
        (
            listed("/cut.xml"),
            200,
            "/cut.xml: not well-formed XML: read as far as possible",
        ),
    ] {
        let origin = Origin::start().await.expect("a site");
        origin
            .set("/robots.txt", robots)
            .set("/", Reply::new(start, "<a href=/a>a</a>"))
            .set(
                "/cut.xml",
                Reply::text("<urlset><url><loc>/a</loc></url><url><loc>/b"),
            )
            .set("/down.xml", Reply::new(503, ""))
            .set("/page.xml", Reply::html("<p>no sitemap"));
        let body = json!({"url": origin.url("/")});
        let mapped = client.post("/v1/map", &body).await.ok();
        assert_eq!(mapped["complete"], false, "{mapped}");
        let said = mapped["incomplete_reason"].as_str().expect("a reason");
        assert!(said.contains(reason), "{said}");
    }
    // Nobody has said that there is a sitemap at this place.
    let origin = Origin::start().await.expect("a site");
    origin
        .set("/", Reply::html("<a href=/a>a</a>"))
        .set("/sitemap.xml", Reply::html("<p>no sitemap"));
    let body = json!({"url": origin.url("/")});
    let mapped = client.post("/v1/map", &body).await.ok();
    assert_eq!(mapped["complete"], true, "{mapped}");
}

//! A site whose sitemaps list every case.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::time::Duration;

use orbweaver_actor_sitemap_audit::{Input, run, run_within};
use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Code, Error};
use serde_json::{Value, json};

fn at(path: &str, body: &str) -> Document {
    Document::new(&format!("https://site.example{path}"), body)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder
        .write_all(text.as_bytes())
        .expect("a buffer takes it");
    encoder.finish().expect("a buffer takes it")
}

fn canonical(url: &str) -> String {
    format!("<title>A page</title><link rel=canonical href='{url}'>")
}

fn site() -> Site {
    let denied = Error::new(Code::Robots, "robots.txt disallows /private");
    Site::default()
        .page(at(
            "/robots.txt",
            "User-agent: *\nDisallow: /private\n\nSitemap: /maps/index.xml\n",
        ))
        .page(at("/maps/index.xml", include_str!("../fixtures/index.xml")))
        .page(at("/maps/pages.xml", include_str!("../fixtures/pages.xml")))
        .page(at("/maps/more.xml.gz", "").body(gzip(include_str!("../fixtures/more.xml"))))
        .page(at("/maps/gone.xml", "gone").status(404))
        .page(at(
            "/maps/nested.xml",
            include_str!("../fixtures/nested.xml"),
        ))
        .page(at("/", &canonical("https://SITE.example:443/")))
        .page(at("/moved", "").status(301).header("Location", "/more"))
        .page(at("/missing", "").status(404))
        .page(at("/broken", "").status(503))
        .page(at(
            "/hidden-by-meta",
            "<meta name=Robots content='NoIndex, follow'><meta name=googlebot content=nosnippet>",
        ))
        .page(
            at("/hidden-by-header.pdf", "")
                .header("X-Robots-Tag", "googlebot: none")
                .header("x-robots-tag", "noarchive"),
        )
        .page(
            at(
                "/hidden-from-another",
                "<meta name=bingbot content=noindex>",
            )
            .header("x-robots-tag", "otherbot: noindex"),
        )
        .page(at("/copy?utm_source=map", &canonical("/copy")))
        .page(at("/copy-by-header", "").header("link", "</more>; rel=\"canonical\""))
        .fails("https://site.example/private", denied)
        .page(at("/more", "<p>More"))
}

fn audit(site: Site, input: Value) -> Result<Value, Error> {
    let _web = install(site);
    let input: Input = serde_json::from_value(input)?;
    Ok(serde_json::to_value(block_on(run(input))?)?)
}

#[test]
fn a_site_with_every_case() {
    let site = site();
    let asked = site.asked();
    let found = audit(site, json!({"url": "https://site.example/some/page"})).expect("an answer");
    let expected: Value =
        serde_json::from_str(include_str!("../fixtures/audit.json")).expect("JSON");
    assert_eq!(found, expected, "{found:#}");
    let asked = asked.borrow();
    assert!(
        !asked.iter().any(|a| a.contains("deep.xml")),
        "indexes are followed one level"
    );
    assert_eq!(
        asked
            .iter()
            .filter(|a| *a == "GET https://site.example/")
            .count(),
        1,
        "listed twice, asked once"
    );
}

#[test]
fn without_time_the_remaining_urls_are_counted() {
    let site = site();
    let asked = site.asked();
    let _web = install(site);
    let input = json!({"url": "https://site.example/maps/pages.xml"});
    let input: Input = serde_json::from_value(input).expect("an input");
    let found = block_on(run_within(input, Duration::ZERO)).expect("an answer");
    assert_eq!(found.total_urls_probed, 0);
    assert!(found.not_probed > 0);
    assert_eq!(found.not_probed, found.total_urls_in_sitemap);
    assert_eq!(asked.borrow().len(), 1, "only the sitemap: {asked:?}");
}

#[test]
fn a_dry_run_requests_no_page() {
    let site = site();
    let asked = site.asked();
    let found = audit(
        site,
        json!({"url": "https://site.example/", "dry_run": true}),
    )
    .expect("an answer");
    assert_eq!(
        (&found["sitemaps_found"], &found["total_urls_in_sitemap"]),
        (&json!(4), &json!(12))
    );
    assert_eq!(
        (
            &found["total_urls_probed"],
            &found["pages_billed"],
            &found["items"]
        ),
        (&json!(0), &json!(0), &json!([]))
    );
    assert!(!asked.borrow().iter().any(|a| a.ends_with("example/")));
}

#[test]
fn no_more_than_max_urls_are_requested() {
    let found = audit(
        site(),
        json!({"url": "https://site.example/", "max_urls": 3}),
    )
    .expect("an answer");
    assert_eq!(
        (&found["total_urls_probed"], &found["total_urls_in_sitemap"]),
        (&json!(3), &json!(12))
    );
    assert_eq!(found["items"].as_array().map(Vec::len), Some(3));
}

#[test]
fn spellings_of_one_url_are_one_url() {
    let list = "https://site.example/~a#1\nhttps://site.example/~a\nhttps://site.example/%7ea#2\n";
    let site = Site::default()
        .page(at("/map.txt", list))
        .page(at("/~a#1", "<p>A"));
    let found = audit(site, json!({"url": "https://site.example/map.txt"})).expect("an answer");
    for name in ["total_urls_in_sitemap", "total_urls_probed", "pages_billed"] {
        assert_eq!(found[name], 1, "{name}: {found:#}");
    }
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn urls_that_a_cap_keeps_from_being_requested_are_counted_apart() {
    let list = "https://site.example/a\nhttps://site.example/b\nhttps://site.example/c\n";
    let cap = Error::new(Code::Quota, "daily page cap exceeded");
    let budget = Error::new(Code::Budget, "the budget of 2 requests is exhausted");
    let site = Site::default()
        .page(at("/map.txt", list))
        .page(at("/a", "<p>A"))
        .fails("https://site.example/b", cap)
        .fails("https://site.example/c", budget);
    let found = audit(site, json!({"url": "https://site.example/map.txt"})).expect("an answer");
    assert_eq!(
        (
            &found["total_urls_probed"],
            &found["not_probed"],
            &found["summary"]["network_error"],
            &found["summary"]["ok"]
        ),
        (&json!(1), &json!(2), &json!(0), &json!(1)),
        "{found:#}"
    );
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_url_of_a_sitemap_can_be_given() {
    let found = audit(
        site(),
        json!({"url": "https://site.example/maps/more.xml.gz"}),
    )
    .expect("an answer");
    let urls: Vec<&Value> = found["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|i| &i["url"])
        .collect();
    assert_eq!(urls, ["https://site.example/", "https://site.example/more"]);
    assert_eq!(found["items"][1]["lastmod"], "2025-12-31T23:59:59+00:00");
}

#[test]
fn another_spelling_of_its_own_url_is_canonical() {
    let list = "https://site.example/a\nhttps://site.example/b?utm_source=x\n";
    let site = Site::default()
        .page(at("/map.txt", list))
        .page(at("/a", &canonical("//SITE.example:443/a#main")))
        .page(at("/b?utm_source=x", &canonical("/b")));
    let found = audit(site, json!({"url": "https://site.example/map.txt"})).expect("an answer");
    let buckets = [0, 1].map(|at| found["items"][at]["bucket"].clone());
    assert_eq!(buckets, ["ok", "canonicalised_away"], "{found:#}");
}

#[test]
fn of_metas_in_the_body_only_those_for_robots_count() {
    let list = "https://site.example/a\nhttps://site.example/b\n";
    let hidden = "<p>x<meta name=robots content=noindex>";
    let site = Site::default()
        .page(at("/map.txt", list))
        .page(at("/a", "<p>x<link rel=canonical href='/other'>"))
        .page(at("/b", hidden));
    let found = audit(site, json!({"url": "https://site.example/map.txt"})).expect("an answer");
    let buckets = [0, 1].map(|at| found["items"][at]["bucket"].clone());
    assert_eq!(buckets, ["ok", "noindex"], "{found:#}");
    assert_eq!(found["items"][0]["canonical"], Value::Null);
}

#[test]
fn a_page_on_sitemaps_is_a_page() {
    let page = "<!doctype html><html><body><h1>What is a sitemap?";
    for path in ["/blog/what-is-a-sitemap", "/sitemap"] {
        let url = format!("https://site.example{path}");
        let found = audit(
            site().page(at(path, page)),
            json!({"url": url, "dry_run": true}),
        )
        .expect("an answer");
        assert_eq!(found["total_urls_in_sitemap"], 12, "{path}: {found:#}");
        let sitemaps = found["sitemaps"].as_array().expect("sitemaps");
        assert!(sitemaps.iter().all(|one| one["url"] != url), "{found:#}");
    }
    // A program that makes a sitemap has such a name, too.
    let list = include_str!("../fixtures/more.xml");
    let made = site().page(at("/sitemap_of?id=3", list));
    let asked = made.asked();
    let input = json!({"url": "https://site.example/sitemap_of?id=3", "dry_run": true});
    let found = audit(made, input).expect("an answer");
    assert_eq!(found["total_urls_in_sitemap"], 2, "{found:#}");
    assert_eq!(asked.borrow().len(), 1);
    // What is not there is told, as of other sitemaps.
    let input = json!({"url": "https://site.example/sitemap_of?id=4", "dry_run": true});
    let missing = site().page(at("/sitemap_of?id=4", "").status(404));
    let found = audit(missing, input).expect("an answer");
    assert_eq!(found["sitemaps"][0]["error"], "HTTP 404", "{found:#}");
}

#[test]
fn without_robots_txt_the_usual_places_are_searched() {
    let site = Site::default()
        .page(at("/robots.txt", "").status(404))
        .page(at("/sitemap.xml", "<html><title>Not found").status(404))
        .page(at("/sitemap_index.xml", "<!doctype html><html><body>Oops"))
        .page(at(
            "/sitemap-index.xml",
            include_str!("../fixtures/more.xml"),
        ))
        .page(at("/sitemap.txt", "https://site.example/other"))
        .page(at("/", "<p>Home"));
    let found = audit(
        site,
        json!({"url": "https://site.example/", "dry_run": true}),
    )
    .expect("an answer");
    assert_eq!(
        found["sitemaps"],
        json!([{"url": "https://site.example/sitemap-index.xml", "entries": 2, "error": null}])
    );
}

#[test]
fn a_site_without_sitemaps_has_none() {
    let mut site = Site::default().page(at("/robots.txt", "User-agent: *\nDisallow:\n"));
    for path in [
        "/sitemap.xml",
        "/sitemap_index.xml",
        "/sitemap-index.xml",
        "/sitemap.txt",
    ] {
        site = site.page(at(path, "").status(404));
    }
    let found = audit(site, json!({"url": "https://site.example/"})).expect("an answer");
    assert_eq!(
        (&found["sitemaps_found"], &found["total_urls_probed"]),
        (&json!(0), &json!(0))
    );
}

#[test]
fn a_sitemap_that_cannot_be_read_is_reported() {
    let site = || {
        Site::default()
            .page(at(
                "/map.xml",
                "<urlset><url><loc>https://site.example/</loc></url><url><lo",
            ))
            .page(at("/", ""))
    };
    let found = audit(site(), json!({"url": "https://site.example/map.xml"})).expect("an answer");
    assert_eq!(
        found["sitemaps"][0]["error"],
        "not well-formed XML: read as far as possible"
    );
    assert_eq!(found["summary"]["ok"], 1);
    let found = audit(
        site().page(at("/map.xml", "<html><body>Sign in")),
        json!({"url": "https://site.example/map.xml"}),
    )
    .expect("an answer");
    assert_eq!(found["sitemaps"][0]["error"], "an HTML page, not a sitemap");
}

#[test]
fn a_site_that_does_not_respond_is_a_fetch_failure() {
    for url in ["https://site.example/", "https://site.example/sitemap.xml"] {
        assert!(
            matches!(
                audit(Site::default(), json!({"url": url})),
                Err(ref error) if error.is_fetch()
            ),
            "{url}"
        );
    }
}

#[test]
fn a_file_that_is_too_large_to_be_read_is_judged_by_its_headers() {
    let site = |head: Document| {
        let url = "https://site.example/large.pdf";
        Site::default()
            .page(at("/list.txt", url))
            .fails(url, Error::new(Code::TooLarge, "30 MiB"))
            .method("HEAD", head)
    };
    let large = || at("/large.pdf", "");
    for (head, status, bucket) in [
        (large(), json!(200), "ok"),
        (
            large().header("X-Robots-Tag", "noindex"),
            json!(200),
            "noindex",
        ),
        (large().status(405), Value::Null, "network_error"),
    ] {
        let input = json!({"url": "https://site.example/list.txt"});
        let found = audit(site(head), input).expect("an answer");
        let item = &found["items"][0];
        assert_eq!(
            (&item["status_code"], &item["bucket"]),
            (&status, &json!(bucket))
        );
    }
}

//! How a crawl treats a site, by the site's own log of requests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use orbweaver_origin::{LargeSite, Origin, Reply, SiteSpec};
use orbweaver_tests::crawl::expected_rows;
use serde_json::{Value, json};

use crate::support::{Client, Service, runs};

/// Crawls to the end; returns the run.
async fn crawl(client: &Client, body: Value) -> Value {
    let run = runs::crawled(client, &body).await;
    assert_eq!(run["status"], "done", "{run}");
    run
}

async fn whole_site(service: &Service) {
    let site = LargeSite::start(&SiteSpec {
        latency: Duration::from_millis(2),
        ..SiteSpec::small_pages(300)
    })
    .unwrap();
    let client = service.client();
    let body = json!({"url": site.url("/"), "depth": 50, "delay_ms": 0, "concurrency": 6});
    let run = crawl(&client, body).await;

    let listed = client
        .get(&format!("/v1/crawls/{}/pages?limit=10000", run["id"]))
        .await
        .ok();
    let items = listed["items"].as_array().unwrap();
    let rows: BTreeMap<String, u16> = items
        .iter()
        .map(|row| {
            let path = row["url"]
                .as_str()
                .unwrap()
                .strip_prefix(&site.url(""))
                .unwrap();
            (path.to_owned(), row["status"].as_u64().unwrap() as u16)
        })
        .collect();
    let expected = expected_rows(&site);
    assert_eq!(rows, expected);
    assert_eq!(
        (items.len(), &run["page_count"]),
        (rows.len(), &json!(rows.len()))
    );
    assert_eq!(service.billed().await.0, rows.len() as u64);

    let moved = site.moved();
    for (path, count) in site.counts() {
        assert_eq!(count, 1, "{path} was asked for {count} times");
        let known = expected.contains_key(&path) || moved.contains_key(&path);
        assert!(known || path.ends_with(".txt"), "{path}");
    }
    // robots.txt and the two llms files are requested besides the pages.
    let most = site.most_open();
    assert!((2..=9).contains(&most), "{most} at once");
}

#[tokio::test]
async fn every_page_is_requested_once_on_sqlite() {
    whole_site(&Service::start().await).await;
}

#[tokio::test]
async fn every_page_is_requested_once_on_postgres() {
    whole_site(&Service::on_postgres().await).await;
}

/// A page with these links.
fn page(links: &[&str]) -> Reply {
    let links = links
        .iter()
        .map(|link| format!("<a href=\"{link}\">link</a>"));
    Reply::html(format!(
        "<!doctype html><title>Page</title>{}",
        links.collect::<String>()
    ))
}

#[tokio::test]
async fn options_of_a_crawl_reach_the_site() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let other = Origin::start().await.unwrap();
    origin.set(
        "/robots.txt",
        Reply::text("user-agent: orbweaver\ndisallow: /secret"),
    );
    let away = other.url("/");
    origin.set("/", page(&["/a", "/secret/x", "/skip/x", away.as_str()]));
    origin.set("/a", page(&["/b"]));
    origin.set("/b", page(&["/too-deep"]));
    let body = json!({
        "url": origin.url("/"), "depth": 2, "delay_ms": 0, "user_agent": "Tester/1",
        "headers": {"X-Reason": "test"}, "cookies": "k=v; l=w", "exclude_paths": ["^/skip/"],
    });
    let run = crawl(&service.client(), body).await;
    assert_eq!(run["page_count"], 3);
    let pages: Vec<_> = origin
        .requests()
        .into_iter()
        .filter(|request| !request.path().ends_with(".txt"))
        .collect();
    let paths: BTreeSet<&str> = pages.iter().map(|request| request.path()).collect();
    assert_eq!(paths, BTreeSet::from(["/", "/a", "/b"]));
    for request in &pages {
        assert_eq!(request.header("user-agent"), Some("Tester/1"));
        assert_eq!(request.header("x-reason"), Some("test"));
        assert_eq!(request.header("cookie"), Some("k=v; l=w"));
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn requests_to_a_host_keep_the_delay() {
    let service = Service::start().await;
    let links: Vec<String> = (0..8).map(|number| format!("/{number}")).collect();
    let crawl_delay = Reply::text("user-agent: *\ncrawl-delay: 0.1");
    for (robots, delay_ms) in [(Reply::new(404, ""), 100), (crawl_delay, 0)] {
        let origin = Origin::start().await.unwrap();
        origin.set("/robots.txt", robots);
        origin.set(
            "/",
            page(&links.iter().map(String::as_str).collect::<Vec<_>>()),
        );
        let body = json!({"url": origin.url("/"), "delay_ms": delay_ms, "concurrency": 8});
        crawl(&service.client(), body).await;
        let pages: Vec<_> = origin
            .requests()
            .into_iter()
            .filter(|request| !request.path().ends_with(".txt"))
            .collect();
        assert_eq!(pages.len(), 9);
        // The first request may be recorded late, so the gap may be one delay shorter.
        let took = pages[8].at.duration_since(pages[0].at);
        assert!(took >= Duration::from_millis(700), "{took:?}");
    }
}

//! Proxies that refuse or are unreachable, and what is used instead: real proxies, for the
//! cloud endpoints, crawls and actors.

use orbweaver_fetch::ProxyPool;
use orbweaver_origin::{Origin, Reply};
use orbweaver_tests::proxies::{ProxyServer, dead_url};
use serde_json::{Value, json};

use crate::support::Service;

async fn with_pool(pool: ProxyPool, urls: &[String]) -> Service {
    Service::with(|config| {
        let urls = urls.iter().map(|url| url.parse().expect("a proxy"));
        config.fetch.proxy_pools.insert(pool, urls.collect());
    })
    .await
}

async fn origin() -> Origin {
    let origin = Origin::start().await.expect("an origin");
    let text = "Plain text that is long enough to be content. ".repeat(10);
    origin.set(
        "/page",
        Reply::html(format!("<h1>Through</h1><p>{text}</p>")),
    );
    origin.set(
        "/password",
        Reply::html("<p>The site asks for a password.</p>")
            .header("WWW-Authenticate", "Basic realm=site")
            .with_status(401),
    );
    // This page exists for requests through tinyproxy, which adds `Via`.
    origin.set_under("/gate/", |request| match request.header("via") {
        // Long enough to cost something.
        Some(_) => Reply::html("<p>in</p>".repeat(1_000)),
        None => Reply::html("<p>out</p>").with_status(403),
    });
    // This page exists for a browser, which says where its requests come from.
    origin.set_under("/people/", |request| {
        match request.header("sec-fetch-dest") {
            Some("document") => Reply::html("<p>in</p>"),
            _ => Reply::html("<p>out</p>").with_status(403),
        }
    });
    origin
}

#[tokio::test]
async fn a_401_of_the_proxy_is_told_from_a_401_of_the_site() {
    let proxy = ProxyServer::tinyproxy().expect("tinyproxy");
    let origin = origin().await;
    // tinyproxy answers wrong credentials with 401, as a site would, and missing ones with 407.
    for url in [proxy.wrong_url(), proxy.open_url()] {
        let service = with_pool(ProxyPool::Isp, &[url]).await;
        let client = service.client();
        let page = origin.url("/page");
        for (path, body) in [
            ("proxy-fetch", json!({"url": page})),
            ("scrape", json!({"url": page, "force_backend": "proxy"})),
            (
                "scrape",
                json!({"url": page, "force_backend": "proxy", "chrome": true}),
            ),
        ] {
            let answer = client.post(&format!("/v1/cloud/{path}"), &body).await;
            let message = answer.error(502, "FETCH_FAILED");
            assert!(
                message.contains("proxy refuses our credentials"),
                "{message}"
            );
            assert!(
                !message.contains("wrong"),
                "the message has no password: {message}"
            );
        }
        assert_eq!(service.billed().await, (0, 0));
    }
    assert_eq!(origin.count("/page"), 0);
    let service = with_pool(ProxyPool::Isp, &[proxy.url()]).await;
    let body = json!({"url": origin.url("/password")});
    let page = service.client().post("/v1/cloud/proxy-fetch", &body).await;
    assert_eq!(page.ok()["status"], 401);
    assert_eq!(service.billed().await, (0, 1));
}

#[tokio::test]
async fn a_site_that_the_proxy_cannot_reach_is_a_failure() {
    let proxy = ProxyServer::tinyproxy().expect("tinyproxy");
    let service = with_pool(ProxyPool::Isp, &[proxy.url()]).await;
    // tinyproxy answers 500 in the site's place.
    let body = json!({"url": dead_url().expect("a port")});
    let answer = service.client().post("/v1/cloud/proxy-fetch", &body).await;
    let message = answer.error(502, "FETCH_FAILED");
    assert!(message.contains("proxy gives no connection"), "{message}");
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn a_refusing_proxy_is_replaced_by_the_next_of_the_pool() {
    let proxy = ProxyServer::tinyproxy().expect("tinyproxy");
    let pool = [
        dead_url().expect("a port"),
        proxy.wrong_url(),
        proxy.open_url(),
        proxy.url(),
    ];
    let service = with_pool(ProxyPool::Residential, &pool).await;
    let origin = origin().await;
    let client = service.client();
    for chrome in [false, true] {
        let body = json!({"url": origin.url("/page"), "force_backend": "proxy",
                          "proxy_pool": "residential", "chrome": chrome});
        let page = client.post("/v1/cloud/scrape", &body).await.ok();
        assert!(
            page["content"].as_str().unwrap().contains("# Through"),
            "{page}"
        );
    }
    // A crawl does the same.
    let body = json!({"url": origin.url("/gate/start"), "proxy_pool": "residential",
                      "delay_ms": 0, "max_pages": 1});
    let id = client.post("/v1/crawls", &body).await.json()["id"].clone();
    let run = client
        .until(&format!("/v1/crawls/{id}"), |answer| {
            let run = answer.ok();
            run["status"] != "queued" && run["status"] != "running"
        })
        .await
        .ok();
    assert_eq!(
        (&run["status"], &run["page_count"], &run["error_count"]),
        (&json!("done"), &json!(1), &json!(0)),
        "{run}"
    );
    let pages = client.get(&format!("/v1/crawls/{id}/pages")).await.ok();
    assert_eq!(pages["items"][0]["status"], 200, "{pages}");
}

async fn check_links(service: &Service, input: Value) -> Value {
    let answer = service
        .client()
        .post("/v1/actors/check-links", &input)
        .await;
    answer.ok()["data"].clone()
}

#[tokio::test]
async fn broken_links_are_retried_through_the_pool() {
    let proxy = ProxyServer::tinyproxy().expect("tinyproxy");
    let pool = [dead_url().expect("a port"), proxy.wrong_url(), proxy.url()];
    let service = with_pool(ProxyPool::Residential, &pool).await;
    let origin = origin().await;
    let urls = ["/gate/a", "/gate/b", "/page", "/gone"].map(|path| origin.url(path));
    let without = check_links(&service, json!({"urls": urls})).await;
    assert_eq!(
        (&without["broken"], &without["cloud_retried"]),
        (&json!(3), &json!(0)),
        "{without}"
    );
    assert_eq!(service.billed().await, (4, 0));
    let input = json!({"urls": urls, "cloud_retry": true, "cloud_retry_mode": "proxy"});
    let data = check_links(&service, input).await;
    assert_eq!(
        (
            &data["ok"],
            &data["broken"],
            &data["cloud_retried"],
            &data["cloud_recovered"]
        ),
        (&json!(3), &json!(1), &json!(2), &json!(2)),
        "{data}"
    );
    assert!(data["cloud_cost_usd"].as_f64().unwrap() > 0.0, "{data}");
    let recovered = |at: usize| data["items"][at]["recovered_via_cloud"] == true;
    assert!(
        recovered(0) && recovered(1) && !recovered(2) && !recovered(3),
        "{data}"
    );
    assert_eq!(service.billed().await, (8, 2), "four links and two retries");
    // If the requested pool is missing, the links keep their results and the reason is given.
    let input = json!({"urls": urls, "cloud_retry": true, "cloud_retry_mode": "proxy",
                       "proxy_pool": "mobile"});
    let data = check_links(&service, input).await;
    assert_eq!(
        (&data["broken"], &data["cloud_retried"]),
        (&json!(3), &json!(0))
    );
    let error = data["items"][0]["error"].as_str().unwrap();
    assert!(error.contains("fetch.proxy_pools.mobile"), "{error}");
}

#[tokio::test]
async fn at_most_fifty_links_are_retried() {
    let proxy = ProxyServer::tinyproxy().expect("tinyproxy");
    let service = with_pool(ProxyPool::Isp, &[proxy.url()]).await;
    let origin = origin().await;
    let urls: Vec<String> = (0..60).map(|n| origin.url(&format!("/gate/{n}"))).collect();
    let input = json!({"urls": urls, "cloud_retry": true, "cloud_retry_mode": "proxy",
                       "proxy_pool": "isp"});
    let data = check_links(&service, input).await;
    assert_eq!(
        (
            &data["cloud_retried"],
            &data["cloud_recovered"],
            &data["broken"]
        ),
        (&json!(50), &json!(50), &json!(10)),
        "{data}"
    );
    assert_eq!(service.billed().await, (60, 50));
}

#[tokio::test]
async fn broken_links_are_retried_in_the_browser() {
    let (service, origin) = (Service::start().await, origin().await);
    let urls = ["/people/a", "/gone"].map(|path| origin.url(path));
    let input = json!({"urls": urls, "cloud_retry": true});
    let data = check_links(&service, input).await;
    assert_eq!(
        (
            &data["ok"],
            &data["broken"],
            &data["cloud_retried"],
            &data["cloud_recovered"]
        ),
        (&json!(1), &json!(1), &json!(1), &json!(1)),
        "{data}"
    );
    assert_eq!(service.billed().await, (2, 1));
}

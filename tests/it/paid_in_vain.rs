//! Costs of third parties for work that failed in the end are billed, without pages.

use orbweaver_fetch::ProxyPool;
use orbweaver_origin::{Origin, Reply};
use orbweaver_tests::proxies::ProxyServer;
use serde_json::json;

use crate::support::Service;
use crate::support::vendor::{PAGE_MICROS, Vendor};

#[tokio::test]
async fn a_page_for_which_the_provider_takes_money_without_content_is_billed_as_a_cost() {
    let vendor = Vendor::start().await;
    let service = Service::with(|config| vendor.configure(config)).await;
    let client = service.client();
    let scrape = json!({"url": "http://127.0.0.1:4444/failed", "force_backend": "vendor"});
    let crawl = json!({"url": "http://127.0.0.1:4444/failed", "limit": 3});
    let scan = json!({"url": "http://127.0.0.1:4444/failed", "cloud_mode": "unblocker"});
    for (times, (path, body)) in (1..).zip([
        ("/v1/cloud/scrape", &scrape),
        ("/v1/scan", &scan),
        ("/v1/cloud/crawl", &crawl),
    ]) {
        client.post(path, body).await.error(502, "FETCH_FAILED");
        assert_eq!(service.billed_micros().await, times * PAGE_MICROS, "{path}");
    }
    // A retry with the same key is paid for again, and a page that it then gets is billed.
    let header = [("idempotency-key", "b7c1c9a0-5d3e-4f4e-9f54-2f7c7f0f3c12")];
    for times in [4, 5] {
        let again = client.post_with("/v1/cloud/scrape", &header, &scrape).await;
        again.error(502, "FETCH_FAILED");
        assert_eq!(service.billed_micros().await, times * PAGE_MICROS);
    }
    assert_eq!(service.billed().await, (0, 0));
    let usage = client.get("/v1/usage").await.ok();
    assert_eq!(usage["today"]["cloud_cost_usd"], 0.0125, "{usage}");
}

#[tokio::test]
async fn traffic_of_a_pool_is_billed_whatever_came_of_it() {
    let proxy = ProxyServer::tinyproxy().expect("tinyproxy");
    let url = proxy.url().parse().expect("a proxy");
    let service = Service::with(|config| {
        config.fetch.proxy_pools.insert(ProxyPool::Isp, vec![url]);
        config.fetch.limits.max_body_bytes = 1 << 20;
    })
    .await;
    let client = service.client();
    let origin = Origin::start().await.expect("an origin");
    origin.set("/page", Reply::html("x".repeat(1 << 19)));
    let fetch = |path: &str| json!({"url": origin.url(path)});
    let page = client
        .post("/v1/cloud/proxy-fetch", &fetch("/page"))
        .await
        .ok();
    let half = service.billed_micros().await;
    assert!(half > 0, "{}", page["cost_usd"]);
    client
        .post("/v1/cloud/proxy-fetch", &fetch("/fault/endless"))
        .await
        .error(502, "FETCH_FAILED");
    let failed = service.billed_micros().await - half;
    assert!(failed > half, "{failed} {half}");
    assert_eq!(service.billed().await, (0, 1));
}

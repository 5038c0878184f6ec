//! Costs of third parties for work that failed in the end are billed, without pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use futures::StreamExt as _;
use orbweaver_core::setting::Millis;
use orbweaver_fetch::ProxyPool;
use orbweaver_origin::{Origin, Reply};
use orbweaver_tests::proxies::ProxyServer;
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::Service;
use crate::support::vendor::{PAGE_MICROS, Vendor};
use crate::support::wait::until;

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

#[tokio::test]
async fn what_the_provider_does_for_a_client_that_hangs_up_is_billed_as_a_cost() {
    let vendor = Vendor::start().await;
    let (page, search) = (700, 9_000);
    let service = Service::with(|config| {
        vendor.configure(config);
        config.cloud.prices.vendor_page = 0.000_7;
        config.cloud.prices.vendor_search = 0.009;
    })
    .await;
    let client = service.client();
    let slow = "http://127.0.0.1:4444/slow";
    let mut billed = 0;
    for (path, body, price) in [
        (
            "/v1/scan",
            json!({"url": slow, "cloud_mode": "unblocker"}),
            page,
        ),
        ("/v1/cloud/unblock", json!({"url": slow}), page),
        ("/v1/cloud/crawl", json!({"url": slow, "limit": 3}), page),
        ("/v1/cloud/search", json!({"query": "slow"}), search),
    ] {
        let asked = vendor.asked().len();
        let request = client.begin(path, &body).await;
        until("the provider is asked", async || {
            vendor.asked().len() > asked
        })
        .await;
        drop(request);
        billed += price;
        until(path, async || service.billed_micros().await == billed).await;
    }
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn what_the_provider_does_past_the_time_limit_is_billed_as_a_cost() {
    let vendor = Vendor::start().await;
    let service = Service::with(|config| {
        vendor.configure(config);
        config.http.request_timeout_ms = Millis(2_000);
    })
    .await;
    let body = json!({"url": "http://127.0.0.1:4444/slow"});
    let late = service.client().post("/v1/cloud/unblock", &body).await;
    late.error(408, "TIMEOUT");
    until("the page is billed", async || {
        service.billed_micros().await == 1_000
    })
    .await;
}

#[tokio::test]
async fn traffic_of_a_pool_is_billed_when_the_client_hangs_up() {
    /// The server sends so many pieces of this size, more than what waits between it and the service.
    const PIECE: usize = 1 << 20;
    const PIECES: usize = 32;
    let proxy = ProxyServer::tinyproxy().expect("tinyproxy");
    let url = proxy.url().parse().expect("a proxy");
    let service = Service::with(|config| {
        config.fetch.proxy_pools.insert(ProxyPool::Isp, vec![url]);
        config.fetch.limits.max_body_bytes = 64 << 20;
    })
    .await;
    let sent = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&sent);
    let stream = move || {
        let counted = Arc::clone(&counted);
        let pieces = futures::stream::iter(0..PIECES).map(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; PIECE]))
        });
        let body = Body::from_stream(pieces.chain(futures::stream::pending()));
        async move { ([("content-type", "text/html")], body) }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new().route("/", get(stream));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let body = json!({"url": format!("http://{address}/")});
    let request = service.client().begin("/v1/cloud/proxy-fetch", &body).await;
    until("nearly all is sent", async || {
        sent.load(Ordering::Relaxed) == PIECES
    })
    .await;
    drop(request);
    until("the traffic is billed", async || {
        service.billed_micros().await > 0
    })
    .await;
    assert_eq!(service.billed().await, (0, 0));
}

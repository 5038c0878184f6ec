//! /v1/cloud/… by way of others: real proxies, an upstream provider, search engines.

use axum::routing::get;
use axum::{Json, Router};
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_core::setting::Millis;
use orbweaver_fetch::ProxyPool;
use orbweaver_origin::{Origin, Reply};
use orbweaver_tests::proxies::{ProxyServer, dead_url};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::Service;
use crate::support::vendor::{self, Vendor};

async fn origin() -> Origin {
    let origin = Origin::start().await.expect("an origin");
    let text = "Plain text that is long enough to be content. ".repeat(10);
    origin.set(
        "/page",
        Reply::html(format!("<h1>Through</h1><p>{text}</p>")),
    );
    origin.set(
        "/blocked",
        Reply {
            status: 403,
            ..Reply::html("<p>no robots</p>")
        },
    );
    origin
}

async fn with_pools(pools: &[(ProxyPool, Vec<String>)]) -> Service {
    Service::with(|config| {
        for (pool, urls) in pools {
            let urls = urls
                .iter()
                .map(|url| url.parse().expect("a proxy"))
                .collect();
            config.fetch.proxy_pools.insert(*pool, urls);
        }
    })
    .await
}

async fn with_vendor(vendor: &Vendor) -> Service {
    Service::with(|config| {
        config.cloud.vendor_url = Some(SafeUrl::new(vendor.url()));
        config.cloud.vendor_key = Some(Secret::new(vendor::KEY));
        config.cloud.vendor_timeout_ms = Millis(1_000);
    })
    .await
}

#[tokio::test]
async fn real_proxies_carry_the_traffic_as_their_logs_show() {
    let http = ProxyServer::tinyproxy().expect("tinyproxy");
    let socks = ProxyServer::microsocks().expect("microsocks");
    let service = with_pools(&[
        (ProxyPool::Isp, vec![http.url()]),
        (ProxyPool::Residential, vec![socks.url()]),
        (ProxyPool::Mobile, vec![http.open_url()]),
        (ProxyPool::Datacenter, vec![socks.wrong_url()]),
    ])
    .await;
    let origin = origin().await;
    let client = service.client();
    let fetch = async |pool: &str| {
        let body = json!({"url": origin.url("/page"), "pool": pool});
        client.post("/v1/cloud/proxy-fetch", &body).await
    };
    for (pool, proxy) in [("isp", &http), ("residential", &socks)] {
        let page = fetch(pool).await.ok();
        assert!(
            page["content"]
                .as_str()
                .unwrap()
                .contains("<h1>Through</h1>"),
            "{page}"
        );
        assert_eq!(
            (&page["status"], &page["pool"]),
            (&json!(200), &json!(pool))
        );
        let bytes = page["bytes_transferred"].as_u64().unwrap();
        assert_eq!(bytes, page["content"].as_str().unwrap().len() as u64);
        assert!(page["cost_usd"].as_f64().unwrap() > 0.0);
        assert!(proxy.log().contains("127.0.0.1"), "{pool}: {}", proxy.log());
    }
    assert!(
        http.log().contains(&origin.address().port().to_string()),
        "{}",
        http.log()
    );
    assert_eq!(service.billed().await, (0, 2));
    for pool in ["mobile", "datacenter"] {
        let message = fetch(pool).await.error(502, "FETCH_FAILED");
        assert!(!message.contains("wrong"), "no password shows: {message}");
    }
    assert_eq!(service.billed().await, (0, 2));
    // The browser, too, with everything that its page loads. Of another site, since a
    // connection that is kept open shows in no log again.
    let (before, other) = (socks.log().len(), self::origin().await);
    let body = json!({"url": other.url("/page"), "chrome": true, "force_backend": "proxy",
                      "proxy_pool": "residential"});
    let page = client.post("/v1/cloud/scrape", &body).await.ok();
    assert!(page["content"].as_str().unwrap().contains("# Through"));
    assert_eq!(
        (&page["backend"], &page["pool"]),
        (&json!("proxy"), &json!("residential"))
    );
    assert!(page["bytes_transferred"].as_u64().unwrap() > 100);
    assert!(socks.log().len() > before);
}

#[tokio::test]
async fn a_dead_proxy_gives_way_to_the_next_of_its_pool() {
    let http = ProxyServer::tinyproxy().expect("tinyproxy");
    let service = with_pools(&[(
        ProxyPool::Isp,
        vec![dead_url().expect("a port"), http.url()],
    )])
    .await;
    let origin = origin().await;
    for _ in 0..3 {
        let body = json!({"url": origin.url("/page")});
        let page = service
            .client()
            .post("/v1/cloud/proxy-fetch", &body)
            .await
            .ok();
        assert_eq!(page["status"], 200);
    }
    assert_eq!(origin.count("/page"), 3);
    assert_eq!(service.billed().await, (0, 3));
}

#[tokio::test]
async fn a_country_goes_to_proxies_that_take_one() {
    let origin = origin().await;
    let proxy = orbweaver_origin::Proxy::http(origin.address())
        .await
        .unwrap();
    let service = with_pools(&[
        (ProxyPool::Isp, vec![proxy.url()]),
        (
            ProxyPool::Mobile,
            vec![proxy.url_with("customer-{country}", "secret")],
        ),
    ])
    .await;
    let client = service.client();
    let body = json!({"url": origin.url("/page"), "country": "DE"});
    let answer = client.post("/v1/cloud/proxy-fetch", &body).await;
    let message = answer.error(501, "NOT_IMPLEMENTED");
    assert!(message.contains("{country}"), "{message}");
    // The proxy knows `customer` and no `customer-de`: it was asked as that.
    let body = json!({"url": origin.url("/page"), "pool": "mobile", "country": "DE"});
    let message = client
        .post("/v1/cloud/proxy-fetch", &body)
        .await
        .error(502, "FETCH_FAILED");
    assert!(message.contains("credentials"), "{message}");
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn blocked_pages_go_on_to_pools_and_unblock_takes_the_browser_through_them() {
    let http = ProxyServer::tinyproxy().expect("tinyproxy");
    let service = with_pools(&[(ProxyPool::Datacenter, vec![http.url()])]).await;
    let origin = origin().await;
    let client = service.client();
    // Blocked here and through the pool alike: the last page that came is the answer.
    let page = client
        .post("/v1/cloud/scrape", &json!({"url": origin.url("/blocked")}))
        .await
        .ok();
    assert_eq!(
        (&page["status"], &page["backend"]),
        (&json!(403), &json!("proxy"))
    );
    assert!(origin.count("/blocked") >= 3, "plain, browser, pool");
    assert_eq!(service.billed().await, (0, 1));
    let page = client
        .post("/v1/cloud/unblock", &json!({"url": origin.url("/page")}))
        .await
        .ok();
    assert!(page["content"].as_str().unwrap().contains("# Through"));
    let scan = json!({"url": origin.url("/page"), "cloud_mode": "unblocker"});
    let scan = client.post("/v1/scan", &scan).await.ok();
    assert!(scan["markdown"].as_str().unwrap().contains("# Through"));
    assert_eq!(service.billed().await, (0, 3));
}

#[tokio::test]
async fn the_provider_serves_pages_and_its_costs_are_booked() {
    let vendor = Vendor::start().await;
    let service = with_vendor(&vendor).await;
    let client = service.client();
    let body = json!({"url": "http://127.0.0.1:4444/good", "force_backend": "vendor"});
    let page = client.post("/v1/cloud/scrape", &body).await.ok();
    assert!(
        page["content"].as_str().unwrap().contains("# From /scrape"),
        "{page}"
    );
    assert_eq!(
        (&page["backend"], &page["cost_usd"]),
        (&json!("vendor"), &json!(vendor::PAGE_USD))
    );
    let body = json!({"url": "http://127.0.0.1:4444/good", "country": "de"});
    let page = client.post("/v1/cloud/unblock", &body).await.ok();
    assert!(
        page["content"]
            .as_str()
            .unwrap()
            .contains("# From /unblocker")
    );
    let asked = vendor.asked();
    assert_eq!(asked[0].1["return_format"], "raw");
    assert_eq!(asked[1].1["country_code"], "de");
    let balance = client.get("/v1/cloud/balance").await.ok();
    assert_eq!(balance, json!({"balance_usd": 2.5, "currency": "USD"}));
    assert_eq!(service.billed().await, (0, 2));
    let day = service.app.clock.now().date_naive();
    let project = service
        .app
        .store
        .project_named("default")
        .await
        .unwrap()
        .unwrap()
        .id;
    let usage = service.app.store.usage_days(project, day).await.unwrap();
    assert_eq!(usage[0].cost_micros, 5_000);
}

#[tokio::test]
async fn what_the_provider_lacks_is_a_backends_failure_and_free() {
    let vendor = Vendor::start().await;
    let service = with_vendor(&vendor).await;
    let client = service.client();
    for (path, says) in [
        ("402", "credit"),
        ("429", "429"),
        ("malformed", "malformed"),
        ("empty", "malformed"),
        ("html", "malformed"),
        ("null", "malformed"),
        ("failed", "could not be crawled"),
        ("slow", "no answer"),
    ] {
        let url = format!("http://127.0.0.1:4444/{path}");
        let body = json!({"url": url, "force_backend": "vendor"});
        let answer = client.post("/v1/cloud/scrape", &body).await;
        let message = answer.error(502, "FETCH_FAILED");
        assert!(message.contains(says), "{path}: {message}");
    }
    assert_eq!(service.billed().await, (0, 0));
    // Where it was one of several, its failure is not the answer.
    let origin = origin().await;
    let page = client
        .post("/v1/cloud/scrape", &json!({"url": origin.url("/page")}))
        .await
        .ok();
    assert_eq!(page["backend"], "local");
}

#[tokio::test]
async fn auto_says_what_each_backend_gave() {
    let vendor = Vendor::start().await;
    let service = with_vendor(&vendor).await;
    let (client, origin) = (service.client(), origin().await);
    let blocked = || Reply::html("<p>no robots</p>").with_status(403);
    let scrape = async |path: &str| {
        origin.set(path, blocked());
        let body = json!({"url": origin.url(path)});
        client.post("/v1/cloud/scrape", &body).await.ok()
    };
    let tried = "local http: blocked by status; local browser: blocked by status; vendor browser: ";
    let page = scrape("/closed").await;
    assert_eq!(
        (&page["backend"], &page["status"], &page["cost_usd"]),
        (&json!("vendor"), &json!(200), &json!(vendor::PAGE_USD))
    );
    assert_eq!(page["backend_reason"], format!("{tried}good"));
    assert_eq!(service.billed().await, (0, 1), "one URL, one page");
    // What the provider lacks is said; the best page that came is the answer.
    for (path, says) in [
        ("/402", "no credit"),
        ("/429", "too many requests"),
        ("/malformed", "malformed"),
        ("/html", "malformed"),
        ("/null", "malformed"),
        ("/slow", "no answer"),
    ] {
        let page = scrape(path).await;
        assert_eq!(
            (&page["backend"], &page["status"], &page["cost_usd"]),
            (&json!("local"), &json!(403), &json!(0.0)),
            "{page}"
        );
        let reason = page["backend_reason"].as_str().unwrap();
        assert!(
            reason.starts_with(tried) && reason.contains(says),
            "{reason}"
        );
    }
    assert_eq!(service.billed().await, (0, 7));
}

#[tokio::test]
async fn search_goes_to_the_provider_where_there_is_one() {
    let vendor = Vendor::start().await;
    let service = with_vendor(&vendor).await;
    let body = json!({"query": "orb weavers", "num": 7});
    let answer = service.client().post("/v1/cloud/search", &body).await.ok();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results[0]["content"], "# One");
    assert_eq!(results[0]["cost_usd"], 0.001);
    assert_eq!(results[1]["content"], "orb weavers");
    assert_eq!(vendor.asked()[0].1["num"], 7);
    assert_eq!(service.billed().await, (0, 2));
    // What it lacks is its own failure here, too.
    for (query, says) in [
        ("402", "credit"),
        ("429", "too many requests"),
        ("malformed", "malformed"),
        ("slow", "no answer"),
    ] {
        let answer = service
            .client()
            .post("/v1/cloud/search", &json!({"query": query}))
            .await;
        let message = answer.error(502, "FETCH_FAILED");
        assert!(message.contains(says), "{query}: {message}");
    }
    assert_eq!(service.billed().await, (0, 2));
}

#[tokio::test]
async fn search_engines_name_pages_and_this_host_fetches_them() {
    let origin = origin().await;
    let (there, gone) = (origin.url("/page"), origin.url("/fault/closed"));
    let hits = json!([
        {"url": there, "title": "There", "content": "a teaser", "description": "a teaser"},
        {"url": gone, "title": "Gone", "content": "only a teaser", "description": "only a teaser"},
    ]);
    let (searx, brave) = (json!({"results": hits}), json!({"web": {"results": hits}}));
    let engine = Router::new()
        .route("/search", get(async || Json(searx)))
        .route("/res/v1/web/search", get(async || Json(brave)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = SafeUrl::new(format!("http://{}", listener.local_addr().unwrap()));
    tokio::spawn(async move { axum::serve(listener, engine).await });
    for searxng in [true, false] {
        let service = Service::with(|config| {
            if searxng {
                config.cloud.searxng_url = Some(base.clone());
            } else {
                config.cloud.brave_url = base.clone();
                config.cloud.brave_key = Some(Secret::new("token"));
            }
        })
        .await;
        let body = json!({"query": "through", "limit": 2});
        let answer = service.client().post("/v1/cloud/search", &body).await.ok();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        assert!(
            results[0]["content"]
                .as_str()
                .unwrap()
                .contains("# Through"),
            "{answer}"
        );
        assert_eq!(results[1]["content"], "only a teaser");
        assert_eq!(results[1]["url"], Value::from(gone.clone()));
        assert_eq!(answer["cost_usd"].as_f64().unwrap() > 0.0, !searxng);
        assert_eq!(service.billed().await, (0, 2));
    }
}

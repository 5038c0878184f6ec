//! /v1/cloud/… through other services: real proxies, an upstream provider, search engines.

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
        vendor.configure(config);
        config.cloud.vendor_timeout_ms = Millis(3_000);
    })
    .await
}

#[tokio::test]
async fn traffic_goes_through_real_proxies() {
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
        assert!(
            !message.contains("wrong"),
            "the message has no password: {message}"
        );
    }
    assert_eq!(service.billed().await, (0, 2));
    // The browser too, with everything that its page loads. From another site, because a
    // reused connection does not appear in the log again.
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
async fn an_unreachable_proxy_is_replaced_by_the_next_of_its_pool() {
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
async fn a_country_is_sent_to_proxies_that_support_it() {
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
    // The proxy knows `customer` but not `customer-de`, so it saw the user name with a country.
    let body = json!({"url": origin.url("/page"), "pool": "mobile", "country": "DE"});
    let message = client
        .post("/v1/cloud/proxy-fetch", &body)
        .await
        .error(502, "FETCH_FAILED");
    assert!(message.contains("credentials"), "{message}");
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn blocked_pages_are_retried_through_pools_and_the_browser() {
    let http = ProxyServer::tinyproxy().expect("tinyproxy");
    let service = with_pools(&[(ProxyPool::Datacenter, vec![http.url()])]).await;
    let origin = origin().await;
    let client = service.client();
    // Blocked directly and through the pool: the last page received is the answer.
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
async fn every_page_that_was_paid_for_is_in_the_cost() {
    let http = ProxyServer::tinyproxy().expect("tinyproxy");
    let pools = [
        (ProxyPool::Datacenter, vec![http.url()]),
        (ProxyPool::Isp, vec![http.url()]),
    ];
    let service = with_pools(&pools).await;
    let (client, origin) = (service.client(), origin().await);
    // Long enough for costs in millionths.
    let text = "no robots ".repeat(20_000);
    let refusal = Reply::html(format!("<p>{text}</p>")).with_status(403);
    origin.set("/large", refusal);
    let url = origin.url("/large");
    let cost = |page: &Value| page["cost_usd"].as_f64().expect("a cost");
    let mut single = 0.0;
    for pool in ["datacenter", "isp"] {
        let body = json!({"url": url, "pool": pool});
        single += cost(&client.post("/v1/cloud/proxy-fetch", &body).await.ok());
    }
    assert!(single > 0.0);
    let before = service.billed_micros().await;
    let page = client
        .post("/v1/cloud/scrape", &json!({"url": url}))
        .await
        .ok();
    assert_eq!(
        (&page["status"], &page["backend"]),
        (&json!(403), &json!("proxy"))
    );
    // Both pools, each with and without the browser.
    assert!(cost(&page) > 1.9 * single, "{} {single}", cost(&page));
    let spent = service.billed_micros().await - before;
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let spent = spent as f64 / 1e6;
    assert!((spent - cost(&page)).abs() < 1e-9, "{spent} {page}");
    // Both pools with the browser.
    let page = client
        .post("/v1/cloud/unblock", &json!({"url": url}))
        .await
        .ok();
    assert!(cost(&page) > 0.9 * single, "{} {single}", cost(&page));
}

#[tokio::test]
async fn the_provider_serves_pages_and_its_costs_are_recorded() {
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
    assert_eq!(service.billed_micros().await, 5_000);
}

#[tokio::test]
async fn provider_failures_are_backend_failures_and_free() {
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
    // With several backends, its failure is not the answer.
    let origin = origin().await;
    let page = client
        .post("/v1/cloud/scrape", &json!({"url": origin.url("/page")}))
        .await
        .ok();
    assert_eq!(page["backend"], "local");
}

#[tokio::test]
async fn auto_reports_the_outcome_of_each_backend() {
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
    // The provider's failure is reported; the best page received is the answer.
    for (path, says, cost) in [
        ("/402", "no credit", 0.0),
        ("/429", "too many requests", 0.0),
        ("/malformed", "malformed", 0.0),
        ("/html", "malformed", 0.0),
        // The provider says what it takes for a page without content.
        ("/null", "malformed", vendor::PAGE_USD),
        ("/slow", "no answer", 0.0),
    ] {
        let page = scrape(path).await;
        assert_eq!(
            (&page["backend"], &page["status"], &page["cost_usd"]),
            (&json!("local"), &json!(403), &json!(cost)),
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

/// Needs a browser.
#[tokio::test]
async fn auto_answers_with_the_page_that_it_has_if_the_rendered_one_is_too_large() {
    let service = Service::with(|config| config.fetch.limits.max_body_bytes = 64 << 10).await;
    let origin = origin().await;
    let shell = "<title>Shell</title><div id=\"root\"></div>\
                 <script>document.getElementById('root').textContent = 'x'.repeat(100000)</script>";
    origin.set("/app", Reply::html(shell));
    let body = json!({"url": origin.url("/app"), "return_format": "raw"});
    let page = service.client().post("/v1/cloud/scrape", &body).await.ok();
    assert_eq!(page["content"], shell);
    let reason = page["backend_reason"].as_str().unwrap();
    assert!(
        reason.starts_with("local http: empty shell") && reason.contains("larger than 65536 bytes"),
        "{reason}"
    );
    assert_eq!(service.billed().await, (0, 1));
}

#[tokio::test]
async fn search_uses_the_provider_if_one_is_configured() {
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
    for (format, asked, content) in [("text", "markdown", "One"), ("raw", "raw", "# One")] {
        let body = json!({"query": "orb weavers", "return_format": format});
        let answer = service.client().post("/v1/cloud/search", &body).await.ok();
        assert_eq!(answer["results"][0]["content"], content);
        let last = vendor.asked();
        let last = &last.last().expect("a request").1;
        assert_eq!(last["return_format"], asked);
    }
    assert_eq!(service.billed().await, (0, 6));
    // Here too, a failure of the provider is reported as its own.
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
    assert_eq!(service.billed().await, (0, 6));
}

#[tokio::test]
async fn results_of_search_engines_are_fetched_by_this_host() {
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
                config.cloud.prices.brave_search = 0.000_003;
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
        // The results share the price of the search, and cost no more than it together.
        let costs = [&answer, &results[0], &results[1]].map(|cost| cost["cost_usd"].clone());
        let prices = [[0.000_003, 0.000_002, 0.000_001], [0.0; 3]][usize::from(searxng)];
        assert_eq!(costs, prices.map(Value::from));
        assert_eq!(service.billed().await, (0, 2));
    }
}

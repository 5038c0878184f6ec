use orbweaver_core::guard::{HostList, Rule};
use orbweaver_fetch::{
    FetchConfig, FetchError, Fetcher, Kind, ProxyPool, ProxyUrl, Request, ResolveError, Response,
    SubKind,
};
use orbweaver_origin::{Certificates, Flaw, Origin, Proxy, Reply, TlsOrigin};

use crate::support::{Names, config, fetcher, with_config, with_names};

fn through(proxy: &str, url: String) -> Request {
    Request {
        proxy: Some(proxy.parse().unwrap()),
        ..Request::get(url)
    }
}

#[tokio::test]
async fn requests_go_through_http_and_socks5_proxies_with_credentials() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("through"));
    let url = origin.url_at("a.example", "/");
    let http = Proxy::http(origin.address()).await.unwrap();
    let socks = Proxy::socks5(origin.address()).await.unwrap();
    for proxy in [&http, &socks] {
        let response = fetcher()
            .fetch(through(&proxy.url(), url.clone()))
            .await
            .unwrap();
        assert_eq!(response.body, "through");
    }
    assert_eq!(http.asked(), [url]);
    // SOCKS gets the checked address, not the name.
    assert_eq!(socks.asked(), [origin.address().to_string()]);
}

/// Fetches from a host with addresses of both kinds, of which the proxy reaches all but these.
async fn fetch_dual(lost: &[&str]) -> (Result<Response, FetchError>, Vec<String>, u16) {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("through"));
    let proxy = Proxy::socks5(origin.address()).await.unwrap();
    for address in lost {
        proxy.lose(address);
    }
    let names = Names::default();
    names.then("dual.example", &["::1", "127.0.0.2", "127.0.0.1"]);
    let mut config = config();
    config.allow_nets.push("::1/128".parse().unwrap());
    let url = origin.url_at("dual.example", "/");
    let fetcher = with_names(config, names);
    let response = fetcher.fetch(through(&proxy.url(), url)).await;
    (response, proxy.asked(), origin.address().port())
}

#[tokio::test]
async fn a_socks_proxy_is_asked_for_the_next_address_of_a_host_that_it_does_not_reach() {
    let all = ["127.0.0.2", "127.0.0.1", "::1"];
    for lost in 0..all.len() {
        let (response, asked, port) = fetch_dual(&all[..lost]).await;
        assert_eq!(response.unwrap().body, "through");
        // IPv4 first, in the order of the name server.
        let expected = all[..=lost].iter().map(|at| format!("{at}:{port}"));
        assert_eq!(asked, expected.collect::<Vec<_>>());
    }
    let (response, asked, _) = fetch_dual(&all).await;
    let error = response.unwrap_err();
    assert_eq!((error.kind, error.retryable), (Kind::Proxy, true));
    assert!(
        error.message.contains("no route to the host"),
        "{}",
        error.message
    );
    assert_eq!(asked.len(), all.len());
}

#[tokio::test]
async fn a_socks_proxy_that_refuses_the_credentials_is_asked_once() {
    let origin = Origin::start().await.unwrap();
    let proxy = Proxy::socks5(origin.address()).await.unwrap();
    let names = Names::default();
    names.then("dual.example", &["127.0.0.1", "127.0.0.2"]);
    let url = origin.url_at("dual.example", "/");
    let wrong = through(&proxy.url_with("customer", "wrong"), url);
    let error = with_names(config(), names).fetch(wrong).await.unwrap_err();
    assert_eq!((error.kind, error.sub), (Kind::Proxy, Some(SubKind::Auth)));
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn https_is_tunnelled() {
    let certificates = Certificates::new().unwrap();
    let origin = TlsOrigin::start(&certificates, Flaw::None).await.unwrap();
    let address = origin
        .url("127.0.0.1")
        .trim_start_matches("https://")
        .trim_end_matches('/')
        .parse()
        .unwrap();
    let fetcher = with_config(FetchConfig {
        extra_roots: vec![certificates.root()],
        ..config()
    });
    for proxy in [
        Proxy::http(address).await.unwrap(),
        Proxy::socks5(address).await.unwrap(),
    ] {
        let response = fetcher
            .fetch(through(&proxy.url(), origin.url("secure.example")))
            .await
            .unwrap();
        assert_eq!(response.body, "secure");
        assert_eq!(proxy.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_wrong_password_is_a_refusal_of_the_proxy() {
    let origin = Origin::start().await.unwrap();
    let proxy = Proxy::socks5(origin.address()).await.unwrap();
    let error = fetcher()
        .fetch(through(
            &proxy.url_with("customer", "wrong"),
            origin.url("/"),
        ))
        .await
        .unwrap_err();
    assert_eq!(error.kind.as_str(), "proxy", "{error}");
    assert!(!error.message.contains("wrong"));
    let proxy = Proxy::http(origin.address()).await.unwrap();
    let response = fetcher()
        .fetch(through(
            &proxy.url_with("customer", "wrong"),
            origin.url("/"),
        ))
        .await;
    let error = response.expect_err("407 is the proxy's answer, not the site's");
    assert_eq!(
        (error.kind.as_str(), error.sub.map(SubKind::as_str)),
        ("proxy", Some("auth"))
    );
    assert_eq!(origin.requests().len(), 0);
}

#[tokio::test]
async fn a_proxys_own_address_is_checked() {
    let names = Names::default();
    names
        .then("gate.example", &["10.0.0.1"])
        .then("a.example", &["127.0.0.1"]);
    let fetcher = with_names(config(), names);
    for proxy in [
        "http://10.0.0.1:3128",
        "socks5://169.254.169.254:1080",
        "http://gate.example:3128",
        "socks5://gate.example:1080",
        "http://[::1]:3128",
    ] {
        let error = fetcher
            .fetch(through(proxy, "http://a.example/".into()))
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind.as_str(), error.sub.map(SubKind::as_str)),
            ("refused", Some("address_not_public")),
            "{proxy}: {error}"
        );
    }
}

#[tokio::test]
async fn a_proxys_port_and_host_pass_the_same_rules_as_a_targets() {
    let fetcher = fetcher();
    let mut blocklist = HostList::default();
    blocklist.add("127.0.0.7\nb.example");
    fetcher.set_blocklist(blocklist);
    for (proxy, rule) in [
        ("http://127.0.0.1:25", Rule::Port),
        ("socks5://a.example:6667", Rule::Port),
        ("http://127.0.0.7:3128", Rule::Listed),
        ("socks5://x.b.example:1080", Rule::Listed),
    ] {
        let judged = fetcher.judge_proxy(&proxy.parse().unwrap());
        assert_eq!(judged.unwrap_err().rule, rule, "{proxy}");
        let request = through(proxy, "http://a.example/".into());
        let error = fetcher.fetch(request).await.unwrap_err();
        assert_eq!(error.sub, Some(SubKind::Rule(rule)), "{proxy}: {error}");
    }
}

#[tokio::test]
async fn names_are_sent_to_http_proxies_only_if_trusted() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("through"));
    let http = Proxy::http(origin.address()).await.unwrap();
    let socks = Proxy::socks5(origin.address()).await.unwrap();
    let fetcher = with_config(FetchConfig {
        trust_http_proxies: false,
        ..config()
    });
    let url = origin.url_at("a.example", "/");
    let refused = fetcher.fetch(through(&http.url(), url.clone())).await;
    assert_eq!(refused.unwrap_err().kind, Kind::Proxy);
    assert!(http.asked().is_empty());
    for (proxy, url) in [(&socks, url), (&http, origin.url("/"))] {
        let response = fetcher.fetch(through(&proxy.url(), url)).await.unwrap();
        assert_eq!(response.body, "through");
    }
}

#[tokio::test]
async fn names_that_a_proxy_resolves_are_checked_here_first() {
    let origin = Origin::start().await.unwrap();
    let names = Names::default();
    names.then("private.example", &["10.0.0.1"]);
    let fetcher = with_names(config(), names);
    for proxy in [
        Proxy::http(origin.address()).await.unwrap(),
        Proxy::socks5(origin.address()).await.unwrap(),
    ] {
        let error = fetcher
            .fetch(through(&proxy.url(), "http://private.example/".into()))
            .await
            .unwrap_err();
        assert_eq!(error.kind.as_str(), "refused");
        assert!(proxy.asked().is_empty());
    }
}

#[tokio::test]
async fn a_proxy_of_a_pool_whose_name_does_not_resolve_gives_way_to_the_next() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("through"));
    let good = Proxy::socks5(origin.address()).await.unwrap();
    let names = Names::default();
    names.then("a.example", &["127.0.0.1"]);
    names.fail("dead.example", ResolveError::ServFail);
    let pool: Vec<ProxyUrl> = ["socks5://dead.example:1080", &good.url()]
        .map(|url| url.parse().unwrap())
        .to_vec();
    let fetch = FetchConfig {
        proxy_pools: [(ProxyPool::Isp, pool)].into(),
        ..config()
    };
    let fetcher = with_names(fetch, names);
    for session in 0..4 {
        let request = Request::get(origin.url_at("a.example", "/"));
        let response = fetcher
            .fetch_through(ProxyPool::Isp, None, session, request)
            .await;
        assert_eq!(response.unwrap().body, "through", "{session}");
    }
    let alone = through("http://dead.example:3128", "http://a.example/".into());
    let error = fetcher.fetch(alone).await.unwrap_err();
    assert_eq!(error.kind, Kind::Proxy, "{error}");
    assert!(error.message.contains("dead.example"), "{error}");
}

#[test]
fn proxies_are_picked_from_pools() {
    let pool: Vec<ProxyUrl> = vec![
        "http://one.example:1".parse().unwrap(),
        "http://u-{country}:p@two.example:2".parse().unwrap(),
    ];
    let config = FetchConfig {
        proxy_pools: [(ProxyPool::Isp, pool)].into(),
        ..FetchConfig::default()
    };
    let fetcher = Fetcher::new(config).unwrap();
    assert!(fetcher.has_pool(ProxyPool::Isp) && !fetcher.has_pool(ProxyPool::Mobile));
    let picked = |pool, country| fetcher.pool_candidates(pool, country, 1);
    assert_eq!(picked(ProxyPool::Mobile, None).unwrap(), []);
    let german = picked(ProxyPool::Isp, Some("DE")).unwrap();
    assert_eq!(german[0].proxy.expose(), "http://u-de:p@two.example:2");
    assert!(picked(ProxyPool::Isp, Some("../x")).is_err());
}

//! Faults 21 to 26 and 42: connections, TLS, names, and busy servers.

use std::collections::BTreeMap;
use std::net::TcpListener;

use orbweaver_core::setting::Millis;
use orbweaver_fetch::ResolveError;
use orbweaver_origin::{Certificates, Flaw, Origin, Reply, TlsOrigin};
use serde_json::json;

use super::support::Faulty;
use crate::support::{Names, Service};

/// A service that trusts the test's root certificate, and a server with a flaw.
async fn secure(flaw: Flaw) -> (Faulty, TlsOrigin) {
    let certificates = Certificates::new().unwrap();
    let origin = TlsOrigin::start(&certificates, flaw).await.unwrap();
    let root = certificates.root();
    (
        Faulty::with(|fetch| fetch.extra_roots = vec![root]).await,
        origin,
    )
}

#[tokio::test]
async fn fault_21_reset_streams_and_goaway() {
    for flaw in [Flaw::Http2Reset(1), Flaw::Http2GoAway(1)] {
        let (faulty, origin) = secure(flaw).await;
        let result = faulty
            .scan_with(&json!({"url": origin.url("127.0.0.1")}))
            .await;
        // The page, robots.txt, two llms files, and one repeated request.
        assert_eq!(
            (&result["bytes"], origin.requests()),
            (&json!(6), 5),
            "{flaw:?}"
        );
        faulty.is_well().await;
    }
    for flaw in [Flaw::Http2Reset(usize::MAX), Flaw::Http2GoAway(usize::MAX)] {
        let (faulty, origin) = secure(flaw).await;
        let url = origin.url("127.0.0.1");
        assert_eq!(faulty.failure_of(&url).await, "reset", "{flaw:?}");
        faulty.is_well().await;
    }
}

#[tokio::test]
async fn fault_21_a_server_that_flushes_each_response_loses_none() {
    let (faulty, origin) = secure(Flaw::Http2Flushes).await;
    let url = origin.url("127.0.0.1");
    // HTTP/2's library ends a connection after a hundred empty pieces.
    for round in 0..3 {
        let urls: Vec<String> = (0..100).map(|n| format!("{url}?{round}-{n}")).collect();
        let body = json!({"urls": urls, "metadata_only": true});
        let answer = faulty.client().post("/v1/scan/bulk", &body).await.ok();
        let items = answer["items"].as_array().expect("a list");
        let failed: Vec<_> = items.iter().filter(|item| item["ok"] != true).collect();
        assert!(failed.is_empty(), "{failed:?}");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_21_a_stream_that_ends_before_its_length_is_no_page() {
    let (faulty, origin) = secure(Flaw::Http2Cut).await;
    let url = origin.url("127.0.0.1");
    assert_eq!(faulty.failure_of(&url).await, "incomplete_body");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_22_tls_flaws() {
    for (flaw, words) in [
        (Flaw::Expired, "expired"),
        (Flaw::WrongHost, "another host name"),
        (Flaw::SelfSigned, "not trusted"),
        (Flaw::UntrustedRoot, "not trusted"),
        (Flaw::OldVersion, "version"),
    ] {
        let (faulty, origin) = secure(flaw).await;
        let url = origin.url("127.0.0.1");
        assert_eq!(faulty.failure_of(&url).await, "tls", "{flaw:?}");
        let answer = faulty.client().post("/v1/scan", &json!({"url": url})).await;
        let message = answer.error(502, "FETCH_FAILED");
        let lower = message.to_lowercase();
        assert!(lower.contains(words), "{flaw:?}: {message}");
        faulty.is_well().await;
    }
}

#[tokio::test]
async fn fault_23_names_that_do_not_resolve() {
    let faulty = Faulty::with(|fetch| fetch.limits.connect_ms = Millis(3_000)).await;
    // Without DNS on this machine, the look-up fails differently or times out.
    let kind = faulty.failure_of("http://no-such-host.example.com/").await;
    assert!(["dns", "connect"].contains(&kind.as_str()), "{kind}");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_23_a_crawl_retries_only_temporary_dns_failures() {
    const RETRIES: usize = 3;
    let hosts = ["missing", "broken", "looping", "back"].map(|name| format!("{name}.site.example"));
    let names = Names::of(&[("site.example", &["127.0.0.1"])]);
    // A resolver answers a loop of CNAMEs with SERVFAIL.
    names
        .then(&hosts[1], Err(ResolveError::ServFail))
        .then(&hosts[2], Err(ResolveError::ServFail));
    names
        .then(&hosts[3], Err(ResolveError::ServFail))
        .then(&hosts[3], Err(ResolveError::Timeout))
        .then(&hosts[3], Ok("127.0.0.1".parse().unwrap()));
    let service = Service::with_resolver(names.clone(), |config| {
        config.crawl.retries = RETRIES as u32;
        config.crawl.retry_base_ms = Millis(20);
    })
    .await;
    let origin = Origin::start().await.unwrap();
    let links = hosts.each_ref().map(|host| origin.url_at(host, "/page"));
    let links = links.map(|url| format!("<a href='{url}'>x</a>")).concat();
    origin.set("/", Reply::html(links));
    origin.set("/page", Reply::html("<title>Back</title>"));
    origin.set("/good", Reply::html("<title>Good</title>"));
    let faulty = Faulty { service, origin };
    let options = json!({"url": faulty.origin.url_at("site.example", "/"),
        "subdomains": true, "respect_robots": false});
    let run = faulty.crawl("/", options).await;
    assert_eq!(
        (&run["status"], &run["error_count"]),
        (&json!("done"), &json!(3)),
        "{run}"
    );
    let rows = BTreeMap::from([
        (faulty.origin.url_at("site.example", "/"), 200),
        (faulty.origin.url_at(&hosts[3], "/page"), 200),
    ]);
    assert_eq!(faulty.rows(&run).await, rows);
    // "No such name" is final; failing servers are asked again.
    let asked = hosts.map(|host| names.asked(&host));
    assert_eq!(asked, [1, 1 + RETRIES, 1 + RETRIES, 3]);
    names.then("127.0.0.1", Ok("127.0.0.1".parse().unwrap()));
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_24_refused_and_reset_connections() {
    let faulty = Faulty::start().await;
    let closed = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let kind = faulty.failure_of(&format!("http://{address}/")).await;
    assert_eq!(kind, "connect");
    assert_eq!(faulty.failure("/fault/closed").await, "reset");
    assert_eq!(faulty.origin.count("/fault/closed"), 2, "retried once");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_25_busy_servers_are_an_answer_to_a_scan() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.scan("/fault/unavailable").await["status"], 503);
    assert_eq!(faulty.origin.count("/fault/unavailable"), 1);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_26_unrequested_not_modified() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/not-modified").await, "protocol");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_42_keep_alive_closed_on_reuse() {
    const AT_ONCE: usize = 6;
    let faulty = Faulty::start().await;
    // Pages that all wait at the same time leave as many idle connections, each of which closes
    // when it is reused.
    let client = faulty.client();
    let scans = (0..AT_ONCE).map(|number| {
        let url = faulty.origin.url(&format!("/held/{number}"));
        let client = client.clone();
        async move { client.post("/v1/scan", &json!({"url": url})).await.ok() }
    });
    let release = async {
        for number in 0..AT_ONCE {
            faulty.origin.asked(&format!("/held/{number}"), 1).await;
        }
        faulty.origin.release();
    };
    futures::join!(futures::future::join_all(scans), release);
    for _ in 0..AT_ONCE {
        assert_eq!(faulty.scan("/fault/stale").await["bytes"], 5);
    }
    let asked = faulty.origin.count("/fault/stale");
    assert!(asked > AT_ONCE, "idle connections were reused");
    assert!(asked <= 2 * AT_ONCE, "{asked}: one retry each");
    faulty.is_well().await;
}

//! Rows 21 to 26 and 42: connections, TLS, names, and servers that are busy.

use std::net::TcpListener;

use orbweaver_origin::{Certificates, Flaw, TlsOrigin};
use serde_json::json;

use super::support::Faulty;

/// A service that trusts the certificates' root, and a server with a flaw.
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
async fn row_21_reset_streams_and_goaway() {
    for flaw in [Flaw::Http2Reset(1), Flaw::Http2GoAway(1)] {
        let (faulty, origin) = secure(flaw).await;
        let result = faulty
            .scan_with(&json!({"url": origin.url("127.0.0.1")}))
            .await;
        // The page, robots.txt, two llms files, and one of them once more.
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
async fn row_22_tls_flaws() {
    for (flaw, words) in [
        (Flaw::Expired, "expired"),
        (Flaw::WrongHost, "not valid for name"),
        (Flaw::SelfSigned, "unknownissuer"),
        (Flaw::UntrustedRoot, "unknownissuer"),
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
async fn row_23_names_that_do_not_resolve() {
    let faulty = Faulty::with(|fetch| fetch.limits.connect_ms = 3_000).await;
    // Where the machine has no DNS at all, the look-up fails otherwise or takes too long.
    let kind = faulty.failure_of("http://no-such-host.example.com/").await;
    assert!(["dns", "connect"].contains(&kind.as_str()), "{kind}");
    faulty.is_well().await;
}

#[tokio::test]
async fn row_24_refused_and_reset_connections() {
    let faulty = Faulty::start().await;
    let closed = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let kind = faulty.failure_of(&format!("http://{address}/")).await;
    assert_eq!(kind, "connect");
    assert_eq!(faulty.failure("/fault/closed").await, "reset");
    assert_eq!(faulty.origin.count("/fault/closed"), 2, "tried once more");
    faulty.is_well().await;
}

#[tokio::test]
async fn row_25_busy_servers_are_an_answer_to_a_scan() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.scan("/fault/unavailable").await["status"], 503);
    assert_eq!(faulty.origin.count("/fault/unavailable"), 1);
    faulty.is_well().await;
}

#[tokio::test]
async fn row_26_not_modified_unasked() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/not-modified").await, "protocol");
    faulty.is_well().await;
}

#[tokio::test]
async fn row_42_keep_alive_closed_on_reuse() {
    // One idle connection is kept, so that the second try has to open another.
    let faulty = Faulty::with(|fetch| fetch.limits.idle_per_host = 1).await;
    for _ in 0..4 {
        assert_eq!(faulty.scan("/fault/stale").await["bytes"], 5);
    }
    faulty.is_well().await;
}

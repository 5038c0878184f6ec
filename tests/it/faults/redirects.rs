//! Faults 13, 14, 16 and 17: redirects without a target, in loops, or from https to http.

use orbweaver_origin::{Certificates, Flaw, Reply, TlsOrigin};

use super::support::Faulty;

#[tokio::test]
async fn fault_13_redirect_loops() {
    let faulty = Faulty::start().await;
    for path in ["/fault/self", "/fault/loop-a", "/fault/chain/11"] {
        assert_eq!(faulty.failure(path).await, "bad_redirect", "{path}");
    }
    assert_eq!(faulty.origin.count("/fault/self"), 11, "ten redirects");
    let result = faulty.scan("/fault/chain/10").await;
    assert_eq!(result["final_url"], faulty.origin.url("/fault/chain/0"));
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_14_redirects_without_a_clear_location() {
    let faulty = Faulty::start().await;
    for path in ["no-location", "empty-location", "locations", "bad-location"] {
        let path = format!("/fault/{path}");
        assert_eq!(faulty.failure(&path).await, "bad_redirect", "{path}");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_refreshes_are_recorded_and_not_followed() {
    let faulty = Faulty::start().await;
    let meta = "<title>Waits</title><meta http-equiv=refresh content='0; url=/echo'><p>wait";
    faulty.origin.set("/meta", Reply::html(meta));
    for path in ["/fault/refresh", "/meta"] {
        let result = faulty.scan(path).await;
        assert_eq!(result["final_url"], faulty.origin.url(path));
    }
    assert_eq!(faulty.origin.count("/echo"), 0);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_17_https_to_http() {
    let certificates = Certificates::new().unwrap();
    let root = certificates.root();
    let faulty = Faulty::with(|fetch| fetch.extra_roots = vec![root]).await;
    let secure = TlsOrigin::start(&certificates, Flaw::None).await.unwrap();
    secure.set("/down", Reply::redirect(302, &faulty.origin.url("/good")));
    let url = format!("{}down", secure.url("127.0.0.1"));
    let result = faulty.scan_with(&serde_json::json!({"url": url})).await;
    assert_eq!(result["url"], url);
    assert_eq!(result["final_url"], faulty.origin.url("/good"));
    faulty.is_well().await;
}

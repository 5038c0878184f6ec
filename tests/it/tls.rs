//! TLS served directly.

use std::path::Path;

use orbweaver_fetch::{FetchConfig, Fetcher, Request};

use crate::support::Service;

#[tokio::test]
async fn a_certificate_and_its_key_serve_https() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/tls");
    let service = Service::with(|config| {
        config.tls_cert = Some(folder.join("cert.pem"));
        config.tls_key = Some(folder.join("key.pem"));
    })
    .await;
    let trusting = Fetcher::new(FetchConfig {
        allow_nets: vec!["127.0.0.0/8".parse().unwrap()],
        extra_roots: vec![std::fs::read(folder.join("ca.der")).unwrap()],
        ..FetchConfig::default()
    })
    .unwrap();
    let url = |scheme: &str| format!("{scheme}://{}/v1/health", service.address);
    let answer = trusting.fetch(Request::get(url("https"))).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (200, b"ok".as_slice()));
    assert!(
        trusting.fetch(Request::get(url("http"))).await.is_err(),
        "plain HTTP is refused"
    );
}

//! TLS served directly.

use std::path::Path;

use orbweaver_fetch::{FetchConfig, Fetcher, Method, Request};

use crate::support::{KEY, Service};

/// A service over TLS, and a client that trusts its certificate and speaks HTTP/2 with it.
async fn over_tls() -> (Service, Fetcher) {
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
    (service, trusting)
}

#[tokio::test]
async fn a_certificate_and_its_key_serve_https() {
    let (service, trusting) = over_tls().await;
    let url = |scheme: &str| format!("{scheme}://{}/v1/health", service.address);
    let answer = trusting.fetch(Request::get(url("https"))).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (200, b"ok".as_slice()));
    assert!(
        trusting.fetch(Request::get(url("http"))).await.is_err(),
        "plain HTTP is refused"
    );
}

#[tokio::test]
async fn the_console_is_signed_in_to_over_http_2() {
    let (service, trusting) = over_tls().await;
    // HTTP/2 names the host in `:authority`, without a header `Host`.
    let sign_in = async |origin: String| {
        let headers = [
            ("origin", origin.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
            ("accept", "text/html"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = Request {
            headers: headers.to_vec(),
            body: Some(format!("key={KEY}").into()),
            follow_redirects: false,
            ..Request::new(
                Method::POST,
                format!("https://{}/console/sign-in", service.address),
            )
        };
        trusting.fetch(request).await.unwrap().status
    };
    assert_eq!(sign_in(format!("https://{}", service.address)).await, 303);
    assert_eq!(sign_in("https://evil.example".to_owned()).await, 403);
    // Another port is another site.
    assert_eq!(sign_in("https://127.0.0.1:1".to_owned()).await, 403);
}

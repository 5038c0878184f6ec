use orbweaver_core::setting::Millis;
use orbweaver_fetch::{CookieJar, FetchConfig, FetchError, Request, SubKind};
use orbweaver_origin::{Certificates, Flaw, Origin, Reply, TlsOrigin};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{config_with, failure, fetcher, get, with_config};

#[tokio::test]
async fn fault_18_too_many_or_too_large_headers_are_refused() {
    let origin = Origin::start().await.unwrap();
    for path in ["/fault/big-header", "/fault/many-headers"] {
        assert_eq!(
            failure(&fetcher(), &origin.url(path)).await,
            ("header_too_large", None),
            "{path}"
        );
    }
}

/// RFC 9112, sections 5.1 and 5.2.
#[tokio::test]
async fn headers_over_several_lines_and_spaces_before_a_colon_are_read() {
    let origin = Origin::start().await.unwrap();
    let response = get(&fetcher(), &origin.url("/fault/odd-headers"))
        .await
        .unwrap();
    let header = |name| response.headers.get(name).unwrap_or("").replace("  ", " ");
    assert_eq!(header("x-folded"), "one, two");
    assert_eq!(header("x-spaced"), "three");
    assert_eq!(&response.body[..], b"<p>odd headers</p>");
}

#[tokio::test]
async fn fault_19_ambiguous_framing_is_refused() {
    let origin = Origin::start().await.unwrap();
    for path in ["/fault/bad-header", "/fault/two-lengths"] {
        assert_eq!(
            failure(&fetcher(), &origin.url(path)).await,
            ("protocol", Some("malformed")),
            "{path}"
        );
    }
    for path in ["/fault/length-and-chunked", "/fault/gzip-transfer"] {
        assert_eq!(
            failure(&fetcher(), &origin.url(path)).await,
            ("protocol", Some("framing")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn fault_20_a_response_that_is_not_http_is_a_protocol_error() {
    let origin = Origin::start().await.unwrap();
    for path in ["/fault/http09", "/fault/garbage", "/fault/switching"] {
        assert_eq!(
            failure(&fetcher(), &origin.url(path)).await,
            ("protocol", Some("malformed")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn opaque_header_bytes_survive() {
    let origin = Origin::start().await.unwrap();
    let response = get(&fetcher(), &origin.url("/fault/opaque")).await.unwrap();
    assert_eq!(response.headers.get("x-opaque"), Some("caf\u{e9}"));
}

#[tokio::test]
async fn given_headers_replace_the_usual_ones() {
    let origin = Origin::start().await.unwrap();
    let request = Request {
        headers: vec![
            ("Accept".into(), "application/json".into()),
            ("X-Two".into(), "1".into()),
            ("x-two".into(), "2".into()),
        ],
        user_agent: Some("Tester/1".into()),
        cookies: Some("a=1; b=2".into()),
        ..Request::get(origin.url("/echo"))
    };
    fetcher().fetch(request).await.unwrap();
    let sent = &origin.requests()[0];
    assert_eq!(sent.header("accept"), Some("application/json"));
    assert_eq!(sent.header("user-agent"), Some("Tester/1"));
    assert_eq!(sent.header("cookie"), Some("a=1; b=2"));
    assert_eq!(
        sent.headers
            .iter()
            .filter(|(name, _)| name == "x-two")
            .count(),
        2
    );
}

#[tokio::test]
async fn fault_39_a_jar_belongs_to_its_job() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/set",
        Reply::html("set")
            .header("Set-Cookie", "session=1; Path=/")
            .header("Set-Cookie", "evil=1; Domain=com"),
    );
    let fetcher = fetcher();
    let jar = CookieJar::new();
    let with = |path: &str, jar: &CookieJar| Request {
        jar: Some(jar.clone()),
        ..Request::get(origin.url(path))
    };
    fetcher.fetch(with("/set", &jar)).await.unwrap();
    fetcher.fetch(with("/echo", &jar)).await.unwrap();
    fetcher
        .fetch(with("/echo", &CookieJar::new()))
        .await
        .unwrap();
    // Cookies in a header are the caller's as well, and none of them replaces others.
    for (header, cookies) in [
        (None, Some("session=mine; x=2")),
        (Some("y=3;"), None),
        (Some("session=header"), Some("x=2")),
        (Some("city=Köln"), None),
    ] {
        let header = header.map(|value| ("Cookie".to_owned(), value.to_owned()));
        let request = Request {
            headers: header.into_iter().collect(),
            cookies: cookies.map(str::to_owned),
            ..with("/echo", &jar)
        };
        fetcher.fetch(request).await.unwrap();
    }
    let sent: Vec<_> = origin
        .requests()
        .iter()
        .map(|request| request.header("cookie").map(str::to_owned))
        .collect();
    let expected = [
        None,
        Some("session=1"),
        None,
        Some("session=mine; x=2"),
        Some("y=3; session=1"),
        Some("x=2; session=header"),
        Some("city=Köln; session=1"),
    ];
    assert_eq!(sent, expected.map(|value| value.map(str::to_owned)));
}

/// Kind and sub-kind of a failure.
fn shown(error: &FetchError) -> (&'static str, Option<&'static str>) {
    (error.kind.as_str(), error.sub.map(SubKind::as_str))
}

#[tokio::test]
async fn interim_responses_without_end_are_a_fault_of_bounded_size() {
    let origin = Origin::start().await.unwrap();
    let error = get(&fetcher(), &origin.url("/fault/hints"))
        .await
        .unwrap_err();
    assert_eq!(shown(&error), ("protocol", Some("flood")), "{error}");
    assert!(!error.retryable);
    assert!(
        (1 << 20..4 << 20).contains(&error.wire_bytes),
        "{}",
        error.wire_bytes
    );
}

#[tokio::test]
async fn interim_responses_without_end_are_a_fault_of_bounded_size_over_http2() {
    let certificates = Certificates::new().unwrap();
    let origin = TlsOrigin::start(&certificates, Flaw::Http2Hints)
        .await
        .unwrap();
    let fetcher = with_config(FetchConfig {
        extra_roots: vec![certificates.root()],
        // For slow machines.
        ..config_with(|limits| {
            limits.first_byte_ms = Millis(120_000);
            limits.total_ms = Millis(240_000);
        })
    });
    let error = get(&fetcher, &origin.url("secure.example"))
        .await
        .unwrap_err();
    assert_eq!(shown(&error), ("protocol", Some("flood")), "{error}");
    assert!(!error.retryable);
    // Once more on a connection of its own.
    assert!(
        (24 << 20..64 << 20).contains(&error.wire_bytes),
        "{}",
        error.wire_bytes
    );
}

#[tokio::test]
async fn what_comes_before_a_response_that_never_comes_counts_as_received() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let hint = "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n";
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _request = stream.read(&mut [0; 4_096]).await.unwrap();
        stream.write_all(hint.as_bytes()).await.unwrap();
        // Until the client gives up.
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    });
    let fetcher = with_config(config_with(|limits| limits.first_byte_ms = Millis(3_000)));
    let error = get(&fetcher, &url).await.unwrap_err();
    assert_eq!(shown(&error), ("timeout", Some("first_byte")), "{error}");
    assert_eq!(error.wire_bytes, hint.len() as u64);
    server.await.unwrap();
}

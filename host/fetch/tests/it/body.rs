use orbweaver_core::setting::Millis;
use orbweaver_fetch::{Method, Oversize, Request, SubKind};
use orbweaver_origin::{Origin, Reply};

use crate::support::{config_with, failure, fetcher, get, with_config};

#[tokio::test]
async fn a_page_comes_with_its_headers_and_times() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/",
        Reply::html("<p>hello")
            .header("Set-Cookie", "a=1")
            .header("Set-Cookie", "b=2"),
    );
    let response = get(&fetcher(), &origin.url("/#frag")).await.unwrap();
    assert_eq!(
        (response.status, &response.body[..]),
        (200, b"<p>hello".as_slice())
    );
    assert_eq!(response.content_type(), Some("text/html; charset=utf-8"));
    assert_eq!(
        response.headers.get_all("set-cookie").collect::<Vec<_>>(),
        ["a=1", "b=2"]
    );
    assert_eq!(response.remote_addr, Some(origin.address()));
    assert_eq!(
        (response.wire_bytes, response.truncated, response.raw),
        (8, false, None)
    );
    assert!(response.timings.total >= response.timings.first_byte);
    assert_eq!(response.final_url, origin.url("/#frag"));
    let request = &origin.requests()[0];
    assert!(
        request
            .header("user-agent")
            .unwrap()
            .starts_with("Mozilla/5.0")
    );
    assert_eq!(
        request.header("accept-encoding"),
        Some("gzip, deflate, br, zstd")
    );
    assert_eq!(request.header("referer"), None);
}

#[tokio::test]
async fn fault_01_a_server_that_never_responds_is_a_first_byte_timeout() {
    let origin = Origin::start().await.unwrap();
    let fetcher = with_config(config_with(|limits| limits.first_byte_ms = Millis(200)));
    assert_eq!(
        failure(&fetcher, &origin.url("/fault/silent")).await,
        ("timeout", Some("first_byte"))
    );
    assert_eq!(
        origin.count("/fault/silent"),
        1,
        "time-outs are not repeated"
    );
}

#[tokio::test]
async fn fault_02_a_trickling_body_ends_by_the_minimum_rate_or_the_total_time() {
    let origin = Origin::start().await.unwrap();
    let url = origin.url("/fault/drip");
    let slow = with_config(config_with(|limits| {
        limits.min_rate_window_ms = Millis(300)
    }));
    assert_eq!(failure(&slow, &url).await, ("slow", None));
    let late = with_config(config_with(|limits| {
        limits.min_rate = 0;
        limits.total_ms = Millis(300);
    }));
    assert_eq!(failure(&late, &url).await, ("timeout", Some("total")));
    let own = Request {
        timeout: Some(std::time::Duration::from_millis(200)),
        ..Request::get(url)
    };
    assert_eq!(
        fetcher()
            .fetch(own)
            .await
            .unwrap_err()
            .sub
            .map(SubKind::as_str),
        Some("total")
    );
}

#[tokio::test]
async fn fault_03_an_endless_body_stops_at_the_limit() {
    let origin = Origin::start().await.unwrap();
    let url = origin.url("/fault/endless");
    assert_eq!(failure(&fetcher(), &url).await, ("too_large", None));
    let cut = Request {
        oversize: Oversize::Truncate,
        ..Request::get(url)
    };
    let response = fetcher().fetch(cut).await.unwrap();
    assert!(response.truncated && response.body.len() == 1 << 20);
}

#[tokio::test]
async fn fault_04_a_terabyte_announced_is_refused_before_it_is_read() {
    let origin = Origin::start().await.unwrap();
    // The server announces and sends nothing: only the announcement can end this.
    assert_eq!(
        failure(&fetcher(), &origin.url("/fault/terabyte")).await,
        ("too_large", None)
    );
}

#[tokio::test]
async fn fault_05_a_body_shorter_than_announced_is_incomplete() {
    let origin = Origin::start().await.unwrap();
    let error = get(&fetcher(), &origin.url("/fault/short"))
        .await
        .unwrap_err();
    assert_eq!(error.kind.as_str(), "incomplete_body");
    assert!(error.retryable);
}

#[tokio::test]
async fn fault_06_a_longer_body_than_announced_is_cut_and_its_connection_closed() {
    let origin = Origin::start().await.unwrap();
    let fetcher = fetcher();
    assert_eq!(
        get(&fetcher, &origin.url("/fault/surplus"))
            .await
            .unwrap()
            .body,
        "body"
    );
    let next = get(&fetcher, &origin.url("/echo")).await.unwrap();
    assert!(
        next.body.starts_with(b"GET /echo"),
        "what was smuggled in is nobody's answer"
    );
    let connections: Vec<usize> = origin
        .requests()
        .iter()
        .map(|request| request.connection)
        .collect();
    assert_ne!(connections[0], connections[1]);
}

#[tokio::test]
async fn fault_07_broken_chunks_are_errors() {
    let origin = Origin::start().await.unwrap();
    assert_eq!(
        failure(&fetcher(), &origin.url("/fault/bad-chunk")).await,
        ("protocol", Some("malformed"))
    );
    assert_eq!(
        failure(&fetcher(), &origin.url("/fault/cut-chunk")).await,
        ("incomplete_body", None)
    );
}

#[tokio::test]
async fn fault_27_a_body_that_follows_none_costs_the_next_request_nothing() {
    let origin = Origin::start().await.unwrap();
    let fetcher = fetcher();
    for method in [Method::GET, Method::HEAD] {
        for _ in 0..5 {
            let request = Request {
                method: method.clone(),
                ..Request::get(origin.url("/fault/late-body"))
            };
            let response = fetcher.fetch(request).await.unwrap();
            assert!(response.body.is_empty());
            // Its body arrives while this request waits for an answer on the same connection.
            let response = get(&fetcher, &origin.url("/echo")).await.unwrap();
            assert_eq!(response.status, 200);
        }
    }
}

#[tokio::test]
async fn fault_27_statuses_without_a_body_have_none() {
    let origin = Origin::start().await.unwrap();
    let fetcher = fetcher();
    let response = get(&fetcher, &origin.url("/fault/no-content"))
        .await
        .unwrap();
    assert_eq!((response.status, response.body.len()), (204, 0));
    let response = get(&fetcher, &origin.url("/fault/early-hints"))
        .await
        .unwrap();
    assert_eq!(
        (response.status, &response.body[..]),
        (200, b"after hints".as_slice())
    );
    origin.set(
        "/page",
        Reply::html("<p>hello").header("Content-Encoding", "gzip"),
    );
    let response = fetcher
        .fetch(Request::new(Method::HEAD, origin.url("/page")))
        .await
        .unwrap();
    assert_eq!(
        (response.status, response.body.len(), response.truncated),
        (200, 0, false)
    );
}

#[tokio::test]
async fn fault_26_a_304_is_a_response_to_a_conditional_request_only() {
    let origin = Origin::start().await.unwrap();
    let url = origin.url("/fault/not-modified");
    assert_eq!(
        failure(&fetcher(), &url).await,
        ("protocol", Some("not_modified"))
    );
    let conditional = Request {
        headers: vec![("If-None-Match".into(), "\"1\"".into())],
        ..Request::get(url)
    };
    assert_eq!(fetcher().fetch(conditional).await.unwrap().status, 304);
}

#[tokio::test]
async fn fault_25_a_503_is_a_response_with_its_retry_after() {
    let origin = Origin::start().await.unwrap();
    let response = get(&fetcher(), &origin.url("/fault/unavailable"))
        .await
        .unwrap();
    assert_eq!(
        (response.status, response.headers.get("retry-after")),
        (503, Some("120"))
    );
}

#[tokio::test]
async fn large_bodies_have_one_bound_until_nobody_holds_them() {
    let origin = Origin::start().await.unwrap();
    origin.set("/large", Reply::text("x".repeat(3 << 20)));
    origin.set("/small", Reply::text("x".repeat(1_000)));
    let fetcher = with_config(config_with(|limits| {
        limits.max_bodies_mib = 8;
        limits.max_body_bytes = 4 << 20;
    }));
    let first = get(&fetcher, &origin.url("/large")).await.unwrap();
    let second = get(&fetcher, &origin.url("/large")).await.unwrap();
    let error = get(&fetcher, &origin.url("/large")).await.unwrap_err();
    assert_eq!(error.sub, Some(SubKind::Busy), "{error}");
    assert!(error.retryable);
    // Usual pages go on, and a body that is dropped makes room.
    get(&fetcher, &origin.url("/small")).await.unwrap();
    let copy = first.body.slice(..10);
    drop(first);
    get(&fetcher, &origin.url("/large")).await.unwrap_err();
    drop(copy);
    get(&fetcher, &origin.url("/large")).await.unwrap();
    drop(second);
}

#[tokio::test]
async fn a_failure_says_how_much_of_bodies_had_arrived() {
    let origin = Origin::start().await.unwrap();
    origin.set("/large", Reply::text("x".repeat(3 << 20)));
    let fetcher = with_config(config_with(|limits| limits.max_body_bytes = 1 << 20));
    let error = get(&fetcher, &origin.url("/fault/endless"))
        .await
        .unwrap_err();
    assert_eq!(error.kind.as_str(), "too_large");
    assert!(
        (1 << 20..2 << 20).contains(&error.wire_bytes),
        "{}",
        error.wire_bytes
    );
    let error = get(&fetcher, &origin.url("/fault/cut-chunk"))
        .await
        .unwrap_err();
    assert!(error.wire_bytes >= 5, "{}", error.wire_bytes);
    // One that announces its length is not read.
    let error = get(&fetcher, &origin.url("/large")).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.wire_bytes), ("too_large", 0));
}

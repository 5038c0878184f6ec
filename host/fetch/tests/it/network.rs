use std::net::TcpListener;

use orbweaver_fetch::{Method, Request, ResolveError};
use orbweaver_origin::Origin;

use crate::support::{Names, config_with, failure, fetcher, get, with_names};

#[tokio::test]
async fn row_23_dns_failures_are_told_apart() {
    let names = Names::default();
    names
        .fail("servfail.example", ResolveError::ServFail)
        .fail("slow.example", ResolveError::Timeout);
    names.fail("odd.example", ResolveError::Other("odd".into()));
    let fetcher = with_names(config_with(|limits| limits.connect_ms = 200), names);
    for (host, sub, retryable) in [
        ("missing.example", "nxdomain", false),
        ("servfail.example", "servfail", true),
        ("slow.example", "timeout", true),
        ("odd.example", "other", true),
    ] {
        let error = get(&fetcher, &format!("http://{host}/")).await.unwrap_err();
        let shown = (error.kind.code(), error.sub, error.retryable);
        // A lookup that takes the whole time to connect may be reported by either clock.
        let by_connect = sub == "timeout" && shown == ("connect", Some("timeout"), true);
        assert!(
            by_connect || shown == ("dns", Some(sub), retryable),
            "{host}: {shown:?}"
        );
    }
}

#[tokio::test]
async fn row_24_a_refused_connection_says_so() {
    let closed = TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let error = get(&fetcher(), &format!("http://{closed}/"))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind.code(), error.sub, error.retryable),
        ("connect", Some("refused"), true)
    );
}

#[tokio::test]
async fn row_24_a_connection_closed_without_an_answer_is_tried_once_more_if_that_is_safe() {
    let origin = Origin::start().await.unwrap();
    let url = origin.url("/fault/closed");
    assert_eq!(failure(&fetcher(), &url).await, ("reset", Some("closed")));
    assert_eq!(origin.count("/fault/closed"), 2);
    let post = Request {
        body: Some("x".into()),
        ..Request::new(Method::POST, url)
    };
    assert_eq!(
        fetcher().fetch(post).await.unwrap_err().kind.code(),
        "reset"
    );
    assert_eq!(origin.count("/fault/closed"), 3, "a POST is never repeated");
}

#[tokio::test]
async fn row_42_a_connection_that_closes_on_reuse_is_replaced() {
    let origin = Origin::start().await.unwrap();
    let fetcher = fetcher();
    for _ in 0..4 {
        let response = get(&fetcher, &origin.url("/fault/stale")).await.unwrap();
        assert_eq!(response.body, "fresh");
    }
}

#[tokio::test]
async fn connections_are_kept_and_used_again() {
    let origin = Origin::start().await.unwrap();
    let fetcher = fetcher();
    for _ in 0..5 {
        get(&fetcher, &origin.url("/echo")).await.unwrap();
    }
    assert!(
        origin
            .requests()
            .iter()
            .all(|request| request.connection == 0)
    );
}

use std::net::TcpListener;

use orbweaver_core::setting::Millis;
use orbweaver_fetch::{Method, Request, ResolveError, SubKind};
use orbweaver_origin::Origin;

use crate::support::{Names, config_with, failure, fetcher, get, with_names};

#[tokio::test]
async fn words_of_a_url_say_nothing_of_a_failure() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    for word in ["tunnel", "socks", "credentials"] {
        assert_eq!(
            failure(&fetcher(), &format!("http://127.0.0.1:{port}/{word}")).await,
            ("connect", Some("refused")),
            "{word}"
        );
    }
}

#[tokio::test]
async fn fault_23_dns_failures_are_distinguished() {
    let names = Names::default();
    names
        .fail("servfail.example", ResolveError::ServFail)
        .fail("slow.example", ResolveError::Timeout);
    names.fail("odd.example", ResolveError::Other("odd".into()));
    let fetcher = with_names(config_with(|limits| limits.connect_ms = Millis(200)), names);
    for (host, sub, retryable) in [
        ("missing.example", "nxdomain", false),
        ("servfail.example", "servfail", true),
        ("slow.example", "timeout", true),
        ("odd.example", "other", true),
    ] {
        let error = get(&fetcher, &format!("http://{host}/")).await.unwrap_err();
        let shown = (
            error.kind.as_str(),
            error.sub.map(SubKind::as_str),
            error.retryable,
        );
        // If a lookup takes as long as the connect limit, either timer may fire first.
        let by_connect = sub == "timeout" && shown == ("connect", Some("timeout"), true);
        assert!(
            by_connect || shown == ("dns", Some(sub), retryable),
            "{host}: {shown:?}"
        );
    }
}

#[tokio::test]
async fn fault_24_a_refused_connection_is_reported() {
    let closed = TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let error = get(&fetcher(), &format!("http://{closed}/"))
        .await
        .unwrap_err();
    assert_eq!(
        (
            error.kind.as_str(),
            error.sub.map(SubKind::as_str),
            error.retryable
        ),
        ("connect", Some("refused"), true)
    );
}

#[tokio::test]
async fn fault_24_a_connection_closed_without_a_response_is_retried_once_if_safe() {
    let origin = Origin::start().await.unwrap();
    let url = origin.url("/fault/closed");
    assert_eq!(failure(&fetcher(), &url).await, ("reset", Some("closed")));
    assert_eq!(origin.count("/fault/closed"), 2);
    let post = Request {
        body: Some("x".into()),
        ..Request::new(Method::POST, url)
    };
    assert_eq!(
        fetcher().fetch(post).await.unwrap_err().kind.as_str(),
        "reset"
    );
    assert_eq!(origin.count("/fault/closed"), 3, "a POST is never repeated");
}

#[tokio::test]
async fn fault_42_a_connection_that_closes_on_reuse_is_replaced() {
    let origin = Origin::start().await.unwrap();
    let fetcher = fetcher();
    for _ in 0..4 {
        let response = get(&fetcher, &origin.url("/fault/stale")).await.unwrap();
        assert_eq!(response.body, "fresh");
    }
}

#[tokio::test]
async fn fault_42_many_connections_that_close_on_reuse_cost_one_retry_each() {
    const KEPT: usize = 8;
    let origin = Origin::start().await.unwrap();
    let fetcher = fetcher();
    let url = origin.url("/fault/stale");
    for (round, method) in (1..).zip([Method::GET, Method::HEAD]) {
        // Parallel requests leave as many idle connections, each of which closes when it is
        // reused.
        let held: Vec<_> = (0..KEPT)
            .map(|_| {
                let (fetcher, url) = (fetcher.clone(), origin.url("/held/page"));
                tokio::spawn(async move { get(&fetcher, &url).await })
            })
            .collect();
        origin.asked("/held/page", round * KEPT).await;
        origin.release();
        for held in held {
            held.await.unwrap().unwrap();
        }
        let asked = origin.count("/fault/stale");
        for _ in 0..KEPT {
            let request = Request::new(method.clone(), url.clone());
            assert_eq!(fetcher.fetch(request).await.unwrap().status, 200);
        }
        let asked = origin.count("/fault/stale") - asked;
        assert!(asked > KEPT, "{method}: idle connections were used");
        assert!(asked <= 2 * KEPT, "{method}: {asked}, one retry each");
    }
    // Unsafe methods are not repeated: the caller gets the connection's error.
    get(&fetcher, &origin.url("/echo")).await.unwrap();
    let asked = origin.count("/fault/stale");
    let post = Request {
        body: Some("order".into()),
        ..Request::new(Method::POST, url)
    };
    assert_eq!(
        fetcher.fetch(post).await.unwrap_err().kind.as_str(),
        "reset"
    );
    assert_eq!(origin.count("/fault/stale"), asked + 1);
}

/// NTLM and Negotiate authenticate a connection, and so whoever uses it next.
#[tokio::test]
async fn a_connection_that_is_its_users_is_used_for_nothing_else() {
    let origin = Origin::start().await.unwrap();
    let fetcher = fetcher();
    for authorization in ["Basic YTpi", "NTLM YWI=", "Bearer a", "negotiate YWI=", ""] {
        let mut request = Request::get(origin.url("/echo"));
        if !authorization.is_empty() {
            request.headers = vec![("Authorization".into(), authorization.into())];
        }
        fetcher.fetch(request).await.unwrap();
    }
    let requests = origin.requests();
    let connections = requests.iter().map(|request| request.connection);
    assert_eq!(connections.collect::<Vec<_>>(), [0, 1, 0, 2, 0]);
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

use orbweaver_core::guard::{HostList, Rule};
use orbweaver_fetch::{FetchConfig, Fetcher, Request, SubKind};
use orbweaver_origin::{Origin, Reply};

use crate::support::{Names, config, failure, fetcher, get, with_names};

#[tokio::test]
async fn loopback_is_refused_unless_it_is_allowed() {
    let origin = Origin::start().await.unwrap();
    let closed = Fetcher::new(FetchConfig::default()).unwrap();
    assert_eq!(
        failure(&closed, &origin.url("/")).await,
        ("refused", Some("address_not_public"))
    );
    assert_eq!(
        failure(&closed, "ftp://example.com/").await,
        ("refused", Some("scheme_not_allowed"))
    );
    assert_eq!(
        failure(&closed, "http://u:p@example.com/").await,
        ("refused", Some("credentials_in_url"))
    );
    assert_eq!(origin.requests().len(), 0);
}

#[tokio::test]
async fn every_address_of_a_name_is_checked() {
    let names = Names::default();
    names
        .then("private.example", &["10.0.0.1"])
        .then("mixed.example", &["127.0.0.1", "169.254.169.254"]);
    let fetcher = with_names(config(), names);
    for host in ["private.example", "mixed.example"] {
        assert_eq!(
            failure(&fetcher, &format!("http://{host}/")).await,
            ("refused", Some("address_not_public")),
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_name_that_turns_private_on_its_second_lookup_is_refused() {
    let origin = Origin::start().await.unwrap();
    let names = Names::default();
    names
        .then("rebind.example", &["127.0.0.1"])
        .then("rebind.example", &["10.0.0.1"]);
    let fetcher = with_names(config(), names);
    let url = origin.url_at("rebind.example", "/fault/closed");
    // The first connection breaks; the retry resolves and checks the name again.
    assert_eq!(
        failure(&fetcher, &url).await,
        ("refused", Some("address_not_public"))
    );
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn the_checked_address_is_the_one_connected_to() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("pinned"));
    let names = Names::default();
    names
        .then("pinned.example", &["127.0.0.1"])
        .then("pinned.example", &["10.0.0.1"]);
    let fetcher = with_names(config(), names);
    let response = get(&fetcher, &origin.url_at("pinned.example", "/"))
        .await
        .unwrap();
    assert_eq!(response.remote_addr, Some(origin.address()));
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let origin = Origin::start().await.unwrap();
    for target in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://2852039166/",
        "gopher://127.0.0.1/",
    ] {
        let error = get(
            &fetcher(),
            &origin.url(&format!("/fault/redirect/302?{target}")),
        )
        .await
        .unwrap_err();
        assert_eq!(error.kind.as_str(), "refused", "{target}");
        assert_eq!(error.redirects.len(), 0);
    }
}

#[tokio::test]
async fn a_redirect_that_parsers_read_differently_is_refused() {
    let origin = Origin::start().await.unwrap();
    let host = origin.address();
    for target in [
        format!("http://{host}\\@b.example/echo"),
        format!("http:\\\\{host}/echo"),
        format!("\\\\{host}/echo"),
        format!("/\\{host}/echo"),
        format!("///{host}/echo"),
        "/ec\tho".to_owned(),
    ] {
        origin.set("/from", Reply::redirect(302, &target));
        let error = get(&fetcher(), &origin.url("/from")).await.unwrap_err();
        assert_eq!(
            (error.kind.as_str(), error.sub.map(SubKind::as_str)),
            ("refused", Some("ambiguous_url")),
            "{target:?}: {error}"
        );
    }
    assert_eq!(origin.count("/echo"), 0);
    let error = get(&fetcher(), &format!("http://{host}\\@b.example/")).await;
    assert_eq!(
        error.unwrap_err().sub,
        Some(SubKind::Rule(Rule::AmbiguousUrl))
    );
    // A link of a page is parsed as browsers parse it, then checked.
    let page = format!("<meta http-equiv=refresh content='0; url=\\\\{host}\\ec\tho'>");
    origin.set("/page", Reply::html(page));
    let request = Request {
        follow_refresh: true,
        ..Request::get(origin.url("/page"))
    };
    let response = fetcher().fetch(request).await.unwrap();
    assert_eq!(response.final_url, origin.url("/echo"));
}

#[tokio::test]
async fn an_address_on_the_blocklist_is_refused_also_by_name() {
    let origin = Origin::start().await.unwrap();
    let names = Names::default();
    names.then("front.example", &["127.0.0.1"]);
    let fetcher = with_names(config(), names);
    let mut blocklist = HostList::default();
    blocklist.add("127.0.0.1");
    fetcher.set_blocklist(blocklist);
    assert_eq!(
        failure(&fetcher, &origin.url_at("front.example", "/")).await,
        ("refused", Some("host_blocklisted"))
    );
    assert_eq!(origin.requests().len(), 0);
}

#[tokio::test]
async fn a_check_ahead_gives_the_same_refusal_as_a_fetch() {
    let names = Names::default();
    names
        .then("private.example", &["10.0.0.1"])
        .then("fine.example", &["127.0.0.1"]);
    let fetcher = with_names(config(), names);
    assert!(fetcher.judge("http://private.example/").is_ok());
    assert_eq!(
        fetcher
            .judge_resolved("http://private.example/")
            .await
            .unwrap_err()
            .kind
            .as_str(),
        "refused"
    );
    assert_eq!(
        fetcher
            .judge_resolved("http://none.example/")
            .await
            .unwrap_err()
            .sub,
        Some(SubKind::NxDomain)
    );
    assert_eq!(
        fetcher
            .judge_resolved("http://fine.example/")
            .await
            .unwrap()
            .port,
        80
    );
}

#[tokio::test]
async fn framing_headers_can_not_be_set() {
    let origin = Origin::start().await.unwrap();
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "Proxy-Authorization",
        "bad name",
    ] {
        let request = Request {
            headers: vec![(name.into(), "x".into())],
            ..Request::get(origin.url("/echo"))
        };
        assert_eq!(
            fetcher().fetch(request).await.unwrap_err().kind.as_str(),
            "invalid_request",
            "{name}"
        );
    }
    let request = Request {
        headers: vec![("X-A".into(), "b\r\nHost: c".into())],
        ..Request::get(origin.url("/echo"))
    };
    assert_eq!(
        fetcher().fetch(request).await.unwrap_err().kind.as_str(),
        "invalid_request"
    );
    assert_eq!(origin.requests().len(), 0);
}

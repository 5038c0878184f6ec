use std::sync::Arc;

use orbweaver_fetch::{FetchConfig, HopVerdict, Method, Request, SubKind};
use orbweaver_origin::{Certificates, Flaw, Origin, Reply, TlsOrigin};

use crate::support::{config, failure, fetcher, get, with_config};

#[tokio::test]
async fn redirects_are_followed_and_listed() {
    let origin = Origin::start().await.unwrap();
    let response = get(&fetcher(), &origin.url("/fault/chain/3#frag"))
        .await
        .unwrap();
    assert_eq!(response.body, "end");
    assert_eq!(response.url, origin.url("/fault/chain/3#frag"));
    assert_eq!(response.final_url, origin.url("/fault/chain/0#frag"));
    let urls: Vec<_> = response
        .redirects
        .iter()
        .map(|hop| (hop.url.clone(), hop.status))
        .collect();
    let hop = |n| (origin.url(&format!("/fault/chain/{n}#frag")), 302);
    assert_eq!(urls, [hop(3), hop(2), hop(1)]);
}

#[tokio::test]
async fn fault_13_loops_stop_at_the_limit_with_their_chain() {
    let origin = Origin::start().await.unwrap();
    for path in ["/fault/loop-a", "/fault/self", "/fault/chain/11"] {
        let error = get(&fetcher(), &origin.url(path)).await.unwrap_err();
        assert_eq!(
            (error.kind.as_str(), error.sub.map(SubKind::as_str)),
            ("bad_redirect", Some("too_many")),
            "{path}"
        );
        assert_eq!(error.redirects.len(), 10, "{path}");
    }
    assert!(
        get(&fetcher(), &origin.url("/fault/chain/10"))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn fault_14_a_redirect_without_one_clear_location_is_bad() {
    let origin = Origin::start().await.unwrap();
    for (path, sub) in [
        ("no-location", "no_location"),
        ("empty-location", "no_location"),
        ("locations", "ambiguous_location"),
        ("bad-location", "invalid_location"),
    ] {
        assert_eq!(
            failure(&fetcher(), &origin.url(&format!("/fault/{path}"))).await,
            ("bad_redirect", Some(sub)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn fault_15_method_and_body_follow_the_status() {
    let origin = Origin::start().await.unwrap();
    for (status, method, sent) in [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (302, "PUT", "PUT"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
    ] {
        let request = Request {
            body: (method != "HEAD").then(|| "payload".into()),
            headers: vec![("Content-Type".into(), "text/x".into())],
            ..Request::new(
                Method::from_bytes(method.as_bytes()).unwrap(),
                origin.url(&format!("/fault/redirect/{status}?/echo")),
            )
        };
        fetcher().fetch(request).await.unwrap();
        let requests = origin.requests();
        let last = requests.last().unwrap();
        assert_eq!(last.method, sent, "{status} {method}");
        assert_eq!(
            last.body,
            if sent == "GET" || sent == "HEAD" {
                ""
            } else {
                "payload"
            }
            .as_bytes(),
            "{status} {method}"
        );
        if sent == "GET" {
            assert_eq!(last.header("content-type"), None);
        }
    }
}

#[tokio::test]
async fn fault_15_credentials_stay_with_their_origin() {
    let (one, two) = (
        Origin::start().await.unwrap(),
        Origin::start().await.unwrap(),
    );
    one.set("/away", Reply::redirect(302, &two.url("/echo")));
    one.set("/home", Reply::redirect(302, "/echo"));
    let request = |path: &str| Request {
        headers: vec![
            ("Authorization".into(), "Bearer x".into()),
            ("X-Api-Key".into(), "y".into()),
            ("Accept-Language".into(), "de".into()),
        ],
        cookies: Some("session=1".into()),
        ..Request::get(one.url(path))
    };
    fetcher().fetch(request("/home")).await.unwrap();
    let home = one.requests().pop().unwrap();
    for (name, value) in [
        ("authorization", "Bearer x"),
        ("x-api-key", "y"),
        ("cookie", "session=1"),
    ] {
        assert_eq!(home.header(name), Some(value));
    }
    fetcher().fetch(request("/away")).await.unwrap();
    let away = two.requests().pop().unwrap();
    for name in ["authorization", "x-api-key", "cookie"] {
        assert_eq!(away.header(name), None, "{name}");
    }
    assert_eq!(away.header("accept-language"), Some("de"));
}

#[tokio::test]
async fn a_redirect_that_waits_for_its_cookie_ends() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/start",
        Reply::redirect(302, "/echo").header("Set-Cookie", "seen=1; Path=/"),
    );
    let response = get(&fetcher(), &origin.url("/start")).await.unwrap();
    assert!(String::from_utf8_lossy(&response.body).contains("cookie: seen=1"));
}

#[tokio::test]
async fn fault_16_a_refresh_header_is_recorded_and_not_followed() {
    let origin = Origin::start().await.unwrap();
    let response = get(&fetcher(), &origin.url("/fault/refresh"))
        .await
        .unwrap();
    assert_eq!(response.headers.get("refresh"), Some("0; url=/echo"));
    assert_eq!(origin.count("/echo"), 0);
}

#[tokio::test]
async fn fault_16_a_refresh_is_followed_when_asked_and_counts_as_a_redirect() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/meta",
        Reply::html("<meta http-equiv=refresh content='0; url=/echo?meta'>"),
    );
    origin.set(
        "/itself",
        Reply::html("<meta http-equiv=refresh content='0; url=/itself'>"),
    );
    origin.set(
        "/reload",
        Reply::html("<meta http-equiv=refresh content='30'>stays"),
    );
    let following = |path: &str| Request {
        follow_refresh: true,
        ..Request::get(origin.url(path))
    };
    for path in ["/fault/refresh", "/meta"] {
        let response = fetcher().fetch(following(path)).await.unwrap();
        assert!(response.body.starts_with(b"GET /echo"), "{path}");
        assert_eq!(
            (response.redirects.len(), response.redirects[0].status),
            (1, 200)
        );
    }
    assert_eq!(
        fetcher()
            .fetch(following("/reload"))
            .await
            .unwrap()
            .redirects
            .len(),
        0
    );
    let error = fetcher().fetch(following("/itself")).await.unwrap_err();
    assert_eq!(
        (error.sub.map(SubKind::as_str), error.redirects.len()),
        (Some("too_many"), 10)
    );
}

#[tokio::test]
async fn fault_17_a_downgrade_to_http_is_recorded() {
    let certificates = Certificates::new().unwrap();
    let origin = Origin::start().await.unwrap();
    let secure = TlsOrigin::start(&certificates, Flaw::None).await.unwrap();
    secure.set("/down", Reply::redirect(302, &origin.url("/echo")));
    let fetcher = with_config(FetchConfig {
        extra_roots: vec![certificates.root()],
        ..config()
    });
    let down = get(&fetcher, &format!("{}down", secure.url("secure.example")))
        .await
        .unwrap();
    assert_eq!(
        down.redirects
            .iter()
            .map(|hop| hop.downgrade)
            .collect::<Vec<_>>(),
        [true]
    );
    let up = get(
        &fetcher,
        &origin.url(&format!(
            "/fault/redirect/302?{}",
            secure.url("secure.example")
        )),
    )
    .await
    .unwrap();
    assert_eq!(
        up.redirects
            .iter()
            .map(|hop| hop.downgrade)
            .collect::<Vec<_>>(),
        [false]
    );
}

#[tokio::test]
async fn the_caller_decides_about_redirects() {
    let origin = Origin::start().await.unwrap();
    let url = origin.url("/fault/redirect/301?/echo");
    let asking = |verdict: HopVerdict| {
        let expected = origin.url("/echo");
        let check = move |next: &str| {
            assert_eq!(next, expected);
            verdict.clone()
        };
        Request {
            hop_check: Some(Arc::new(check)),
            ..Request::get(&url)
        }
    };
    let stopped = fetcher().fetch(asking(HopVerdict::Stop)).await.unwrap();
    assert_eq!(
        (
            stopped.status,
            stopped.final_url.as_str(),
            stopped.redirects.len()
        ),
        (301, url.as_str(), 0)
    );
    let refused = fetcher()
        .fetch(asking(HopVerdict::Refuse("not granted".into())))
        .await
        .unwrap_err();
    assert_eq!(
        (refused.kind.as_str(), refused.message.as_str()),
        ("scope", "not granted")
    );
    assert_eq!(origin.count("/echo"), 0);
    assert_eq!(
        fetcher()
            .fetch(asking(HopVerdict::Follow))
            .await
            .unwrap()
            .status,
        200
    );
    let unfollowed = Request {
        follow_redirects: false,
        ..Request::get(&url)
    };
    assert_eq!(fetcher().fetch(unfollowed).await.unwrap().status, 301);
}

#[tokio::test]
async fn a_redirect_to_what_may_not_be_fetched_is_the_answer_where_that_is_asked_for() {
    let origin = Origin::start().await.unwrap();
    for target in [
        "mailto:a@b.example",
        "tel:123",
        "ftp://a.example/",
        "javascript:void(0)",
        "http://10.0.0.1/",
        "http://u:p@a.example/",
    ] {
        let url = origin.url(&format!("/fault/redirect/302?{target}"));
        let asking = |stops_at_refused| Request {
            stops_at_refused,
            ..Request::get(&url)
        };
        let stopped = fetcher().fetch(asking(true)).await.unwrap();
        assert_eq!(
            (stopped.status, &stopped.final_url),
            (302, &url),
            "{target}"
        );
        let refused = fetcher().fetch(asking(false)).await.unwrap_err();
        assert_eq!(refused.kind.as_str(), "refused", "{target}");
    }
    for path in ["/fault/bad-location", "/fault/no-location"] {
        let request = Request {
            stops_at_refused: true,
            ..Request::get(origin.url(path))
        };
        let failed = fetcher().fetch(request).await.unwrap_err();
        assert_eq!(failed.kind.as_str(), "bad_redirect", "{path}");
    }
}

#[tokio::test]
async fn conditions_of_a_page_are_not_sent_to_where_it_redirects() {
    let origin = Origin::start().await.unwrap();
    origin.set("/page", Reply::redirect(302, "/other"));
    origin.set("/other", Reply::html("other"));
    let conditional = |path: &str| Request {
        headers: vec![
            ("if-none-match".to_owned(), "\"1\"".to_owned()),
            (
                "if-modified-since".to_owned(),
                "Sun, 01 Mar 2026 00:00:00 GMT".to_owned(),
            ),
        ],
        ..Request::get(origin.url(path))
    };
    let response = fetcher().fetch(conditional("/page")).await.unwrap();
    assert_eq!(response.body, "other");
    let sent = |path: &str| {
        let asked = origin.requests();
        let asked = asked.iter().find(|asked| asked.path() == path).unwrap();
        ["if-none-match", "if-modified-since"].map(|name| asked.header(name).is_some())
    };
    assert_eq!(sent("/page"), [true, true]);
    assert_eq!(sent("/other"), [false, false]);
}

use orbweaver_core::ids::ProjectId;
use orbweaver_core::setting::Millis;
use orbweaver_fetch::{FetchConfig, Fetcher, Method, Request, SubKind};
use orbweaver_origin::{Certificates, Flaw, Proxy, TlsOrigin};

use crate::support::{config, config_with, get, with_config};

async fn served(flaw: Flaw) -> (Fetcher, TlsOrigin) {
    let certificates = Certificates::new().unwrap();
    let origin = TlsOrigin::start(&certificates, flaw).await.unwrap();
    (
        with_config(FetchConfig {
            extra_roots: vec![certificates.root()],
            ..config()
        }),
        origin,
    )
}

#[tokio::test]
async fn a_good_certificate_is_fetched_from() {
    let (fetcher, origin) = served(Flaw::None).await;
    for host in ["secure.example", "127.0.0.1"] {
        assert_eq!(
            get(&fetcher, &origin.url(host)).await.unwrap().body,
            "secure",
            "{host}"
        );
    }
}

#[tokio::test]
async fn fault_22_every_flaw_of_tls_has_its_sub_kind() {
    for (flaw, sub) in [
        (Flaw::Expired, "expired"),
        (Flaw::NotYetValid, "not_yet_valid"),
        (Flaw::WrongHost, "wrong_host"),
        (Flaw::UntrustedRoot, "untrusted"),
        (Flaw::SelfSigned, "untrusted"),
        (Flaw::OldVersion, "version"),
    ] {
        let (fetcher, origin) = served(flaw).await;
        let error = get(&fetcher, &origin.url("secure.example"))
            .await
            .unwrap_err();
        assert_eq!(
            (
                error.kind.as_str(),
                error.sub.map(SubKind::as_str),
                error.retryable
            ),
            ("tls", Some(sub), false),
            "{flaw:?}: {error}"
        );
    }
}

#[tokio::test]
async fn a_body_that_ends_without_close_notify_is_whole_unless_its_length_says_otherwise() {
    for (length, expected) in [
        (None, Ok("secure".into())),
        (Some(6), Ok("secure".into())),
        (Some(7), Err("incomplete_body")),
    ] {
        let (fetcher, origin) = served(Flaw::NoCloseNotify(length)).await;
        let answer = get(&fetcher, &origin.url("secure.example")).await;
        let answer = answer.map(|response| response.body);
        assert_eq!(
            answer.map_err(|error| error.kind.as_str()),
            expected,
            "{length:?}"
        );
    }
}

#[tokio::test]
async fn fault_21_a_reset_stream_and_a_goaway_are_retried_once() {
    for (flaw, requests) in [
        (Flaw::Http2Reset(1), 2),
        (Flaw::Http2GoAway(1), 2),
        (Flaw::Http2Reset(0), 1),
    ] {
        let (fetcher, origin) = served(flaw).await;
        let response = get(&fetcher, &origin.url("secure.example")).await.unwrap();
        assert_eq!(
            (&response.body[..], origin.requests()),
            (b"secure".as_slice(), requests),
            "{flaw:?}"
        );
    }
}

#[tokio::test]
async fn fault_21_a_server_that_keeps_resetting_is_a_typed_error() {
    for flaw in [Flaw::Http2Reset(usize::MAX), Flaw::Http2GoAway(usize::MAX)] {
        let (fetcher, origin) = served(flaw).await;
        let error = get(&fetcher, &origin.url("secure.example"))
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind.as_str(), error.retryable),
            ("reset", true),
            "{flaw:?}: {error}"
        );
        let (fetcher, origin) = served(flaw).await;
        let post = Request {
            body: Some("x".into()),
            ..Request::new(Method::POST, origin.url("secure.example"))
        };
        assert_eq!(
            fetcher.fetch(post).await.unwrap_err().kind.as_str(),
            "reset",
            "{flaw:?}"
        );
        assert_eq!(origin.requests(), 1, "a POST is never repeated");
    }
}

#[tokio::test]
async fn a_connection_that_gave_no_answer_in_time_is_not_used_again() {
    let certificates = Certificates::new().unwrap();
    let origin = TlsOrigin::start(&certificates, Flaw::Http2Silence)
        .await
        .unwrap();
    let fetcher = with_config(FetchConfig {
        extra_roots: vec![certificates.root()],
        ..config_with(|limits| limits.first_byte_ms = Millis(3_000))
    });
    let url = origin.url("secure.example");
    let error = get(&fetcher, &url).await.unwrap_err();
    assert_eq!(error.kind.as_str(), "timeout", "{error}");
    let response = get(&fetcher, &url).await.unwrap();
    assert_eq!(&response.body[..], b"secure");
}

#[tokio::test]
async fn requests_of_one_project_without_answer_keep_no_other_project_waiting() {
    let certificates = Certificates::new().unwrap();
    let origin = TlsOrigin::start(&certificates, Flaw::Http2Silence)
        .await
        .unwrap();
    let fetcher = with_config(FetchConfig {
        extra_roots: vec![certificates.root()],
        ..config_with(|limits| limits.first_byte_ms = Millis(10_000))
    });
    let url = origin.url("secure.example");
    let first = fetcher.of_project(ProjectId(1));
    let second = fetcher.of_project(ProjectId(2));
    let answer = async {
        while origin.requests() == 0 {
            tokio::task::yield_now().await;
        }
        get(&second, &url).await
    };
    tokio::select! {
        ended = get(&first, &url) => panic!("{ended:?}"),
        answer = answer => assert_eq!(answer.unwrap().body, "secure"),
    }
}

#[tokio::test]
async fn requests_through_a_proxy_keep_no_other_project_waiting_either() {
    let certificates = Certificates::new().unwrap();
    let origin = TlsOrigin::start(&certificates, Flaw::Http2Silence)
        .await
        .unwrap();
    let proxy = Proxy::http(origin.address()).await.unwrap();
    let fetcher = with_config(FetchConfig {
        extra_roots: vec![certificates.root()],
        ..config_with(|limits| limits.first_byte_ms = Millis(10_000))
    });
    let request = Request {
        proxy: Some(proxy.url().parse().unwrap()),
        ..Request::get(origin.url("127.0.0.1"))
    };
    let first = fetcher.of_project(ProjectId(1));
    let second = fetcher.of_project(ProjectId(2));
    let answer = async {
        while origin.requests() == 0 {
            tokio::task::yield_now().await;
        }
        second.fetch(request.clone()).await
    };
    tokio::select! {
        ended = first.fetch(request.clone()) => panic!("{ended:?}"),
        answer = answer => assert_eq!(answer.unwrap().body, "secure"),
    }
}

#[tokio::test]
async fn a_server_that_wants_http1_gets_it_at_once_and_from_then_on() {
    let (fetcher, origin) = served(Flaw::Http2Unwanted).await;
    let url = origin.url("secure.example");
    for project in [1, 1, 2] {
        let fetcher = fetcher.of_project(ProjectId(project));
        let post = Request {
            body: Some("x".into()),
            ..Request::new(Method::POST, url.clone())
        };
        for request in [Request::get(url.clone()), post] {
            assert_eq!(fetcher.fetch(request).await.unwrap().body, "secure");
        }
        // A project learns it by its first request.
        let asked = usize::try_from(project).unwrap();
        assert_eq!(origin.requests(), asked);
    }
}

#[tokio::test]
async fn fault_18_a_megabyte_of_header_is_refused_over_http2_too() {
    let (fetcher, origin) = served(Flaw::Http2BigHeader).await;
    let error = get(&fetcher, &origin.url("secure.example"))
        .await
        .unwrap_err();
    assert_eq!(error.kind.as_str(), "header_too_large", "{error}");
}

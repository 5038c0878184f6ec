//! Faults 18 to 20 and 39: excessive headers, and answers that are not HTTP.

use orbweaver_origin::Reply;

use super::support::Faulty;

#[tokio::test]
async fn fault_18_header_floods() {
    let faulty = Faulty::start().await;
    for path in ["/fault/big-header", "/fault/many-headers"] {
        assert_eq!(faulty.failure(path).await, "header_too_large", "{path}");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_19_ambiguous_framing() {
    let faulty = Faulty::start().await;
    for path in [
        "bad-header",
        "two-lengths",
        "length-and-chunked",
        "gzip-transfer",
    ] {
        let path = format!("/fault/{path}");
        assert_eq!(faulty.failure(&path).await, "protocol", "{path}");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_20_answers_that_are_not_http() {
    let faulty = Faulty::start().await;
    for path in ["/fault/http09", "/fault/garbage", "/fault/switching"] {
        assert_eq!(faulty.failure(path).await, "protocol", "{path}");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_39_cookies_are_limited_and_stay_in_their_run() {
    let faulty = Faulty::start().await;
    let flood = |count: usize, to: &str| {
        (0..count).fold(Reply::redirect(302, to), |reply, number| {
            reply.header("Set-Cookie", &format!("c{number}={number}"))
        })
    };
    faulty.origin.set("/flood", flood(10_000, "/echo"));
    assert_eq!(faulty.failure("/flood").await, "header_too_large");

    let first = flood(1, "/echo?first")
        .header("Set-Cookie", "super=1; Domain=com")
        .header("Set-Cookie", "other=1; Domain=elsewhere.example");
    faulty.origin.set("/first", first);
    faulty.scan("/first").await;
    faulty.scan("/echo?second").await;
    let cookie = |query: &str| {
        let requests = faulty.origin.requests();
        let request = requests.iter().find(|request| request.query() == query);
        request.unwrap().header("cookie").map(str::to_owned)
    };
    assert_eq!(cookie("first").as_deref(), Some("c0=0"));
    assert_eq!(cookie("second"), None, "another job's jar");
    faulty.is_well().await;
}

use std::io::Write;

use orbweaver_fetch::{INCOMPLETE, Oversize, Raw, Request};
use orbweaver_origin::{BOMB_BYTES, Origin, Reply, bomb};

use crate::support::{failure, fetcher, get};

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_coded_body_is_decoded_and_kept_as_received() {
    let origin = Origin::start().await.unwrap();
    let page = b"<p>hello hello hello</p>".repeat(100);
    let coded = gzip(&page);
    origin.set(
        "/",
        Reply::html(coded.clone()).header("Content-Encoding", "gzip"),
    );
    let response = get(&fetcher(), &origin.url("/")).await.unwrap();
    assert_eq!(response.body, page);
    assert_eq!(response.wire_bytes, coded.len() as u64);
    assert_eq!(
        response.raw,
        Some(Raw {
            encoding: "gzip",
            bytes: coded.into()
        })
    );
}

#[tokio::test]
async fn fault_08_a_bomb_of_any_coding_stops_at_the_limit() {
    let origin = Origin::start().await.unwrap();
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let coded = bomb(coding).len();
        assert!(
            coded < 1 << 21 && BOMB_BYTES > 500 * coded,
            "{coding}: {coded} bytes"
        );
        let cut = Request {
            oversize: Oversize::Truncate,
            max_bytes: Some(4 << 20),
            ..Request::get(origin.url(&format!("/fault/bomb/{coding}")))
        };
        let response = fetcher().fetch(cut).await.unwrap();
        assert!(response.truncated && response.raw.is_none());
        assert_eq!(response.body.len(), 4 << 20, "{coding}");
        let url = origin.url(&format!("/fault/bomb/{coding}"));
        assert_eq!(
            failure(&fetcher(), &url).await,
            ("too_large", None),
            "{coding}"
        );
    }
}

#[tokio::test]
async fn fault_09_more_than_two_codings_are_refused() {
    let origin = Origin::start().await.unwrap();
    assert_eq!(
        failure(&fetcher(), &origin.url("/fault/nested")).await,
        ("decode", Some("too_many_codings"))
    );
    let twice = gzip(&gzip(b"twice"));
    origin.set(
        "/twice",
        Reply::html(twice).header("Content-Encoding", "gzip, gzip"),
    );
    let response = get(&fetcher(), &origin.url("/twice")).await.unwrap();
    assert_eq!(
        (&response.body[..], response.raw),
        (b"twice".as_slice(), None)
    );
}

#[tokio::test]
async fn fault_10_a_plain_body_called_gzip_is_a_decode_error() {
    let origin = Origin::start().await.unwrap();
    assert_eq!(
        failure(&fetcher(), &origin.url("/fault/not-gzip")).await,
        ("decode", Some("malformed"))
    );
}

#[tokio::test]
async fn fault_11_a_cut_gzip_keeps_what_decoded() {
    let origin = Origin::start().await.unwrap();
    let response = get(&fetcher(), &origin.url("/fault/cut-gzip"))
        .await
        .unwrap();
    assert!(response.truncated && response.raw.is_none());
    assert!(response.body.len() > 10_000 && response.body.len() < 60_000);
    // Its headers say so, and those of a whole one do not, whatever the site sends.
    assert!(response.headers.get(INCOMPLETE).is_some());
    origin.set("/whole", Reply::html("whole").header(INCOMPLETE, "lie"));
    let response = get(&fetcher(), &origin.url("/whole")).await.unwrap();
    assert_eq!(response.headers.get(INCOMPLETE), None);
}

#[tokio::test]
async fn fault_12_an_unknown_coding_is_a_decode_error() {
    let origin = Origin::start().await.unwrap();
    assert_eq!(
        failure(&fetcher(), &origin.url("/fault/unknown-coding")).await,
        ("decode", Some("unknown_coding"))
    );
}

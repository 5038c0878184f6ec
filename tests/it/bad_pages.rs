//! Pages and servers that misbehave: each scan ends with a result or a clear error, and the
//! service keeps working.

use orbweaver_core::setting::Millis;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Names, Service};

async fn scan(client: &Client, url: &str) -> Answer {
    client.post("/v1/scan", &json!({"url": url})).await
}

fn html(content_type: &str, body: &[u8]) -> Reply {
    Reply::new(200, body).header("Content-Type", content_type)
}

async fn is_well(service: &Service, origin: &Origin) {
    origin.set("/good", Reply::html("<title>Good</title>"));
    let good = scan(&service.client(), &origin.url("/good")).await.ok();
    assert_eq!(good["metadata"]["title"], "Good");
    assert_eq!(service.stranger().get("/v1/ready").await.status, 200);
}

#[tokio::test]
async fn decompression_bombs_are_a_clear_error() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let answer = scan(
            &service.client(),
            &origin.url(&format!("/fault/bomb/{coding}")),
        )
        .await;
        let message = answer.error(502, "FETCH_FAILED");
        assert!(message.contains("larger than"), "{coding}: {message}");
    }
    assert_eq!(
        service.billed().await,
        (0, 0),
        "a scan without a result is free"
    );
    is_well(&service, &origin).await;
}

#[tokio::test]
async fn endless_and_slow_bodies_are_a_clear_error() {
    let origin = Origin::start().await.unwrap();
    // Long enough that only what never comes is late, also on a busy machine.
    let service = Service::with(|config| {
        config.fetch.limits.min_rate_window_ms = Millis(3_000);
        config.fetch.limits.first_byte_ms = Millis(3_000);
        config.fetch.limits.max_body_bytes = 1 << 20;
    })
    .await;
    for (path, part) in [
        ("/fault/endless", "larger than 1048576 bytes"),
        ("/fault/drip", "more slowly than"),
        ("/fault/silent", "no response within 3000 ms"),
        ("/fault/short", "ended before the body did"),
        ("/fault/chain/11", "more than 10 redirects"),
        ("/fault/loop-a", "redirects"),
        ("/fault/unknown-coding", "rot13"),
    ] {
        let answer = scan(&service.client(), &origin.url(path)).await;
        let message = answer.error(502, "FETCH_FAILED");
        assert!(message.contains(part), "{path}: {message}");
    }
    is_well(&service, &origin).await;
}

#[tokio::test]
async fn charsets_come_from_header_byte_order_mark_and_meta_element() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let utf16: Vec<u8> = "\u{feff}<title>gr\u{f6}\u{df}e \u{6f22}</title>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let shift_jis: &[u8] = b"<meta charset=shift_jis><title>\x93\xfa\x96{</title>";
    for (body, content_type, title) in [
        (&utf16[..], "text/html", "gr\u{f6}\u{df}e \u{6f22}"),
        (shift_jis, "text/html", "\u{65e5}\u{672c}"),
        (
            b"<title>\x80 caf\xe9</title>",
            "text/html; charset=windows-1252",
            "\u{20ac} caf\u{e9}",
        ),
    ] {
        origin.set("/page", html(content_type, body));
        let result = scan(&service.client(), &origin.url("/page")).await.ok();
        assert_eq!(result["metadata"]["title"], title);
    }
}

#[tokio::test]
async fn empty_and_non_html_bodies_are_results() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    origin.set("/pdf", html("text/html", b"%PDF-1.7\n\xff\xfe"));
    origin.set("/empty", html("text/html", b""));
    let pdf = scan(&service.client(), &origin.url("/pdf")).await.ok();
    assert_eq!(
        (&pdf["markdown"], &pdf["article"]),
        (&Value::Null, &Value::Null)
    );
    let empty = scan(&service.client(), &origin.url("/empty")).await.ok();
    assert_eq!(
        (&empty["status"], &empty["bytes"]),
        (&json!(200), &json!(0))
    );
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_later_is_refused() {
    let origin = Origin::start().await.unwrap();
    let names = Names::of(&[("rebind.example", &["127.0.0.1", "10.0.0.1"])]);
    let service = Service::with_resolver(names, |_| {}).await;
    // robots.txt and llms.txt are resolved like the page. Whichever comes first, the guard
    // checks the second look-up like the first.
    origin.set("/", Reply::html("<title>first</title>"));
    let url = origin.url_at("rebind.example", "/fault/closed");
    let message = scan(&service.client(), &url)
        .await
        .error(422, "INVALID_INPUT");
    assert!(message.contains("10.0.0.0/8"), "{message}");
}

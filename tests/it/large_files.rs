//! Files that are larger than a page may be, as actors meet them.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::Service;

/// Most bytes of a page in these tests.
const MOST: usize = 20_000;

async fn start() -> (Service, Origin) {
    let service = Service::with(|config| {
        config.fetch.limits.max_body_bytes = MOST as u64;
    });
    let (service, origin) = (service.await, Origin::start().await.unwrap());
    origin.set("/listed", Reply::html("<title>Listed</title>"));
    let file = Reply::new(200, vec![b'x'; 2 * MOST]).header("Content-Type", "application/pdf");
    origin.set("/large.pdf", file);
    (service, origin)
}

async fn run(service: &Service, actor: &str, input: Value) -> Value {
    let path = format!("/v1/actors/{actor}");
    service.client().post(&path, &input).await.ok()["data"].clone()
}

#[tokio::test]
async fn a_sitemap_may_be_larger_than_a_page() {
    let (service, origin) = start().await;
    let map = format!(
        "<urlset><!-- {} --><url><loc>{}</loc></url></urlset>",
        "x".repeat(2 * MOST),
        origin.url("/listed")
    );
    origin.set("/sitemap.xml", Reply::new(200, map));
    let audit = run(&service, "sitemap-audit", json!({"url": origin.url("/")})).await;
    assert_eq!(audit["sitemaps"][0]["error"], Value::Null, "{audit}");
    assert_eq!(audit["summary"]["ok"], 1, "{audit}");
    assert_eq!(service.billed().await, (1, 0));
}

#[tokio::test]
async fn a_listed_file_that_is_too_large_to_be_read_is_told_by_its_headers() {
    let (service, origin) = start().await;
    origin.set("/sitemap.txt", Reply::text(origin.url("/large.pdf")));
    let input = json!({"url": origin.url("/sitemap.txt")});
    let audit = run(&service, "sitemap-audit", input).await;
    let item = &audit["items"][0];
    assert_eq!(item["bucket"], "ok", "{audit}");
    assert_eq!(item["status_code"], 200, "{audit}");
    assert_eq!(audit["pages_billed"], 1, "{audit}");
    assert_eq!(service.billed().await, (1, 0));
}

#[tokio::test]
async fn a_link_to_a_file_that_is_too_large_to_be_read_is_not_broken() {
    let (service, origin) = start().await;
    let body = vec![b'x'; 2 * MOST];
    origin.set_under("/files/", move |request| match request.method.as_str() {
        "HEAD" => Reply::new(405, ""),
        _ => Reply::new(200, body.clone()),
    });
    let input = json!({"urls": [origin.url("/files/large.iso")]});
    let found = run(&service, "check-links", input).await;
    assert_eq!(found["items"][0]["status"], "ok", "{found}");
    assert_eq!((&found["ok"], &found["broken"]), (&json!(1), &json!(0)));
}

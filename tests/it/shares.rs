//! What one project takes leaves the others their share.

use orbweaver_core::setting::Millis;
use orbweaver_origin::{Origin, Reply};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::support::Service;

/// A site whose bodies have three MiB and never end.
async fn endless() -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            open.spawn(async move {
                let mut request = [0; 4_096];
                let _ = stream.read(&mut request).await;
                let head = if request.starts_with(b"GET /body") {
                    "HTTP/1.1 200 x\r\ncontent-type: text/html\r\ncontent-length: 3145729\r\n\r\n"
                } else {
                    "HTTP/1.1 404 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                };
                let _ = stream.write_all(head.as_bytes()).await;
                if head.contains("200") {
                    let _ = stream.write_all(&vec![b'x'; 3 << 20]).await;
                    // Open until the client ends it.
                    let _ = stream.read(&mut request).await;
                }
            });
        }
    });
    (format!("http://{address}/body"), task)
}

#[tokio::test]
async fn large_bodies_of_a_project_leave_memory_for_those_of_another() {
    let service = Service::with(|config| {
        config.fetch.limits.max_bodies_mib = 16;
        config.fetch.limits.max_body_bytes = 4 << 20;
        config.fetch.limits.min_rate = 0;
    })
    .await;
    let origin = Origin::start().await.unwrap();
    let text = "<p>A text of some words.</p>".repeat((2 << 20) / 28);
    origin.set("/large", Reply::html(text));
    let (url, site) = endless().await;
    let mut greedy = JoinSet::new();
    for number in 0..6 {
        let client = service.client();
        let body = json!({"url": format!("{url}?{number}")});
        greedy.spawn(async move { client.post("/v1/scan", &body).await });
    }
    // The first that has no room: the others hold all that the project may have.
    let refused = greedy.join_next().await.unwrap().unwrap();
    let message = refused.error(429, "RATE_LIMITED");
    assert!(message.contains("fetch.limits.max_bodies_mib"), "{message}");
    let other = service.other_project("other").await;
    let page = json!({"url": origin.url("/large")});
    other.post("/v1/scan", &page).await.ok();
    greedy.abort_all();
    site.abort();
}

/// Needs a browser.
#[tokio::test]
async fn pages_without_a_result_keep_the_browser_from_no_other_project() {
    let service = Service::with(|config| {
        config.rendering.failed_seconds_per_hour = 1;
        config.rendering.timeout_ms = Millis(10_000);
    })
    .await;
    let origin = Origin::start().await.unwrap();
    origin.set("/held/never", Reply::html("<p>Too late.</p>"));
    origin.set("/page", Reply::html("<p>A text of some words.</p>"));
    let client = service.client();
    let (never, page) = (
        json!({"url": origin.url("/held/never")}),
        json!({"url": origin.url("/page")}),
    );
    let failed = client.post("/v1/cloud/render", &never).await;
    failed.error(502, "FETCH_FAILED");
    assert_eq!(service.billed().await, (0, 0), "no result is free");
    let refused = client.post("/v1/cloud/render", &page).await;
    let message = refused.error(429, "RATE_LIMITED");
    assert!(
        message.contains("rendering.failed_seconds_per_hour"),
        "{message}"
    );
    assert!(refused.header("retry-after").is_some());
    let other = service.other_project("other").await;
    other.post("/v1/cloud/render", &page).await.ok();
    // What needs no browser goes on.
    client.post("/v1/scan", &page).await.ok();
}

#[tokio::test]
async fn bodies_of_failed_fetches_have_a_bound_beyond_which_small_pages_go_on() {
    let service = Service::with(|config| {
        config.fetch.limits.failed_mib_per_hour = 1;
        config.fetch.limits.max_body_bytes = 4 << 20;
    })
    .await;
    let origin = Origin::start().await.unwrap();
    let text = "<p>A text of some words.</p>".repeat((2 << 20) / 28);
    origin.set("/large", Reply::html(text));
    origin.set("/page", Reply::html("<p>A text of some words.</p>"));
    let scan = |path: &str| json!({"url": origin.url(path)});
    let client = service.client();
    client.post("/v1/scan", &scan("/large")).await.ok();
    let failed = client.post("/v1/scan", &scan("/fault/endless")).await;
    failed.error(502, "FETCH_FAILED");
    assert_eq!(service.billed().await, (1, 0), "no result is free");
    let refused = client.post("/v1/scan", &scan("/large")).await;
    let message = refused.error(429, "RATE_LIMITED");
    assert!(
        message.contains("fetch.limits.failed_mib_per_hour"),
        "{message}"
    );
    assert!(refused.header("retry-after").is_some());
    client.post("/v1/scan", &scan("/page")).await.ok();
    let other = service.other_project("other").await;
    other.post("/v1/scan", &scan("/large")).await.ok();
}

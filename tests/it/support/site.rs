//! A site to scan.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;

/// A running site.
pub struct Site {
    pub address: SocketAddr,
    hits: Hits,
}

type Hits = Arc<Mutex<HashMap<String, usize>>>;

pub const ARTICLE: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<title>How orb weavers build</title>
<meta name="description" content="What a web is made of.">
<link rel="canonical" href="https://spiders.example/weavers">
<meta property="og:title" content="Orb weavers"><meta property="og:type" content="article">
<meta name="twitter:card" content="summary_large_image">
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Article","headline":"How orb weavers build"}</script>
</head><body>
<nav><a href="/menu">Menu entry</a></nav>
<main><article><h1>How orb weavers build</h1>
<p>An orb weaver begins with a single bridge thread, carried by the wind from one twig to
another, and from there hangs a second thread that becomes the hub of everything else.</p>
<h2>The radii</h2>
<p>From the hub the spider lays radii to the frame, walks back along each of them, and measures
the angles with its legs, so that the finished web is even although nobody drew it. See
<a href="/radii?a=1&amp;b=2">the radii in detail</a> or <a rel="nofollow" href="https://other.example/">elsewhere</a>.</p>
<p>Only then comes the sticky spiral, laid from the outside to the inside, while the dry spiral
that served as a scaffold is eaten again, thread by thread, until nothing of it remains.</p>
</article></main><footer>Imprint of the spiders</footer></body></html>"#;

impl Site {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let hits = Hits::default();
        let router = Router::new()
            .route("/article", get(async || Html(ARTICLE)))
            .route("/empty", get(async || Html("")))
            .route("/status/{status}", get(status))
            .route("/hop/{left}", get(hop))
            .route("/to", get(to))
            .route("/image.png", get(image))
            .route("/notes.txt", get(async || "Just text, <b>no</b> markup.\n"))
            .route("/echo", get(echo))
            .route("/windows-1252", get(windows_1252))
            .route("/slow/{millis}", get(slow))
            .route(
                "/nested",
                get(async || Html("<div>".repeat(10_000) + "deep")),
            )
            .route("/robots.txt", get(async || ROBOTS))
            .route("/llms.txt", get(async || "# Spiders\n"))
            .layer(middleware::from_fn_with_state(Arc::clone(&hits), count))
            .with_state(());
        tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a site");
        });
        Self { address, hits }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How often a path was requested.
    pub fn hits(&self, path: &str) -> usize {
        self.hits
            .lock()
            .expect("no panic")
            .get(path)
            .copied()
            .unwrap_or(0)
    }
}

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n\nUser-agent: GPTBot\nDisallow: /\n\n\
                      User-agent: ClaudeBot\nAllow: /\n";

async fn count(State(hits): State<Hits>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    *hits.lock().expect("no panic").entry(path).or_default() += 1;
    next.run(request).await
}

async fn status(Path(status): Path<u16>) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (
        status,
        Html(format!(
            "<title>Status {status}</title><p>Body of {status}</p>"
        )),
    )
        .into_response()
}

async fn hop(Path(left): Path<u32>) -> Response {
    let to = if left == 0 {
        "/article".to_owned()
    } else {
        format!("/hop/{}", left - 1)
    };
    (StatusCode::FOUND, [(header::LOCATION, to)]).into_response()
}

/// Redirects to its query string.
async fn to(request: Request) -> Response {
    let to = request.uri().query().unwrap_or_default().to_owned();
    (StatusCode::FOUND, [(header::LOCATION, to)]).into_response()
}

async fn image() -> Response {
    let png: &[u8] =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    ([(header::CONTENT_TYPE, "image/png")], png).into_response()
}

async fn echo(headers: HeaderMap) -> Html<String> {
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok());
    Html(format!("<title>{}</title>", agent.unwrap_or("none")))
}

async fn windows_1252() -> Response {
    let body: &[u8] = b"<title>caf\xe9 \x80 5</title><p>na\xefve</p>";
    (
        [(header::CONTENT_TYPE, "text/html; charset=iso-8859-1")],
        body,
    )
        .into_response()
}

async fn slow(Path(millis): Path<u64>) -> Html<String> {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Html(format!("<title>{millis} ms late</title>"))
}

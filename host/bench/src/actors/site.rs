//! A site that records when it was requested and when it answered.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves until its runtime ends.
pub struct Site {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    /// By path: content type and body.
    pages: HashMap<String, (&'static str, Bytes)>,
    /// The answer for paths that are not listed; 404 without one.
    other: Option<Bytes>,
    latency: Duration,
    spans: Mutex<Vec<(Instant, Instant)>>,
}

impl Site {
    /// A site of these pages with this latency. `pages` is called with the site's own
    /// address.
    pub fn start(
        runtime: &Runtime,
        latency: Duration,
        other: Option<String>,
        pages: impl FnOnce(SocketAddr) -> Vec<(String, &'static str, Vec<u8>)>,
    ) -> Result<Self> {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            pages: pages(address)
                .into_iter()
                .map(|(path, kind, body)| (path, (kind, Bytes::from(body))))
                .collect(),
            other: other.map(Bytes::from),
            latency,
            spans: Mutex::default(),
        });
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, shared })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How long at least one request was being answered since the last call, and the number of
    /// requests.
    pub fn busy(&self) -> Result<(Duration, usize)> {
        let mut spans = std::mem::take(
            &mut *self
                .shared
                .spans
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        spans.sort_unstable();
        let mut busy = Duration::ZERO;
        let mut until = spans.first().context("nobody asked the site")?.0;
        for (from, to) in &spans {
            busy += to.saturating_duration_since(until.max(*from));
            until = until.max(*to);
        }
        Ok((busy, spans.len()))
    }
}

async fn answer(State(site): State<Arc<Shared>>, uri: Uri) -> Response {
    let from = Instant::now();
    if !site.latency.is_zero() {
        tokio::time::sleep(site.latency).await;
    }
    let answer = match (site.pages.get(uri.path()), &site.other) {
        (Some((kind, body)), _) => ([(CONTENT_TYPE, *kind)], body.clone()).into_response(),
        (None, Some(body)) if !uri.path().starts_with("/robots") => {
            ([(CONTENT_TYPE, "text/html")], body.clone()).into_response()
        }
        _ => axum::http::StatusCode::NOT_FOUND.into_response(),
    };
    site.spans
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push((from, Instant::now()));
    answer
}

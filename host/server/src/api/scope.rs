//! Around every request: its id, its span, the net for panics, the envelope for whatever
//! lacks it, metrics and the request log.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use http::{HeaderMap, HeaderValue, Method, header};
use ipnet::IpNet;
use orbweaver_store::{NewLogEntry, Principal};
use tracing::Instrument as _;

use super::error::ApiError;
use crate::app::App;

/// The answer's id header.
pub const REQUEST_ID: &str = "x-request-id";

/// What a request carries through the service.
#[derive(Clone, Debug)]
pub struct Scope(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: String,
    principal: OnceLock<Arc<Principal>>,
}

impl Scope {
    /// The request's id, as in `X-Request-Id`.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Notes whose request it turned out to be, for the request log.
    pub fn identify(&self, principal: &Arc<Principal>) {
        let _ = self.0.principal.set(Arc::clone(principal));
    }
}

/// The outermost layer.
pub async fn layer(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let at = app.clock.now();
    let scope = Scope(Arc::new(Inner {
        id: uuid::Uuid::now_v7().simple().to_string(),
        principal: OnceLock::new(),
    }));
    request.extensions_mut().insert(scope.clone());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let client = client_ip(&request, &app.trusted_proxies);
    let span = tracing::info_span!("request", id = %scope.id(), %method, path = %path);

    let answer = AssertUnwindSafe(guarded(&app, request, next).instrument(span.clone()))
        .catch_unwind()
        .await;
    let mut response = answer.unwrap_or_else(|panic| {
        span.in_scope(|| tracing::error!(panic = %panic_message(&*panic), "a handler panicked"));
        ApiError::unexplained().into_response()
    });
    if (response.status().is_client_error() || response.status().is_server_error())
        && !is_json(response.headers())
    {
        response = enveloped(&response);
    }
    if let Ok(id) = HeaderValue::from_str(scope.id()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let elapsed = started.elapsed();
    span.in_scope(|| {
        tracing::debug!(
            status = response.status().as_u16(),
            ms = millis(elapsed),
            "answered"
        );
    });
    measure(&method, &response, elapsed);
    if let Some(principal) = scope.0.principal.get() {
        app.store.log_request(NewLogEntry {
            project: principal.project,
            ts: at,
            method: method.to_string(),
            path,
            status: response.status().as_u16(),
            duration_ms: millis(elapsed),
            client_ip: client,
            request_id: scope.id().to_owned(),
            key_prefix: principal.prefix.clone(),
        });
    }
    response
}

/// The matched route, remembered by the answer for its metrics.
#[derive(Clone)]
struct Route(MatchedPath);

/// Inside the router, where the route is known.
pub async fn remember_route(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(Route(route));
    }
    response
}

async fn guarded(app: &App, request: Request, next: Next) -> Response {
    tokio::time::timeout(app.request_timeout, next.run(request))
        .await
        .unwrap_or_else(|_| ApiError::timeout("the request took too long").into_response())
}

fn enveloped(answer: &Response) -> Response {
    let mut response = ApiError::for_status(answer.status()).into_response();
    if let Some(allow) = answer.headers().get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allow.clone());
    }
    if let Some(route) = answer.extensions().get::<Route>() {
        response.extensions_mut().insert(route.clone());
    }
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

fn measure(method: &Method, response: &Response, elapsed: Duration) {
    // Only known routes become labels: a stranger decides paths.
    let route = response
        .extensions()
        .get::<Route>()
        .map_or_else(|| "other".to_owned(), |route| route.0.as_str().to_owned());
    let labels = [
        ("method", method.as_str().to_owned()),
        ("route", route),
        ("status", response.status().as_str().to_owned()),
    ];
    metrics::counter!("orbweaver_http_requests_total", &labels).increment(1);
    metrics::histogram!("orbweaver_http_request_seconds", &labels).record(elapsed.as_secs_f64());
}

/// Who asked: the peer, or what a trusted proxy says of it.
fn client_ip(request: &Request, trusted: &[IpNet]) -> String {
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::from([0, 0, 0, 0]), |info| info.0.ip());
    let is_trusted = |ip: IpAddr| trusted.iter().any(|net| net.contains(&ip));
    if !is_trusted(peer) {
        return peer.to_string();
    }
    // The last entry was written by the nearest proxy; what stands before the first one
    // that is not ours is hearsay.
    let forwarded: Vec<IpAddr> = request
        .headers()
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|entry| entry.trim().parse().ok())
        .collect();
    forwarded
        .iter()
        .rev()
        .copied()
        .find(|ip| !is_trusted(*ip))
        .or_else(|| forwarded.first().copied())
        .unwrap_or(peer)
        .to_string()
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

//! Around every request: its id, its span, the net for panics, the envelope for whatever
//! lacks it, metrics and the request log.
//!
//! One hand-written service instead of a stack of layers: every request passes here, and
//! each layer would cost it a box or two.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use ipnet::IpNet;
use orbweaver_store::LogEntry;
use tower::Service;
use tracing::Instrument as _;

use super::error::ApiError;
use super::measure::Measures;
use super::scope::Scope;
use crate::app::App;

/// The answer's id header.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The service for every connection.
#[derive(Clone)]
pub struct Entry {
    inner: Arc<Inner>,
    router: Router,
}

struct Inner {
    app: App,
    measures: Measures,
}

impl Entry {
    /// Around a router; `paths` are the routes that metrics tell apart.
    pub(super) fn new(app: App, router: Router, paths: Vec<String>) -> Self {
        let measures = Measures::new(paths);
        Self {
            inner: Arc::new(Inner { app, measures }),
            router,
        }
    }
}

/// A connection is accepted: its peer is known from here on.
impl Service<SocketAddr> for Entry {
    type Response = Connection;
    type Error = Infallible;
    type Future = Ready<Result<Connection, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, peer: SocketAddr) -> Self::Future {
        let trusted = is_trusted(&self.inner.app.settings.trusted_proxies, peer.ip());
        let Self { inner, router } = self.clone();
        ready(Ok(Connection {
            inner,
            router,
            peer: peer.ip(),
            peer_text: peer.ip().to_string().into(),
            trusted,
        }))
    }
}

/// The service of one connection.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
    router: Router,
    peer: IpAddr,
    peer_text: Arc<str>,
    /// The peer is a proxy whose word on the client's address is taken.
    trusted: bool,
}

impl<B> Service<Request<B>> for Connection
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { Ok(this.answer(request.map(Body::new)).await) })
    }
}

impl Connection {
    async fn answer(mut self, mut request: Request<Body>) -> Response {
        let started = Instant::now();
        let scope = Scope::new(self.client(request.headers()));
        request.extensions_mut().insert(scope.clone());
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let span = tracing::info_span!(
            "request",
            id = %scope.id(),
            %method,
            path = uri.path(),
            status = tracing::field::Empty
        );

        let app = &self.inner.app;
        // Nothing of a request outlives its panic: what handlers share is behind locks that
        // do not poison, or is replaced as a whole.
        let work = AssertUnwindSafe(self.router.call(request)).catch_unwind();
        let done =
            tokio::time::timeout(app.settings.request_timeout, work.instrument(span.clone())).await;
        let mut response = match done {
            Ok(Ok(Ok(response))) => response,
            Ok(Ok(Err(never))) => match never {},
            Ok(Err(panic)) => {
                let panic = panic_message(&*panic);
                span.in_scope(|| tracing::error!(panic, "a handler panicked"));
                ApiError::unexplained().into_response()
            }
            Err(_) => ApiError::timeout("the request took too long").into_response(),
        };
        let failed = response.status().is_client_error() || response.status().is_server_error();
        if failed && !is_json(response.headers()) {
            response = enveloped(&response);
        }
        if let Ok(id) = HeaderValue::from_str(scope.id()) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        let (status, elapsed) = (response.status().as_u16(), started.elapsed());
        span.in_scope(|| tracing::debug!(status, ms = millis(elapsed), "answered"));
        span.record("status", i64::from(status));
        self.inner
            .measures
            .record(&method, uri.path(), status, elapsed);
        if let Some(principal) = scope.principal() {
            let entry = LogEntry {
                ts: scope.began(app),
                method: method.to_string(),
                path: uri.path().to_owned(),
                status,
                duration_ms: millis(elapsed),
                client_ip: scope.client().to_owned(),
                request_id: scope.id().to_owned(),
                key_prefix: principal.prefix.clone(),
            };
            app.store.log_request(principal.project, entry);
        }
        response
    }

    /// Who asked: the peer, or what trusted proxies say of it.
    fn client(&self, headers: &HeaderMap) -> Arc<str> {
        if !self.trusted {
            return Arc::clone(&self.peer_text);
        }
        // The last entry was written by the nearest proxy; what stands before the first one
        // that is not ours is hearsay.
        let forwarded: Vec<IpAddr> = headers
            .get_all("x-forwarded-for")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|entry| entry.trim().parse().ok())
            .collect();
        let proxies = &self.inner.app.settings.trusted_proxies;
        forwarded
            .iter()
            .rev()
            .copied()
            .find(|ip| !is_trusted(proxies, *ip))
            .or_else(|| forwarded.first().copied())
            .unwrap_or(self.peer)
            .to_string()
            .into()
    }
}

fn is_trusted(proxies: &[IpNet], ip: IpAddr) -> bool {
    proxies.iter().any(|net| net.contains(&ip))
}

fn enveloped(answer: &Response) -> Response {
    let mut response = ApiError::for_status(answer.status()).into_response();
    if let Some(allow) = answer.headers().get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allow.clone());
    }
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
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

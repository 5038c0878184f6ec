//! Wraps every request: its id, its tracing span, handling of panics, the error envelope where it
//! is missing, metrics and the request log.
//!
//! One hand-written service instead of a stack of layers: every request passes here, and
//! each layer would cost it a box or two.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, header};
use ipnet::IpNet;
use orbweaver_engine::within_request;
use orbweaver_store::LogEntry;
use percent_encoding::percent_decode_str;
use tower::Service;
use tracing::Instrument as _;

use super::error::ApiError;
use super::measure::Measures;
use super::rates::Verdict;
use super::request_log::{RequestLog, logged_method, logged_path};
use super::scope::Scope;
use super::warnings::{self, Operations, UnknownNames};
use crate::app::App;
use crate::cloud;
use crate::console::wants_html;
use crate::memory_limit;

/// The answer's id header.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Content-Security-Policy of our own pages: scripts and styles only from this server, no frames.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; \
     object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);
/// The path that no rate limit holds for.
pub(crate) const FREE: &str = "/v1/health";
/// Status of a request whose client closed the connection before the answer, as other servers log it.
const GONE: u16 = 499;
/// Longest path and query, in bytes; longer ones are answered 414.
const MAX_URI: usize = 8 << 10;

/// The service of all connections.
#[derive(Clone)]
pub struct Entry {
    inner: Arc<Inner>,
    router: Router,
}

struct Inner {
    app: App,
    measures: Measures,
    log: RequestLog,
    operations: Arc<Operations>,
}

impl Entry {
    /// Wraps a router; `paths` are the routes with metrics of their own, `operations` the names
    /// that
    /// requests may name.
    pub(super) fn new(
        app: App,
        router: Router,
        paths: Vec<String>,
        operations: Operations,
    ) -> Self {
        let measures = Measures::new(paths);
        let log = RequestLog::new(app.settings.log_requests_per_day);
        Self {
            inner: Arc::new(Inner {
                app,
                measures,
                log,
                operations: Arc::new(operations),
            }),
            router,
        }
    }
}

impl Entry {
    /// The service of a connection from this peer.
    pub fn connection(&self, peer: SocketAddr) -> Connection {
        // A listener of both families gives IPv4 peers as `::ffff:a.b.c.d`.
        let peer = peer.ip().to_canonical();
        let trusted = is_trusted(&self.inner.app.settings.trusted_proxies, peer);
        let Self { inner, router } = self.clone();
        Connection {
            inner,
            router,
            peer,
            peer_text: peer.to_string().into(),
            trusted,
        }
    }
}

impl Inner {
    /// Names in the request that its operation does not know, and what its handler warns of.
    fn warnings(&self, method: &Method, uri: &Uri, scope: &Scope) -> Vec<String> {
        let none = UnknownNames::default();
        let fields = scope.unknown().unwrap_or(&none);
        let (operations, path, query) = (&self.operations, uri.path(), uri.query());
        let mut messages = warnings::messages(operations, method, path, query, fields);
        messages.extend(scope.warnings());
        messages
    }
}

/// A request under way. It goes into the metrics and the request log when it is dropped: once its answer
/// is made, or when its client has gone before.
struct Record {
    inner: Arc<Inner>,
    scope: Scope,
    method: Method,
    uri: Uri,
    started: Instant,
    /// Status of the answer; [`GONE`] before there is one.
    status: u16,
}

impl Drop for Record {
    fn drop(&mut self) {
        let Inner {
            app, measures, log, ..
        } = &*self.inner;
        let (path, elapsed) = (self.uri.path(), self.started.elapsed());
        measures.record(&self.method, path, self.status, elapsed);
        let Some(principal) = self.scope.principal() else {
            return;
        };
        let ts = self.scope.began(app);
        if !log.admits(principal.project, ts) {
            return;
        }
        let entry = LogEntry {
            ts,
            method: logged_method(self.method.as_str()),
            path: logged_path(path),
            status: self.status,
            duration_ms: millis(elapsed),
            client_ip: self.scope.client().to_owned(),
            request_id: self.scope.id().to_owned(),
            key_prefix: principal.prefix.clone(),
        };
        app.store.log_request(principal.project, entry);
    }
}

/// The service of one connection.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
    router: Router,
    peer: IpAddr,
    peer_text: Arc<str>,
    /// Whether the peer is a trusted proxy.
    trusted: bool,
}

impl Connection {
    /// Answers a request.
    pub async fn answer(self, mut request: Request<Body>) -> Response {
        let started = Instant::now();
        name_host(&mut request);
        let (client, client_text) = self.client(request.headers());
        let scope = Scope::new(client_text, self.trusted || self.peer.is_loopback());
        request.extensions_mut().insert(scope.clone());
        let operations = Arc::clone(&self.inner.operations);
        request.extensions_mut().insert(operations);
        let mut record = Record {
            inner: Arc::clone(&self.inner),
            scope: scope.clone(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            started,
            status: GONE,
        };
        let (inner, method, uri) = (&record.inner, &record.method, &record.uri);
        let app = &inner.app;
        // A key is none where nobody asks for one.
        let takes_key = inner.operations.takes_key(method, uri.path());
        let has_key = takes_key && request.headers().contains_key(header::AUTHORIZATION);
        let hosts = match request.headers().get_all(header::HOST).iter().count() {
            // Only HTTP/1.1 demands one.
            0 if request.version() != Version::HTTP_11 => 1,
            hosts => hosts,
        };

        let mut response = match self.before(uri, client, has_key, hosts) {
            Ok(keyless) => {
                let mut response = self.work(request, &scope).await;
                let messages = inner.warnings(method, uri, &scope);
                if !messages.is_empty() {
                    response = warnings::attach(response, &messages).await;
                }
                response = memory_limit::answered(&app.answer_memory, &scope, response);
                let mut verdict = scope.rate().cloned().or(keyless);
                // A client with a wrong key counts as one without.
                if has_key && scope.principal().is_none() {
                    match app.rates.count_keyless(client) {
                        Ok(counted) => verdict = counted,
                        Err(refused) => {
                            // What succeeded is done, and its answer may be had only once.
                            if !response.status().is_success() {
                                response = refused.refusal().into_response();
                            }
                            verdict = Some(refused);
                        }
                    }
                }
                if let Some(verdict) = verdict {
                    verdict.write(response.headers_mut());
                }
                response
            }
            Err(refused) => *refused,
        };
        protect(response.headers_mut());
        // Here, because not every answer comes from the endpoint's route.
        cloud::deprecate(uri.path(), response.headers_mut());
        if let Ok(id) = HeaderValue::from_str(scope.id()) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        record.status = response.status().as_u16();
        response
    }

    /// The refusal of a request before any work, or the state of the rate limit for requests
    /// without a key.
    fn before(
        &self,
        uri: &Uri,
        client: IpAddr,
        has_key: bool,
        hosts: usize,
    ) -> Result<Option<Verdict>, Box<Response>> {
        if uri
            .path_and_query()
            .is_some_and(|uri| uri.as_str().len() > MAX_URI)
        {
            return Err(Box::new(ApiError::uri_too_long(MAX_URI).into_response()));
        }
        // RFC 9112, section 3.2: a proxy in front may have read another one.
        if hosts != 1 {
            let refusal = ApiError::bad_request("Host: must be given once");
            return Err(Box::new(refusal.into_response()));
        }
        if is_free(uri) {
            return Ok(None);
        }
        let rates = &self.inner.app.rates;
        let counted = rates.count_address(client).and_then(|_| match has_key {
            true => Ok(None),
            false => rates.count_keyless(client),
        });
        counted.map_err(|refused| {
            let mut response = refused.refusal().into_response();
            refused.write(response.headers_mut());
            Box::new(response)
        })
    }

    /// The router's answer, within the time limit and with the envelope.
    async fn work(mut self, request: Request<Body>, scope: &Scope) -> Response {
        let span = tracing::info_span!(
            "request",
            id = %scope.id(),
            method = %request.method(),
            path = request.uri().path(),
            status = tracing::field::Empty
        );
        let takes_pages = wants_html(request.headers());
        if let Some(segment) = unreadable_segment(request.uri()) {
            return ApiError::unreadable_segment(segment).into_response();
        }
        // Nothing of a request outlives its panic: what handlers share is behind locks that
        // do not poison, or is replaced as a whole.
        let work = within_request(scope.id().into(), self.router.call(request));
        let work = AssertUnwindSafe(work).catch_unwind();
        let limit = self.inner.app.settings.request_timeout;
        let done = tokio::time::timeout(limit, work.instrument(span.clone())).await;
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
        let is_page = takes_pages && is_own_page(response.headers());
        if failed && !is_json(response.headers()) && !is_page {
            response = enveloped(&response);
        }
        let status = response.status().as_u16();
        span.in_scope(|| tracing::debug!(status, "answered"));
        span.record("status", i64::from(status));
        response
    }

    /// The client's address: the peer's, or the one that trusted proxies state.
    fn client(&self, headers: &HeaderMap) -> (IpAddr, Arc<str>) {
        if !self.trusted {
            return (self.peer, Arc::clone(&self.peer_text));
        }
        // Read X-Forwarded-For from the right, because the nearest proxy wrote the last entry. Entries
        // left of the first untrusted or malformed one come from the client and are ignored.
        let last_first = headers
            .get_all("x-forwarded-for")
            .iter()
            .rev()
            .flat_map(|value| value.to_str().unwrap_or("unreadable").rsplit(','))
            .map(str::trim)
            .filter(|entry| !entry.is_empty());
        let proxies = &self.inner.app.settings.trusted_proxies;
        let mut client = self.peer;
        for entry in last_first {
            let Some(ip) = forwarded_address(entry) else {
                break;
            };
            client = ip;
            if !is_trusted(proxies, ip) {
                break;
            }
        }
        (client, client.to_string().into())
    }
}

/// The first segment of the path that is no text: what it names is not there.
fn unreadable_segment(uri: &Uri) -> Option<&str> {
    let is_text = |segment: &&str| percent_decode_str(segment).decode_utf8().is_ok();
    uri.path().split('/').find(|segment| !is_text(segment))
}

/// Liveness probes are never refused.
fn is_free(uri: &Uri) -> bool {
    uri.path() == FREE
}

/// The address of an entry of `X-Forwarded-For`, to which some proxies add the port.
fn forwarded_address(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|v6| v6.strip_suffix(']'));
    let ip = bare.unwrap_or(entry).parse().ok();
    let with_port = || Some(entry.parse::<SocketAddr>().ok()?.ip());
    ip.or_else(with_port).map(|ip: IpAddr| ip.to_canonical())
}

/// Puts the authority of the request's target into `Host`. HTTP/2 names the host only there
/// (RFC 9113, section 8.3.1), and in HTTP/1.1 it takes precedence (RFC 9112, section 3.2.2).
fn name_host(request: &mut Request<Body>) {
    let authority = request.uri().authority();
    let host = authority.and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        request.headers_mut().insert(header::HOST, host);
    }
}

fn is_trusted(proxies: &[IpNet], ip: IpAddr) -> bool {
    proxies.iter().any(|net| net.contains(&ip))
}

/// What browsers are told of every answer: take its type as it says; of pages also what they
/// may load, and that nobody may frame them.
fn protect(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    let is_html = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
    if is_html {
        // The console's pages have a stricter one.
        headers
            .entry(header::CONTENT_SECURITY_POLICY)
            .or_insert(PAGE_POLICY);
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        let referrer = HeaderValue::from_static("no-referrer");
        headers.entry(header::REFERRER_POLICY).or_insert(referrer);
    }
}

fn enveloped(answer: &Response) -> Response {
    let mut response = ApiError::for_status(answer.status()).into_response();
    if let Some(allow) = answer.headers().get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allow.clone());
    }
    response
}

/// Whether it is a page of the console, which says itself what went wrong: none but them have
/// a policy already.
fn is_own_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::CONTENT_SECURITY_POLICY)
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

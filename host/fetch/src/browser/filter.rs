//! The loopback proxy through which a page reaches the network. It applies the guard to every
//! request and every tunnel, which interception inside the browser cannot do: WebSockets,
//! popups, frames of other sites and workers all go through it.

mod counted;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioIo, TokioTimer};
use orbweaver_core::guard::{Rule, Target};
use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use self::counted::Counted;
use super::tunnel;
use crate::classify::{self, Stage};
use crate::client::{Client, Connections, Outgoing, Response as Answer, outgoing};
use crate::error::{Fault, Kind, SubKind};
use crate::exchange::{check_headers, no_response};
use crate::fetcher::Fetcher;
use crate::lookups;
use crate::proxy::ProxyUrl;
use crate::proxy_answer;
use crate::traffic::Traffic;

/// Marks the filter's own responses, to tell them from the site's.
pub(super) const OURS: HeaderName = HeaderName::from_static("x-orbweaver-filter");

/// Largest request body of a page, and most of all that a page sends, in bytes: requests, and what goes
/// through tunnels.
const MAX_UPLOAD: usize = 8 << 20;
const MAX_SENT: u64 = 16 << 20;
/// Connections of one page at once; Chromium opens at most 32 to a proxy.
const MAX_CONNECTIONS: usize = 64;
/// Hosts per page whose last failure is remembered.
const MAX_FAILURES: usize = 256;
const CONNECT: Duration = Duration::from_secs(10);

/// Ports of all running filters: no page may reach another page's filter.
static PORTS: LazyLock<Mutex<HashSet<u16>>> = LazyLock::new(Mutex::default);

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// The proxy of one page; dropping it closes its connections.
pub(super) struct Filter {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// Whose page it is, the upstream proxy for it, and the count of what it receives.
#[derive(Clone, Default)]
struct Page {
    project: Option<ProjectId>,
    upstream: Option<ProxyUrl>,
    traffic: Traffic,
}

struct Shared {
    fetcher: Fetcher,
    page: Mutex<Page>,
    bytes: AtomicU64,
    /// What the page has sent.
    sent: AtomicU64,
    max_bytes: u64,
    failures: Mutex<HashMap<String, Fault>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Filter {
    /// Starts a proxy on a free port. `max_bytes` limits what the page loads in total.
    #[crate::boxed]
    pub async fn start(fetcher: Fetcher, max_bytes: u64) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        PORTS.lock().insert(address.port());
        let shared = Arc::new(Shared {
            fetcher,
            page: Mutex::default(),
            bytes: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            max_bytes,
            failures: Mutex::default(),
            tasks: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// The proxy's URL, for Chromium.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Says whose page it is, sets the upstream proxy, and counts for `traffic`; to be called before the
    /// page's first request.
    pub fn begin(&self, project: Option<ProjectId>, upstream: Option<ProxyUrl>, traffic: Traffic) {
        *self.shared.page.lock() = Page {
            project,
            upstream,
            traffic,
        };
    }

    /// Bytes received from the network so far.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// The last failure of a request to the URL's host and port.
    pub fn failure(&self, url: &str) -> Option<Fault> {
        let url = url::Url::parse(url).ok()?;
        self.shared
            .failures
            .lock()
            .get(&authority_of(&url))
            .cloned()
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.tasks.lock().abort_all();
        PORTS.lock().remove(&self.address.port());
    }
}

fn authority_of(url: &url::Url) -> String {
    format!(
        "{}:{}",
        url.host_str().unwrap_or("").trim_end_matches('.'),
        url.port_or_known_default().unwrap_or(0)
    )
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a page's proxy cannot accept");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let task = serve(stream, Arc::clone(&shared));
        shared.spawn(task);
    }
}

impl Shared {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        // A connection and its tunnel are two tasks.
        if tasks.len() < 2 * MAX_CONNECTIONS {
            tasks.spawn(task);
        }
    }

    /// Remembers a request's failure, for [`Filter::failure`].
    fn failed(&self, url: &str, fault: Fault) -> Fault {
        if let Ok(url) = url::Url::parse(url) {
            let mut failures = self.failures.lock();
            if failures.len() < MAX_FAILURES {
                failures.insert(authority_of(&url), fault.clone());
            }
        }
        fault
    }

    fn judge(&self, url: &str) -> Result<Target, Fault> {
        let target = self.fetcher.judge(url)?;
        if PORTS.lock().contains(&target.port) {
            let message = format!("port {} is this service's own", target.port);
            return Err(Fault::new(
                Kind::Refused,
                SubKind::Rule(Rule::Port),
                message,
            ));
        }
        Ok(target)
    }

    /// Counts received bytes; an error beyond the limit.
    fn count(&self, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.page.lock().traffic.add(bytes);
        if before.saturating_add(bytes) > self.max_bytes {
            return Err(io::Error::other("the page loads too many bytes"));
        }
        Ok(())
    }

    /// Counts bytes that the page sends; an error beyond the limit.
    fn count_sent(&self, bytes: usize) -> Result<(), SendsTooMuch> {
        let bytes = bytes as u64;
        let before = self.sent.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > MAX_SENT {
            return Err(SendsTooMuch);
        }
        Ok(())
    }
}

/// What a page would send beyond its limit.
#[derive(Debug, thiserror::Error)]
#[error("the page sends more than {} MiB", MAX_SENT >> 20)]
struct SendsTooMuch;

impl From<SendsTooMuch> for Fault {
    fn from(error: SendsTooMuch) -> Self {
        Self::new(Kind::TooLarge, None, error.to_string())
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = hyper::service::service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(&shared, request).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::trace!(%error, "a page's connection ended");
    }
}

async fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Body> {
    let Page {
        project, upstream, ..
    } = shared.page.lock().clone();
    let asked = async {
        match request.method() == Method::CONNECT {
            true => open_tunnel(shared, request, upstream).await,
            false => forward(shared, request, upstream).await,
        }
    };
    let done = lookups::asked_by(project, asked).await;
    done.unwrap_or_else(|fault| {
        metrics::counter!("orbweaver_browser_requests_failed_total", "kind" => fault.kind.as_str())
            .increment(1);
        tracing::debug!(
            kind = fault.kind.as_str(),
            "a page's request failed: {}",
            fault.message
        );
        let status = if fault.kind == Kind::Refused {
            StatusCode::FORBIDDEN
        } else {
            StatusCode::BAD_GATEWAY
        };
        let mut response = Response::new(full(format!("{}\n", fault.message)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(OURS, HeaderValue::from_static(fault.kind.as_str()));
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        response
    })
}

fn full(text: String) -> Body {
    Full::from(text)
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}

async fn open_tunnel(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    upstream: Option<ProxyUrl>,
) -> Result<Response<Body>, Fault> {
    let authority = request.uri().authority().map_or("", |a| a.as_str());
    let url = format!("https://{authority}/");
    let connect = async {
        let target = shared.judge(&url)?;
        tunnel::connect(shared.fetcher.clients(), upstream.as_ref(), &target).await
    };
    let server = tokio::time::timeout(CONNECT, connect)
        .await
        .unwrap_or_else(|_| {
            Err(Fault::new(Kind::Connect, SubKind::Timeout, "no connection in time").retryable())
        })
        .map_err(|fault| shared.failed(&url, fault))?;
    let tunnel = Arc::clone(shared);
    shared.spawn(async move {
        if let Ok(client) = hyper::upgrade::on(request).await {
            let mut server = Counted {
                stream: server,
                shared: tunnel,
            };
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut server).await;
        }
    });
    Ok(Response::new(full(String::new())))
}

async fn forward(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    upstream: Option<ProxyUrl>,
) -> Result<Response<Body>, Fault> {
    let url = request.uri().to_string();
    if request.uri().scheme_str() != Some("http") {
        return Err(Fault::new(
            Kind::InvalidRequest,
            None,
            "only absolute http URLs are forwarded",
        ));
    }
    exchange(shared, request, &url, upstream)
        .await
        .map_err(|fault| shared.failed(&url, fault))
}

/// The body of a page's request.
async fn read(shared: &Shared, body: Incoming) -> Result<Bytes, Fault> {
    let mut read = BytesMut::new();
    let mut body = Limited::new(body, MAX_UPLOAD);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            let message = "the page sends a body that is too large";
            Fault::new(Kind::TooLarge, None, message)
        })?;
        if let Ok(data) = frame.into_data() {
            shared.count_sent(data.len())?;
            read.extend_from_slice(&data);
        }
    }
    Ok(read.freeze())
}

async fn run(shared: &Shared, client: &Client, request: Outgoing) -> Result<Answer, Fault> {
    let first_byte = shared.fetcher.limits().first_byte_ms.as_duration();
    let wasted = |bytes| {
        let _ = shared.count(usize::try_from(bytes).unwrap_or(usize::MAX));
    };
    match tokio::time::timeout(first_byte, client.execute(request, &wasted)).await {
        Ok(answer) => answer.map_err(|error| classify::fault(&error, Stage::Head)),
        Err(_) => Err(no_response(first_byte)),
    }
}

async fn exchange(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    url: &str,
    upstream: Option<ProxyUrl>,
) -> Result<Response<Body>, Fault> {
    let target = shared.judge(url)?;
    let clients = shared.fetcher.clients();
    if let Some(proxy) = &upstream {
        clients.judge_behind(proxy, &target).await?;
    }
    let (parts, body) = request.into_parts();
    let mut headers = end_to_end(&parts.headers);
    headers.remove(header::HOST);
    headers.remove(header::CONTENT_LENGTH);
    let connections = Connections::of(&headers);
    let project = shared.fetcher.project();
    let client = clients.get(upstream.as_ref(), connections, project).await?;
    shared.count_sent(head_bytes(url, &headers))?;
    let body = read(shared, body).await?;
    let onward = outgoing(parts.method, &target.url, headers, Some(body))?;
    let again = onward.method().is_safe().then(|| onward.clone());
    let answer = match (run(shared, &client, onward).await, again) {
        // Like a fetch: one retry, on a new connection.
        (Err(fault), Some(again)) if fault.stale => {
            let client = clients
                .get(upstream.as_ref(), Connections::Fresh, project)
                .await?;
            run(shared, &client, again).await?
        }
        (answer, _) => answer?,
    };
    if let Some(proxy) = &upstream
        && let Some(fault) =
            proxy_answer::refusal(proxy, &target.url, answer.status(), answer.headers())
    {
        return Err(fault);
    }
    // Nobody else counts it, and much work can be hidden in it.
    let received = shared.count(head_bytes("", answer.headers()));
    received.map_err(|error| Fault::new(Kind::TooLarge, None, error.to_string()))?;
    check_headers(answer.headers(), shared.fetcher.limits())?;
    let mut response = Response::new(());
    *response.status_mut() = answer.status();
    *response.headers_mut() = end_to_end(answer.headers());
    response.headers_mut().remove(OURS);
    let counting = Arc::clone(shared);
    let frames = futures::stream::try_unfold(answer, move |mut answer| {
        let counting = Arc::clone(&counting);
        async move {
            let Some(chunk) = answer.chunk().await.map_err(io::Error::other)? else {
                return Ok(None);
            };
            counting.count(chunk.len())?;
            Ok(Some((Frame::data(chunk), answer)))
        }
    });
    Ok(response.map(|()| StreamBody::new(frames).boxed_unsync()))
}

/// About what the head of a message takes, in bytes.
fn head_bytes(url: &str, headers: &HeaderMap) -> usize {
    let headers = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4);
    url.len() + headers.sum::<usize>()
}

/// The end-to-end headers, without hop-by-hop ones (RFC 9110, section 7.6.1).
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let is_hop_by_hop = |name: &str| {
        name.starts_with("proxy-")
            || matches!(
                name,
                "connection" | "keep-alive" | "te" | "trailer" | "transfer-encoding" | "upgrade"
            )
    };
    // A message may name very many: each is looked up once.
    let named: HashSet<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|name| headers.contains_key(*name))
        .filter_map(|name| name.parse().ok())
        .collect();
    headers
        .iter()
        .filter(|(name, _)| !is_hop_by_hop(name.as_str()) && !named.contains(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests;

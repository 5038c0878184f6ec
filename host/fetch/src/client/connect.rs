//! Makes connections: direct ones, and through a proxy.

use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tower_service::Service;
use url::Url;

use super::attempts::first;
use super::link::Link;
use super::socks::{self, Refused};
use crate::classify::cause;
use crate::config::Limits;
use crate::proxy::{Credentials, ProxyUrl};
use crate::resolve::Guarded;

/// Time without traffic after which a connection is probed, and between probes.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const PROBES: u32 = 3;
/// Time that sent bytes may stay without acknowledgement.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

type BoxError = Box<dyn Error + Send + Sync>;
type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<Link>, BoxError>> + Send>>;

/// No connection within the time limit.
#[derive(Debug, thiserror::Error)]
#[error("no connection in time")]
pub(crate) struct ConnectTimeout;

/// Servers that answer HTTP/2 with HTTP_1_1_REQUIRED (RFC 9113, section 7), by `host:port`: until then they are
/// offered HTTP/1.1 alone. Clones share it.
#[derive(Clone, Default)]
pub(super) struct OldServers(Arc<Mutex<HashMap<String, Instant>>>);

/// How long a server is taken for one that wants HTTP/1.1.
const OLD: Duration = Duration::from_secs(3_600);
/// Most such servers that a client knows.
const MAX_OLD: usize = 256;

impl OldServers {
    /// Notes the server of a URI.
    pub fn note(&self, server: &Uri) {
        let Some(authority) = server.authority() else {
            return;
        };
        let now = Instant::now();
        let mut known = self.0.lock();
        if known.len() >= MAX_OLD {
            known.retain(|_, until| *until > now);
        }
        if known.len() >= MAX_OLD {
            // What is forgotten costs a request.
            known.clear();
        }
        known.insert(authority.as_str().to_owned(), now + OLD);
    }

    fn has(&self, server: &Uri) -> bool {
        let known = self.0.lock();
        let until = server.authority().and_then(|at| known.get(at.as_str()));
        until.is_some_and(|until| *until > Instant::now())
    }
}

/// Connects to servers, or to one proxy.
#[derive(Clone)]
pub(crate) struct Connector {
    dial: Dial,
    guarded: Guarded,
    tls: TlsConnector,
    /// The same without HTTP/2.
    old_tls: TlsConnector,
    pub(super) old: OldServers,
    via: Option<Arc<Via>>,
    timeout: Duration,
}

/// A proxy.
struct Via {
    uri: Uri,
    is_socks: bool,
    credentials: Option<Credentials>,
}

impl Via {
    fn of(proxy: &ProxyUrl) -> Result<Self, BoxError> {
        let url = Url::parse(proxy.expose())?;
        Ok(Self {
            uri: format!(
                "{}://{}:{}",
                url.scheme(),
                url.host_str().unwrap_or_default(),
                proxy.port()
            )
            .parse()?,
            is_socks: !proxy.resolves_names(),
            credentials: proxy.credentials(),
        })
    }

    /// The credentials as HTTP proxies take them.
    fn basic(&self) -> Result<Option<HeaderValue>, BoxError> {
        let Some(credentials) = &self.credentials else {
            return Ok(None);
        };
        let mut value = HeaderValue::from_str(&credentials.basic())?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

impl Connector {
    pub fn new(
        limits: &Limits,
        tls: Arc<ClientConfig>,
        guarded: &Guarded,
        proxy: Option<&ProxyUrl>,
    ) -> Result<Self, BoxError> {
        let timeout = limits.connect_ms.as_duration();
        let mut tcp = HttpConnector::new_with_resolver(guarded.clone());
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(timeout));
        tcp.set_keepalive(Some(KEEP_ALIVE));
        tcp.set_keepalive_interval(Some(KEEP_ALIVE));
        tcp.set_keepalive_retries(Some(PROBES));
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        // A proxy's own TLS has no ALPN: requests to it are HTTP/1.1.
        let mut plain = ClientConfig::clone(&tls);
        plain.alpn_protocols.clear();
        let mut old = ClientConfig::clone(&tls);
        old.alpn_protocols.retain(|name| name != b"h2");
        Ok(Self {
            dial: Dial {
                tcp,
                proxy_tls: proxy.map(|_| TlsConnector::from(Arc::new(plain))),
                head: limits.max_header_bytes.into(),
            },
            guarded: guarded.clone(),
            tls: TlsConnector::from(tls),
            old_tls: TlsConnector::from(Arc::new(old)),
            old: OldServers::default(),
            via: proxy.map(Via::of).transpose()?.map(Arc::new),
            timeout,
        })
    }

    /// What plain requests to the proxy have, if it is an HTTP proxy with credentials.
    pub fn authorization(&self) -> Result<Option<HeaderValue>, BoxError> {
        match &self.via {
            Some(via) if !via.is_socks => via.basic(),
            _ => Ok(None),
        }
    }

    async fn connect(mut self, to: Uri) -> Result<TokioIo<Link>, BoxError> {
        let is_tls = to.scheme_str() == Some("https");
        let link = match self.via.clone() {
            None => self.dial.call(to.clone()).await?,
            Some(via) if via.is_socks => self.by_socks(&via, &to).await?,
            Some(via) if is_tls => {
                let mut tunnel = Tunnel::new(via.uri.clone(), self.dial.clone());
                if let Some(basic) = via.basic()? {
                    tunnel = tunnel.with_auth(basic);
                }
                tunnel.call(to.clone()).await?
            }
            Some(via) => {
                let mut link = self.dial.call(via.uri.clone()).await?;
                link.inner_mut().is_proxy = true;
                return Ok(link);
            }
        };
        if !is_tls {
            return Ok(link);
        }
        let tls = match self.old.has(&to) {
            true => &self.old_tls,
            false => &self.tls,
        };
        inside_tls(tls, &to, link).await
    }

    /// A connection through a SOCKS proxy, which gets checked addresses instead of the target's name.
    async fn by_socks(&self, via: &Via, to: &Uri) -> Result<TokioIo<Link>, BoxError> {
        let host = to.host().ok_or("the target has no host")?;
        let addresses = socks::in_turn(self.guarded.lookup(host).await?);
        let port = to.port_u16().unwrap_or(match to.scheme_str() {
            Some("https") => 443,
            _ => 80,
        });
        let attempt = |address| {
            let mut dial = self.dial.clone();
            async move {
                let link = dial.call(via.uri.clone()).await;
                let link = link.map_err(|error| Refused::Proxy(cause(&*error)))?;
                let target = SocketAddr::new(address, port);
                socks::connect(link.into_inner(), target, via.credentials.as_ref()).await
            }
        };
        match first(&addresses, socks::HEAD_START, attempt, Refused::is_final).await {
            Ok(link) => Ok(TokioIo::new(link)),
            Err(Some(refused)) => Err(refused.into()),
            Err(None) => Err("the target has no address".into()),
        }
    }
}

async fn inside_tls(
    tls: &TlsConnector,
    to: &Uri,
    link: TokioIo<Link>,
) -> Result<TokioIo<Link>, BoxError> {
    let link = link.into_inner();
    let host = to.host().ok_or("the target has no host")?;
    let host = host.trim_matches(['[', ']']).to_owned();
    let info = link.info.clone();
    let stream = tls.connect(ServerName::try_from(host)?, link).await?;
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok(TokioIo::new(Link::inside(stream, info, is_http2)))
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Link>;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Connecting {
        let connecting = tokio::time::timeout(self.timeout, self.clone().connect(to));
        Box::pin(async move {
            connecting
                .await
                .unwrap_or_else(|_| Err(ConnectTimeout.into()))
        })
    }
}

/// Opens connections to the host of a URI. Those to a proxy by https are inside TLS.
#[derive(Clone)]
struct Dial {
    tcp: HttpConnector<Guarded>,
    /// For a proxy.
    proxy_tls: Option<TlsConnector>,
    /// Largest head of a response, in bytes.
    head: u64,
}

impl Service<Uri> for Dial {
    type Response = TokioIo<Link>;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Connecting {
        let Self {
            mut tcp,
            proxy_tls,
            head,
        } = self.clone();
        Box::pin(async move {
            let stream = tcp.call(to.clone()).await?.into_inner();
            let link = TokioIo::new(Link::new(stream, head));
            match proxy_tls.filter(|_| to.scheme_str() == Some("https")) {
                Some(tls) => inside_tls(&tls, &to, link).await,
                None => Ok(link),
            }
        })
    }
}

//! HTTP clients: for each project one for direct requests and one for each proxy in use, up to a limit. Each
//! also exists without a connection pool, to retry a request that failed on an idle
//! connection.

mod attempts;
mod connect;
mod link;
mod send;
pub(crate) mod socks;

pub(crate) use attempts::first;
pub(crate) use connect::ConnectTimeout;
pub(crate) use link::{Flood, Stream};
pub(crate) use send::{Client, Outgoing, Response, outgoing};

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use orbweaver_core::guard::{Host, HostList, Policy, Target};
use orbweaver_core::ids::ProjectId;
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::classify;
use crate::config::{FetchConfig, Limits};
use crate::error::{Fault, Kind, SubKind};
use crate::proxy::ProxyUrl;
use crate::resolve::{Guarded, Resolver};
use connect::Connector;

/// TLS sessions remembered per client.
const TLS_SESSIONS: usize = 256;
/// Most projects whose clients are remembered.
const PROJECTS: u64 = 1024;

/// Why a [`Fetcher`](crate::Fetcher) can't be made.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub(crate) String);

/// Which connections a request may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// An idle one, or a new one.
    Kept,
    /// A new one that is closed afterwards. A server that closes idle connections often closes
    /// many at once, so a retry on another idle one could fail too.
    Fresh,
}

impl Connections {
    /// Those that a request with these headers may use. NTLM and Negotiate make a connection its user's,
    /// not a request: no other request may follow on it.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let is_users = given.any(|value| {
            let mut words = value.as_bytes().trim_ascii_start().split(|&b| b == b' ');
            let scheme = words.next().unwrap_or_default();
            scheme.eq_ignore_ascii_case(b"ntlm") || scheme.eq_ignore_ascii_case(b"negotiate")
        });
        match is_users {
            true => Self::Fresh,
            false => Self::Kept,
        }
    }
}

/// The clients of one [`Connections`] mode.
struct Kinds {
    direct: Client,
    /// By the project, too, where connections are kept: see [`Clients::of_projects`].
    proxied: Cache<(ProxyUrl, Option<ProjectId>), Client>,
}

/// All clients of a fetcher.
pub(crate) struct Clients {
    kept: Kinds,
    fresh: Kinds,
    /// For direct requests on kept connections: on one of HTTP/2, requests without answer that fill its
    /// streams would keep those of all other projects waiting.
    of_projects: Cache<ProjectId, Client>,
    tls: ClientConfig,
    limits: Limits,
    guarded: Guarded,
    trust_http_proxies: bool,
}

impl Clients {
    pub fn new(
        config: &FetchConfig,
        resolver: Arc<dyn Resolver>,
        blocklist: Arc<ArcSwap<HostList>>,
    ) -> Result<Self, ConfigError> {
        let limits = config.limits.clone();
        let policy = Arc::new(Policy::with_nets(config.allow_nets.clone()));
        let guarded = Guarded {
            policy,
            blocklist,
            resolver,
            timeout: limits.connect_ms.as_duration(),
        };
        let tls = tls_config(&config.extra_roots)?;
        let kinds = |connections| -> Result<Kinds, ConfigError> {
            let direct = build(&limits, &tls, &guarded, None, connections);
            let proxied = Cache::builder()
                .max_capacity(u64::from(limits.max_clients))
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(limits.idle_ms.as_duration());
            Ok(Kinds {
                direct: direct.map_err(|error| ConfigError(error.to_string()))?,
                proxied: proxied.build(),
            })
        };
        Ok(Self {
            kept: kinds(Connections::Kept)?,
            fresh: kinds(Connections::Fresh)?,
            of_projects: Cache::builder()
                .max_capacity(PROJECTS)
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(limits.idle_ms.as_duration())
                .build(),
            tls,
            limits,
            guarded,
            trust_http_proxies: config.trust_http_proxies,
        })
    }

    pub const fn guarded(&self) -> &Guarded {
        &self.guarded
    }

    /// TLS without ALPN: for a connection to a proxy.
    pub fn plain_tls(&self) -> ClientConfig {
        let mut tls = self.tls.clone();
        tls.alpn_protocols.clear();
        tls
    }

    /// The client for a project's requests, or for those through `proxy`. The proxy's address is checked like a target's:
    /// a literal here, since the connector does not pass it to the resolver; a name here and
    /// again when it is connected to.
    #[crate::boxed]
    pub async fn get(
        &self,
        proxy: Option<&ProxyUrl>,
        connections: Connections,
        project: Option<ProjectId>,
    ) -> Result<Client, Fault> {
        let kinds = match connections {
            Connections::Kept => &self.kept,
            Connections::Fresh => &self.fresh,
        };
        let project = project.filter(|_| connections == Connections::Kept);
        let Some(proxy) = proxy else {
            let Some(project) = project else {
                return Ok(kinds.direct.clone());
            };
            let make = || build(&self.limits, &self.tls, &self.guarded, None, connections);
            let made = self.of_projects.try_get_with(project, make);
            return made.map_err(|error| Fault::new(Kind::Internal, None, error.to_string()));
        };
        self.judge_proxy(proxy).await?;
        kinds
            .proxied
            .try_get_with((proxy.clone(), project), || {
                build(
                    &self.limits,
                    &self.tls,
                    &self.guarded,
                    Some(proxy),
                    connections,
                )
            })
            .map_err(|error| {
                Fault::new(
                    Kind::InvalidRequest,
                    None,
                    format!("proxy {proxy}: {error}"),
                )
            })
    }

    /// Checks a proxy's URL and the addresses of its name, which are returned. Where the name has none,
    /// the fault is the proxy's, not one of the target's name.
    #[crate::boxed]
    pub async fn judge_proxy(&self, proxy: &ProxyUrl) -> Result<Vec<IpAddr>, Fault> {
        let named = |fault: Fault| Fault {
            message: format!("proxy {proxy}: {}", fault.message),
            ..fault
        };
        self.guarded
            .judge_proxy(proxy)
            .map_err(|refusal| named(refusal.into()))?;
        let found = self.guarded.lookup(&proxy.host().to_string()).await;
        found.map_err(|error| {
            let fault = named(classify::lookup_fault(&error));
            match fault.kind {
                // A look-up that got no turn says nothing of the proxy.
                Kind::Dns if fault.sub != Some(SubKind::Busy) => Fault {
                    kind: Kind::Proxy,
                    sub: Some(SubKind::Other),
                    ..fault
                },
                _ => fault,
            }
        })
    }

    /// Checks the addresses of a target that a proxy connects to. For the limits of this check
    /// see the module [`proxy`](crate::proxy).
    #[crate::boxed]
    pub async fn judge_behind(
        &self,
        proxy: &ProxyUrl,
        target: &Target,
    ) -> Result<Vec<IpAddr>, Fault> {
        if matches!(target.host, Host::Name(_))
            && proxy.resolves_names()
            && !self.trust_http_proxies
        {
            let why = format!(
                "{proxy} resolves names itself, and fetch.trust_http_proxies is false: \
                 a SOCKS5 proxy is given addresses"
            );
            return Err(Fault::new(Kind::Proxy, SubKind::Other, why));
        }
        let found = self.guarded.lookup(&target.host.to_string()).await;
        found.map_err(|error| classify::lookup_fault(&error))
    }
}

/// TLS for every client: ring, TLS 1.2 and 1.3, the system's roots (or, on a machine
/// without any, Mozilla's) and the configured ones.
fn tls_config(extra_roots: &[Vec<u8>]) -> Result<ClientConfig, ConfigError> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    let (added, ignored) = roots.add_parsable_certificates(native.certs);
    tracing::debug!(added, ignored, "loaded the system's root certificates");
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for root in extra_roots {
        roots
            .add(CertificateDer::from(root.clone()))
            .map_err(|error| ConfigError(format!("extra_roots: {error}")))?;
    }
    let mut config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn build(
    limits: &Limits,
    tls: &ClientConfig,
    guarded: &Guarded,
    proxy: Option<&ProxyUrl>,
    connections: Connections,
) -> Result<Client, Box<dyn Error + Send + Sync>> {
    let mut tls = tls.clone();
    // Session tickets would tie requests through different proxies to one client.
    tls.resumption = Resumption::in_memory_sessions(TLS_SESSIONS);
    let idle_per_host = match connections {
        Connections::Kept => usize::try_from(limits.idle_per_host).unwrap_or(usize::MAX),
        // Turns the pool off.
        Connections::Fresh => 0,
    };
    let max_headers = usize::try_from(limits.max_headers).unwrap_or(usize::MAX);
    let connector = Connector::new(limits, Arc::new(tls), guarded, proxy)?;
    let authorization = connector.authorization()?;
    let old = connector.old.clone();
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the client with resolver and limits"
    )]
    let hyper = legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(limits.idle_ms.as_duration())
        .pool_max_idle_per_host(idle_per_host)
        .http1_title_case_headers(true)
        // RFC 9112, sections 5.1 and 5.2: servers send both, and browsers read them.
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_max_headers(max_headers)
        .http2_max_header_list_size(limits.max_header_bytes)
        .http2_adaptive_window(true)
        .build(connector);
    Ok(Client {
        hyper,
        authorization,
        old,
    })
}

//! Name resolution. Every address is checked before anything connects to it.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use hyper_util::client::legacy::connect::dns::Name;
use orbweaver_core::guard::{Host, HostList, Policy, Refusal};
use tower_service::Service;

use crate::lookups::Lookups;
use crate::proxy::ProxyUrl;

/// Why a name has no addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The name does not exist or has no addresses; a retry will not help.
    #[error("the name does not exist")]
    NxDomain,
    /// The name's servers failed (SERVFAIL, a CNAME loop); a retry may help.
    #[error("the name's servers failed to answer")]
    ServFail,
    /// No answer in time.
    #[error("no answer from DNS in time")]
    Timeout,
    /// Too many lookups of the project are under way or wait; a retry may help.
    #[error("too many names are being looked up for this project")]
    Busy,
    /// Anything else.
    #[error("name resolution failed: {0}")]
    Other(String),
}

/// Resolves names. Its answers are untrusted: the guard checks them.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of `name`, at least one.
    ///
    /// # Errors
    /// Why there are none.
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError>;
}

/// The system's resolver (`getaddrinfo`): hosts file, search rules and caches apply. All of a process
/// share its threads; see [`Lookups`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

static SYSTEM: LazyLock<Lookups> = LazyLock::new(|| Lookups::new(ask_system));

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        SYSTEM.resolve(name).await
    }
}

fn ask_system(name: &str) -> Result<Vec<IpAddr>, ResolveError> {
    let found = (name, 0)
        .to_socket_addrs()
        .map_err(|error| from_io(&error))?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    if addresses.is_empty() {
        Err(ResolveError::NxDomain)
    } else {
        Ok(addresses)
    }
}

/// Classifies an error of `getaddrinfo` by its text (glibc's and musl's): std drops the code.
fn from_io(error: &io::Error) -> ResolveError {
    let text = error.to_string();
    let says = |texts: &[&str]| texts.iter().any(|known| text.contains(known));
    if says(&[
        "Name or service not known",
        "No address associated",
        "Name does not resolve",
        "Name has no usable",
    ]) {
        ResolveError::NxDomain
    } else if says(&[
        "Temporary failure",
        "Try again",
        "Non-recoverable",
        "Unrecoverable",
    ]) {
        ResolveError::ServFail
    } else if error.kind() == io::ErrorKind::TimedOut {
        ResolveError::Timeout
    } else {
        ResolveError::Other(text)
    }
}

/// The error of a guarded lookup; `classify` finds it in the error chain of a failed connect.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("{name}: {error}")]
    Failed { name: String, error: ResolveError },
}

/// A resolver whose answers the guard checks. If one address of an answer is refused, the whole
/// answer is. Connections use the accepted addresses, without another lookup.
#[derive(Clone)]
pub(crate) struct Guarded {
    pub policy: Arc<Policy>,
    pub blocklist: Arc<ArcSwap<HostList>>,
    pub resolver: Arc<dyn Resolver>,
    pub timeout: Duration,
}

impl Guarded {
    /// The accepted addresses of a name, or of a literal address.
    #[crate::boxed]
    pub async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, LookupError> {
        // The client of a SOCKS proxy resolves literals too.
        if let Ok(ip) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
            self.policy.judge_ip(ip)?;
            self.blocklist.load().judge(&Host::Ip(ip))?;
            return Ok(vec![ip]);
        }
        let failed = |error| LookupError::Failed {
            name: name.to_owned(),
            error,
        };
        let answers = tokio::time::timeout(self.timeout, self.resolver.resolve(name))
            .await
            .map_err(|_| failed(ResolveError::Timeout))?
            .map_err(failed)?;
        self.policy
            .judge_answers(name, &answers, &self.blocklist.load())?;
        Ok(answers)
    }
}

impl Guarded {
    /// Checks a proxy by its URL, without DNS: address or name, port and blocklist.
    pub fn judge_proxy(&self, proxy: &ProxyUrl) -> Result<(), Refusal> {
        let host = proxy.host();
        match &host {
            Host::Ip(ip) => self.policy.judge_ip(*ip)?,
            Host::Name(name) => self.policy.judge_name(name)?,
        }
        self.policy.judge_port(proxy.port())?;
        self.blocklist.load().judge(&host)
    }
}

/// For the connector.
impl Service<Name> for Guarded {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = LookupError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, LookupError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), LookupError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guarded = self.clone();
        Box::pin(async move {
            let answers = guarded.lookup(name.as_str()).await?;
            let addresses = answers.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(addresses.collect::<Vec<_>>().into_iter())
        })
    }
}

//! Connections for a page's tunnels: direct, or through an upstream proxy.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::guard::{Host, Target};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use crate::classify;
use crate::client::socks::{self, Refused};
use crate::client::{Clients, Stream, first};
use crate::error::{Fault, Kind, SubKind};
use crate::proxy::{Credentials, ProxyUrl};

/// Largest answer of an HTTP proxy to CONNECT.
const MAX_HEAD: usize = 16 << 10;
/// Time from one address's attempt to the next one's (RFC 8305, section 8).
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to a target accepted by the guard; the addresses of its name are checked here.
/// The caller sets the deadline.
pub(super) async fn connect(
    clients: &Clients,
    upstream: Option<&ProxyUrl>,
    target: &Target,
) -> Result<Box<dyn Stream>, Fault> {
    let Some(proxy) = upstream else {
        let found = clients.guarded().lookup(&target.host.to_string()).await;
        let addresses = found.map_err(|error| classify::lookup_fault(&error))?;
        let reached = dial(&addresses, target.port).await;
        let stream = reached.map_err(|why| {
            let message = format!("no connection: {why}");
            Fault::new(Kind::Connect, SubKind::Other, message).retryable()
        })?;
        return Ok(Box::new(stream));
    };
    let addresses = clients.judge_behind(proxy, target).await?;
    let gates = clients.judge_proxy(proxy).await?;
    let failed =
        |message: &str| Fault::new(Kind::Proxy, SubKind::Other, format!("{proxy}: {message}"));
    let url = Url::parse(proxy.expose()).map_err(|error| failed(&error.to_string()))?;
    let refused = |refused: Refused| {
        let fault = refused.fault();
        Fault {
            message: format!("{proxy}: {}", fault.message),
            ..fault
        }
    };
    let credentials = proxy.credentials();
    let credentials = credentials.as_ref();
    let gate = || async { dial(&gates, proxy.port()).await.map_err(Refused::Proxy) };
    let authority = match &target.host {
        Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]:{}", target.port),
        host => format!("{host}:{}", target.port),
    };
    match url.scheme() {
        "socks5" => {
            let attempt = |address| {
                let asked = SocketAddr::new(address, target.port);
                async move { socks::connect(gate().await?, asked, credentials).await }
            };
            let addresses = socks::in_turn(addresses);
            let reached = first(&addresses, socks::HEAD_START, attempt, Refused::is_final).await;
            match reached {
                Ok(stream) => Ok(Box::new(stream)),
                Err(Some(failure)) => Err(refused(failure)),
                Err(None) => Err(failed("no address to connect to")),
            }
        }
        "https" => {
            let name = ServerName::try_from(proxy.host().to_string())
                .map_err(|_| failed("its host is not a valid TLS server name"))?;
            let stream = gate().await.map_err(refused)?;
            let tls = tokio_rustls::TlsConnector::from(Arc::new(clients.plain_tls()))
                .connect(name, stream)
                .await
                .map_err(|error| failed(&error.to_string()))?;
            let stream = connect_http(tls, &authority, credentials).await;
            Ok(Box::new(stream.map_err(refused)?))
        }
        _ => {
            let stream = gate().await.map_err(refused)?;
            let stream = connect_http(stream, &authority, credentials).await;
            Ok(Box::new(stream.map_err(refused)?))
        }
    }
}

/// A connection to the first address that answers, or why none does.
async fn dial(addresses: &[IpAddr], port: u16) -> Result<TcpStream, String> {
    let attempt = |address| TcpStream::connect(SocketAddr::new(address, port));
    let dialled = first(addresses, HEAD_START, attempt, |_| false).await;
    let stream = dialled.map_err(|error| {
        error.map_or_else(|| "no address".to_owned(), |error| error.to_string())
    })?;
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

async fn connect_http<S: Stream>(
    mut stream: S,
    authority: &str,
    credentials: Option<&Credentials>,
) -> Result<S, Refused> {
    let mut head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(credentials) = credentials {
        head.push_str(&format!("Proxy-Authorization: {}\r\n", credentials.basic()));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    // Byte by byte, because the bytes after the head belong to the tunnel.
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= MAX_HEAD {
            return Err(Refused::Target("its answer has no end".to_owned()));
        }
        answer.push(stream.read_u8().await?);
    }
    let line = answer.split(|&byte| byte == b'\r').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
    match line.split(' ').nth(1) {
        Some(status) if status.starts_with('2') => Ok(stream),
        Some("401" | "407") => Err(Refused::Credentials),
        _ => Err(Refused::Target(format!("it answers `{line}`"))),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::os::fd::AsRawFd as _;

    use async_trait::async_trait;
    use orbweaver_core::guard::Policy;
    use orbweaver_origin::Proxy;

    use super::*;
    use crate::config::FetchConfig;
    use crate::resolve::{ResolveError, Resolver};

    /// Every name has addresses of both kinds.
    struct Dual;

    #[async_trait]
    impl Resolver for Dual {
        async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, ResolveError> {
            Ok(vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()])
        }
    }

    #[tokio::test]
    async fn a_socks_proxy_is_asked_for_the_next_address_of_a_host_that_it_does_not_reach() {
        let server = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let proxy = Proxy::socks5(server.local_addr().unwrap()).await.unwrap();
        let config = FetchConfig {
            allow_nets: ["127.0.0.0/8", "::1/128"]
                .map(|net| net.parse().unwrap())
                .into(),
            ..FetchConfig::default()
        };
        let clients = Clients::new(&config, Arc::new(Dual), Arc::default()).unwrap();
        let policy = Policy::with_nets(config.allow_nets.clone());
        let target = policy.judge_url("https://dual.example:8443/").unwrap();
        let by = async |url: String| connect(&clients, Some(&url.parse().unwrap()), &target).await;
        assert!(by(proxy.url()).await.is_ok());
        assert_eq!(proxy.asked(), ["127.0.0.1:8443"]);
        proxy.lose("127.0.0.1");
        assert!(by(proxy.url()).await.is_ok());
        assert_eq!(proxy.asked()[1..], ["127.0.0.1:8443", "::1:8443"]);
        proxy.lose("::1");
        let fault = by(proxy.url()).await.err().unwrap();
        assert!(fault.message.contains("no route to the host"), "{fault:?}");
        let before = proxy.connections();
        let fault = by(proxy.url_with("customer", "wrong")).await.err().unwrap();
        assert_eq!(fault.sub, Some(SubKind::Auth), "{fault:?}");
        assert_eq!(proxy.connections(), before + 1);
    }

    #[tokio::test]
    async fn an_address_that_does_not_answer_gives_way_to_the_next() {
        let silent = Ipv4Addr::new(127, 0, 0, 2);
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        // Its queue is full, so that the kernel answers no further connection.
        let full = std::net::TcpListener::bind((silent, port)).unwrap();
        // SAFETY: changes the queue of a socket that is listening.
        assert_eq!(unsafe { libc::listen(full.as_raw_fd(), 0) }, 0);
        let _queued = std::net::TcpStream::connect((silent, port)).unwrap();
        let addresses = [silent.into(), Ipv4Addr::LOCALHOST.into()];
        // The kernel gives the first one up after two minutes.
        let dialled = tokio::time::timeout(Duration::from_secs(60), dial(&addresses, port));
        let dialled = dialled.await.expect("the next one is tried before that");
        let address = dialled.unwrap().peer_addr().unwrap();
        assert_eq!(address.ip(), Ipv4Addr::LOCALHOST);
        let refused = dial(&[Ipv4Addr::new(127, 0, 0, 3).into()], port).await;
        assert!(refused.is_err());
        assert!(dial(&[], port).await.is_err());
    }
}

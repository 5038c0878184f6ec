//! Connections for a page's tunnels: direct, or through an upstream proxy.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use orbweaver_core::guard::{Host, Target};
use percent_encoding::percent_decode_str;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use crate::classify;
use crate::client::{Clients, Stream};
use crate::error::{Fault, Kind, SubKind};
use crate::proxy::ProxyUrl;

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
        return Ok(Box::new(dial(&addresses, target.port).await?));
    };
    let addresses = clients.judge_behind(proxy, target).await?;
    let gates = clients.judge_proxy(proxy).await?;
    let failed =
        |message: &str| Fault::new(Kind::Proxy, SubKind::Other, format!("{proxy}: {message}"));
    let url = Url::parse(proxy.expose()).map_err(|error| failed(&error.to_string()))?;
    let stream = dial(&gates, proxy.port())
        .await
        .map_err(|fault| failed(&fault.message).retryable())?;
    let credentials = credentials(&url);
    let authority = match &target.host {
        Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]:{}", target.port),
        host => format!("{host}:{}", target.port),
    };
    match url.scheme() {
        "socks5" => {
            let address = addresses.first().copied();
            let address = address.ok_or_else(|| failed("no address to connect to"))?;
            let asked = SocketAddr::new(address, target.port);
            let stream = socks(stream, asked, credentials.as_ref()).await;
            Ok(Box::new(stream.map_err(|refusal| refusal.at(proxy))?))
        }
        "https" => {
            let name = ServerName::try_from(proxy.host().to_string())
                .map_err(|_| failed("its host is not a valid TLS server name"))?;
            let tls = tokio_rustls::TlsConnector::from(Arc::new(clients.plain_tls()))
                .connect(name, stream)
                .await
                .map_err(|error| failed(&error.to_string()))?;
            let stream = connect_http(tls, &authority, credentials.as_ref()).await;
            Ok(Box::new(stream.map_err(|refusal| refusal.at(proxy))?))
        }
        _ => {
            let stream = connect_http(stream, &authority, credentials.as_ref()).await;
            Ok(Box::new(stream.map_err(|refusal| refusal.at(proxy))?))
        }
    }
}

/// The first address that answers. One that does not answer soon does not keep the next from being
/// tried (RFC 8305, section 5).
async fn dial(addresses: &[IpAddr], port: u16) -> Result<TcpStream, Fault> {
    let mut last = None;
    let mut waiting = addresses.iter();
    let mut attempts = FuturesUnordered::new();
    loop {
        if let Some(&address) = waiting.next() {
            attempts.push(TcpStream::connect(SocketAddr::new(address, port)));
        }
        let next = async {
            match waiting.len() {
                0 => std::future::pending().await,
                _ => tokio::time::sleep(HEAD_START).await,
            }
        };
        tokio::select! {
            attempt = attempts.next() => match attempt {
                Some(Ok(stream)) => {
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Some(Err(error)) => last = Some(error),
                None => break,
            },
            () = next => {}
        }
    }
    let why = last.map_or_else(|| "no address".to_owned(), |error| error.to_string());
    Err(Fault::new(
        Kind::Connect,
        SubKind::Other,
        format!("no connection: {why}"),
    )
    .retryable())
}

struct Credentials {
    user: Vec<u8>,
    password: Vec<u8>,
}

fn credentials(url: &Url) -> Option<Credentials> {
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    (!url.username().is_empty() || url.password().is_some()).then(|| Credentials {
        user: decoded(url.username()),
        password: decoded(url.password().unwrap_or_default()),
    })
}

/// Why a proxy did not connect.
enum Refused {
    Credentials,
    Other(String),
}

impl Refused {
    fn at(self, proxy: &ProxyUrl) -> Fault {
        match self {
            Self::Credentials => Fault::new(
                Kind::Proxy,
                SubKind::Auth,
                format!("{proxy}: the proxy refuses our credentials"),
            ),
            Self::Other(why) => Fault::new(
                Kind::Proxy,
                SubKind::Other,
                format!("{proxy}: the proxy gives no connection: {why}"),
            )
            .retryable(),
        }
    }
}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.to_string())
    }
}

async fn connect_http<S: Stream>(
    mut stream: S,
    authority: &str,
    credentials: Option<&Credentials>,
) -> Result<S, Refused> {
    let mut head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(Credentials { user, password }) = credentials {
        let pair = [user.as_slice(), b":", password.as_slice()].concat();
        head.push_str(&format!(
            "Proxy-Authorization: Basic {}\r\n",
            STANDARD.encode(pair)
        ));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    // Byte by byte, because the bytes after the head belong to the tunnel.
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= MAX_HEAD {
            return Err(Refused::Other("its answer has no end".to_owned()));
        }
        answer.push(stream.read_u8().await?);
    }
    let line = answer.split(|&byte| byte == b'\r').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
    match line.split(' ').nth(1) {
        Some(status) if status.starts_with('2') => Ok(stream),
        Some("401" | "407") => Err(Refused::Credentials),
        _ => Err(Refused::Other(format!("it answers `{line}`"))),
    }
}

/// RFC 1928, with RFC 1929's user name and password.
async fn socks<S: Stream>(
    mut stream: S,
    target: SocketAddr,
    credentials: Option<&Credentials>,
) -> Result<S, Refused> {
    let other = |why: &str| Refused::Other(why.to_owned());
    let offer: &[u8] = if credentials.is_some() {
        &[5, 2, 0, 2]
    } else {
        &[5, 1, 0]
    };
    stream.write_all(offer).await?;
    let (version, method) = (stream.read_u8().await?, stream.read_u8().await?);
    match (version, method, credentials) {
        (5, 0, _) => {}
        (5, 2, Some(Credentials { user, password })) => {
            let length = |text: &[u8]| u8::try_from(text.len());
            let (Ok(users), Ok(passwords)) = (length(user), length(password)) else {
                return Err(other("its credentials are too long"));
            };
            let message = [&[1, users], user.as_slice(), &[passwords], password].concat();
            stream.write_all(&message).await?;
            let (_, status) = (stream.read_u8().await?, stream.read_u8().await?);
            if status != 0 {
                return Err(Refused::Credentials);
            }
        }
        (5, _, _) => return Err(Refused::Credentials),
        _ => return Err(other("it does not speak SOCKS 5")),
    }
    let mut ask = vec![5, 1, 0];
    match target.ip() {
        IpAddr::V4(ip) => {
            ask.push(1);
            ask.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            ask.push(4);
            ask.extend_from_slice(&ip.octets());
        }
    }
    ask.extend_from_slice(&target.port().to_be_bytes());
    stream.write_all(&ask).await?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await?;
    let [_, status, _, kind] = answer;
    if status != 0 {
        return Err(Refused::Other(format!("SOCKS error {status}")));
    }
    let rest = match kind {
        1 => 4,
        4 => 16,
        _ => usize::from(stream.read_u8().await?),
    };
    let mut bound = vec![0; rest + 2];
    stream.read_exact(&mut bound).await?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::os::fd::AsRawFd as _;

    use super::*;

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

//! SOCKS 5 (RFC 1928), with a user and a password (RFC 1929).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::link::Stream;
use crate::error::{Fault, Kind, SubKind};
use crate::proxy::Credentials;
use crate::proxy_answer;

/// Most addresses of one target that a proxy is asked for.
const MAX_TARGETS: usize = 8;
/// Time from the request for one address to that for the next one, on a connection of its own, while the
/// proxy does not answer: proxies in homes take seconds.
pub(crate) const HEAD_START: Duration = Duration::from_secs(3);

/// Why a proxy gives no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("it refuses our credentials")]
    Credentials,
    /// It cannot be reached, or spoken to.
    #[error("{0}")]
    Proxy(String),
    /// It does not connect to this target.
    #[error("{0}")]
    Target(String),
}

impl Refused {
    /// Whether it would be the same with another address of the target.
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Target(_))
    }

    pub fn fault(&self) -> Fault {
        match self {
            Self::Credentials => proxy_answer::wrong_credentials(),
            Self::Proxy(why) | Self::Target(why) => {
                let message = format!("the proxy gives no connection: {why}");
                Fault::new(Kind::Proxy, SubKind::Other, message).retryable()
            }
        }
    }
}

impl From<io::Error> for Refused {
    /// Some proxies close the connection when the target is not to be had.
    fn from(error: io::Error) -> Self {
        Self::Target(error.to_string())
    }
}

/// The addresses of a target in the order in which a proxy is asked for them: IPv4 first, because many
/// proxies have no IPv6.
pub(crate) fn in_turn(mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.truncate(MAX_TARGETS);
    addresses
}

/// Asks a proxy, to which this is a new connection, to connect to an address.
pub(crate) async fn connect<S: Stream>(
    mut stream: S,
    target: SocketAddr,
    credentials: Option<&Credentials>,
) -> Result<S, Refused> {
    let wrong = |why: &str| Refused::Proxy(why.to_owned());
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
                return Err(wrong("its credentials are too long"));
            };
            let message = [&[1, users], user.as_slice(), &[passwords], password].concat();
            stream.write_all(&message).await?;
            let (_, status) = (stream.read_u8().await?, stream.read_u8().await?);
            if status != 0 {
                return Err(Refused::Credentials);
            }
        }
        (5, _, _) => return Err(Refused::Credentials),
        _ => return Err(wrong("it does not speak SOCKS 5")),
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
        return Err(Refused::Target(meaning(status)));
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

/// What a proxy's answer says of a target (RFC 1928, section 6).
fn meaning(status: u8) -> String {
    let words = match status {
        2 => "its rules do not allow it",
        3 => "it has no route to the network",
        4 => "it has no route to the host",
        5 => "the host refuses connections",
        6 => "the connection took too long",
        8 => "it does not take addresses of this kind",
        _ => return format!("SOCKS error {status}"),
    };
    words.to_owned()
}

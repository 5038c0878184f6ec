//! HTTP with a key of one's own, to a server that may be gone for a while.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// Where the server listens at the moment; none while it is down.
#[derive(Debug, Default)]
pub(super) struct Whereabouts(Mutex<Option<SocketAddr>>);

impl Whereabouts {
    pub fn set(&self, address: Option<SocketAddr>) {
        *self.lock() = address;
    }

    pub fn get(&self) -> Option<SocketAddr> {
        *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<SocketAddr>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A connection from the client's own address, as clients elsewhere have one each: the limits of
/// an address then hold for each of them.
///
/// # Errors
/// The server does not accept it in time.
pub(super) fn connect(to: SocketAddr, key: &str, timeout: Duration) -> Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((address_of(key), 0)).into())?;
    socket.connect_timeout(&to.into(), timeout)?;
    Ok(socket.into())
}

/// One of the addresses of the loopback network, derived from the key.
fn address_of(key: &str) -> Ipv4Addr {
    if key.is_empty() {
        return Ipv4Addr::LOCALHOST;
    }
    let mut hash = DefaultHasher::new();
    key.hash(&mut hash);
    let [_, a, b, c, ..] = hash.finish().to_be_bytes();
    // Neither the network's first address nor its last one.
    Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254))
}

/// An answer.
pub(super) struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// From the connection to the end of the body.
    pub took: Duration,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A request.
pub(super) struct Ask<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub key: &'a str,
    /// The key of the client whose address it comes from, if not the one that is sent.
    pub from: Option<&'a str>,
    pub idempotency: Option<&'a str>,
    pub body: &'a str,
    pub timeout: Duration,
    /// 429 decides: the sender has a cap.
    pub is_capped: bool,
    /// 502 decides: the page that is asked for cannot be had.
    pub is_faulty: bool,
}

impl<'a> Ask<'a> {
    pub fn get(path: &'a str, key: &'a str) -> Self {
        Self {
            method: "GET",
            path,
            key,
            from: None,
            idempotency: None,
            body: "",
            timeout: Duration::from_secs(60),
            is_capped: false,
            is_faulty: false,
        }
    }

    pub fn post(path: &'a str, key: &'a str, body: &'a str) -> Self {
        Self {
            method: "POST",
            body,
            ..Self::get(path, key)
        }
    }

    /// The answer.
    ///
    /// # Errors
    /// No whole answer in time.
    pub fn send(&self, address: SocketAddr) -> Result<Answer> {
        let begun = Instant::now();
        let mut stream = connect(
            address,
            self.from.unwrap_or(self.key),
            Duration::from_secs(10),
        )?;
        stream.set_read_timeout(Some(self.timeout))?;
        stream.set_write_timeout(Some(self.timeout))?;
        let mut head = format!(
            "{} {} HTTP/1.1\r\nhost: soak\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n",
            self.method,
            self.path,
            self.body.len()
        );
        if !self.key.is_empty() {
            head.push_str(&format!("authorization: Bearer {}\r\n", self.key));
        }
        if let Some(key) = self.idempotency {
            head.push_str(&format!("idempotency-key: {key}\r\n"));
        }
        // It may answer before it has read everything.
        let sent = stream.write_all(format!("{head}\r\n{}", self.body).as_bytes());
        let mut reader = BufReader::new(stream);
        let (mut status, mut length, mut chunked) = (0, None, false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                sent?;
                bail!("the connection broke off before an answer");
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.get(..3).context("no status")?.parse()?;
            } else if let Some(bytes) = line.strip_prefix("content-length:") {
                length = bytes.trim().parse::<usize>().ok();
            } else if line.starts_with("transfer-encoding:") {
                chunked = line.contains("chunked");
            }
        }
        let body = match (chunked, length) {
            (true, _) => unchunked(&mut reader)?,
            (false, Some(length)) => {
                let mut body = vec![0; length];
                reader.read_exact(&mut body)?;
                body
            }
            (false, None) => {
                let mut body = Vec::new();
                reader.read_to_end(&mut body)?;
                body
            }
        };
        Ok(Answer {
            status,
            body,
            took: begun.elapsed(),
        })
    }

    /// Asks until there is an answer that decides: neither a broken connection, nor one that
    /// says to come again later. None once `until` is over.
    pub fn settle(&self, at: &Whereabouts, until: Instant) -> Option<Answer> {
        while Instant::now() < until {
            if let Some(address) = at.get()
                && let Ok(answer) = self.send(address)
                && ![408, 409, 500, 503, 504].contains(&answer.status)
                && (answer.status != 502 || self.is_faulty)
                && (answer.status != 429 || self.is_capped)
            {
                return Some(answer);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        None
    }
}

fn unchunked(reader: &mut impl std::io::BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).context("a chunk's size")?;
        let before = body.len();
        body.resize(before + size, 0);
        if let Some(chunk) = body.get_mut(before..) {
            reader.read_exact(chunk)?;
        }
        let mut end = String::new();
        reader.read_line(&mut end)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

//! TLS servers, good and bad, and HTTP/2 servers that break off.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::conn::Stream;
use crate::site::{self, Reply, Shared};

/// What is wrong with a TLS server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// Its certificate has expired.
    Expired,
    /// Its certificate is not valid yet.
    NotYetValid,
    /// Its certificate is for another host.
    WrongHost,
    /// Its certificate is self-signed.
    SelfSigned,
    /// Its certificate is signed by an untrusted root.
    UntrustedRoot,
    /// It supports no version of TLS later than 1.0.
    OldVersion,
    /// It ends connections without close_notify after its page, which announces this length, if any.
    NoCloseNotify(Option<usize>),
    /// It speaks HTTP/2 and resets this many streams in the middle of their bodies.
    Http2Reset(usize),
    /// It speaks HTTP/2 and sends GOAWAY instead of this many responses.
    Http2GoAway(usize),
    /// It speaks HTTP/2 and sends a header of 1 MiB.
    Http2BigHeader,
    /// It speaks HTTP/2 and sends interim responses without end.
    Http2Hints,
    /// It speaks HTTP/2, and its first connection is silent from the first request on.
    Http2Silence,
    /// It speaks HTTP/2, and flushes each response before its content, which sends an empty piece.
    Http2Flushes,
    /// It speaks HTTP/2, and resets each stream, without an error, before the length that it has announced.
    Http2Cut,
    /// It speaks HTTP/1.1 and HTTP/2, over which it answers HTTP_1_1_REQUIRED.
    Http2Unwanted,
}

impl Flaw {
    const fn is_http2(self) -> bool {
        matches!(
            self,
            Self::Http2Reset(_)
                | Self::Http2GoAway(_)
                | Self::Http2BigHeader
                | Self::Http2Hints
                | Self::Http2Silence
                | Self::Http2Flushes
                | Self::Http2Cut
                | Self::Http2Unwanted
        )
    }
}

/// A root certificate for a test, and the certificates that it signs.
pub struct Certificates {
    root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Certificates {
    /// Makes a root certificate.
    ///
    /// # Errors
    /// A key can't be made.
    pub fn new() -> Result<Self, Failure> {
        Self::named("Orbweaver test root")
    }

    fn named(name: &str) -> Result<Self, Failure> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let root = params.self_signed(&key)?.der().clone();
        Ok(Self {
            root,
            issuer: Issuer::new(params, key),
        })
    }

    /// The root certificate (DER), for the client to trust.
    pub fn root(&self) -> Vec<u8> {
        self.root.to_vec()
    }

    fn server(&self, flaw: Flaw, hosts: &[&str]) -> Result<ServerConfig, Failure> {
        let key = KeyPair::generate()?;
        let hosts = if flaw == Flaw::WrongHost {
            &["other.example"]
        } else {
            hosts
        };
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts)?;
        if flaw != Flaw::WrongHost {
            params
                .subject_alt_names
                .push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        }
        match flaw {
            Flaw::Expired => {
                params.not_before = date_time_ymd(2001, 1, 1);
                params.not_after = date_time_ymd(2002, 1, 1);
            }
            Flaw::NotYetValid => params.not_before = date_time_ymd(3001, 1, 1),
            _ => {}
        }
        let certificate = match flaw {
            Flaw::SelfSigned => params.self_signed(&key)?,
            Flaw::UntrustedRoot => {
                params.signed_by(&key, &Self::named("A root nobody trusts")?.issuer)?
            }
            _ => params.signed_by(&key, &self.issuer)?,
        };
        let key = PrivateKeyDer::try_from(key.serialize_der())?;
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = match flaw {
            Flaw::Http2Unwanted => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            flaw if flaw.is_http2() => vec![b"h2".to_vec()],
            _ => vec![b"http/1.1".to_vec()],
        };
        Ok(config)
    }
}

/// A TLS server on loopback, for `secure.example` and 127.0.0.1. Its `/` is the page
/// `secure`. It ends when dropped.
pub struct TlsOrigin {
    address: SocketAddr,
    task: JoinHandle<()>,
    /// HTTP/2 requests so far.
    requests: Arc<AtomicUsize>,
    shared: Arc<Shared>,
}

impl TlsOrigin {
    /// Starts a server.
    ///
    /// # Errors
    /// No port can be opened, or no certificate made.
    pub async fn start(certificates: &Certificates, flaw: Flaw) -> Result<Self, Failure> {
        Self::serve(certificates, flaw, &["secure.example"]).await
    }

    /// Starts a server without flaws for these hosts.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn for_hosts(certificates: &Certificates, hosts: &[&str]) -> Result<Self, Failure> {
        Self::serve(certificates, Flaw::None, hosts).await
    }

    /// The address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    async fn serve(
        certificates: &Certificates,
        flaw: Flaw,
        hosts: &[&str],
    ) -> Result<Self, Failure> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let acceptor = TlsAcceptor::from(Arc::new(certificates.server(flaw, hosts)?));
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        let shared = Arc::new(Shared::default());
        shared.set("/", Reply::html("secure"));
        let pages = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, counter, shared) =
                    (acceptor.clone(), Arc::clone(&counter), Arc::clone(&shared));
                tokio::spawn(async move {
                    if flaw == Flaw::OldVersion {
                        return refuse_version(stream).await;
                    }
                    let stream = acceptor.accept(stream).await?;
                    if let Flaw::NoCloseNotify(length) = flaw {
                        return break_off(stream, length).await;
                    }
                    let is_http1 = stream.get_ref().1.alpn_protocol() == Some(b"http/1.1");
                    match flaw.is_http2() && !is_http1 {
                        true => http2(stream, flaw, &counter).await,
                        false => site::serve(stream, &shared).await,
                    }
                });
            }
        });
        Ok(Self {
            address,
            task,
            requests,
            shared: pages,
        })
    }

    /// Sets what a path answers over HTTP/1.
    pub fn set(&self, path: &str, reply: Reply) {
        self.shared.set(path, reply);
    }

    /// The URL of `/` at a host.
    pub fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/", self.address.port())
    }

    /// HTTP/2 requests so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for TlsOrigin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers a ClientHello with the alert `protocol_version`, as a server of TLS 1.0 does.
async fn refuse_version(mut stream: TcpStream) -> io::Result<()> {
    let mut hello = [0; 512];
    let _ = stream.read(&mut hello).await?;
    stream
        .write_all(&[0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 70])
        .await?;
    stream.shutdown().await
}

/// Answers one request, and ends the connection without TLS's close_notify.
async fn break_off(mut stream: impl Stream, length: Option<usize>) -> io::Result<()> {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await?;
    let length = length.map_or_else(String::new, |length| {
        format!("Content-Length: {length}\r\n")
    });
    let head = format!("HTTP/1.1 200 OK\r\n{length}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(b"secure").await?;
    stream.flush().await
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(0).to_be_bytes();
    let mut out = length.get(1..).unwrap_or_default().to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// Just enough HTTP/2 to break it off.
async fn http2(mut stream: impl Stream, flaw: Flaw, requests: &AtomicUsize) -> io::Result<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let mut payload = vec![0; usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(0)];
        stream.read_exact(&mut payload).await?;
        match kind {
            SETTINGS if flags & ACK == 0 => stream.write_all(&frame(SETTINGS, ACK, 0, &[])).await?,
            HEADERS => {
                let id = u32::from_be_bytes(id);
                if flaw == Flaw::Http2Hints {
                    // `:status: 103` as a literal with a name of HPACK's static table.
                    let hints = frame(HEADERS, END_HEADERS, id, b"\x08\x03103").repeat(1_000);
                    loop {
                        stream.write_all(&hints).await?;
                    }
                }
                let before = requests.fetch_add(1, Ordering::SeqCst);
                if flaw == Flaw::Http2Silence && before == 0 {
                    return std::future::pending().await;
                }
                let answer = answer(flaw, before, id);
                stream.write_all(&answer).await?;
                stream.flush().await?;
                if matches!(flaw, Flaw::Http2GoAway(_)) && answer.get(3) == Some(&GOAWAY) {
                    return stream.shutdown().await;
                }
            }
            _ => {}
        }
    }
}

fn answer(flaw: Flaw, before: usize, id: u32) -> Vec<u8> {
    // `:status: 200` of HPACK's static table.
    let ok = frame(HEADERS, END_HEADERS, id, &[0x88]);
    // INTERNAL_ERROR.
    const CODE: [u8; 4] = [0, 0, 0, 2];
    match flaw {
        Flaw::Http2Reset(times) if before < times => [
            ok,
            frame(DATA, 0, id, b"part"),
            frame(RST_STREAM, 0, id, &CODE),
        ]
        .concat(),
        Flaw::Http2GoAway(times) if before < times => {
            // The last processed stream is 0: none.
            frame(GOAWAY, 0, 0, &[[0; 4], CODE].concat())
        }
        Flaw::Http2Flushes => [
            ok,
            frame(DATA, 0, id, &[]),
            frame(DATA, END_STREAM, id, b"secure"),
        ]
        .concat(),
        Flaw::Http2Cut => [
            // `content-length: 100` as a literal with a name of HPACK's static table.
            frame(HEADERS, END_HEADERS, id, b"\x88\x0f\x0d\x03100"),
            frame(DATA, 0, id, b"part"),
            frame(RST_STREAM, 0, id, &[0; 4]),
        ]
        .concat(),
        // HTTP_1_1_REQUIRED.
        Flaw::Http2Unwanted => frame(RST_STREAM, 0, id, &[0, 0, 0, 13]),
        Flaw::Http2BigHeader => {
            // A literal header without indexing, with a value of 1 MiB, over many frames.
            let mut block = vec![0x88, 0x00, 1, b'x', 0x7f];
            let mut length = (1 << 20) - 127;
            while length >= 128 {
                block.push(u8::try_from(length % 128).unwrap_or(0) | 128);
                length /= 128;
            }
            block.push(u8::try_from(length).unwrap_or(0));
            block.extend(std::iter::repeat_n(b'x', 1 << 20));
            let mut out = Vec::new();
            let pieces: Vec<&[u8]> = block.chunks(16_000).collect();
            for (at, piece) in pieces.iter().enumerate() {
                let kind = if at == 0 { HEADERS } else { CONTINUATION };
                let flags = if at + 1 == pieces.len() {
                    END_HEADERS
                } else {
                    0
                };
                out.extend(frame(kind, flags, id, piece));
            }
            out
        }
        _ => [ok, frame(DATA, END_STREAM, id, b"secure")].concat(),
    }
}

//! A server for a large site over plain sockets, on its own thread.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

use super::SiteSpec;
use super::content::{Content, Document};
use crate::conn::{Head, Recorded};
use crate::site::Open;

/// A large site on loopback. It ends when dropped.
pub struct LargeSite {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Dropping it ends the server.
    _stop: oneshot::Sender<()>,
}

struct Shared {
    content: Mutex<Arc<Content>>,
    log: Option<Mutex<Vec<Recorded>>>,
    requests: watch::Sender<u64>,
    latency: AtomicU64,
    open: AtomicUsize,
    most_open: AtomicUsize,
    connections: AtomicUsize,
}

impl LargeSite {
    /// Makes the pages and serves them on a free port.
    ///
    /// # Errors
    /// The port or the thread can't be created.
    pub fn start(spec: &SiteSpec) -> io::Result<Self> {
        Self::bound(spec, Ipv4Addr::LOCALHOST)
    }

    /// As [`start`](Self::start), at every address of loopback: to a crawler each is a host
    /// ([`url_at`](Self::url_at)).
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_everywhere(spec: &SiteSpec) -> io::Result<Self> {
        Self::bound(spec, Ipv4Addr::UNSPECIFIED)
    }

    fn bound(spec: &SiteSpec, ip: Ipv4Addr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((ip, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let shared = Arc::new(Shared {
            content: Mutex::new(Arc::new(Content::new(spec, &base(address)))),
            log: spec.record.then(Mutex::default),
            requests: watch::Sender::new(0),
            latency: AtomicU64::new(micros(spec.latency)),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let serving = Arc::clone(&shared);
        thread::Builder::new()
            .name("origin".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    let Ok(listener) = TcpListener::from_std(listener) else {
                        return;
                    };
                    tokio::select! {
                        () = accept(listener, serving) => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            shared,
            _stop: stop,
        })
    }

    /// Replaces the pages, at the same address; latency and log are unchanged.
    pub fn replace(&self, spec: &SiteSpec) {
        *self.shared.content.lock() = Arc::new(Content::new(spec, &base(self.address)));
    }

    /// Changes how long an answer waits.
    pub fn set_latency(&self, latency: Duration) {
        self.shared
            .latency
            .store(micros(latency), Ordering::Relaxed);
    }

    /// The address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The absolute URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The absolute URL of a path at another of the addresses of loopback, counted from 0.
    pub fn url_at(&self, host: u16, path: &str) -> String {
        let [high, low] = (host + 1).to_be_bytes();
        format!("http://127.0.{high}.{low}:{}{path}", self.address.port())
    }

    /// The paths of all pages; each answers 200.
    pub fn pages(&self) -> Vec<String> {
        self.content().pages.clone()
    }

    /// Paths that pages link to and that answer 404.
    pub fn missing(&self) -> Vec<String> {
        self.content().missing.clone()
    }

    /// Paths that pages link to and that answer 301, each with the path of a page.
    pub fn moved(&self) -> BTreeMap<String, String> {
        self.content().moved.clone()
    }

    /// All requests so far, if they are recorded.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared
            .log
            .as_ref()
            .map(|log| log.lock().clone())
            .unwrap_or_default()
    }

    /// How often each path was requested, if requests are recorded.
    pub fn counts(&self) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for request in self.requests() {
            *counts.entry(request.path().to_owned()).or_default() += 1;
        }
        counts
    }

    /// The number of requests so far, recorded or not.
    pub fn total(&self) -> u64 {
        *self.shared.requests.borrow()
    }

    /// Waits until this many requests have been received in all.
    pub async fn asked(&self, total: u64) {
        let mut requests = self.shared.requests.subscribe();
        // The sender lives as long as this server.
        let _ = requests.wait_for(|seen| *seen >= total).await;
    }

    /// The largest number of requests that waited for their answers at the same time.
    pub fn most_open(&self) -> usize {
        self.shared.most_open.load(Ordering::Relaxed)
    }

    /// Forgets all requests and the largest number of waiting ones.
    pub fn forget(&self) {
        if let Some(log) = &self.shared.log {
            log.lock().clear();
        }
        self.shared.requests.send_replace(0);
        self.shared.most_open.store(0, Ordering::Relaxed);
    }

    fn content(&self) -> Arc<Content> {
        Arc::clone(&self.shared.content.lock())
    }
}

fn base(address: SocketAddr) -> String {
    format!("http://{address}")
}

fn micros(latency: Duration) -> u64 {
    u64::try_from(latency.as_micros()).unwrap_or(u64::MAX)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // A failed accept (such as too many open files) affects only that connection.
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { serve(stream, &shared).await });
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let connection = shared.connections.fetch_add(1, Ordering::Relaxed);
    let mut input = Vec::with_capacity(2048);
    let mut output = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = input.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut input).await? == 0 {
                return Ok(());
            }
        };
        let head = Head::parse(input.get(..end).unwrap_or_default());
        let body = head.content_length();
        while input.len() < end + body {
            if stream.read_buf(&mut input).await? == 0 {
                return Ok(());
            }
        }
        let open = shared.open.fetch_add(1, Ordering::Relaxed) + 1;
        let _answered = Open(&shared.open);
        shared.most_open.fetch_max(open, Ordering::Relaxed);
        let content = Arc::clone(&shared.content.lock());
        let found = content.documents.get(head.path());
        output.clear();
        write_answer(&mut output, &head, found);
        let close = head.header("connection") == Some("close");
        if let Some(log) = &shared.log {
            log.lock().push(Recorded {
                body: input.get(end..end + body).unwrap_or_default().to_vec(),
                ..head.into_recorded(connection, Instant::now(), open)
            });
        }
        shared.requests.send_modify(|seen| *seen += 1);
        input.drain(..end + body);
        let latency = shared.latency.load(Ordering::Relaxed);
        if latency > 0 {
            tokio::time::sleep(Duration::from_micros(latency)).await;
        }
        stream.write_all(&output).await?;
        if close {
            return stream.shutdown().await;
        }
    }
}

fn write_answer(out: &mut Vec<u8>, head: &Head, document: Option<&Document>) {
    let Some(document) = document else {
        let body = "<!doctype html><title>Not here</title><p>There is no such page.";
        out.extend(
            format!(
                "HTTP/1.1 404 Not Found\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
                body.len()
            )
            .as_bytes(),
        );
        if head.method() != "HEAD" {
            out.extend(body.as_bytes());
        }
        return;
    };
    if !document.etag.is_empty() && head.header("if-none-match") == Some(&document.etag) {
        let etag = &document.etag;
        out.extend(format!("HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n").as_bytes());
        return;
    }
    let takes_gzip = head
        .header("accept-encoding")
        .is_some_and(|codings| codings.contains("gzip"));
    let mut decoded = Vec::new();
    let body = if document.gzipped && !takes_gzip {
        let _ = GzDecoder::new(document.body.as_slice()).read_to_end(&mut decoded);
        &decoded
    } else {
        &document.body
    };
    out.extend(document.head.as_bytes());
    if document.gzipped && takes_gzip {
        out.extend(b"Content-Encoding: gzip\r\n");
    }
    out.extend(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    if head.method() != "HEAD" {
        out.extend(body);
    }
}

//! Accepts and serves connections: limits on their number and times, TLS, HTTP/1.1 and HTTP/2,
//! and graceful shutdown.

mod activity;
mod answer;
mod connections;
pub mod open_files;
mod pace;
mod serve;
pub(crate) mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use ipnet::IpNet;
use orbweaver_api::Entry;
use orbweaver_api::config::HttpConfig;
use orbweaver_core::setting::Millis;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use activity::Patience;
use connections::{Bounds, Connections};
use serve::Protocols;

/// Pause of accepting after an error that would repeat at once, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Largest head of a request, in bytes; above it HTTP/1.1 answers 431.
const MAX_HEAD: usize = 128 << 10;
/// Largest head of a request over HTTP/2, in bytes.
const MAX_HEAD_H2: u32 = 64 << 10;
/// Most streams per connection that the client has reset and the service has not yet processed.
/// Above it the connection is closed (CVE-2023-44487, "rapid reset").
const MAX_PENDING_RESETS: usize = 20;
/// Most streams that the service itself has reset, likewise (CVE-2025-8671, "MadeYouReset").
const MAX_LOCAL_RESETS: usize = 200;
/// Bytes of an answer buffered per HTTP/2 stream.
const MAX_SEND_BUFFER: usize = 256 << 10;

/// A listening server.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its address, with the actual port if port 0 was requested.
    pub(crate) address: SocketAddr,
    /// Cancelled: nothing more is accepted, connections end after their requests.
    stop: CancellationToken,
    /// Cancelled: connections end at once.
    abort: CancellationToken,
    tasks: TaskTracker,
}

/// Settings of a server.
pub(crate) struct Settings<'a> {
    pub(crate) http: &'a HttpConfig,
    /// Addresses used by many clients: the limit per address does not apply to them.
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) tls: Option<TlsAcceptor>,
}

impl Server {
    /// Binds and starts to accept.
    ///
    /// # Errors
    /// When the address is in use.
    pub(crate) fn start(at: SocketAddr, settings: Settings<'_>, entry: Entry) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let http = settings.http;
        let total = http
            .max_connections
            .unwrap_or_else(|| open_files::default_connections(open_files::limit()));
        let per_address = http
            .max_connections_per_address
            .unwrap_or_else(|| (total / 4).max(1));
        let patience = Patience {
            first_request: http.header_timeout_ms.as_duration(),
            idle: http.idle_timeout_ms.as_duration(),
            stalled: http.write_timeout_ms.as_duration(),
            min_rate: http.min_write_rate,
        };
        let accepting = Accepting {
            listener,
            connections: Connections::new(Bounds { total, per_address }),
            trusted_proxies: settings.trusted_proxies,
            protocols: Arc::new(Protocols {
                tls: settings.tls,
                http: builder(http),
                patience,
                entry,
            }),
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let server = Self {
            address,
            stop: accepting.stop.clone(),
            abort: accepting.abort.clone(),
            tasks: accepting.tasks.clone(),
        };
        server.tasks.spawn(accepting.run());
        Ok(server)
    }

    /// Stops accepting, and asks connections to end after their requests.
    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
        self.tasks.close();
    }

    /// Waits until every connection has ended; after `grace`, the remaining ones are closed.
    pub(crate) async fn stopped(self, grace: Duration) {
        if tokio::time::timeout(grace, self.tasks.wait())
            .await
            .is_err()
        {
            self.abort.cancel();
            self.tasks.wait().await;
        }
    }
}

fn builder(http: &HttpConfig) -> Builder<TokioExecutor> {
    let ping = (http.http2_ping_ms > Millis(0)).then(|| http.http2_ping_ms.as_duration());
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // `Activity` limits the times of heads and idle connections, for both versions and TLS.
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD)
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(ping)
        .keep_alive_timeout(ping.unwrap_or(Duration::from_secs(20)))
        .max_concurrent_streams(http.http2_max_streams)
        .max_header_list_size(MAX_HEAD_H2)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_LOCAL_RESETS)
        .max_send_buf_size(MAX_SEND_BUFFER);
    builder
}

/// The accept loop.
struct Accepting {
    listener: TcpListener,
    connections: Arc<Connections>,
    trusted_proxies: Vec<IpNet>,
    protocols: Arc<Protocols>,
    stop: CancellationToken,
    abort: CancellationToken,
    tasks: TaskTracker,
}

impl Accepting {
    async fn run(self) {
        let mut was_failing = false;
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    was_failing = false;
                    self.serve(stream, peer);
                }
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    if !was_failing {
                        tracing::error!(%error, "cannot accept connections for now");
                    }
                    was_failing = true;
                    // Too many open files: closing an idle connection does the least harm.
                    self.connections.evict_quietest();
                    tokio::select! {
                        () = self.stop.cancelled() => return,
                        () = tokio::time::sleep(ACCEPT_PAUSE) => {}
                    }
                }
            }
        }
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr) {
        // A listener of both families gives IPv4 peers as `::ffff:a.b.c.d`.
        let ip = peer.ip().to_canonical();
        let shared = self.trusted_proxies.iter().any(|net| net.contains(&ip));
        let Some(place) = self.connections.admit(ip, shared) else {
            return;
        };
        let _ = stream.set_nodelay(true);
        let serving = Arc::clone(&self.protocols).serve(stream, peer, place, self.stop.clone());
        let abort = self.abort.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = abort.cancelled() => {}
                () = serving => {}
            }
        });
    }
}

/// Whether the error concerns only the connection to be accepted, not the listener: the next one
/// can be accepted at once. See accept(2).
fn is_of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
            | io::ErrorKind::WouldBlock
    )
}

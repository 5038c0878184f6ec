//! A connection, and what it has received without use.
//!
//! The HTTP library reads interim responses (`103 Early Hints`), HTTP/2's frames of control and TLS's
//! records without content until the response comes, however many there are. So the bytes are counted
//! at the socket: between two things that a fetch can use (a response's head, a piece of a body) a
//! server may send only so many.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes that may be read in one go with the head: no use is told of before they were.
const READ_AHEAD: u64 = 1 << 20;
/// The same of HTTP/2, which reads as much ahead as its window allows: at most 16 MiB.
const HTTP2_READ_AHEAD: u64 = 24 << 20;

/// What a server sent beyond the bound. HTTP/2's library keeps nothing of it but its text.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{}", Flood::TEXT)]
pub(crate) struct Flood;

impl Flood {
    pub const TEXT: &str = "the server sends more than a response may have before its content";
}

/// Counts what a connection has received since something of it was of use.
#[derive(Debug)]
pub(crate) struct Meter {
    unused: AtomicU64,
    /// Those of them that were told of as waste: requests of HTTP/2 share a connection.
    told: AtomicU64,
    /// Largest head of a response, in bytes.
    head: u64,
    is_http2: AtomicBool,
}

impl Meter {
    fn new(head: u64) -> Self {
        Self {
            unused: AtomicU64::new(0),
            told: AtomicU64::new(0),
            head,
            is_http2: AtomicBool::new(false),
        }
    }

    fn most(&self) -> u64 {
        let ahead = match self.is_http2.load(Ordering::Relaxed) {
            true => HTTP2_READ_AHEAD,
            false => READ_AHEAD,
        };
        self.head.saturating_add(ahead)
    }

    /// What arrived was of use.
    pub fn used(&self) {
        self.unused.store(0, Ordering::Relaxed);
        self.told.store(0, Ordering::Relaxed);
    }

    /// Bytes that were of no use so far, without those that an earlier call told of.
    pub fn waste(&self) -> u64 {
        let unused = self.unused();
        unused.saturating_sub(self.told.fetch_max(unused, Ordering::Relaxed))
    }

    fn unused(&self) -> u64 {
        self.unused.load(Ordering::Relaxed)
    }
}

/// What is known of a connection; the HTTP library hands it on with responses.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub remote_addr: Option<SocketAddr>,
    pub meter: Arc<Meter>,
}

/// A plain or TLS connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection to a server or a proxy.
pub(crate) struct Link {
    stream: Box<dyn Stream>,
    pub info: Info,
    /// Whether requests go to a proxy, which forwards them.
    pub is_proxy: bool,
    is_http2: bool,
}

impl Link {
    /// A new connection, on which `head` is the largest size of a response's head.
    pub fn new(stream: TcpStream, head: u64) -> Self {
        let info = Info {
            remote_addr: stream.peer_addr().ok(),
            meter: Arc::new(Meter::new(head)),
        };
        let meter = Arc::clone(&info.meter);
        Self {
            stream: Box::new(Metered { stream, meter }),
            info,
            is_proxy: false,
            is_http2: false,
        }
    }

    /// The same connection inside TLS.
    pub fn inside(stream: impl Stream + 'static, info: Info, is_http2: bool) -> Self {
        info.meter.is_http2.store(is_http2, Ordering::Relaxed);
        Self {
            stream: Box::new(stream),
            info,
            is_proxy: false,
            is_http2,
        }
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        let connected = Connected::new()
            .proxy(self.is_proxy)
            .extra(self.info.clone());
        match self.is_http2 {
            true => connected.negotiated_h2(),
            false => connected,
        }
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.stream).poll_read(cx, buf)) {
            // The connection ended without TLS's close_notify, as many servers end it. Browsers take the end
            // of a body without a length from it, too; a body with one that is shorter stays incomplete.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !self.is_http2 => {
                Poll::Ready(Ok(()))
            }
            read => Poll::Ready(read),
        }
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

struct Metered {
    stream: TcpStream,
    meter: Arc<Meter>,
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.meter.unused() > self.meter.most() {
            return Poll::Ready(Err(io::Error::other(Flood)));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let bytes = (buf.filled().len() - before) as u64;
        self.meter.unused.fetch_add(bytes, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

//! The state of a connection, and the time at which it expires.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Time limits of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// From the start of the connection to the end of its first request's head, including the TLS
    /// handshake.
    pub(super) first_request: Duration,
    /// From the end of an answer to the end of the next request's head.
    pub(super) idle: Duration,
    /// How long the client may accept none of the bytes that wait for it.
    pub(super) stalled: Duration,
}

/// State of one connection. Times are in milliseconds since it was opened.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// Requests whose answers are not yet sent completely.
    in_flight: AtomicUsize,
    /// Whether a request's head has arrived.
    has_asked: AtomicBool,
    /// Since when no request is in progress and the client has accepted no byte.
    quiet_since: AtomicU64,
    /// Since when the client accepts no bytes, plus one; 0 while it accepts them.
    stalled_since: AtomicU64,
    evicted: CancellationToken,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    /// No request came in time.
    Quiet,
    /// The client does not read its answer.
    Stalled,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            in_flight: AtomicUsize::new(0),
            has_asked: AtomicBool::new(false),
            quiet_since: AtomicU64::new(0),
            stalled_since: AtomicU64::new(0),
            evicted: CancellationToken::new(),
        }
    }

    /// Records a request whose head has arrived; it is in progress until the guard is dropped.
    pub(super) fn request(self: &Arc<Self>) -> InFlight {
        self.has_asked.store(true, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(Arc::clone(self))
    }

    /// Since when it is idle; `None` while a request is in progress.
    pub(super) fn quiet_since(&self) -> Option<Instant> {
        let is_quiet = self.in_flight.load(Ordering::Acquire) == 0;
        is_quiet.then(|| self.at(self.quiet_since.load(Ordering::Relaxed)))
    }

    /// Closes the connection, to make room for another.
    pub(super) fn evict(&self) {
        self.evicted.cancel();
    }

    /// Completes when the connection is evicted.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Completes when a time limit of the connection has passed.
    pub(super) async fn expired(&self, patience: Patience) -> Expiry {
        loop {
            let now = Instant::now();
            let stalled = match self.stalled_since.load(Ordering::Relaxed) {
                0 => now,
                since => self.at(since - 1),
            } + patience.stalled;
            let wait = if self.has_asked.load(Ordering::Relaxed) {
                patience.idle
            } else {
                patience.first_request
            };
            // A request in progress may end now, and the wait for the next one start.
            let quiet = self.quiet_since().unwrap_or(now) + wait;
            if stalled <= now {
                return Expiry::Stalled;
            }
            if quiet <= now {
                return Expiry::Quiet;
            }
            tokio::time::sleep_until(quiet.min(stalled)).await;
        }
    }

    fn at(&self, millis: u64) -> Instant {
        self.began + Duration::from_millis(millis)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    /// Records that the client accepted bytes.
    fn wrote(&self) {
        self.stalled_since.store(0, Ordering::Relaxed);
        self.quiet_since.store(self.now(), Ordering::Relaxed);
    }

    /// Records that the client accepts no more bytes for now.
    fn cannot_write(&self) {
        let since = self.now() + 1;
        let _ = self
            .stalled_since
            .compare_exchange(0, since, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Guard of a request in progress.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.quiet_since.store(self.0.now(), Ordering::Relaxed);
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A socket whose writes are recorded.
#[derive(Debug)]
pub(super) struct Watched<S> {
    pub(super) stream: S,
    pub(super) activity: Arc<Activity>,
}

impl<S> Watched<S> {
    fn note(&self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(bytes)) if *bytes > 0 => self.activity.wrote(),
            Poll::Ready(_) => {}
            Poll::Pending => self.activity.cannot_write(),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.note(&written);
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = ready!(Pin::new(&mut self.get_mut().stream).poll_shutdown(cx));
        Poll::Ready(done)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    const PATIENCE: Patience = Patience {
        first_request: Duration::from_millis(20),
        idle: Duration::from_millis(120),
        stalled: Duration::from_millis(60),
    };

    async fn expiry(activity: &Activity) -> (Expiry, Duration) {
        let began = Instant::now();
        let expiry = activity.expired(PATIENCE).await;
        (expiry, began.elapsed())
    }

    #[tokio::test]
    async fn a_silent_connection_expires_sooner_than_an_idle_one() {
        let activity = Arc::new(Activity::new());
        let (silent, first) = expiry(&activity).await;
        drop(activity.request());
        let (idle, second) = expiry(&activity).await;
        assert_eq!((silent, idle), (Expiry::Quiet, Expiry::Quiet));
        assert!(first >= Duration::from_millis(15), "{first:?}");
        assert!(second >= Duration::from_millis(115), "{second:?}");
    }

    #[tokio::test]
    async fn a_request_in_progress_keeps_its_connection() {
        let activity = Arc::new(Activity::new());
        let request = activity.request();
        assert_eq!(activity.quiet_since(), None);
        let waited = tokio::time::timeout(PATIENCE.idle * 3, activity.expired(PATIENCE)).await;
        assert!(waited.is_err());
        drop(request);
        assert_eq!(expiry(&activity).await.0, Expiry::Quiet);
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_expires_during_its_request() {
        let activity = Arc::new(Activity::new());
        let _request = activity.request();
        let (near, _far) = tokio::io::duplex(16);
        let mut socket = Watched {
            stream: near,
            activity: Arc::clone(&activity),
        };
        tokio::select! {
            _ = socket.write_all(&[0; 64]) => panic!("nobody reads"),
            (expiry, _) = expiry(&activity) => assert_eq!(expiry, Expiry::Stalled),
        }
    }
}

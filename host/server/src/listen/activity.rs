//! The state of a connection, and the time at which it expires.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer::Answering;
use super::pace::Pace;

/// Time limits of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// From the start of the connection to the end of its first request's head, including the TLS
    /// handshake.
    pub(super) first_request: Duration,
    /// From the end of an answer to the end of the next request's head.
    pub(super) idle: Duration,
    /// How far the client may be behind in taking the bytes that wait for it.
    pub(super) stalled: Duration,
    /// Bytes a second that it has to take of what waits for it; 0: any byte will do.
    pub(super) min_rate: u64,
}

/// State of one connection. Times are in milliseconds since it was opened.
pub(super) struct Activity {
    began: Instant,
    /// Requests whose answers are not yet sent completely.
    in_flight: AtomicUsize,
    /// Whether a request's head has arrived.
    has_asked: AtomicBool,
    /// Since when no request is in progress and the client has accepted no byte.
    quiet_since: AtomicU64,
    /// Answers in progress whose length is not known. They are made as the client reads.
    streamed: AtomicUsize,
    /// How the client accepts bytes.
    pace: Mutex<Pace>,
    /// Bytes a second that the client has to accept of what waits for it.
    min_rate: AtomicU64,
    /// The answers in progress, and some that are not any more.
    answers: Mutex<Vec<Weak<dyn Answering>>>,
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

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activity")
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            in_flight: AtomicUsize::new(0),
            has_asked: AtomicBool::new(false),
            quiet_since: AtomicU64::new(0),
            streamed: AtomicUsize::new(0),
            pace: Mutex::default(),
            min_rate: AtomicU64::new(0),
            answers: Mutex::default(),
            evicted: CancellationToken::new(),
        }
    }

    /// Records a request whose head has arrived; it is in progress until the guard is dropped.
    pub(super) fn request(self: &Arc<Self>) -> InFlight {
        self.has_asked.store(true, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight {
            activity: Arc::clone(self),
            is_streamed: false,
        }
    }

    /// Sets how many bytes a second the client has to accept of what waits for it.
    pub(super) fn require(&self, rate: u64) {
        self.min_rate.store(rate, Ordering::Relaxed);
    }

    /// Looks after an answer while it is there.
    pub(super) fn look_after(&self, answer: Weak<dyn Answering>) {
        let mut answers = self.answers.lock();
        answers.retain(|answer| answer.strong_count() > 0);
        answers.push(answer);
    }

    /// Drops the answers that the client does not take in time. Returns when to look again, if any
    /// waits for the client.
    fn look(&self, now: Instant, patience: Duration) -> Option<Instant> {
        let answers: Vec<_> = self
            .answers
            .lock()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let times = answers
            .iter()
            .filter_map(|answer| answer.look_after(now, patience));
        times.min()
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
            let taken = self.look(now, patience.stalled);
            let runs_out = self.pace.lock().runs_out(patience.stalled);
            let stalled = runs_out.unwrap_or(now + patience.stalled);
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
            let next = taken.map_or(stalled, |taken| taken.min(stalled));
            tokio::time::sleep_until(quiet.min(next)).await;
        }
    }

    fn at(&self, millis: u64) -> Instant {
        self.began + Duration::from_millis(millis)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    /// Records that the client accepted bytes.
    fn wrote(&self, bytes: usize) {
        let rate = match self.streamed.load(Ordering::Relaxed) {
            0 => self.min_rate.load(Ordering::Relaxed),
            _ => 0,
        };
        self.pace.lock().took(Instant::now(), bytes as u64, rate);
        self.quiet_since.store(self.now(), Ordering::Relaxed);
    }

    /// Records that the client accepts no more bytes for now.
    fn cannot_write(&self) {
        self.pace.lock().waits(Instant::now());
    }
}

/// Guard of a request in progress.
#[derive(Debug)]
pub(super) struct InFlight {
    activity: Arc<Activity>,
    is_streamed: bool,
}

impl InFlight {
    /// Its answer is made as the client reads it.
    pub(super) fn streams(&mut self) {
        if !std::mem::replace(&mut self.is_streamed, true) {
            self.activity.streamed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let activity = &self.activity;
        if self.is_streamed {
            activity.streamed.fetch_sub(1, Ordering::Relaxed);
        }
        activity
            .quiet_since
            .store(activity.now(), Ordering::Relaxed);
        activity.in_flight.fetch_sub(1, Ordering::AcqRel);
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
            Poll::Ready(Ok(bytes)) if *bytes > 0 => self.activity.wrote(*bytes),
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
        min_rate: 0,
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

//! The body of an answer on its way to the client: in pieces, and only as long as they are taken.
//!
//! hyper asks for a piece when it can send one. Over HTTP/2 it never asks on a stream whose window the
//! client keeps closed, so the connection looks after its answers: the body of one that is not taken is
//! dropped, and with it the memory that it holds.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use orbweaver_api::HeldAnswer;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::activity::InFlight;
use super::pace::Pace;

/// Most bytes that are handed over at once. A stream's buffer has at most one such piece that the client
/// does not take; a slice of the whole would keep all of it in memory.
const PIECE: usize = 16 << 10;

/// Why an answer ends before its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken<E> {
    /// What makes it failed.
    #[error(transparent)]
    Failed(E),
    /// The client did not take it.
    #[error("the client read its answer too slowly")]
    TooSlow,
}

/// An answer that the connection looks after.
pub(super) trait Answering: Send + Sync {
    /// Drops the body if the client is behind by `patience`; else says when to look again.
    fn look_after(&self, now: Instant, patience: Duration) -> Option<Instant>;
}

/// The body of an answer; its request counts as in progress until it is dropped or not taken in time.
pub(super) struct Answer<B> {
    shared: Arc<Shared<B>>,
}

struct Shared<B>(Mutex<State<B>>);

struct State<B> {
    /// None once the client has not taken it in time.
    rest: Option<Rest<B>>,
    pace: Pace,
    /// Bytes a second that the client has to take.
    rate: u64,
    /// Bytes of the last piece.
    handed: u64,
}

/// What is left of an answer.
struct Rest<B> {
    body: B,
    /// What is left of the body's last frame.
    frame: Bytes,
    /// Whether that frame was larger than a piece.
    is_large: bool,
    _held: Option<HeldAnswer>,
    _request: InFlight,
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Answer<B> {
    /// `rate` is for answers of known length: others are made as the client reads, and hold little.
    pub(super) fn new(body: B, held: Option<HeldAnswer>, mut request: InFlight, rate: u64) -> Self {
        let is_streamed = body.size_hint().exact().is_none();
        if is_streamed {
            request.streams();
        }
        let mut pace = Pace::default();
        pace.waits(Instant::now());
        let rest = Rest {
            body,
            frame: Bytes::new(),
            is_large: false,
            _held: held,
            _request: request,
        };
        let state = State {
            rest: Some(rest),
            pace,
            rate: if is_streamed { 0 } else { rate },
            handed: 0,
        };
        Self {
            shared: Arc::new(Shared(Mutex::new(state))),
        }
    }

    /// For the connection, which looks after it while it is there.
    pub(super) fn watched(&self) -> Weak<dyn Answering> {
        let shared: Arc<dyn Answering> = Arc::<Shared<B>>::clone(&self.shared);
        Arc::downgrade(&shared)
    }
}

impl<B: Send> Answering for Shared<B> {
    fn look_after(&self, now: Instant, patience: Duration) -> Option<Instant> {
        let mut state = self.0.lock();
        let runs_out = state
            .pace
            .runs_out(patience)
            .filter(|_| state.rest.is_some())?;
        if runs_out > now {
            return Some(runs_out);
        }
        let rest = state.rest.take();
        drop(state);
        drop(rest);
        None
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Answer<B> {
    type Data = Bytes;
    type Error = Broken<B::Error>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let mut state = self.shared.0.lock();
        let State {
            rest,
            pace,
            rate,
            handed,
        } = &mut *state;
        let Some(rest) = rest else {
            return Poll::Ready(Some(Err(Broken::TooSlow)));
        };
        pace.took(Instant::now(), std::mem::take(handed), *rate);
        if rest.frame.is_empty() {
            match ready!(Pin::new(&mut rest.body).poll_frame(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(Broken::Failed(error)))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        rest.is_large = data.len() > PIECE;
                        rest.frame = data;
                    }
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
            }
        }
        let piece = rest.piece();
        *handed = piece.len() as u64;
        pace.waits(Instant::now());
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        let state = self.shared.0.lock();
        let rest = state.rest.as_ref();
        rest.is_some_and(|rest| rest.frame.is_empty() && rest.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let state = self.shared.0.lock();
        let Some(rest) = &state.rest else {
            return SizeHint::default();
        };
        let (hint, left) = (rest.body.size_hint(), rest.frame.len() as u64);
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower().saturating_add(left));
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper.saturating_add(left));
        }
        whole
    }
}

impl<B> Rest<B> {
    /// The next piece of the frame.
    fn piece(&mut self) -> Bytes {
        if !self.is_large {
            return std::mem::take(&mut self.frame);
        }
        let piece = self.frame.split_to(PIECE.min(self.frame.len()));
        Bytes::copy_from_slice(&piece)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use futures::StreamExt as _;

    use super::super::activity::Activity;
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    type Axum = axum::body::Body;

    fn answer(bytes: usize, activity: &Arc<Activity>) -> Answer<Axum> {
        Answer::new(Axum::from(vec![7; bytes]), None, activity.request(), 1)
    }

    async fn next(answer: &mut Answer<Axum>) -> Option<Result<Bytes, Broken<axum::Error>>> {
        let frame = poll_fn(|cx| Pin::new(&mut *answer).poll_frame(cx)).await?;
        Some(frame.map(|frame| frame.into_data().expect("data")))
    }

    #[tokio::test]
    async fn a_large_answer_comes_whole_in_pieces() {
        for bytes in [0, 1, PIECE, PIECE + 1, 5 * PIECE] {
            let mut answer = answer(bytes, &Arc::new(Activity::new()));
            assert_eq!(answer.size_hint().exact(), Some(bytes as u64));
            let mut read = 0;
            while let Some(piece) = next(&mut answer).await {
                let piece = piece.expect("a piece");
                assert!(piece.len() <= PIECE && piece.iter().all(|byte| *byte == 7));
                read += piece.len();
                let left = answer.size_hint().exact();
                assert_eq!(left, Some((bytes - read) as u64));
            }
            assert_eq!(read, bytes);
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_not_taken_is_dropped() {
        let activity = Arc::new(Activity::new());
        let mut answer = answer(5 * PIECE, &activity);
        let watched = answer.watched().upgrade().expect("it is there");
        next(&mut answer).await.expect("a piece").expect("a piece");
        let now = Instant::now();
        assert!(watched.look_after(now, PATIENCE).is_some_and(|at| at > now));
        assert_eq!(activity.quiet_since(), None, "in progress");
        assert_eq!(watched.look_after(now + PATIENCE * 2, PATIENCE), None);
        assert!(activity.quiet_since().is_some(), "nothing of it is left");
        let broken = next(&mut answer).await.expect("an error");
        assert!(matches!(broken, Err(Broken::TooSlow)));
    }

    #[tokio::test]
    async fn an_answer_that_is_still_made_is_waited_for() {
        let one = futures::stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"one"))]);
        let body = Axum::from_stream(one.chain(futures::stream::pending()));
        let activity = Arc::new(Activity::new());
        let mut answer = Answer::new(body, None, activity.request(), 1);
        let watched = answer.watched().upgrade().expect("it is there");
        next(&mut answer).await.expect("a piece").expect("a piece");
        assert!(futures::poll!(std::pin::pin!(next(&mut answer))).is_pending());
        let later = Instant::now() + PATIENCE * 10;
        assert_eq!(watched.look_after(later, PATIENCE), None);
        assert_eq!(activity.quiet_since(), None, "still in progress");
    }
}

//! Work that is done again and again, beside the task that keeps its times.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

/// One kind of such work. It is never under way twice: where it takes longer than its period, the next
/// round begins after it, and a database that is slow already does not get more of it.
#[derive(Debug)]
pub(crate) struct Recurring {
    every: Duration,
    next: Instant,
    round: Option<JoinHandle<()>>,
}

impl Recurring {
    /// Work whose first round is due at once.
    pub(crate) fn from_now(every: Duration) -> Self {
        Self {
            every,
            next: Instant::now(),
            round: None,
        }
    }

    /// Work whose first round is due after a period.
    pub(crate) fn after(every: Duration) -> Self {
        Self {
            next: Instant::now() + every,
            ..Self::from_now(every)
        }
    }

    /// Begins a round in a task of its own if one is due and none is under way. The task goes on if this
    /// is dropped.
    pub(crate) fn tend<F>(&mut self, work: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tend_at(Instant::now(), work);
    }

    fn tend_at<F>(&mut self, now: Instant, work: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let round = self.round.as_ref();
        if now < self.next || round.is_some_and(|round| !round.is_finished()) {
            return;
        }
        self.next = now + self.every;
        self.round = Some(tokio::spawn(work()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;

    use super::*;

    const EVERY: Duration = Duration::from_secs(10);

    /// Rounds that count themselves, and wait until they are let go on.
    #[derive(Clone, Default)]
    struct Rounds(Arc<(AtomicUsize, Notify)>);

    impl Rounds {
        async fn round(self) {
            let (begun, go_on) = &*self.0;
            begun.fetch_add(1, Ordering::Relaxed);
            go_on.notified().await;
        }

        /// Offers the next round at this time, and returns how many have begun.
        async fn offer(&self, recurring: &mut Recurring, at: Instant) -> usize {
            recurring.tend_at(at, || self.clone().round());
            tokio::task::yield_now().await;
            self.0.0.load(Ordering::Relaxed)
        }

        /// Lets the round under way end.
        async fn end(&self, recurring: &Recurring) {
            self.0.1.notify_one();
            while !recurring.round.as_ref().unwrap().is_finished() {
                tokio::task::yield_now().await;
            }
        }
    }

    #[tokio::test]
    async fn a_round_begins_when_it_is_due() {
        let rounds = Rounds::default();
        let mut recurring = Recurring::after(EVERY);
        let start = recurring.next - EVERY;
        assert_eq!(rounds.offer(&mut recurring, start).await, 0);
        assert_eq!(rounds.offer(&mut recurring, start + EVERY).await, 1);
        rounds.end(&recurring).await;
        let almost = start + EVERY * 2 - Duration::from_millis(1);
        assert_eq!(rounds.offer(&mut recurring, almost).await, 1);
        assert_eq!(rounds.offer(&mut recurring, start + EVERY * 2).await, 2);
    }

    #[tokio::test]
    async fn a_slow_round_is_not_joined_by_the_next() {
        let rounds = Rounds::default();
        let mut recurring = Recurring::from_now(EVERY);
        let start = recurring.next;
        for number in 0..3 {
            let at = start + EVERY * number;
            assert_eq!(rounds.offer(&mut recurring, at).await, 1);
        }
        rounds.end(&recurring).await;
        assert_eq!(rounds.offer(&mut recurring, start + EVERY * 3).await, 2);
    }

    #[tokio::test]
    async fn a_round_that_panics_is_followed_by_the_next() {
        let rounds = Rounds::default();
        let mut recurring = Recurring::from_now(EVERY);
        let start = recurring.next;
        recurring.tend_at(start, || async { panic!("as the test wants it") });
        rounds.end(&recurring).await;
        assert_eq!(rounds.offer(&mut recurring, start + EVERY).await, 1);
    }
}

//! The clock. It is passed as a value, so that tests can control the time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_store::{Store, StoreError};
use tokio::sync::watch;

/// The longest sleep of a wait for a time of day: after it the system's clock is asked again,
/// since somebody may have set it, or the machine may have been suspended.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// An answer of the database that took longer says too little about the time.
const MAX_ANSWER: Duration = Duration::from_secs(1);
/// Differences from the database's clock up to this many milliseconds stay.
const TOLERANCE_MS: i64 = 50;

/// A source of the current time. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System,
    Database(Arc<Followed>),
    Manual(ManualClock),
}

/// A clock that follows the database's. In between it goes by the time that has passed, so that nobody who
/// sets the system's clock moves it.
struct Followed {
    began: Instant,
    /// What the database's clock said then, in milliseconds since 1970.
    began_at: AtomicI64,
}

impl Followed {
    fn at(&self, instant: Instant) -> i64 {
        let passed = instant.saturating_duration_since(self.began);
        let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        self.began_at.load(Ordering::Acquire).saturating_add(passed)
    }

    /// Takes the database's time, which it told between `asked` and `answered`.
    fn correct(&self, time: i64, asked: Instant, answered: Instant) {
        let (earliest, latest) = (self.at(asked), self.at(answered));
        let wrong = match time {
            time if time < earliest - TOLERANCE_MS => time - earliest,
            time if time > latest + TOLERANCE_MS => time - latest,
            _ => return,
        };
        self.began_at.fetch_add(wrong, Ordering::AcqRel);
    }
}

impl Clock {
    /// The system's clock.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// This clock, for a node on this database: nodes on one PostgreSQL have the database's clock, so that
    /// they agree about leases and what is due, whatever their own clocks say. A manual clock stays one.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn on(self, store: &Store) -> Result<Self, StoreError> {
        if !matches!(self.0, Source::System) {
            return Ok(self);
        }
        let Some(time) = store.database_time().await? else {
            return Ok(self);
        };
        let followed = Followed {
            began: Instant::now(),
            began_at: AtomicI64::new(time),
        };
        Ok(Self(Source::Database(Arc::new(followed))))
    }

    /// Asks the database for its time, where this clock follows it.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn correct(&self, store: &Store) -> Result<(), StoreError> {
        let Source::Database(followed) = &self.0 else {
            return Ok(());
        };
        let asked = Instant::now();
        let time = store.database_time().await?;
        let answered = Instant::now();
        if answered.saturating_duration_since(asked) <= MAX_ANSWER
            && let Some(time) = time
        {
            followed.correct(time, asked, answered);
        }
        Ok(())
    }

    /// A clock that stands still until [`ManualClock::advance`] moves it.
    pub fn manual(start: DateTime<Utc>) -> (Self, ManualClock) {
        let handle = ManualClock(Arc::new(watch::Sender::new(start.timestamp_millis())));
        (Self(Source::Manual(handle.clone())), handle)
    }

    /// This clock, or the system's instead of a manual one, which stands still.
    #[must_use]
    pub fn that_goes(&self) -> Self {
        match &self.0 {
            Source::Manual(_) => Self::system(),
            Source::System | Source::Database(_) => self.clone(),
        }
    }

    /// The current time.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the operating system"
    )]
    pub fn now(&self) -> DateTime<Utc> {
        match &self.0 {
            Source::System => Utc::now(),
            Source::Database(followed) => {
                DateTime::from_timestamp_millis(followed.at(Instant::now())).unwrap_or_default()
            }
            Source::Manual(clock) => clock.now(),
        }
    }

    /// The time so many days ago; `None` if that is before all time.
    pub fn days_ago(&self, days: u32) -> Option<DateTime<Utc>> {
        let age = TimeDelta::try_days(i64::from(days))?;
        self.now().checked_sub_signed(age)
    }

    /// Returns once it is `at` or later; never for `None`. Costs nothing while it waits.
    #[crate::boxed]
    pub async fn wait_until(&self, at: Option<DateTime<Utc>>) {
        let Some(at) = at else {
            return std::future::pending().await;
        };
        match &self.0 {
            Source::Manual(clock) => {
                let mut moved = clock.0.subscribe();
                // Fails only with the sender, which `self` holds.
                drop(moved.wait_for(|now| *now >= at.timestamp_millis()).await);
            }
            Source::System | Source::Database(_) => loop {
                let left = (at - self.now()).to_std().unwrap_or_default();
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(MAX_SLEEP)).await;
            },
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Controls a manual clock. Holds milliseconds since 1970.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<watch::Sender<i64>>);

impl ManualClock {
    /// Moves the time forward.
    pub fn advance(&self, by: TimeDelta) {
        self.0.send_modify(|now| *now += by.num_milliseconds());
    }

    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(*self.0.borrow()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_ends_when_the_clock_gets_there() {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let (clock, hand) = Clock::manual(start);
        clock.wait_until(Some(start)).await;
        let waiting = tokio::spawn({
            let clock = clock.clone();
            async move { clock.wait_until(Some(start + TimeDelta::hours(2))).await }
        });
        hand.advance(TimeDelta::hours(1));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        hand.advance(TimeDelta::hours(1));
        waiting.await.unwrap();
        let never = tokio::time::timeout(Duration::from_millis(5), clock.wait_until(None));
        assert!(never.await.is_err());
    }

    #[test]
    fn a_clock_that_follows_the_databases_is_corrected_beyond_the_tolerance() {
        let began = Instant::now();
        let followed = Followed {
            began,
            began_at: AtomicI64::new(1_000_000),
        };
        let (asked, answered) = (
            began + Duration::from_secs(1),
            began + Duration::from_secs(2),
        );
        assert_eq!(followed.at(asked), 1_001_000);
        // The answer may be of any time in between.
        for time in [1_000_960, 1_001_500, 1_002_040] {
            followed.correct(time, asked, answered);
            assert_eq!(followed.at(asked), 1_001_000, "{time}");
        }
        followed.correct(1_003_000, asked, answered);
        assert_eq!(followed.at(answered), 1_003_000);
        followed.correct(500_000, asked, answered);
        assert_eq!(followed.at(asked), 500_000);
    }

    #[test]
    fn no_age_is_too_large() {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let (clock, _) = Clock::manual(start);
        assert_eq!(clock.days_ago(2), Some(start - TimeDelta::days(2)));
        assert_eq!(clock.days_ago(999_999_999), None);
        assert_eq!(clock.days_ago(u32::MAX), None);
    }

    #[tokio::test]
    async fn the_systems_clock_is_waited_for() {
        let clock = Clock::system();
        let at = clock.now() + TimeDelta::milliseconds(20);
        clock.wait_until(Some(at)).await;
        assert!(clock.now() >= at);
    }
}

//! The clock. It is passed as a value, so that tests can control the time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::watch;

/// The longest sleep of a wait for a time of day: after it the system's clock is asked again,
/// since somebody may have set it, or the machine may have been suspended.
const MAX_SLEEP: Duration = Duration::from_secs(30);

/// A source of the current time. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System,
    Manual(ManualClock),
}

impl Clock {
    /// The system's clock.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands still until [`ManualClock::advance`] moves it.
    pub fn manual(start: DateTime<Utc>) -> (Self, ManualClock) {
        let handle = ManualClock(Arc::new(watch::Sender::new(start.timestamp_millis())));
        (Self(Source::Manual(handle.clone())), handle)
    }

    /// The current time.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the operating system"
    )]
    pub fn now(&self) -> DateTime<Utc> {
        match &self.0 {
            Source::System => Utc::now(),
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
            Source::System => loop {
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

//! The clock. It is passed as a value, so that tests can control the time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

/// A source of the current time. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl Clock {
    /// The system's clock.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the operating system"
    )]
    pub fn system() -> Self {
        Self(Arc::new(Utc::now))
    }

    /// A clock that stands still until [`ManualClock::advance`] moves it.
    pub fn manual(start: DateTime<Utc>) -> (Self, ManualClock) {
        let handle = ManualClock(Arc::new(AtomicI64::new(start.timestamp_millis())));
        let clock = handle.clone();
        (Self(Arc::new(move || clock.now())), handle)
    }

    /// The current time.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Controls a manual clock.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Moves the time forward.
    pub fn advance(&self, by: TimeDelta) {
        self.0.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
    }

    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0.load(Ordering::SeqCst)).unwrap_or_default()
    }
}

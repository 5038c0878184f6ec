//! Signs of life of the background work.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Utc};

/// After how many milliseconds without a sign of life the background work counts as dead.
const LATE_MS: i64 = 15_000;

/// When the background work last gave a sign of life.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<AtomicI64>);

impl Heartbeat {
    /// Notes a sign of life.
    pub fn beat(&self, at: DateTime<Utc>) {
        self.0.store(at.timestamp_millis(), Ordering::Relaxed);
    }

    /// The last one; none in a process without background work.
    pub fn last(&self) -> Option<DateTime<Utc>> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            ms => DateTime::from_timestamp_millis(ms),
        }
    }

    /// What is wrong, if something is.
    pub fn problem(&self, now: DateTime<Utc>) -> Option<&'static str> {
        let late = self
            .last()
            .is_some_and(|last| (now - last).num_milliseconds() > LATE_MS);
        late.then_some("no sign of life for more than 15 seconds")
    }
}

//! Heartbeat of the background work.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Utc};

/// Milliseconds without a heartbeat after which the background work counts as dead.
const LATE_MS: i64 = 15_000;

/// Time of the last heartbeat of the background work.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<AtomicI64>);

impl Heartbeat {
    /// Records a heartbeat.
    pub fn beat(&self, at: DateTime<Utc>) {
        self.0.store(at.timestamp_millis(), Ordering::Relaxed);
    }

    /// The last heartbeat; none in a process without background work.
    pub fn last(&self) -> Option<DateTime<Utc>> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            ms => DateTime::from_timestamp_millis(ms),
        }
    }

    /// The problem, if there is one.
    pub fn problem(&self, now: DateTime<Utc>) -> Option<&'static str> {
        let late = self
            .last()
            .is_some_and(|last| (now - last).num_milliseconds() > LATE_MS);
        late.then_some("no sign of life for more than 15 seconds")
    }
}

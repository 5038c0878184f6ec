//! Heartbeat of the background work.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Utc};

/// Milliseconds without a heartbeat after which the background work counts as dead.
const LATE_MS: i64 = 15_000;

/// Time of the last heartbeat of the background work.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    last: Arc<AtomicI64>,
    /// Whether this process works on crawls itself.
    is_worker: bool,
    /// When this process began: a worker elsewhere has time to show itself.
    began: DateTime<Utc>,
}

impl Heartbeat {
    /// The heartbeat of a process that begins now; `is_worker`: it has the role worker.
    pub fn new(is_worker: bool, began: DateTime<Utc>) -> Self {
        Self {
            last: Arc::default(),
            is_worker,
            began,
        }
    }

    /// Records a heartbeat.
    pub fn beat(&self, at: DateTime<Utc>) {
        self.last.store(at.timestamp_millis(), Ordering::Relaxed);
    }

    /// Whether this process works on crawls itself.
    pub fn is_worker(&self) -> bool {
        self.is_worker
    }

    /// The last heartbeat of this process.
    pub fn last(&self) -> Option<DateTime<Utc>> {
        match self.last.load(Ordering::Relaxed) {
            0 => None,
            ms => DateTime::from_timestamp_millis(ms),
        }
    }

    /// The problem of this process's background work, if there is one.
    pub fn problem(&self, now: DateTime<Utc>) -> Option<&'static str> {
        let late = self.last().is_some_and(|last| is_late(last, now));
        late.then_some("no sign of life for more than 15 seconds")
    }

    /// The problem of a process that relies on other processes' workers, of which one was `seen` last.
    pub fn problem_elsewhere(
        &self,
        seen: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Option<&'static str> {
        let seen = seen.map_or(self.began, |seen| seen.max(self.began));
        is_late(seen, now).then_some(
            "no process with the role worker has shown a sign of life for more than 15 seconds",
        )
    }
}

fn is_late(last: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    (now - last).num_milliseconds() > LATE_MS
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn workers_elsewhere_have_time_to_show_themselves() {
        let began = DateTime::UNIX_EPOCH + TimeDelta::days(1);
        let at = |seconds| began + TimeDelta::seconds(seconds);
        let heartbeat = Heartbeat::new(false, began);
        let is_well = |seen, now| heartbeat.problem_elsewhere(seen, at(now)).is_none();
        assert!(is_well(None, 15) && !is_well(None, 16));
        assert!(is_well(Some(at(-3_600)), 15) && !is_well(Some(at(-3_600)), 16));
        assert!(is_well(Some(at(10)), 25) && !is_well(Some(at(10)), 26));
    }
}

//! What a worker knows of the leases of its work: when it last extended them, and whether other workers may
//! still have to extend theirs.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::clock::Clock;

/// When a worker last extended its leases. A process that stood still, or whose database was away, finds
/// them run out: its own, and those of workers for which it was the same.
#[derive(Debug)]
pub struct Heartbeat {
    clock: Clock,
    lease: Duration,
    /// When the leases were extended last.
    extended: DateTime<Utc>,
    careful_until: DateTime<Utc>,
}

impl Heartbeat {
    /// The heartbeat of a worker whose leases last so long.
    pub fn new(clock: &Clock, lease: Duration) -> Self {
        let now = clock.now();
        Self {
            clock: clock.clone(),
            lease,
            extended: now,
            careful_until: now,
        }
    }

    /// Time between two extensions.
    pub fn interval(&self) -> Duration {
        self.lease / 4
    }

    /// Whether the leases have to be extended before work is taken.
    pub fn is_late(&self) -> bool {
        self.since_extended(self.clock.now()) >= self.interval()
    }

    /// Notes that the leases were extended at this time.
    pub fn extended(&mut self, at: DateTime<Utc>) {
        if self.since_extended(at) >= self.lease {
            self.careful_until = at + self.lease;
        }
        self.extended = at;
    }

    /// Notes that the database was away.
    pub fn failed(&mut self) {
        self.careful_until = self.clock.now() + self.lease;
    }

    /// Until when leases of other workers that have run out prove nothing, so that those have time to extend
    /// them; `None` where such work may be taken over.
    pub fn careful_until(&self) -> Option<DateTime<Utc>> {
        (self.careful_until > self.clock.now()).then_some(self.careful_until)
    }

    /// Zero where the clock was set back.
    fn since_extended(&self, now: DateTime<Utc>) -> Duration {
        (now - self.extended).to_std().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    const LEASE: Duration = Duration::from_secs(8);

    fn beating() -> (Heartbeat, Clock, impl Fn(i64)) {
        let start = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let (clock, hand) = Clock::manual(start);
        let beat = Heartbeat::new(&clock, LEASE);
        let pass = move |seconds| hand.advance(TimeDelta::seconds(seconds));
        (beat, clock, pass)
    }

    #[test]
    fn leases_are_extended_before_work_is_taken_where_that_is_due() {
        let (mut beat, clock, pass) = beating();
        assert!(!beat.is_late());
        pass(2);
        assert!(beat.is_late());
        beat.extended(clock.now());
        assert!(!beat.is_late());
        assert_eq!(beat.careful_until(), None);
        pass(-60);
        assert!(!beat.is_late(), "the clock was set back");
    }

    #[test]
    fn after_a_pause_or_a_failure_others_get_the_time_of_a_lease() {
        let (mut beat, clock, pass) = beating();
        pass(8);
        beat.extended(clock.now());
        assert_eq!(beat.careful_until(), Some(clock.now() + LEASE));
        pass(2);
        beat.extended(clock.now());
        pass(5);
        assert!(beat.careful_until().is_some());
        pass(1);
        assert_eq!(beat.careful_until(), None);
        beat.failed();
        assert_eq!(beat.careful_until(), Some(clock.now() + LEASE));
    }
}

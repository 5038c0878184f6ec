//! When a host may be asked again: one gate per host, shared by all runs of the process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Hosts remembered before those that are not in use are forgotten.
const MAX_HOSTS: usize = 10_000;

/// All gates.
#[derive(Debug)]
pub struct Politeness {
    started: Instant,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            gates: Mutex::default(),
        }
    }
}

impl Politeness {
    /// The gate of a host (with its port).
    pub fn gate(&self, host: &str) -> Arc<Gate> {
        let mut gates = self.gates.lock();
        if let Some(gate) = gates.get(host) {
            return Arc::clone(gate);
        }
        if gates.len() >= MAX_HOSTS {
            let now = self.started.elapsed();
            gates.retain(|_, gate| Arc::strong_count(gate) > 1 || gate.next() > now);
        }
        let gate = Arc::new(Gate {
            started: self.started,
            next: AtomicU64::new(0),
        });
        gates.insert(host.to_owned(), Arc::clone(&gate));
        gate
    }
}

/// When one host may be asked next.
#[derive(Debug)]
pub struct Gate {
    started: Instant,
    /// Microseconds after `started`.
    next: AtomicU64,
}

impl Gate {
    /// Takes the right to one request now and closes the gate for `delay`; or says when to
    /// ask again.
    ///
    /// # Errors
    /// The moment at which the gate opens.
    pub fn take(&self, now: Instant, delay: Duration) -> Result<(), Instant> {
        let at = micros(now.saturating_duration_since(self.started));
        let until = at.saturating_add(micros(delay));
        let taken = self
            .next
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |next| {
                (next <= at).then_some(until)
            });
        taken
            .map(|_| ())
            .map_err(|next| self.started + Duration::from_micros(next))
    }

    /// Closes the gate until then: a server asked for it.
    pub fn close_until(&self, until: Instant) {
        let until = micros(until.saturating_duration_since(self.started));
        self.next.fetch_max(until, Ordering::AcqRel);
    }

    /// Counts requests that were made besides, such as redirects that were followed.
    pub fn charge(&self, now: Instant, delay: Duration) {
        let at = micros(now.saturating_duration_since(self.started));
        let delay = micros(delay);
        let _ = self
            .next
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |next| {
                Some(next.max(at).saturating_add(delay))
            });
    }

    fn next(&self) -> Duration {
        Duration::from_micros(self.next.load(Ordering::Acquire))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(250);

    #[test]
    fn a_gate_lets_one_request_through_per_delay_whoever_asks() {
        let politeness = Politeness::default();
        let (one, other) = (politeness.gate("e.org"), politeness.gate("e.org"));
        // Gates count whole microseconds from here.
        let now = politeness.started;
        assert_eq!(one.take(now, DELAY), Ok(()));
        assert_eq!(other.take(now, DELAY), Err(now + DELAY));
        assert_eq!(politeness.gate("f.org").take(now, DELAY), Ok(()));
        let later = now + DELAY;
        assert_eq!(other.take(later, DELAY), Ok(()));
        other.close_until(later + DELAY * 4);
        other.close_until(later);
        assert_eq!(one.take(later + DELAY, DELAY), Err(later + DELAY * 4));
        one.charge(later, DELAY);
        assert_eq!(one.take(later, DELAY), Err(later + DELAY * 5));
    }
}

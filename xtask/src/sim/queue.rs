//! Queues of jobs: first come, first served.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far the nodes may be ahead of the database, in seconds.
pub const AHEAD: f64 = 1.0;
/// Times in whole nanoseconds order as numbers.
const NANOS: f64 = 1e9;

/// Servers of one queue: the times from which they are free.
pub struct Servers {
    free: BinaryHeap<Reverse<u64>>,
    /// Seconds of work taken.
    pub busy: f64,
}

impl Servers {
    pub fn new(count: usize) -> Self {
        Self {
            free: (0..count.max(1)).map(|_| Reverse(0)).collect(),
            busy: 0.0,
        }
    }

    /// Takes a job that comes now; returns when it is done.
    pub fn take(&mut self, now: f64, work: f64) -> f64 {
        let Reverse(free) = self.free.pop().unwrap_or(Reverse(0));
        let done = now.max(free as f64 / NANOS) + work;
        self.free.push(Reverse((done * NANOS) as u64));
        self.busy += work;
        done
    }
}

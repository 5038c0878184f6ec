//! Limits of a project's free work: work that is not billed because it had no result.
//!
//! What a project has taken goes down with time, at the rate of a full hour's in an hour. So a
//! project whose work fails now and then is never refused, and one whose work does nothing but fail
//! has its share of the time alone.

use std::collections::HashMap;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Projects that are remembered before those that have taken nothing are forgotten.
const MANY: usize = 1_024;
const HOUR: f64 = 3_600.0;

/// An amount in an hour for each project, in units of the caller's.
#[derive(Debug)]
pub struct Allowance {
    /// 0: no bound.
    most: f64,
    taken: Mutex<HashMap<ProjectId, Taken>>,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    amount: f64,
    at: Instant,
}

impl Allowance {
    /// So much in an hour; 0: no bound.
    pub fn new(most: f64) -> Self {
        Self {
            most,
            taken: Mutex::default(),
        }
    }

    /// How long a project that has taken all must wait until there is room for one unit; `None` if there
    /// is room now.
    pub fn wait(&self, project: ProjectId, now: Instant) -> Option<Duration> {
        let taken = self.taken.lock().get(&project).copied()?;
        let amount = self.left_of(taken, now);
        let is_over = self.most > 0.0 && amount >= self.most;
        is_over.then(|| {
            let seconds = (amount - self.most + 1.0) * HOUR / self.most;
            Duration::from_secs_f64(seconds.clamp(1.0, HOUR))
        })
    }

    /// Counts what a project has taken.
    pub fn add(&self, project: ProjectId, amount: f64, now: Instant) {
        if self.most <= 0.0 || amount <= 0.0 {
            return;
        }
        let mut all = self.taken.lock();
        if all.len() >= MANY {
            all.retain(|_, taken| self.left_of(*taken, now) > 0.0);
        }
        let before = all.get(&project).copied();
        let amount = before.map_or(0.0, |taken| self.left_of(taken, now)) + amount;
        all.insert(project, Taken { amount, at: now });
    }

    /// What counts of it now.
    fn left_of(&self, taken: Taken, now: Instant) -> f64 {
        let since = now.saturating_duration_since(taken.at).as_secs_f64();
        (taken.amount - since * self.most / HOUR).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProjectId = ProjectId(1);
    const B: ProjectId = ProjectId(2);

    #[test]
    fn what_was_taken_is_forgotten_at_the_rate_of_an_hour() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let allowance = Allowance::new(60.0);
        allowance.add(A, 40.0, after(0));
        assert_eq!(allowance.wait(A, after(0)), None);
        allowance.add(A, 40.0, after(40));
        let wait = allowance.wait(A, after(40)).unwrap().as_secs();
        assert!(allowance.wait(A, after(40 + wait / 2)).is_some());
        assert_eq!(allowance.wait(B, after(40)), None);
        assert_eq!(allowance.wait(A, after(41 + wait)), None);
        let unbounded = Allowance::new(0.0);
        unbounded.add(A, 1e9, start);
        assert_eq!(unbounded.wait(A, start), None);
    }

    #[test]
    fn no_wait_is_longer_than_an_hour() {
        let now = Instant::now();
        let allowance = Allowance::new(1.0);
        allowance.add(A, 1e9, now);
        assert_eq!(allowance.wait(A, now), Some(Duration::from_secs(3_600)));
    }
}

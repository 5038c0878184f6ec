//! Browser time of pages without a result, which is free: each project has so much of it in an hour.
//!
//! What a project has taken goes down with time, at the rate of a full hour's in an hour. So a
//! project whose pages fail now and then is never refused, and one whose pages do nothing but fail
//! has the browser for its share of the time alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::error::ScanError;

/// Projects that are remembered before those that have taken nothing are forgotten.
const MANY: usize = 1_024;
const HOUR: f64 = 3_600.0;

/// What projects have taken. Cheap to clone.
#[derive(Clone)]
pub(super) struct Unpaid {
    /// Seconds in an hour; 0: no bound.
    most: f64,
    taken: Arc<Mutex<HashMap<ProjectId, Taken>>>,
}

#[derive(Clone, Copy)]
struct Taken {
    seconds: f64,
    at: Instant,
}

impl Unpaid {
    pub fn new(seconds_per_hour: u32) -> Self {
        Self {
            most: seconds_per_hour.into(),
            taken: Arc::default(),
        }
    }

    /// Begins a page, which has no result until [`Attempt::succeed`].
    ///
    /// # Errors
    /// The project has taken all that it may.
    pub fn begin(&self, project: ProjectId) -> Result<Attempt, ScanError> {
        self.begin_at(project, Instant::now())
    }

    fn begin_at(&self, project: ProjectId, now: Instant) -> Result<Attempt, ScanError> {
        let taken = self.taken.lock().get(&project).copied();
        let seconds = taken.map_or(0.0, |taken| self.left_of(taken, now));
        if self.most > 0.0 && seconds >= self.most {
            // Until there is room for a second.
            let wait = (seconds - self.most + 1.0) * HOUR / self.most;
            return Err(ScanError::Busy {
                message: format!(
                    "pages of this project that gave no result have kept the browser busy for \
                     {} seconds, the most in an hour (setting rendering.failed_seconds_per_hour)",
                    self.most
                ),
                retry_after: Duration::from_secs_f64(wait.clamp(1.0, HOUR)).as_secs(),
            });
        }
        Ok(Attempt {
            unpaid: self.clone(),
            project,
            since: now,
            succeeded: false,
        })
    }

    /// What counts of it now.
    fn left_of(&self, taken: Taken, now: Instant) -> f64 {
        let since = now.saturating_duration_since(taken.at).as_secs_f64();
        (taken.seconds - since * self.most / HOUR).max(0.0)
    }

    fn add_at(&self, project: ProjectId, time: Duration, now: Instant) {
        let mut all = self.taken.lock();
        if all.len() >= MANY {
            all.retain(|_, taken| self.left_of(*taken, now) > 0.0);
        }
        let before = all.get(&project).copied();
        let seconds = before.map_or(0.0, |taken| self.left_of(taken, now)) + time.as_secs_f64();
        all.insert(project, Taken { seconds, at: now });
    }
}

/// A page under way; counted when dropped, also if its caller has gone.
pub(super) struct Attempt {
    unpaid: Unpaid,
    project: ProjectId,
    since: Instant,
    succeeded: bool,
}

impl Attempt {
    /// The page has a result, which is billed.
    pub fn succeed(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.succeeded && self.unpaid.most > 0.0 {
            let now = Instant::now();
            let time = now.saturating_duration_since(self.since);
            self.unpaid.add_at(self.project, time, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProjectId = ProjectId(1);
    const B: ProjectId = ProjectId(2);

    #[test]
    fn pages_without_a_result_have_a_share_of_each_hour() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let forty = Duration::from_secs(40);
        let unpaid = Unpaid::new(60);
        unpaid.add_at(A, forty, after(0));
        unpaid.begin_at(A, after(0)).ok().unwrap().succeed();
        unpaid.add_at(A, forty, after(40));
        let refused = unpaid.begin_at(A, after(40)).err().unwrap();
        let ScanError::Busy {
            message,
            retry_after,
        } = refused
        else {
            panic!("{refused}");
        };
        assert!(message.contains("rendering.failed_seconds_per_hour"));
        let early = after(40 + retry_after / 2);
        assert!(unpaid.begin_at(A, early).is_err());
        let other = unpaid.begin_at(B, early).ok().unwrap();
        other.succeed();
        let room = after(41 + retry_after);
        unpaid.begin_at(A, room).ok().unwrap().succeed();
        let unbounded = Unpaid::new(0);
        unbounded.add_at(A, Duration::from_secs(86_400), start);
        unbounded.begin_at(A, start).ok().unwrap().succeed();
    }
}

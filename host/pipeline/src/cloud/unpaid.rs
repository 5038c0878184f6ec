//! Browser time of pages without a result, which is free: each project has so much of it in an hour.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use orbweaver_fetch::Allowance;
use tokio::time::Instant;

use crate::error::ScanError;

/// What projects have taken. Cheap to clone.
#[derive(Clone)]
pub(super) struct Unpaid {
    /// Seconds in an hour; 0: no bound.
    most: u32,
    taken: Arc<Allowance>,
}

impl Unpaid {
    pub fn new(seconds_per_hour: u32) -> Self {
        Self {
            most: seconds_per_hour,
            taken: Arc::new(Allowance::new(seconds_per_hour.into())),
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
        if let Some(wait) = self.taken.wait(project, now) {
            return Err(ScanError::Busy {
                message: format!(
                    "pages of this project that gave no result have kept the browser busy for \
                     {} seconds, the most in an hour (setting rendering.failed_seconds_per_hour)",
                    self.most
                ),
                retry_after: wait.as_secs(),
            });
        }
        Ok(Attempt {
            unpaid: self.clone(),
            project,
            since: now,
            succeeded: false,
        })
    }

    fn add_at(&self, project: ProjectId, time: Duration, now: Instant) {
        self.taken.add(project, time.as_secs_f64(), now);
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
        if !self.succeeded {
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

//! Plugins of projects run on threads of their own, of lower priority, so that no other project
//! and no plugin of the instance waits for them. So do the instance's extractors that ask for more
//! CPU time than usual, such as the one that converts documents, when a project's page needs them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::EngineConfig;
use crate::grants::Permissions;
use crate::limits::{LimitRange, Limits};
use crate::pool::Pool;
use crate::registry::Id;
use crate::tasks::Tasks;

/// What a project's plugin may have at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectPolicy {
    /// Permissions that the project accepts.
    pub accepted: Permissions,
    /// Permissions that the operator allows the project's plugins.
    pub allowed: Permissions,
    /// Most CPU time of one call, in milliseconds; `None`: as the kind allows.
    pub cpu_ms: Option<u64>,
    /// Most memory of one call, in MiB; `None`: as the kind allows.
    pub memory_mib: Option<u64>,
}

impl ProjectPolicy {
    /// The limits of a kind, cut to this policy.
    pub(crate) fn cut(&self, range: &LimitRange) -> LimitRange {
        let cut = |limits: Limits| Limits {
            cpu_ms: self
                .cpu_ms
                .map_or(limits.cpu_ms, |most| most.min(limits.cpu_ms)),
            memory_mib: self
                .memory_mib
                .map_or(limits.memory_mib, |most| most.min(limits.memory_mib)),
            ..limits
        };
        LimitRange {
            default: cut(range.default),
            max: cut(range.max),
        }
    }
}

/// A limited number of slots, of which one project gets only some.
///
/// A project waits for its own share first and then for one of all slots. So the queue for all
/// slots, which is served in order, has at most a share of each project.
pub(crate) struct Shares {
    total: Arc<Semaphore>,
    per_project: usize,
    projects: Mutex<HashMap<ProjectId, Arc<Semaphore>>>,
}

/// A slot; dropping it frees it.
pub(crate) struct Slot {
    total: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// A slot that belongs to no project.
    pub fn of_instance(permit: OwnedSemaphorePermit) -> Self {
        Self {
            total: permit,
            _own: None,
        }
    }

    /// Replaces the place among all slots by another permit; the project's share stays taken.
    pub fn move_to(&mut self, permit: OwnedSemaphorePermit) {
        self.total = permit;
    }
}

/// Projects whose idle shares are kept; more are swept.
const KEPT_SHARES: usize = 1_024;

impl Shares {
    /// `total` slots, of which a project gets at most `per_project`; each at least 1.
    pub fn new(total: usize, per_project: usize) -> Self {
        Self {
            total: Arc::new(Semaphore::new(total.max(1))),
            per_project: per_project.max(1),
            projects: Mutex::default(),
        }
    }

    /// Slots that only each project's share bounds.
    pub fn of_each_project(per_project: usize) -> Self {
        Self::new(Semaphore::MAX_PERMITS, per_project)
    }

    /// Waits for a slot; `None` when the engine shuts down.
    pub(crate) async fn acquire(&self, project: ProjectId) -> Option<Slot> {
        let own = {
            let mut projects = self.projects.lock();
            if projects.len() >= KEPT_SHARES {
                projects.retain(|_, share| Arc::strong_count(share) > 1);
            }
            let share = projects
                .entry(project)
                .or_insert_with(|| Arc::new(Semaphore::new(self.per_project)));
            Arc::clone(share)
        };
        let own = own.acquire_owned().await.ok()?;
        let total = Arc::clone(&self.total).acquire_owned().await.ok()?;
        Some(Slot {
            total,
            _own: Some(own),
        })
    }
}

/// Threads and slots for the plugins of projects.
pub(crate) struct Tenants {
    pub pool: Pool,
    pub tasks: Tasks,
    /// Pages on the pool.
    pub pages: Shares,
    /// Interpreters: extractors and hooks that run as tasks.
    pub interpreters: Shares,
    /// Calls of actors and fetchers.
    pub actors: Shares,
    /// Checks of their inputs, which cannot be stopped.
    pub checks: Shares,
    /// Plugins that are not loaded yet since the process started.
    coming: Mutex<HashMap<ProjectId, BTreeSet<Id>>>,
}

impl Tenants {
    pub fn new(config: &EngineConfig) -> std::io::Result<Self> {
        let threads = config.threads();
        let share = threads.div_ceil(2);
        Ok(Self {
            pool: Pool::of_low_priority(threads)?,
            tasks: Tasks::of_low_priority(threads)?,
            pages: Shares::new(threads, share),
            interpreters: Shares::new(threads, share),
            actors: Shares::new(config.max_actors.div_ceil(2), config.max_actors.div_ceil(4)),
            checks: Shares::new(threads * 2, threads.div_ceil(2)),
            coming: Mutex::default(),
        })
    }

    /// Records that a plugin is going to be loaded: calls that may need it wait.
    pub fn expect(&self, project: ProjectId, id: Id) {
        self.coming.lock().entry(project).or_default().insert(id);
    }

    /// Records that a plugin is loaded or cannot be. False if nobody expected it.
    pub fn arrived(&self, project: ProjectId, id: &Id) -> bool {
        let mut coming = self.coming.lock();
        let Some(ids) = coming.get_mut(&project) else {
            return false;
        };
        let expected = ids.remove(id);
        if ids.is_empty() {
            coming.remove(&project);
        }
        expected
    }

    /// Whether a matching plugin of a project is not loaded yet.
    pub fn is_coming(&self, project: ProjectId, is_wanted: impl Fn(&Id) -> bool) -> bool {
        let coming = self.coming.lock();
        coming
            .get(&project)
            .is_some_and(|ids| ids.iter().any(is_wanted))
    }
}

/// Gives the calling thread a lower priority than the service's (nice 5: a third of the CPU time
/// where both compete for it). Other platforms than Linux set priorities only of processes.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        const NICE: libc::c_int = 5;
        // SAFETY: takes plain numbers; on Linux 0 means the calling thread. A failure changes
        // nothing.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_project_never_takes_the_slots_of_another() {
        let shares = Shares::new(2, 1);
        let first = shares.acquire(ProjectId(1)).await.unwrap();
        let mut again = Box::pin(shares.acquire(ProjectId(1)));
        assert!(futures::poll!(&mut again).is_pending());
        let other = shares.acquire(ProjectId(2)).await;
        assert!(other.is_some(), "the queue of one project holds up another");
        drop(first);
        assert!(again.await.is_some());
    }

    #[test]
    fn a_policy_cuts_defaults_and_maximum() {
        let range = crate::limits::LimitsConfig::default().actor;
        let policy = ProjectPolicy {
            cpu_ms: Some(3_000),
            memory_mib: Some(4_096),
            ..ProjectPolicy::default()
        };
        let cut = policy.cut(&range);
        assert_eq!((cut.default.cpu_ms, cut.max.cpu_ms), (3_000, 3_000));
        assert_eq!(cut.max.memory_mib, range.max.memory_mib);
    }
}

//! State shared by all clones of an [`Engine`](crate::Engine).

mod extraction;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::config::EngineConfig;
use crate::error::{Limit, LoadError, PluginError, StartError};
use crate::folder_retry::Retries;
use crate::folder_scan::Fingerprint;
use crate::host::Host;
use crate::host::work::{HostWork, measure_for};
use crate::inputs::circle;
use crate::journal::{Caller, project_of};
use crate::kind::Kind;
use crate::lane::Lane;
use crate::load::{Grants, Loader};
use crate::pending::{Pending, PluginFile};
use crate::plugin::{Plugin, Source};
use crate::pool::Pool;
use crate::registry::{Id, Registry};
use crate::runtime::Runtime;
use crate::stats::AllStats;
use crate::task::{self, CallOutput, Invocation, RunBudget};
use crate::tasks::Tasks;
use crate::tenancy::{Shares, Slot, Tenants};

/// Most pages of a project in progress per extractor thread, running or queued; further ones wait.
const PAGES_PER_THREAD: usize = 8;

/// Threads, loader, registry and slots of one engine.
pub(crate) struct Inner {
    pub config: EngineConfig,
    pub runtime: Arc<Runtime>,
    pub tasks: Tasks,
    pub loader: Loader,
    /// State of the plugin folder at the last scan, and the files that failed to load.
    pub folder: Mutex<FolderState>,
    /// Plugins of the program and the folder that are not loaded yet.
    pub pending: Pending,
    /// Threads and slots for the instance's plugins on pages of usual size.
    short: (Pool, Shares),
    /// The same on long pages.
    long: (Pool, Shares),
    registry: ArcSwap<Registry>,
    /// Held while a new registry is derived from the old one.
    change: Mutex<()>,
    /// Number of changes to the registry and to the failed files.
    changes: watch::Sender<u64>,
    pub stats: AllStats,
    /// Extractors and hooks of the instance that run as tasks.
    interpreters: Shares,
    actor_slots: Arc<Semaphore>,
    /// Threads and slots of the projects' plugins.
    pub tenants: Tenants,
}

/// State of the plugin folder at the last scan.
#[derive(Default)]
pub(crate) struct FolderState {
    pub seen: BTreeMap<PathBuf, Fingerprint>,
    pub refused: BTreeMap<PathBuf, LoadError>,
    pub retries: Retries,
}

impl Inner {
    /// Starts the threads.
    pub fn new(config: EngineConfig) -> Result<Self, StartError> {
        let threads = config.threads();
        let runtime = Runtime::new(&config).map_err(|e| StartError::Runtime(e.into()))?;
        let runtime = Arc::new(runtime);
        let pages = || Shares::of_each_project(threads * PAGES_PER_THREAD);
        Ok(Self {
            short: (Pool::new(threads)?, pages()),
            long: (Pool::of_long_pages(threads)?, pages()),
            tasks: Tasks::new(threads)?,
            loader: Loader::new(Arc::clone(&runtime), &config)?,
            runtime,
            registry: ArcSwap::default(),
            change: Mutex::new(()),
            changes: watch::Sender::new(0),
            stats: AllStats::default(),
            folder: Mutex::default(),
            pending: Pending::default(),
            interpreters: Shares::new(threads * 2, threads),
            actor_slots: Arc::new(Semaphore::new(config.max_actors.max(1))),
            tenants: Tenants::new(&config)?,
            config,
        })
    }

    /// Creates a plugin from these bytes, without putting it in service.
    ///
    /// # Errors
    /// [`LoadError`] with a short text without escape sequences.
    #[crate::boxed]
    pub async fn load(
        &self,
        bytes: Arc<[u8]>,
        source: Source,
        grants: Grants,
    ) -> Result<Arc<Plugin>, LoadError> {
        let loaded = self.loader.load(self, bytes, source, grants).await;
        loaded.map_err(LoadError::cleaned)
    }

    /// Replaces the registry with a changed copy.
    pub fn change<T>(&self, edit: impl FnOnce(&mut Registry, &BTreeMap<String, String>) -> T) -> T {
        let _alone = self.change.lock();
        let mut next = Registry::clone(&self.registry.load());
        let result = edit(&mut next, &self.config.roles);
        self.registry.store(Arc::new(next));
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Puts a plugin in service.
    ///
    /// # Errors
    /// [`LoadError::Manifest`] if its needs and those of the others form a circular dependency.
    pub fn serve(&self, plugin: Arc<Plugin>) -> Result<(), LoadError> {
        self.try_change(|registry, roles| {
            registry.insert(Arc::clone(&plugin), roles);
            match circle(registry, &plugin) {
                Some(why) => Err(LoadError::Manifest(why)),
                None => Ok(()),
            }
        })
    }

    /// Forgets the counters of a project's plugin that was refused, unless another version of it serves.
    pub fn forget_unserved(&self, owner: Option<ProjectId>, kind: Kind, name: &str) {
        let Some(project) = owner else { return };
        let registry = self.registry();
        let serving = registry.get(owner, kind, name);
        if serving.is_none_or(|plugin| plugin.owner() != owner) {
            self.stats.forget(project, kind, name);
        }
    }

    /// Same as [`change`](Self::change), but an error leaves the registry as it is.
    fn try_change(
        &self,
        edit: impl FnOnce(&mut Registry, &BTreeMap<String, String>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let _alone = self.change.lock();
        let mut next = Registry::clone(&self.registry.load());
        edit(&mut next, &self.config.roles)?;
        self.registry.store(Arc::new(next));
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// The current registry.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// The counter of changes to the registry and to the failed files.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Waits for plugins that are not loaded yet: those whose file names match `is_wanted`.
    pub async fn arrival(&self, is_wanted: impl Fn(&str) -> bool) {
        if self.pending.is_empty() {
            return;
        }
        let mut changes = self.changes();
        while self.pending.want(&is_wanted) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits for a project's plugins that are not loaded yet since the start: those that match.
    pub async fn own_arrival(&self, project: Option<ProjectId>, is_wanted: impl Fn(&Id) -> bool) {
        let Some(project) = project else { return };
        let mut changes = self.changes();
        while self.tenants.is_coming(project, &is_wanted) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Wakes the waiting tasks because a project's plugin is loaded, or will not be.
    pub fn own_arrived(&self, project: ProjectId, id: &Id) {
        if self.tenants.arrived(project, id) {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// The worker threads of a lane.
    pub fn pool_of(&self, lane: Lane) -> &Pool {
        match lane {
            Lane::Short(_) => &self.short.0,
            Lane::Long(_) => &self.long.0,
            Lane::Own(_) => &self.tenants.pool,
        }
    }

    /// The tasks' threads for a plugin of this owner.
    pub fn tasks_of(&self, owner: Option<ProjectId>) -> &Tasks {
        match owner {
            None => &self.tasks,
            Some(_) => &self.tenants.tasks,
        }
    }

    /// Waits for a page's slot; `None` when the engine shuts down.
    pub(crate) async fn page_slot(&self, lane: Lane) -> Option<Slot> {
        let shares = match lane {
            Lane::Short(_) => &self.short.1,
            Lane::Long(_) => &self.long.1,
            Lane::Own(_) => &self.tenants.pages,
        };
        // The command line's own pages are for no project.
        shares.acquire(lane.project().unwrap_or(ProjectId(0))).await
    }

    /// Waits for the slot of an extractor or hook that runs as a task; `None` when the engine shuts down.
    pub(crate) async fn interpreter_slot(
        &self,
        owner: Option<ProjectId>,
        caller: &Caller,
    ) -> Option<Slot> {
        match owner {
            // The command line's own calls are for no project.
            None => {
                let caller = project_of(caller).unwrap_or(ProjectId(0));
                self.interpreters.acquire(caller).await
            }
            Some(project) => self.tenants.interpreters.acquire(project).await,
        }
    }

    /// Waits for the slot of an actor or fetcher; `None` when the engine shuts down.
    async fn actor_slot(&self, owner: Option<ProjectId>) -> Option<Slot> {
        match owner {
            None => instance_slot(&self.actor_slots).await,
            Some(project) => self.tenants.actors.acquire(project).await,
        }
    }

    /// Wakes the waiting tasks because a file is loaded or refused.
    pub fn arrived(&self, file: &PluginFile) {
        self.pending.done(file);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Number of actor and fetcher calls that could begin without waiting.
    pub fn free_actor_slots(&self) -> usize {
        self.actor_slots.available_permits()
    }

    /// Checks an input against the plugin's schema, on a blocking thread. What that takes is spent on
    /// `account`.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidInput`](crate::ErrorCode::InvalidInput) names field and rule; [`PluginError::Limit`] if the check
    /// takes longer than a call of the plugin may.
    #[crate::boxed]
    pub async fn check_input(
        &self,
        plugin: &Arc<Plugin>,
        input: Arc<Value>,
        account: Option<HostWork>,
    ) -> Result<(), PluginError> {
        if plugin.input.is_none() {
            return Ok(());
        }
        let wall = plugin.limits.wall();
        let tasks = self.tasks_of(plugin.owner());
        let plugin = Arc::clone(plugin);
        let check = async {
            let slot = match plugin.owner() {
                None => None,
                Some(project) => self.tenants.checks.acquire(project).await,
            };
            tasks
                .blocking(move || {
                    // Held by the work itself: a check that nobody waits for goes on.
                    let _slot = slot;
                    measure_for(account.as_ref(), || match &plugin.input {
                        Some(schema) => crate::schema::check(schema, &input),
                        None => Ok(()),
                    })
                })
                .await
        };
        tokio::time::timeout(wall, check)
            .await
            .map_err(|_| PluginError::Limit(Limit::Wall(wall)))??
            .map_err(PluginError::invalid)
    }

    /// Runs an actor or fetcher once a slot is free.
    #[crate::boxed]
    pub async fn run(
        &self,
        (plugin, caller): (Arc<Plugin>, Caller),
        invocation: Invocation,
        host: Arc<dyn Host>,
    ) -> Result<CallOutput, PluginError> {
        plugin.admit(project_of(&caller))?;
        let owner = plugin.owner();
        let slot = self.actor_slot(owner).await;
        let slot = slot.ok_or_else(|| PluginError::Engine("shutting down".to_owned()))?;
        let runtime = Arc::clone(&self.runtime);
        let limits = plugin.limits;
        let task = self.tasks_of(owner).spawn(async move {
            let output = task::run(runtime, (plugin, caller), invocation, host, limits).await;
            // The slot is freed only now, when the guest's memory is released.
            drop(slot);
            output
        });
        task.await?
    }

    /// Runs an actor in the background. It takes no slot from calls that a client waits for: the
    /// caller limits how many there are.
    #[crate::boxed]
    pub async fn run_in_background(
        &self,
        (plugin, caller): (Arc<Plugin>, Caller),
        invocation: Invocation,
        host: Arc<dyn Host>,
        budget: RunBudget,
    ) -> Result<CallOutput, PluginError> {
        plugin.admit(project_of(&caller))?;
        let runtime = Arc::clone(&self.runtime);
        let limits = budget.limits(&plugin.limits);
        let owner = plugin.owner();
        let run = task::run(runtime, (plugin, caller), invocation, host, limits);
        self.tasks_of(owner).spawn(run).await?
    }
}

async fn instance_slot(slots: &Arc<Semaphore>) -> Option<Slot> {
    let permit = Arc::clone(slots).acquire_owned().await;
    permit.ok().map(Slot::of_instance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::CallOrigin;

    #[tokio::test]
    async fn a_project_does_not_take_all_slots_of_the_instances_tasks() {
        let config = EngineConfig {
            extractor_threads: 2,
            max_instances: 4,
            ..EngineConfig::default()
        };
        let inner = Inner::new(config).unwrap();
        let caller = |id| Some(Arc::new(CallOrigin::new(ProjectId(id))));
        let (greedy, other) = (caller(1), caller(2));
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(inner.interpreter_slot(None, &greedy).await);
        }
        let mut third = Box::pin(inner.interpreter_slot(None, &greedy));
        assert!(futures::poll!(&mut third).is_pending());
        for caller in [&other, &None] {
            let slot = inner.interpreter_slot(None, caller).await;
            assert!(slot.is_some());
        }
        held.pop();
        assert!(third.await.is_some());
    }
}

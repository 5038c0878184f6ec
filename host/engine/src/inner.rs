//! State shared by all clones of an [`Engine`](crate::Engine).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::coming::{Coming, PluginFile};
use crate::config::EngineConfig;
use crate::error::{Limit, LoadError, PluginError, StartError};
use crate::extract::{PageJob, RoleCall, RoleGroup, RoleResult, run_group};
use crate::folder_scan::Fingerprint;
use crate::host::Host;
use crate::inputs::{Inputs, NO_OPTIONS, Outputs, Plan, circle};
use crate::journal::{Caller, project_of};
use crate::kind::Kind;
use crate::load::{Grants, Loader};
use crate::meter::Meter;
use crate::page::Page;
use crate::plugin::{Code, Plugin, Source};
use crate::pool::Pool;
use crate::registry::{Id, Registry, Visible};
use crate::runtime::Runtime;
use crate::stats::AllStats;
use crate::task::{self, CallOutput, Invocation, RunBudget};
use crate::tasks::Tasks;
use crate::tenancy::{Slot, Tenants};

/// Most pages in progress per extractor thread, running or queued; further ones wait.
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
    pub coming: Coming,
    pool: Pool,
    registry: ArcSwap<Registry>,
    /// Held while a new registry is derived from the old one.
    change: Mutex<()>,
    /// Number of changes to the registry and to the failed files.
    changes: watch::Sender<u64>,
    pub stats: AllStats,
    page_slots: Arc<Semaphore>,
    interpreter_slots: Arc<Semaphore>,
    actor_slots: Arc<Semaphore>,
    /// Threads and slots of the projects' plugins.
    pub tenants: Tenants,
}

/// State of the plugin folder at the last scan.
#[derive(Default)]
pub(crate) struct FolderState {
    pub seen: BTreeMap<PathBuf, Fingerprint>,
    pub refused: BTreeMap<PathBuf, LoadError>,
}

impl Inner {
    /// Starts the threads.
    pub fn new(config: EngineConfig) -> Result<Self, StartError> {
        let threads = config.threads();
        let runtime = Runtime::new(&config).map_err(|e| StartError::Runtime(e.into()))?;
        let runtime = Arc::new(runtime);
        Ok(Self {
            pool: Pool::new(threads)?,
            tasks: Tasks::new(threads)?,
            loader: Loader::new(Arc::clone(&runtime), &config)?,
            runtime,
            registry: ArcSwap::default(),
            change: Mutex::new(()),
            changes: watch::Sender::new(0),
            stats: AllStats::default(),
            folder: Mutex::default(),
            coming: Coming::default(),
            page_slots: Arc::new(Semaphore::new(threads * PAGES_PER_THREAD)),
            interpreter_slots: Arc::new(Semaphore::new(threads * 2)),
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
        self.loader
            .load(&self.config, &self.stats, bytes, source, grants)
            .await
            .map_err(LoadError::cleaned)
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
    /// [`LoadError::Manifest`] if its needs and those of the others are a circle.
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
        if self.coming.is_empty() {
            return;
        }
        let mut changes = self.changes();
        while self.coming.want(&is_wanted) {
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

    /// The worker threads for a plugin of this owner.
    pub fn pool_of(&self, owner: Option<ProjectId>) -> &Pool {
        match owner {
            None => &self.pool,
            Some(_) => &self.tenants.pool,
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
    pub(crate) async fn page_slot(&self, owner: Option<ProjectId>) -> Option<Slot> {
        match owner {
            None => instance_slot(&self.page_slots).await,
            Some(project) => self.tenants.pages.acquire(project).await,
        }
    }

    /// Waits for the slot of an interpreter; `None` when the engine shuts down.
    pub(crate) async fn interpreter_slot(&self, owner: Option<ProjectId>) -> Option<Slot> {
        match owner {
            None => instance_slot(&self.interpreter_slots).await,
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
        self.coming.done(file);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Number of actor and fetcher calls that could begin without waiting.
    pub fn free_actor_slots(&self) -> usize {
        self.actor_slots.available_permits()
    }

    /// Checks an input against the plugin's schema, on a blocking thread.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidInput`](crate::ErrorCode::InvalidInput) names field and rule; [`PluginError::Limit`] if the check
    /// takes longer than a call of the plugin may.
    #[crate::boxed]
    pub async fn check_input(
        &self,
        plugin: &Arc<Plugin>,
        input: &Value,
    ) -> Result<(), PluginError> {
        if plugin.input.is_none() {
            return Ok(());
        }
        let wall = plugin.limits.wall();
        let tasks = self.tasks_of(plugin.owner());
        let (plugin, input) = (Arc::clone(plugin), input.clone());
        let check = tasks.blocking(move || match &plugin.input {
            Some(schema) => crate::schema::check(schema, &input),
            None => Ok(()),
        });
        tokio::time::timeout(wall, check)
            .await
            .map_err(|_| PluginError::Limit(Limit::Wall(wall)))??
            .map_err(PluginError::invalid)
    }

    /// Runs roles on a page; the answers are in the order of `calls`.
    #[crate::boxed]
    pub async fn extract(
        &self,
        caller: &Caller,
        page: &Arc<Page>,
        calls: Vec<RoleCall>,
    ) -> Vec<RoleResult> {
        let registry = self.registry();
        let visible = Visible::new(&registry, caller);
        let plan = Plan::of(visible, &calls);
        let outputs = self.outputs(page, visible, plan).await;
        let (mut answers, open) = Answers::known(calls, &outputs);
        answers.fill(self.run_calls(page, visible, open, &outputs).await);
        answers.finish()
    }

    /// Runs the roles that others need, each once, those that are needed first.
    pub(crate) async fn outputs(
        &self,
        page: &Arc<Page>,
        visible: Visible<'_>,
        plan: Plan,
    ) -> Outputs {
        let mut outputs = Outputs::default();
        for (role, error) in plan.broken {
            outputs.insert(role, Err(error));
        }
        for roles in plan.ranks {
            let results = self
                .run_calls(page, visible, without_options(&roles), &outputs)
                .await;
            outputs.extend(&roles, results);
        }
        outputs
    }

    /// Runs calls whose needed roles have run.
    async fn run_calls(
        &self,
        page: &Arc<Page>,
        visible: Visible<'_>,
        calls: Vec<(usize, RoleCall)>,
        outputs: &Outputs,
    ) -> Vec<(usize, RoleResult)> {
        let Groups {
            pooled,
            on_demand,
            mut results,
        } = Groups::of(visible, calls, outputs);
        // A plugin that may take longer than usual runs where those of projects do: a project's long
        // calls then delay its own, and not the short ones of all others.
        let usual = self.config.limits.extractor.default.cpu_ms;
        let (own, pooled): (Vec<_>, Vec<_>) = pooled.into_iter().partition(|group| {
            group.plugin.owner().is_some() || group.plugin.limits.cpu_ms > usual
        });
        let own = self.extract_pooled(visible.project(), page, own);
        let pooled = self.extract_pooled(None, page, pooled);
        let on_demand = async {
            let tasks = on_demand
                .into_iter()
                .map(|group| self.extract_on_demand(page, group));
            let results = futures::future::join_all(tasks).await;
            results.into_iter().flatten().collect::<Vec<_>>()
        };
        let (pooled, own, on_demand) = futures::future::join3(pooled, own, on_demand).await;
        results.extend(pooled);
        results.extend(own);
        results.extend(on_demand);
        results
    }

    /// Same as [`extract`](Self::extract), on the calling thread.
    pub fn extract_blocking(
        &self,
        caller: &Caller,
        page: &Arc<Page>,
        calls: Vec<RoleCall>,
    ) -> Vec<RoleResult> {
        let registry = self.registry();
        let visible = Visible::new(&registry, caller);
        let plan = Plan::of(visible, &calls);
        let mut outputs = Outputs::default();
        for (role, error) in plan.broken {
            outputs.insert(role, Err(error));
        }
        for roles in plan.ranks {
            let calls = without_options(&roles);
            let results = self.run_calls_blocking(page, visible, calls, &outputs);
            outputs.extend(&roles, results);
        }
        let (mut answers, open) = Answers::known(calls, &outputs);
        answers.fill(self.run_calls_blocking(page, visible, open, &outputs));
        answers.finish()
    }

    fn run_calls_blocking(
        &self,
        page: &Arc<Page>,
        visible: Visible<'_>,
        calls: Vec<(usize, RoleCall)>,
        outputs: &Outputs,
    ) -> Vec<(usize, RoleResult)> {
        let Groups {
            pooled,
            on_demand,
            mut results,
        } = Groups::of(visible, calls, outputs);
        for group in pooled {
            let limits = group.plugin.limits;
            let begin = || Arc::new(Meter::new(limits.cpu(), limits.wall()));
            results.extend(run_group(&self.runtime, &group, page, begin));
        }
        for group in on_demand {
            let work = self.extract_on_demand(page, group);
            results.extend(self.tasks.handle().block_on(work));
        }
        results
    }

    async fn extract_pooled(
        &self,
        owner: Option<ProjectId>,
        page: &Arc<Page>,
        groups: Vec<RoleGroup>,
    ) -> Vec<(usize, RoleResult)> {
        if groups.is_empty() {
            return Vec::new();
        }
        let Some(_slot) = self.page_slot(owner).await else {
            return Vec::new();
        };
        let (job, results) = PageJob::new(Arc::clone(&self.runtime), Arc::clone(page), groups);
        let guard = CancelOnDrop(Arc::clone(&job));
        self.pool_of(owner).spawn(move |workers| job.work(workers));
        let results = results.await.unwrap_or_default();
        drop(guard);
        results
    }

    async fn extract_on_demand(
        &self,
        page: &Arc<Page>,
        group: RoleGroup,
    ) -> Vec<(usize, RoleResult)> {
        let places: Vec<usize> = group.calls.iter().map(|(place, _)| *place).collect();
        let owner = group.plugin.owner();
        let Some(slot) = self.interpreter_slot(owner).await else {
            return Vec::new();
        };
        let runtime = Arc::clone(&self.runtime);
        let page = Arc::clone(page);
        let task = self.tasks_of(owner).spawn(async move {
            let results = task::extract(runtime, group, page).await;
            drop(slot);
            results
        });
        task.await.unwrap_or_else(|error| {
            places
                .into_iter()
                .map(|place| (place, Err(error.clone())))
                .collect()
        })
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

/// Calls of roles without options, by their index.
fn without_options(roles: &[String]) -> Vec<(usize, RoleCall)> {
    let call = |role: &String| RoleCall {
        role: role.clone(),
        options: NO_OPTIONS.to_owned(),
    };
    roles.iter().map(call).enumerate().collect()
}

/// Calls by the component that serves them.
#[derive(Default)]
struct Groups {
    pooled: Vec<RoleGroup>,
    on_demand: Vec<RoleGroup>,
    /// Of calls that no plugin serves.
    results: Vec<(usize, RoleResult)>,
}

impl Groups {
    fn of(visible: Visible<'_>, calls: Vec<(usize, RoleCall)>, outputs: &Outputs) -> Self {
        let mut results = Vec::new();
        let mut groups: Vec<RoleGroup> = Vec::new();
        for (place, call) in calls {
            let Some((plugin, role)) = visible.role(&call.role) else {
                let error = PluginError::NotFound {
                    kind: "extractor",
                    name: call.role,
                };
                results.push((place, Err(error)));
                continue;
            };
            let call = RoleCall {
                role: role.to_owned(),
                options: call.options,
            };
            match groups
                .iter_mut()
                .find(|group| Arc::ptr_eq(&group.plugin, plugin))
            {
                Some(group) => group.calls.push((place, call)),
                None => match plugin.admit(visible.project()) {
                    Ok(()) => groups.push(RoleGroup {
                        plugin: Arc::clone(plugin),
                        caller: visible.caller().clone(),
                        calls: vec![(place, call)],
                        inputs: Inputs::of(plugin, outputs),
                    }),
                    Err(refused) => results.push((place, Err(refused))),
                },
            }
        }
        let (pooled, on_demand) = groups
            .into_iter()
            .partition(|group| matches!(&*group.plugin.code, Code::Extractor(_)));
        Self {
            pooled,
            on_demand,
            results,
        }
    }
}

/// Answers by the index of their calls.
struct Answers(Vec<Option<RoleResult>>);

impl Answers {
    fn new(calls: usize) -> Self {
        Self((0..calls).map(|_| None).collect())
    }

    /// The answers of calls whose role has run already, and the other calls by their index.
    fn known(calls: Vec<RoleCall>, outputs: &Outputs) -> (Self, Vec<(usize, RoleCall)>) {
        let mut answers = Self::new(calls.len());
        let mut open = Vec::with_capacity(calls.len());
        for (place, call) in calls.into_iter().enumerate() {
            let is_plain = call.options.is_empty() || call.options == NO_OPTIONS;
            match outputs.get(&call.role).filter(|_| is_plain) {
                Some(output) => {
                    let output = output.as_ref().map(|json| json.as_ref().to_owned());
                    answers.fill([(place, output.map_err(Clone::clone))]);
                }
                None => open.push((place, call)),
            }
        }
        (answers, open)
    }

    fn fill(&mut self, results: impl IntoIterator<Item = (usize, RoleResult)>) {
        for (place, result) in results {
            if let Some(slot) = self.0.get_mut(place) {
                *slot = Some(result);
            }
        }
    }

    fn finish(self) -> Vec<RoleResult> {
        let missing = || Err(PluginError::Engine("the call was lost".to_owned()));
        self.0
            .into_iter()
            .map(|answer| answer.unwrap_or_else(missing))
            .collect()
    }
}

struct CancelOnDrop(Arc<PageJob>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

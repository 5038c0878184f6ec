//! The public interface: load, list, call. `Engine` is this crate's; wasmtime's is always written
//! `wasmtime::Engine`.

mod calls;
mod unloaded;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use tokio::sync::watch;

use crate::config::EngineConfig;
use crate::error::{LoadError, StartError};
use crate::figures::VersionFigures;
use crate::folder::{self, LoadReport};
use crate::host::HookHosts;
use crate::host::job::JobContext;
use crate::host::work::{HostWork, measure_for};
use crate::inner::Inner;
use crate::inputs::Plan;
use crate::inspect::Inspection;
use crate::journal::{CallOrigin, Caller, Journal, RunRef, project_of};
use crate::kind::Kind;
use crate::load::{Grants, file_name};
use crate::plugin::{PluginInfo, Source};
use crate::registry::{Rival, Visible};
use crate::tenancy::ProjectPolicy;
use crate::verdict::{self, Verdict};

/// Loads and runs plugins. Cheap to clone; dropping the last clone stops the threads.
///
/// A handle sees the plugins of the instance, and one [`of_project`](Self::of_project) also that
/// project's own, which come first.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
    caller: Caller,
    /// What extractions are spent on.
    account: Option<HostWork>,
}

/// Identifies the plugin that serves a role, for cache keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PluginRef {
    /// The project that it, or a role that it needs, belongs to; `None`: the instance.
    pub project: Option<ProjectId>,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// Digests of the plugins whose outputs it needs, in ascending order.
    pub inputs: Vec<String>,
}

impl PluginRef {
    /// Bytes that this takes in memory.
    pub fn held_bytes(&self) -> usize {
        let own = [&self.name, &self.version, &self.digest];
        let texts = own.into_iter().chain(&self.inputs);
        size_of::<Self>()
            + texts
                .map(|text| size_of::<String>() + text.len())
                .sum::<usize>()
    }
}

impl Engine {
    /// Starts the engine's threads. No plugin is loaded yet.
    ///
    /// # Errors
    /// [`StartError`] if memory cannot be reserved or a thread cannot be started.
    pub fn new(config: EngineConfig) -> Result<Self, StartError> {
        Ok(Self {
            inner: Arc::new(Inner::new(config)?),
            caller: None,
            account: None,
        })
    }

    /// A handle that sees this project's own plugins, too. Its calls are noted with the request that
    /// the running task answers ([`within_request`](crate::within_request)).
    #[must_use]
    pub fn of_project(&self, project: ProjectId) -> Self {
        self.with_origin(CallOrigin::new(project))
    }

    /// Same as [`of_project`](Self::of_project) for calls of a run.
    #[must_use]
    pub fn of_run(&self, project: ProjectId, run: RunRef) -> Self {
        self.with_origin(CallOrigin {
            run: Some(run),
            ..CallOrigin::new(project)
        })
    }

    /// Same as [`of_project`](Self::of_project) for what a plugin asks for during its call: noted with the
    /// request and the run of that call.
    #[must_use]
    pub fn of_call(&self, project: ProjectId, context: &JobContext) -> Self {
        self.with_origin(CallOrigin::new(project).within(context))
    }

    fn with_origin(&self, origin: CallOrigin) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            caller: Some(Arc::new(origin)),
            account: self.account.clone(),
        }
    }

    /// The same handle; what its extractions take is spent on this.
    #[must_use]
    pub fn spending(&self, account: &HostWork) -> Self {
        Self {
            account: Some(account.clone()),
            ..self.clone()
        }
    }

    /// The project whose own plugins this handle sees.
    fn project(&self) -> Option<ProjectId> {
        project_of(&self.caller)
    }

    /// Bytes of guests' memory that are kept for the next calls of extractors. At most 4 MiB for
    /// each of [`EngineConfig::max_instances`].
    pub fn spare_bytes(&self) -> usize {
        self.inner.runtime.spare_bytes()
    }

    /// Runs CPU-bound work, and counts its time as that of this handle's extractions.
    pub fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        measure_for(self.account.as_ref(), work)
    }

    /// Passes on what happens in calls from now on. False if there is a journal already.
    pub fn set_journal(&self, journal: Arc<dyn Journal>) -> bool {
        self.inner.runtime.journal.set(journal).is_ok()
    }

    /// Gives hooks their values from now on. False if somebody does already.
    pub fn set_hook_hosts(&self, hosts: Arc<dyn HookHosts>) -> bool {
        self.inner.runtime.hook_hosts.set(hosts).is_ok()
    }

    /// Reads a component without compiling or running it. CPU-bound: about 10 ms for a large
    /// component, up to a second for a hostile one, so call it from a worker thread.
    ///
    /// # Errors
    /// [`LoadError`]: not a component, no valid manifest, or over a static limit.
    pub fn inspect(&self, bytes: &[u8]) -> Result<Inspection, LoadError> {
        let inspected = self.inner.loader.inspect(bytes);
        inspected.map_err(LoadError::cleaned)
    }

    /// Same as [`inspect`](Self::inspect), on a thread of low priority.
    ///
    /// # Errors
    /// Same as [`inspect`](Self::inspect).
    #[crate::boxed]
    pub async fn inspect_aside(&self, bytes: bytes::Bytes) -> Result<Inspection, LoadError> {
        let engine = self.clone();
        let inspect = move || engine.inspect(&bytes);
        let inspected = self.inner.tenants.tasks.blocking(inspect).await;
        inspected.map_err(|error| LoadError::Unreadable(error.to_string()))?
    }

    /// What loading would say of an inspected component that gets every permission that it
    /// requests, as far as that is known without compiling and running it.
    pub fn verdict(&self, found: &Inspection) -> Verdict {
        verdict::verdict(&self.inner.config, found)
    }

    /// Loads a component and puts it in service, replacing one of its kind and name. An error
    /// changes nothing.
    ///
    /// # Errors
    /// [`LoadError`], which names the failed step.
    pub async fn load_bytes(
        &self,
        bytes: impl Into<Arc<[u8]>>,
        source: Source,
        grants: Grants,
    ) -> Result<PluginInfo, LoadError> {
        let inner = Arc::clone(&self.inner);
        let bytes = bytes.into();
        let owner = match source {
            Source::Project(project) => Some(project),
            Source::Embedded | Source::Folder(_) | Source::Upload => None,
        };
        let load = self.inner.tasks_of(owner).spawn(async move {
            let plugin = inner.load(bytes, source, grants).await?;
            let info = plugin.info(None);
            if let Err(refused) = inner.serve(plugin) {
                inner.forget_unserved(owner, info.kind, &info.name);
                return Err(refused);
            }
            if info.source == Source::Upload {
                folder::warn_of_upload(&inner, info.kind, &info.name);
            }
            Ok(info)
        });
        load.await
            .map_err(|error| LoadError::Unreadable(error.to_string()))?
    }

    /// Loads every plugin inside the program and of the folder; one that fails does not prevent
    /// the others from serving. If there is neither, the report is empty.
    #[crate::boxed]
    pub async fn load_dir(&self) -> LoadReport {
        folder::load(&self.inner).await
    }

    /// Loads the plugins inside the program and of the folder in the background, and then
    /// watches the folder. Calls wait for the plugins
    /// that they need, which are loaded first. A refused file is logged.
    pub fn load_dir_behind(&self) {
        folder::load_behind(&self.inner);
    }

    /// Waits for the plugin of this name if its file is not loaded yet.
    #[crate::boxed]
    pub async fn await_plugin(&self, kind: Kind, name: &str) {
        let is_it = |(other, known): &(Kind, String)| *other == kind && known == name;
        self.inner.own_arrival(self.project(), is_it).await;
        let file = file_name(kind, name);
        self.inner.arrival(|coming| coming == file).await;
    }

    /// Waits for the plugin of a role if its file is not loaded yet. Where the one that the configuration names
    /// does not serve it, any other may.
    #[crate::boxed]
    pub async fn await_role(&self, role: &str) {
        let is_extractor = |(kind, _): &(Kind, String)| *kind == Kind::Extractor;
        self.inner.own_arrival(self.project(), is_extractor).await;
        let Some(named) = self.inner.config.roles.get(role) else {
            return self.await_plugin(Kind::Extractor, role).await;
        };
        self.await_plugin(Kind::Extractor, named).await;
        let serving = || {
            let registry = self.inner.registry();
            let (plugin, _) = registry.role(self.project(), role)?;
            Some(plugin.name().to_owned())
        };
        if serving().as_ref() == Some(named) {
            return;
        }
        self.await_plugin(Kind::Extractor, role).await;
        if serving().is_none() {
            let prefix = Kind::Extractor.file_prefix();
            self.inner
                .arrival(|coming| coming.starts_with(prefix))
                .await;
        }
    }

    /// Waits for the plugins of roles, and of those that they need.
    async fn await_roles(&self, mut open: Vec<String>) {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        while let Some(role) = open.pop() {
            if !seen.insert(role.clone()) {
                continue;
            }
            self.await_role(&role).await;
            if let Some((plugin, _)) = self.inner.registry().role(self.project(), &role) {
                open.extend(plugin.manifest.needs.iter().cloned());
            }
        }
    }

    /// Waits for fetchers whose files are not loaded yet.
    #[crate::boxed]
    pub async fn await_fetchers(&self) {
        let is_fetcher = |(kind, _): &(Kind, String)| *kind == Kind::Fetcher;
        self.inner.own_arrival(self.project(), is_fetcher).await;
        let prefix = Kind::Fetcher.file_prefix();
        self.inner
            .arrival(|coming| coming.starts_with(prefix))
            .await;
    }

    /// Waits until all plugins inside the program and of the folder are loaded.
    #[crate::boxed]
    pub async fn await_all(&self) {
        self.inner.own_arrival(self.project(), |_| true).await;
        self.inner.arrival(|_| true).await;
    }

    /// Watches the folder until the engine is dropped: changes take effect within two
    /// seconds; running calls finish with the plugin that they began with.
    pub fn watch(&self) {
        folder::watch(&self.inner);
    }

    /// Removes an upload; the plugin that it overrode, if any, serves again. False if there is no
    /// such upload.
    pub fn remove(&self, kind: Kind, name: &str) -> bool {
        let id = (kind, name.to_owned());
        self.inner
            .change(|registry, roles| registry.remove_upload(&id, roles))
    }

    /// Records that a project's plugin is going to be loaded: calls of this project that may need
    /// it wait until it is loaded, or [given up](Self::give_up_for_project).
    pub fn expect_for_project(&self, project: ProjectId, kind: Kind, name: &str) {
        self.inner.tenants.expect(project, (kind, name.to_owned()));
    }

    /// Ends the waiting for a project's plugin that will not be loaded.
    pub fn give_up_for_project(&self, project: ProjectId, kind: Kind, name: &str) {
        self.inner.own_arrived(project, &(kind, name.to_owned()));
    }

    /// Loads a component for one project, within a policy, and puts it in service there. An error
    /// changes nothing.
    ///
    /// # Errors
    /// [`LoadError`], which names the failed step.
    pub async fn load_for_project(
        &self,
        bytes: impl Into<Arc<[u8]>>,
        project: ProjectId,
        policy: ProjectPolicy,
    ) -> Result<PluginInfo, LoadError> {
        let grants = Grants::Project(Box::new(policy));
        let loaded = self
            .load_bytes(bytes, Source::Project(project), grants)
            .await;
        if let Ok(plugin) = &loaded {
            self.give_up_for_project(project, plugin.kind, &plugin.name);
        }
        loaded
    }

    /// Removes a project's own plugin, also one that could not be loaded; the instance's of that name, if any,
    /// serves the project again. False if there is no such plugin.
    pub fn remove_for_project(&self, project: ProjectId, kind: Kind, name: &str) -> bool {
        let id = (kind, name.to_owned());
        self.inner.own_arrived(project, &id);
        let removed = self
            .inner
            .change(|registry, _| registry.remove_own(project, &id));
        self.inner.stats.forget(project, kind, name);
        removed
    }

    /// Removes a project's compiled code from the disk, once it has no plugins.
    pub fn forget_code_of_project(&self, project: ProjectId) {
        self.inner.loader.forget_code(project);
    }

    /// The plugins of the handle's project alone, by kind and name.
    pub fn own_plugins(&self) -> Vec<PluginInfo> {
        let own = |project| self.inner.registry().own_infos(project);
        self.project().map(own).unwrap_or_default()
    }

    /// Every plugin in service, by kind and name.
    pub fn plugins(&self) -> Vec<PluginInfo> {
        self.inner.registry().infos(self.project())
    }

    /// Files whose current content failed to load, and why: paths in the folder, and bare file
    /// names for plugins inside the program.
    pub fn refused(&self) -> Vec<(PathBuf, LoadError)> {
        let folder = self.inner.folder.lock();
        folder
            .refused
            .iter()
            .map(|(path, error)| (path.clone(), error.clone()))
            .collect()
    }

    /// A counter that increases whenever the plugins in service change or a file fails to load.
    /// Documents and lists derived from the plugins are then out of date.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes()
    }

    /// The plugin with this kind and name.
    pub fn plugin(&self, kind: Kind, name: &str) -> Option<PluginInfo> {
        let registry = self.inner.registry();
        registry
            .get(self.project(), kind, name)
            .map(|plugin| plugin.info(None))
    }

    /// What the last versions of a plugin used on this node, the one that was loaded last first: of the
    /// handle's project's own plugin, or, without a project, of the instance's.
    pub fn figures(&self, kind: Kind, name: &str) -> Vec<VersionFigures> {
        let registry = self.inner.registry();
        let serving = registry.get(self.project(), kind, name);
        let serving = serving.filter(|plugin| plugin.owner() == self.project());
        let figures = self.inner.stats.figures(self.project(), kind, name);
        figures
            .iter()
            .map(|version| {
                let serves = serving.is_some_and(|plugin| plugin.digest == version.digest);
                version.shown(serves)
            })
            .filter(|version| version.serving || version.calls + version.refused > 0)
            .collect()
    }

    /// The actor with this name.
    pub fn actor(&self, name: &str) -> Option<PluginInfo> {
        self.plugin(Kind::Actor, name)
    }

    /// Fetchers that list a domain of the fetcher of this name, too: those of the same project if it is the project's
    /// own, else those of the instance.
    pub fn rivals(&self, fetcher: &str) -> Vec<Rival> {
        self.inner.registry().rivals(self.project(), fetcher)
    }

    /// The fetcher that serves this host name.
    pub fn fetcher_for(&self, domain: &str) -> Option<PluginInfo> {
        let registry = self.inner.registry();
        registry
            .fetcher(self.project(), domain)
            .map(|plugin| plugin.info(None))
    }

    /// The plugin that serves a role.
    pub fn role(&self, role: &str) -> Option<PluginRef> {
        let registry = self.inner.registry();
        let visible = Visible::new(&registry, &self.caller);
        let (plugin, _) = visible.role(role)?;
        let (mut project, mut inputs) = (plugin.owner(), Vec::new());
        if !plugin.manifest.needs.is_empty() {
            let plan = Plan::of_plugins(visible, [plugin]);
            let needed = plan.ranks.iter().flatten();
            for (needed, _) in needed.filter_map(|role| visible.role(role)) {
                project = project.or(needed.owner());
                inputs.push(needed.digest.to_string());
            }
            inputs.sort_unstable();
        }
        Some(PluginRef {
            project,
            inputs,
            kind: plugin.kind(),
            name: plugin.name().to_owned(),
            version: plugin.manifest.version.clone(),
            digest: plugin.digest.to_string(),
        })
    }

    /// The folder that plugins are loaded from.
    pub fn plugin_dir(&self) -> Option<&Path> {
        self.inner.config.plugin_dir.as_deref()
    }

    /// Number of actor and fetcher calls that could start without waiting.
    pub fn free_actor_slots(&self) -> usize {
        self.inner.free_actor_slots()
    }

    /// Waits until no guest runs; returns how often the clock that interrupts guests has ticked so
    /// far. The clock then stands still until the next guest runs. Blocks the calling thread; for
    /// tests.
    pub fn wait_until_idle(&self) -> u64 {
        self.inner.runtime.ticker.wait_until_parked()
    }
}

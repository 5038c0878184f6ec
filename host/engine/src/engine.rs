//! The engine's front: load, call, list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::config::EngineConfig;
use crate::error::{LoadError, PluginError};
use crate::extract::{Group, PageJob, RoleCall, RoleResult, run_group};
use crate::folder::Fingerprint;
use crate::host::Host;
use crate::inspect::Inspection;
use crate::load::{Grants, Loader};
use crate::manifest::Kind;
use crate::meter::Meter;
use crate::page::Page;
use crate::plugin::{AllStats, Code, Plugin, PluginInfo, Source};
use crate::pool::Pool;
use crate::registry::Registry;
use crate::runtime::Runtime;
use crate::task::{self, Output, Work};

/// Pages under way per extractor thread, running or queued; more wait for their turn.
const PAGES_PER_THREAD: usize = 8;

/// Loads plugins and runs them. Cheap to clone; the last clone stops the threads.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub config: EngineConfig,
    runtime: Arc<Runtime>,
    pool: Pool,
    pub tasks: Tasks,
    pub loader: Loader,
    registry: ArcSwap<Registry>,
    /// Held while a new registry is made from the old one.
    change: Mutex<()>,
    /// Counts changes of the registry and of what was refused.
    changes: watch::Sender<u64>,
    pub stats: AllStats,
    /// What the folder scan saw last, and whom it refused.
    pub folder: Mutex<Folder>,
    page_slots: Semaphore,
    interpreter_slots: Arc<Semaphore>,
    actor_slots: Arc<Semaphore>,
}

#[derive(Default)]
pub(crate) struct Folder {
    pub seen: BTreeMap<PathBuf, Fingerprint>,
    pub refused: BTreeMap<PathBuf, LoadError>,
}

/// The engine could not start.
#[derive(Debug, thiserror::Error)]
#[error("plugin engine: {0}")]
pub struct StartError(String);

/// What became of the files of the plugin folder.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Plugins that serve now.
    pub loaded: Vec<PluginInfo>,
    /// Files refused, and why.
    pub refused: Vec<(PathBuf, LoadError)>,
}

/// Which plugin serves a role, for cache keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginRef {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
}

impl Engine {
    /// Starts the engine's threads. No plugin is loaded yet.
    pub fn new(config: EngineConfig) -> Result<Self, StartError> {
        let start = |e: &dyn std::fmt::Display| StartError(e.to_string());
        let threads = config.threads();
        let runtime = Arc::new(Runtime::new(&config).map_err(|e| start(&format!("{e:#}")))?);
        let inner = Inner {
            pool: Pool::new(threads).map_err(|e| start(&e))?,
            tasks: Tasks::new(threads).map_err(|e| start(&e))?,
            loader: Loader::new(Arc::clone(&runtime), &config),
            runtime,
            registry: ArcSwap::default(),
            change: Mutex::new(()),
            changes: watch::Sender::new(0),
            stats: AllStats::default(),
            folder: Mutex::default(),
            page_slots: Semaphore::new(threads * PAGES_PER_THREAD),
            interpreter_slots: Arc::new(Semaphore::new(threads * 2)),
            actor_slots: Arc::new(Semaphore::new(config.max_actors.max(1))),
            config,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Reads a component without compiling or running it.
    pub fn inspect(&self, bytes: &[u8]) -> Result<Inspection, LoadError> {
        self.inner.loader.inspect(bytes)
    }

    /// Loads a component and lets it serve, in place of one of its kind and name. An
    /// error leaves everything as it was.
    pub async fn load_bytes(
        &self,
        bytes: impl Into<Arc<[u8]>>,
        source: Source,
        grants: Grants,
    ) -> Result<PluginInfo, LoadError> {
        let inner = Arc::clone(&self.inner);
        let bytes = bytes.into();
        let load = self.inner.tasks.spawn(async move {
            let plugin = inner.load(bytes, source, grants).await?;
            let info = plugin.info(None);
            inner.change(|registry, roles| registry.insert(plugin, roles));
            Ok(info)
        });
        load.await
            .map_err(|error| LoadError::Unreadable(error.to_string()))?
    }

    /// Removes an upload; the folder's plugin of that name, if there is one, serves again.
    /// False if there is no such upload.
    pub fn remove(&self, kind: Kind, name: &str) -> bool {
        let id = (kind, name.to_owned());
        self.inner
            .change(|registry, roles| registry.remove_upload(&id, roles))
    }

    /// Every plugin that serves, by kind and name.
    pub fn plugins(&self) -> Vec<PluginInfo> {
        self.inner.registry.load().infos()
    }

    /// Files of the folder that are not loaded as they stand, and why.
    pub fn refused(&self) -> Vec<(PathBuf, LoadError)> {
        let folder = self.inner.folder.lock();
        folder
            .refused
            .iter()
            .map(|(path, error)| (path.clone(), error.clone()))
            .collect()
    }

    /// Counts up whenever the plugins that serve change, or a file is refused: what is
    /// made of their list (documents, directories) is then out of date.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// One plugin.
    pub fn plugin(&self, kind: Kind, name: &str) -> Option<PluginInfo> {
        self.inner
            .registry
            .load()
            .get(kind, name)
            .map(|plugin| plugin.info(None))
    }

    /// The actor of this name.
    pub fn actor(&self, name: &str) -> Option<PluginInfo> {
        self.plugin(Kind::Actor, name)
    }

    /// The fetcher that serves this host name.
    pub fn fetcher_for(&self, domain: &str) -> Option<PluginInfo> {
        self.inner
            .registry
            .load()
            .fetcher(domain)
            .map(|plugin| plugin.info(None))
    }

    /// Who serves a role.
    pub fn role(&self, role: &str) -> Option<PluginRef> {
        let registry = self.inner.registry.load();
        let (plugin, _) = registry.role(role)?;
        Some(PluginRef {
            kind: plugin.kind(),
            name: plugin.name().to_owned(),
            version: plugin.manifest.version.clone(),
            digest: plugin.digest.to_string(),
        })
    }

    /// Runs roles on a page; answers in the order of `calls`, each JSON text. Every
    /// component gets one fresh instance for the page and all of its roles. Dropping the
    /// future interrupts what still runs.
    pub async fn extract(&self, page: &Arc<Page>, calls: Vec<RoleCall>) -> Vec<RoleResult> {
        let mut answers = Answers::new(calls.len());
        let (pooled, on_demand) = self.inner.group(calls, &mut answers);
        let pooled = async {
            if pooled.is_empty() {
                return Vec::new();
            }
            let Ok(_slot) = self.inner.page_slots.acquire().await else {
                return Vec::new();
            };
            let (job, results) =
                PageJob::new(Arc::clone(&self.inner.runtime), Arc::clone(page), pooled);
            let guard = CancelOnDrop(Arc::clone(&job));
            self.inner.pool.spawn(move |workers| job.work(workers));
            let results = results.await.unwrap_or_default();
            drop(guard);
            results
        };
        let on_demand = async {
            let tasks = on_demand
                .into_iter()
                .map(|group| self.inner.extract_on_demand(page, group));
            futures::future::join_all(tasks)
                .await
                .into_iter()
                .flatten()
                .collect()
        };
        let (pooled, on_demand): (_, Vec<_>) = futures::future::join(pooled, on_demand).await;
        answers.fill(pooled);
        answers.fill(on_demand);
        answers.finish()
    }

    /// The same on the calling thread, for benchmarks and tools. Not from within an
    /// asynchronous task.
    pub fn extract_blocking(&self, page: &Arc<Page>, calls: Vec<RoleCall>) -> Vec<RoleResult> {
        let mut answers = Answers::new(calls.len());
        let (pooled, on_demand) = self.inner.group(calls, &mut answers);
        for group in pooled {
            let limits = group.plugin.limits;
            let begin = || Arc::new(Meter::new(limits.cpu(), limits.wall()));
            let runtime = &self.inner.runtime;
            answers.fill(run_group(runtime, &group.plugin, page, &group.calls, begin));
        }
        for group in on_demand {
            let results = self
                .inner
                .tasks
                .handle()
                .block_on(self.inner.extract_on_demand(page, group));
            answers.fill(results);
        }
        answers.finish()
    }

    /// Runs an actor. The input is checked against its schema first; a violation is
    /// [`PluginError::InvalidInput`] and names the field. Dropping the future drops the
    /// guest.
    pub async fn run_actor(
        &self,
        name: &str,
        input: &serde_json::Value,
        host: Arc<dyn Host>,
    ) -> Result<Output, PluginError> {
        let plugin = self.inner.registry.load().get(Kind::Actor, name).cloned();
        let plugin = plugin.ok_or_else(|| PluginError::NotFound {
            kind: "actor",
            name: name.to_owned(),
        })?;
        check_input(&plugin, input)?;
        self.inner
            .run(plugin, Work::Run(input.to_string()), host)
            .await
    }

    /// Runs the fetcher of a domain; `path` is what follows the domain, without a leading
    /// slash, `params` a JSON object.
    pub async fn run_fetcher(
        &self,
        domain: &str,
        path: &str,
        params: &serde_json::Value,
        host: Arc<dyn Host>,
    ) -> Result<Output, PluginError> {
        let plugin = self.inner.registry.load().fetcher(domain).cloned();
        let plugin = plugin.ok_or_else(|| PluginError::NotFound {
            kind: "fetcher",
            name: domain.to_owned(),
        })?;
        check_input(&plugin, params)?;
        let work = Work::Fetch(domain.to_owned(), path.to_owned(), params.to_string());
        self.inner.run(plugin, work, host).await
    }
}

impl Engine {
    /// Checks an input against a plugin's schema, as every call does: for callers that have
    /// to know before they begin.
    ///
    /// # Errors
    /// [`PluginError::InvalidInput`], which names field and rule; [`PluginError::NotFound`].
    pub fn check_input(
        &self,
        kind: Kind,
        name: &str,
        input: &serde_json::Value,
    ) -> Result<(), PluginError> {
        let plugin = self.inner.registry.load().get(kind, name).cloned();
        let plugin = plugin.ok_or_else(|| PluginError::NotFound {
            kind: kind.as_str(),
            name: name.to_owned(),
        })?;
        check_input(&plugin, input)
    }
}

fn check_input(plugin: &Plugin, input: &serde_json::Value) -> Result<(), PluginError> {
    let Some(schema) = &plugin.input else {
        return Ok(());
    };
    crate::schema::check(schema, input).map_err(PluginError::InvalidInput)
}

impl Inner {
    /// Makes a plugin of these bytes; nothing serves differently yet.
    pub async fn load(
        &self,
        bytes: Arc<[u8]>,
        source: Source,
        grants: Grants,
    ) -> Result<Arc<Plugin>, LoadError> {
        self.loader
            .load(&self.config, &self.stats, bytes, source, grants)
            .await
    }

    /// Replaces the registry by a changed copy.
    pub fn change<T>(&self, edit: impl FnOnce(&mut Registry, &BTreeMap<String, String>) -> T) -> T {
        let _alone = self.change.lock();
        let mut next = Registry::clone(&self.registry.load());
        let result = edit(&mut next, &self.config.roles);
        self.registry.store(Arc::new(next));
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// The registry of this moment.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Sorts calls by the component that serves them: pooled ones, and the others.
    fn group(&self, calls: Vec<RoleCall>, answers: &mut Answers) -> (Vec<Group>, Vec<Group>) {
        let registry = self.registry.load();
        let mut groups: Vec<Group> = Vec::new();
        for (place, call) in calls.into_iter().enumerate() {
            let Some((plugin, role)) = registry.role(&call.role) else {
                let error = PluginError::NotFound {
                    kind: "extractor",
                    name: call.role,
                };
                answers.fill([(place, Err(error))]);
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
                None => groups.push(Group {
                    plugin: Arc::clone(plugin),
                    calls: vec![(place, call)],
                }),
            }
        }
        groups
            .into_iter()
            .partition(|group| matches!(&*group.plugin.code, Code::Extractor(_)))
    }

    async fn extract_on_demand(&self, page: &Arc<Page>, group: Group) -> Vec<(usize, RoleResult)> {
        let places: Vec<usize> = group.calls.iter().map(|(place, _)| *place).collect();
        let Ok(slot) = Arc::clone(&self.interpreter_slots).acquire_owned().await else {
            return Vec::new();
        };
        let engine = self.runtime.on_demand.clone();
        let page = Arc::clone(page);
        let task = self.tasks.spawn(async move {
            let results = task::extract(engine, group.plugin, page, group.calls).await;
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

    async fn run(
        &self,
        plugin: Arc<Plugin>,
        work: Work,
        host: Arc<dyn Host>,
    ) -> Result<Output, PluginError> {
        let slot = Arc::clone(&self.actor_slots)
            .acquire_owned()
            .await
            .map_err(|_| PluginError::Engine("shutting down".to_owned()))?;
        let engine = self.runtime.on_demand.clone();
        let task = self.tasks.spawn(async move {
            let output = task::run(engine, plugin, work, host).await;
            // Only now, when the guest's memory is free again, may another begin.
            drop(slot);
            output
        });
        task.await?
    }

    /// Calls that could begin at once: actors and fetchers.
    pub fn free_actor_slots(&self) -> usize {
        self.actor_slots.available_permits()
    }
}

impl Engine {
    /// Actor and fetcher calls that could begin without waiting.
    pub fn free_actor_slots(&self) -> usize {
        self.inner.free_actor_slots()
    }

    /// The folder that plugins are loaded from.
    pub fn plugin_dir(&self) -> Option<&Path> {
        self.inner.config.plugin_dir.as_deref()
    }
}

/// Answers in the order of their calls.
struct Answers(Vec<Option<RoleResult>>);

impl Answers {
    fn new(calls: usize) -> Self {
        Self((0..calls).map(|_| None).collect())
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

/// Threads of their own for guests that wait, so that a busy one delays other guests and
/// not the service's requests.
pub(crate) struct Tasks(Option<tokio::runtime::Runtime>, tokio::runtime::Handle);

impl Tasks {
    fn new(threads: usize) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("plugin-task")
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self(Some(runtime), handle))
    }

    pub fn handle(&self) -> &tokio::runtime::Handle {
        &self.1
    }

    /// Runs a future there; dropping the returned one ends it.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Spawned<T> {
        Spawned(self.1.spawn(future))
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        // Waiting for it is not allowed on asynchronous threads, and not needed.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A task that ends when this is dropped.
pub(crate) struct Spawned<T>(JoinHandle<T>);

impl<T> Future for Spawned<T> {
    type Output = Result<T, PluginError>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(cx).map_err(|error| {
            PluginError::Engine(
                if error.is_panic() {
                    "a task panicked"
                } else {
                    "shutting down"
                }
                .to_owned(),
            )
        })
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

//! The engine's front: load, list, call. `Engine` is this crate's; wasmtime's own is always
//! written `wasmtime::Engine`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use crate::config::EngineConfig;
use crate::error::{BundleError, LoadError, PluginError, StartError};
use crate::extract::{RoleCall, RoleResult};
use crate::folder::{self, LoadReport};
use crate::host::Host;
use crate::inner::Inner;
use crate::inspect::{Digest, Inspection};
use crate::kind::Kind;
use crate::load::Grants;
use crate::page::Page;
use crate::plugin::{Plugin, PluginInfo, Source};
use crate::task::{CallOutput, Invocation};

/// Loads plugins and runs them. Cheap to clone; the last clone stops the threads.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
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
    ///
    /// # Errors
    /// [`StartError`] if memory cannot be reserved or a thread not be started.
    pub fn new(config: EngineConfig) -> Result<Self, StartError> {
        Ok(Self {
            inner: Arc::new(Inner::new(config)?),
        })
    }

    /// Reads a component without compiling or running it. CPU-bound: some 10 ms for a large
    /// component, so call it from a worker thread.
    ///
    /// # Errors
    /// [`LoadError`]: not a component, without a valid manifest, or over a static limit.
    pub fn inspect(&self, bytes: &[u8]) -> Result<Inspection, LoadError> {
        let inspected = self.inner.loader.inspect(bytes);
        inspected.map_err(LoadError::cleaned)
    }

    /// Loads a component and lets it serve, in place of one of its kind and name. An
    /// error leaves everything as it was.
    ///
    /// # Errors
    /// [`LoadError`] says which step refused it.
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

    /// Loads every plugin inside the program, then every plugin of the folder; one that is
    /// refused does not keep the others from serving.
    pub async fn load_dir(&self) -> LoadReport {
        folder::load(&self.inner).await
    }

    /// Watches the folder until the engine is dropped: changes take effect within two
    /// seconds, calls under way finish on what they began with.
    pub fn watch(&self) {
        folder::watch(&self.inner);
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
        self.inner.registry().infos()
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
        self.inner.changes()
    }

    /// One plugin.
    pub fn plugin(&self, kind: Kind, name: &str) -> Option<PluginInfo> {
        let registry = self.inner.registry();
        registry.get(kind, name).map(|plugin| plugin.info(None))
    }

    /// The actor of this name.
    pub fn actor(&self, name: &str) -> Option<PluginInfo> {
        self.plugin(Kind::Actor, name)
    }

    /// The fetcher that serves this host name.
    pub fn fetcher_for(&self, domain: &str) -> Option<PluginInfo> {
        let registry = self.inner.registry();
        registry.fetcher(domain).map(|plugin| plugin.info(None))
    }

    /// The plugin that serves a role.
    pub fn role(&self, role: &str) -> Option<PluginRef> {
        let registry = self.inner.registry();
        let (plugin, _) = registry.role(role)?;
        Some(PluginRef {
            kind: plugin.kind(),
            name: plugin.name().to_owned(),
            version: plugin.manifest.version.clone(),
            digest: plugin.digest.to_string(),
        })
    }

    /// A component inside the program.
    pub(crate) fn embedded_component(&self, file_name: &str) -> Result<Arc<[u8]>, BundleError> {
        let component = self.inner.loader.embedded_component(file_name);
        component.map_err(|error| BundleError::Refused(error.to_string()))
    }

    /// The machine code that this process compiled a component to, for each engine that did.
    pub(crate) fn compiled_code(&self, component: &[u8]) -> Vec<Vec<u8>> {
        let digest = Digest::compute(component);
        self.inner.loader.compiled_code(digest)
    }

    /// The folder that plugins are loaded from.
    pub fn plugin_dir(&self) -> Option<&Path> {
        self.inner.config.plugin_dir.as_deref()
    }

    /// Actor and fetcher calls that could begin without waiting.
    pub fn free_actor_slots(&self) -> usize {
        self.inner.free_actor_slots()
    }

    /// Waits until no guest runs, and returns how often the clock that interrupts guests has
    /// ticked so far. It then stands still until the next guest runs. Blocks the calling
    /// thread; for tests.
    pub fn wait_until_idle(&self) -> u64 {
        self.inner.runtime.ticker.wait_until_parked()
    }

    /// Runs roles on a page; answers in the order of `calls`, each JSON text. Every
    /// component gets one fresh instance for the page and all of its roles. Dropping the
    /// future interrupts what still runs.
    pub async fn extract(&self, page: &Arc<Page>, calls: Vec<RoleCall>) -> Vec<RoleResult> {
        self.inner.extract(page, calls).await
    }

    /// The same on the calling thread, for benchmarks and tools. Not from within an
    /// asynchronous task.
    pub fn extract_blocking(&self, page: &Arc<Page>, calls: Vec<RoleCall>) -> Vec<RoleResult> {
        self.inner.extract_blocking(page, calls)
    }

    /// Runs an actor. The input is checked against its schema first. Dropping the future drops
    /// the guest.
    ///
    /// # Errors
    /// [`PluginError::InvalidInput`] names the field that breaks the schema; the others say
    /// how the call failed.
    pub async fn run_actor(
        &self,
        name: &str,
        input: &serde_json::Value,
        host: Arc<dyn Host>,
    ) -> Result<CallOutput, PluginError> {
        let plugin = self.find(Kind::Actor, name)?;
        self.inner.check_input(&plugin, input).await?;
        let invocation = Invocation::Run(input.to_string());
        self.inner.run(plugin, invocation, host).await
    }

    /// Runs the fetcher of a domain; `path` is what follows the domain, without a leading
    /// slash, `params` a JSON object.
    ///
    /// # Errors
    /// As [`Engine::run_actor`].
    pub async fn run_fetcher(
        &self,
        domain: &str,
        path: &str,
        params: &serde_json::Value,
        host: Arc<dyn Host>,
    ) -> Result<CallOutput, PluginError> {
        let plugin = self.inner.registry().fetcher(domain).cloned();
        let plugin = plugin.ok_or_else(|| PluginError::NotFound {
            kind: "fetcher",
            name: domain.to_owned(),
        })?;
        self.inner.check_input(&plugin, params).await?;
        let invocation = Invocation::Fetch(domain.to_owned(), path.to_owned(), params.to_string());
        self.inner.run(plugin, invocation, host).await
    }

    /// Checks an input against a plugin's schema, as every call does: for callers that have
    /// to know before they begin.
    ///
    /// # Errors
    /// [`PluginError::InvalidInput`], which names field and rule; [`PluginError::NotFound`].
    pub async fn check_input(
        &self,
        kind: Kind,
        name: &str,
        input: &serde_json::Value,
    ) -> Result<(), PluginError> {
        let plugin = self.find(kind, name)?;
        self.inner.check_input(&plugin, input).await
    }

    fn find(&self, kind: Kind, name: &str) -> Result<Arc<Plugin>, PluginError> {
        let plugin = self.inner.registry().get(kind, name).cloned();
        plugin.ok_or_else(|| PluginError::NotFound {
            kind: kind.as_str(),
            name: name.to_owned(),
        })
    }
}

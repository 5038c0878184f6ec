//! Compiles components to machine code: bounded in time and parallelism, and cached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use wasmtime::component::Component;

use crate::apart::Apart;
use crate::bundle::Bundle;
use crate::code_cache::CodeCache;
use crate::error::LoadError;
use crate::inspect::Digest;
use crate::tenancy::{Shares, Slot, lower_priority};
use crate::text::clean;

/// Compiles components. Compilation processes untrusted files outside the sandbox, so only a few
/// run in parallel, and each has a time limit.
///
/// Large components (interpreters, which take up to a minute) have a queue of their own, so that
/// they do not delay small ones. Plugins of projects have two queues besides, in which a project
/// has one compilation at a time. A compilation that turns out to be slow leaves its queue.
pub(crate) struct Compiler {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    own_small: Shares,
    own_large: Shares,
    own_slow: Arc<Semaphore>,
    timeout: Duration,
    stored: Stored,
    /// For uploads.
    apart: Option<Apart>,
}

/// The owner of a component.
#[derive(Clone, Debug)]
pub(crate) enum CodeOwner {
    /// The instance.
    Instance,
    /// The instance; the component was uploaded.
    Upload,
    /// A project, with the folder of its compiled code.
    Project(ProjectId, Option<CodeCache>),
}

/// Sources of components that are compiled already.
#[derive(Clone, Default)]
pub(crate) struct Stored {
    /// The program itself.
    pub bundle: Option<Arc<Bundle>>,
    /// A folder, in which newly compiled components are kept.
    pub cache: Option<CodeCache>,
}

impl Stored {
    fn load(&self, engine: &wasmtime::Engine, digest: Digest) -> Option<Component> {
        let bundle = self.bundle.as_ref();
        bundle
            .and_then(|bundle| bundle.code(engine, digest))
            .or_else(|| self.cache.as_ref()?.load(engine, digest))
    }
}

/// Size in bytes from which a component counts as large. Most components of compiled languages have
/// hundreds of kilobytes, the extractors with their models two megabytes; interpreters have ten
/// and more.
pub(crate) const LARGE_COMPONENT_BYTES: usize = 4 << 20;
/// Parallel compilations of small components.
const CONCURRENT_SMALL: usize = 2;
/// Parallel compilations of large components.
const CONCURRENT_LARGE: usize = 1;
/// Further parallel compilations that have left their queue.
const CONCURRENT_SLOW: usize = 2;
/// Time after which a compilation leaves its queue: many times what a component of usual size takes.
const SLOW: Duration = Duration::from_secs(3);

impl Compiler {
    /// With `apart`, uploads are compiled apart from this process.
    pub fn new(timeout: Duration, stored: Stored, apart: Option<Apart>) -> Self {
        let slots = |count| Arc::new(Semaphore::new(count));
        Self {
            small: slots(CONCURRENT_SMALL),
            large: slots(CONCURRENT_LARGE),
            slow: slots(CONCURRENT_SLOW),
            own_small: Shares::new(CONCURRENT_SMALL, 1),
            own_large: Shares::new(CONCURRENT_LARGE, 1),
            own_slow: slots(CONCURRENT_SLOW),
            timeout,
            stored,
            apart,
        }
    }

    /// The folder of compiled code, if there is one.
    pub fn cache(&self) -> Option<&CodeCache> {
        self.stored.cache.as_ref()
    }

    async fn slot(&self, owner: &CodeOwner, bytes: usize) -> Option<Slot> {
        let is_small = bytes < LARGE_COMPONENT_BYTES;
        match owner {
            CodeOwner::Instance | CodeOwner::Upload => {
                let lane = if is_small { &self.small } else { &self.large };
                let permit = Arc::clone(lane).acquire_owned().await;
                permit.ok().map(Slot::of_instance)
            }
            CodeOwner::Project(project, _) => {
                let lane = if is_small {
                    &self.own_small
                } else {
                    &self.own_large
                };
                lane.acquire(*project).await
            }
        }
    }

    /// The compiled component, stored or newly compiled.
    ///
    /// # Errors
    /// [`LoadError::Compile`] if it fails to compile; [`LoadError::Limits`] if that takes too much
    /// memory; [`LoadError::NotCompiled`] if it exceeds the time
    /// limit (waiting for a turn does not count) or no thread can be started.
    #[crate::boxed]
    pub async fn compile(
        &self,
        engine: &wasmtime::Engine,
        digest: Digest,
        bytes: Arc<[u8]>,
        owner: CodeOwner,
    ) -> Result<Component, LoadError> {
        let slot = self.slot(&owner, bytes.len()).await;
        let slot =
            slot.ok_or_else(|| LoadError::NotCompiled("the engine is shutting down".to_owned()))?;
        let engine = engine.clone();
        let apart = match owner {
            CodeOwner::Instance => None,
            CodeOwner::Upload | CodeOwner::Project(..) => self.apart.clone(),
        };
        let (stored, slow, begin): (_, _, fn()) = match owner {
            CodeOwner::Instance | CodeOwner::Upload => (self.stored.clone(), &self.slow, || ()),
            CodeOwner::Project(_, cache) => {
                let bundle = self.stored.bundle.clone();
                (Stored { bundle, cache }, &self.own_slow, lower_priority)
            }
        };
        // A compilation that exceeded its time keeps its slot until it actually ends.
        let held = Arc::new(Mutex::new(Some(slot)));
        let ending = Arc::clone(&held);
        let (done, mut result) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .name("plugin-compile".to_owned())
            .spawn(move || {
                begin();
                let compiled = compile_alone(&engine, digest, &bytes, &stored, apart, begin);
                drop(ending.lock().take());
                // The receiver is dropped if the time limit passed.
                let _ = done.send(compiled);
            })
            .map_err(|e| LoadError::NotCompiled(format!("no thread: {e}")))?;
        let compiled = async {
            if let Ok(ended) = tokio::time::timeout(SLOW, &mut result).await {
                return ended;
            }
            tokio::select! {
                ended = &mut result => return ended,
                permit = Arc::clone(slow).acquire_owned() => {
                    if let (Ok(permit), Some(slot)) = (permit, &mut *held.lock()) {
                        slot.move_to(permit);
                    }
                }
            }
            result.await
        };
        match tokio::time::timeout(self.timeout, compiled).await {
            Ok(Ok(compiled)) => compiled,
            Ok(Err(_)) => Err(LoadError::NotCompiled("the compiler panicked".to_owned())),
            Err(_) => Err(LoadError::NotCompiled(format!(
                "took longer than {} ms",
                self.timeout.as_millis()
            ))),
        }
    }
}

/// Compiles on threads of its own. In the process's shared pool, the functions of a small
/// component would wait behind all those of a large one.
fn compile_alone(
    engine: &wasmtime::Engine,
    digest: Digest,
    bytes: &[u8],
    stored: &Stored,
    apart: Option<Apart>,
    begin: fn(),
) -> Result<Component, LoadError> {
    if let Some(component) = stored.load(engine, digest) {
        return Ok(component);
    }
    let begun = Instant::now();
    let component = match apart {
        Some(apart) => apart.compile(engine, bytes)?,
        None => {
            let threads = rayon::ThreadPoolBuilder::new()
                .thread_name(|i| format!("plugin-compile-{i}"))
                .start_handler(move |_| begin())
                .build()
                .map_err(|e| LoadError::NotCompiled(format!("no threads: {e}")))?;
            threads
                .install(|| Component::from_binary(engine, bytes))
                .map_err(|e| LoadError::Compile(clean(&format!("{e:#}"), 1_000)))?
        }
    };
    metrics::histogram!("orbweaver_plugin_compile_seconds").record(begun.elapsed());
    if let Some(cache) = &stored.cache
        && let Err(error) = cache.store(engine, digest, &component)
    {
        tracing::warn!(error = %error, "compiled plugin not cached");
    }
    Ok(component)
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use futures::stream::FuturesUnordered;

    use super::*;

    /// A component with many functions; different seeds give different components.
    fn component(functions: usize, seed: usize) -> Arc<[u8]> {
        let step = "(local.set 0 (i64.mul (i64.add (local.get 0) (i64.const 81985529216486895)) \
                    (local.get 1)))";
        let body = step.repeat(60);
        let functions: String = (0..functions)
            .map(|i| {
                let n = i + seed * 1_000_000;
                format!("(func (param i64 i64) (result i64) {body} (i64.const {n}))")
            })
            .collect();
        let text = format!("(component (core module {functions}))");
        wat::parse_str(&text).unwrap().into()
    }

    #[tokio::test]
    async fn large_components_do_not_delay_small_ones() {
        let engine = wasmtime::Engine::default();
        let compiler = Compiler::new(Duration::from_secs(600), Stored::default(), None);
        let compile = |bytes: Arc<[u8]>| {
            let digest = Digest::compute(&bytes);
            compiler.compile(&engine, digest, bytes, CodeOwner::Instance)
        };
        let mut large: FuturesUnordered<_> = (1..=3)
            .map(|seed| {
                let bytes = component(4_000, seed);
                assert!(bytes.len() >= LARGE_COMPONENT_BYTES, "{}", bytes.len());
                compile(bytes)
            })
            .collect();
        // All large ones are requested before the small one.
        assert!(futures::poll!(large.next()).is_pending());
        tokio::select! {
            _ = large.next() => panic!("the small component waited for a large one"),
            small = compile(component(10, 0)) => drop(small.unwrap()),
        }
    }

    #[tokio::test]
    async fn projects_do_not_delay_each_other_or_the_instance() {
        let engine = wasmtime::Engine::default();
        let compiler = Compiler::new(Duration::from_secs(600), Stored::default(), None);
        let compile = |owner: Option<i64>, bytes: Arc<[u8]>| {
            let owner = owner.map_or(CodeOwner::Instance, |id| {
                CodeOwner::Project(ProjectId(id), None)
            });
            compiler.compile(&engine, Digest::compute(&bytes), bytes, owner)
        };
        // One project sends many: all but one of them wait for each other.
        let mut many: FuturesUnordered<_> = (1..=4)
            .map(|seed| compile(Some(1), component(900, seed)))
            .collect();
        assert!(futures::poll!(many.next()).is_pending());
        let others = async {
            compile(Some(2), component(10, 8)).await.unwrap();
            compile(None, component(10, 9)).await.unwrap();
        };
        let rest = async { while many.next().await.is_some() {} };
        tokio::select! {
            () = rest => panic!("the others waited for all of one project"),
            () = others => {}
        }
    }

    #[tokio::test]
    async fn a_compilation_has_a_time_limit() {
        let engine = wasmtime::Engine::default();
        let compiler = Compiler::new(Duration::from_millis(1), Stored::default(), None);
        let bytes = component(2_000, 0);
        let compiled = compiler
            .compile(&engine, Digest::compute(&bytes), bytes, CodeOwner::Instance)
            .await;
        let error = compiled.expect_err("a millisecond is too short");
        assert_eq!(
            error,
            LoadError::NotCompiled("took longer than 1 ms".to_owned())
        );
    }
}

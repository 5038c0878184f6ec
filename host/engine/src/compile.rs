//! From a component's bytes to machine code: bounded in time and number, and cached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::code_cache::CodeCache;
use crate::error::LoadError;
use crate::inspect::Digest;

/// Compiles components. Compilation is work that a stranger's file causes outside the
/// sandbox, so few run at once, and none counts for longer than its time limit.
pub(crate) struct Compiler {
    slots: Arc<Semaphore>,
    timeout: Duration,
    cache: Option<CodeCache>,
}

/// Compilations at once; each uses several cores by itself.
const CONCURRENT: usize = 2;

impl Compiler {
    pub fn new(timeout: Duration, cache: Option<CodeCache>) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(CONCURRENT)),
            timeout,
            cache,
        }
    }

    /// The component, from the cache or compiled now.
    pub async fn compile(
        &self,
        engine: &Engine,
        digest: Digest,
        bytes: Arc<[u8]>,
    ) -> Result<Component, LoadError> {
        // A compilation that ran out of time keeps its slot until it really ends.
        let slot = Arc::clone(&self.slots)
            .acquire_owned()
            .await
            .map_err(|_| LoadError::Compile("the engine is shutting down".to_owned()))?;
        let engine = engine.clone();
        let cache = self.cache.clone();
        let (done, result) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .name("plugin-compile".to_owned())
            .spawn(move || {
                let compiled = compile_now(&engine, digest, &bytes, cache.as_ref());
                drop(slot);
                // The receiver is gone when time ran out.
                let _ = done.send(compiled);
            })
            .map_err(|e| LoadError::Compile(format!("no thread: {e}")))?;
        match tokio::time::timeout(self.timeout, result).await {
            Ok(Ok(compiled)) => compiled,
            Ok(Err(_)) => Err(LoadError::Compile("the compiler panicked".to_owned())),
            Err(_) => Err(LoadError::Compile(format!(
                "took longer than {} ms",
                self.timeout.as_millis()
            ))),
        }
    }
}

fn compile_now(
    engine: &Engine,
    digest: Digest,
    bytes: &[u8],
    cache: Option<&CodeCache>,
) -> Result<Component, LoadError> {
    if let Some(component) = cache.and_then(|cache| cache.load(engine, digest)) {
        return Ok(component);
    }
    let begun = Instant::now();
    let component = Component::from_binary(engine, bytes)
        .map_err(|e| LoadError::Compile(crate::plugin_log::clean(&format!("{e:#}"), 1_000)))?;
    metrics::histogram!("orbweaver_plugin_compile_seconds").record(begun.elapsed());
    if let Some(cache) = cache
        && let Err(error) = cache.store(engine, digest, &component)
    {
        tracing::warn!(error = %error, "compiled plugin not cached");
    }
    Ok(component)
}

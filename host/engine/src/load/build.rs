//! From bytes to code: compiled for the pool or on demand, and linked.

use std::sync::Arc;

use wasmtime::component::Component;

use super::{Loader, blocking};
use crate::bulk;
use crate::compile::CodeOwner;
use crate::error::LoadError;
use crate::grants::EffectivePermissions;
use crate::imports::{self, World};
use crate::inspect::{Digest, Inspection};
use crate::plugin::{Code, Pooled};
use crate::runtime::Placement;
use crate::wit::v1::bindings;

/// Whom code is compiled for, and how.
pub(super) struct CodeTarget {
    pub owner: CodeOwner,
    /// Whether it gets memory in reserve in the pool.
    pub reserve: bool,
}

impl Loader {
    pub(super) async fn build(
        &self,
        found: &Inspection,
        world: World,
        grants: &EffectivePermissions,
        digest: Digest,
        bytes: Arc<[u8]>,
        target: CodeTarget,
    ) -> Result<Code, LoadError> {
        let pooled = matches!(world, World::Extractor | World::Hook)
            && found.shape.suits_pool()
            && grants.wasi.is_empty()
            && !imports::may_wait(found);
        if pooled {
            match self.compile_for_pool(Arc::clone(&bytes), &target).await {
                Ok(component) => {
                    let pre = self.runtime.pool_linker().instantiate_pre(&component);
                    let code = pre.and_then(|pre| match world {
                        World::Hook => bindings::hook::HookPre::new(pre)
                            .map(|pre| Code::Hook(Pooled::new(pre, &component))),
                        _ => bindings::extractor::ExtractorPre::new(pre)
                            .map(|pre| Code::Extractor(Pooled::new(pre, &component))),
                    });
                    return code.map_err(|e| link_error(&e));
                }
                // Perhaps only too large for a pool slot.
                Err(error) => tracing::debug!("not in the pool: {error}"),
            }
        }
        let component = self
            .compile(Placement::OnDemand, digest, bytes, target.owner)
            .await?;
        let pre = self
            .runtime
            .on_demand_linker(grants)
            .and_then(|linker| linker.instantiate_pre(&component))
            .map_err(|e| link_error(&e))?;
        match world {
            World::Extractor => {
                bindings::extractor_async::ExtractorPre::new(pre).map(Code::ExtractorOnDemand)
            }
            World::Actor => bindings::actor::ActorPre::new(pre).map(Code::Actor),
            World::ActorSync => bindings::actor_sync::ActorSyncPre::new(pre).map(Code::ActorSync),
            World::Fetcher => bindings::fetcher::FetcherPre::new(pre).map(Code::Fetcher),
            World::FetcherSync => {
                bindings::fetcher_sync::FetcherSyncPre::new(pre).map(Code::FetcherSync)
            }
            World::Hook => bindings::hook_async::HookPre::new(pre).map(Code::HookOnDemand),
            World::DeliveryHook => {
                bindings::delivery_hook::DeliveryHookPre::new(pre).map(Code::DeliveryHook)
            }
        }
        .map_err(|e| LoadError::Export(words(&e)))
    }

    async fn compile(
        &self,
        placement: Placement,
        digest: Digest,
        bytes: Arc<[u8]>,
        owner: CodeOwner,
    ) -> Result<Component, LoadError> {
        self.compiler
            .compile(self.runtime.engine(placement), digest, bytes, owner)
            .await
    }

    /// Compiles an extractor or a hook for the pool, with memory copies and fills as guest code, and
    /// with memory in `reserve` where its limit allows that.
    ///
    /// # Errors
    /// [`LoadError::Limits`] if it has instructions during which it cannot be interrupted.
    async fn compile_for_pool(
        &self,
        bytes: Arc<[u8]>,
        target: &CodeTarget,
    ) -> Result<Component, LoadError> {
        let interrupts = self.runtime.interrupter.is_some();
        let reserve = target.reserve;
        let (bytes, digest) = blocking(move || {
            let bytes = bulk::inline_bulk(&bytes, reserve);
            if interrupts && !bulk::is_interruptible(&bytes) {
                let why = "instructions that can run long in the host";
                return Err(LoadError::Limits(why.to_owned()));
            }
            let digest = Digest::compute(&bytes);
            Ok((bytes.into(), digest))
        })
        .await?;
        let owner = target.owner.clone();
        self.compile(Placement::Pool, digest, bytes, owner).await
    }
}

fn link_error(error: &wasmtime::Error) -> LoadError {
    LoadError::Compile(words(error))
}

fn words(error: &wasmtime::Error) -> String {
    crate::text::clean(&format!("{error:#}"), 1_000)
}

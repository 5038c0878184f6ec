//! `orbweaver:plugin@0.1.0`.
//!
//! `pages` is linked by hand ([`pages`]), so that a snapshot goes from the shared page
//! into the guest without a copy in between; everything else is generated.

pub(crate) mod host;
pub(crate) mod pages;

/// Extractors through the synchronous API: no fibers.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod extractor {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "extractor",
        imports: { default: trappable },
        with: { "orbweaver:plugin/pages.page": crate::state::HostPage },
    });
}

/// The same for interpreters and extractors with WASI grants, which may wait.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod extractor_async {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "extractor",
        exports: { default: async },
        with: {
            "orbweaver:plugin/types": super::extractor::orbweaver::plugin::types,
            "orbweaver:plugin/pages": super::extractor::orbweaver::plugin::pages,
            "orbweaver:plugin/log": super::extractor::orbweaver::plugin::log,
        },
        require_store_data_send: true,
    });
}

/// Actors with asynchronous functions.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod actor {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "actor",
        imports: { "orbweaver:plugin/parsing": trappable, default: async | trappable },
        exports: { default: async },
        with: {
            "orbweaver:plugin/types": super::extractor::orbweaver::plugin::types,
            "orbweaver:plugin/pages": super::extractor::orbweaver::plugin::pages,
            "orbweaver:plugin/log": super::extractor::orbweaver::plugin::log,
        },
    });
}

/// Actors without.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod actor_sync {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "actor-sync",
        exports: { default: async },
        with: {
            "orbweaver:plugin/types": super::extractor::orbweaver::plugin::types,
            "orbweaver:plugin/pages": super::extractor::orbweaver::plugin::pages,
            "orbweaver:plugin/log": super::extractor::orbweaver::plugin::log,
            "orbweaver:plugin/parsing": super::actor::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch": super::actor::orbweaver::plugin::batch,
            "orbweaver:plugin/extraction": super::actor::orbweaver::plugin::extraction,
            "orbweaver:plugin/crawl-data": super::actor::orbweaver::plugin::crawl_data,
        },
        require_store_data_send: true,
    });
}

/// Fetchers.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod fetcher {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "fetcher",
        exports: { default: async },
        with: {
            "orbweaver:plugin/types": super::extractor::orbweaver::plugin::types,
            "orbweaver:plugin/pages": super::extractor::orbweaver::plugin::pages,
            "orbweaver:plugin/log": super::extractor::orbweaver::plugin::log,
            "orbweaver:plugin/parsing": super::actor::orbweaver::plugin::parsing,
            "orbweaver:plugin/http": super::actor::orbweaver::plugin::http,
            "orbweaver:plugin/batch": super::actor::orbweaver::plugin::batch,
            "orbweaver:plugin/extraction": super::actor::orbweaver::plugin::extraction,
        },
        require_store_data_send: true,
    });
}

/// The package's version.
pub(crate) const VERSION: &str = "0.1.0";

pub(crate) use extractor::orbweaver::plugin::types::Error as WitError;

use crate::error::{HostError, PluginError};

impl From<HostError> for WitError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::InvalidInput(text) => Self::InvalidInput(text),
            HostError::FetchFailed(text) => Self::FetchFailed(text),
            HostError::Denied(text) => Self::Denied(text),
            HostError::Failed(text) => Self::Failed(text),
        }
    }
}

/// Longest error message taken from a plugin, in bytes.
const MAX_MESSAGE_BYTES: usize = 2_000;

impl From<WitError> for PluginError {
    fn from(error: WitError) -> Self {
        let clean = |text: String| crate::plugin_log::clean(&text, MAX_MESSAGE_BYTES);
        match error {
            WitError::InvalidInput(text) => Self::InvalidInput(clean(text)),
            WitError::FetchFailed(text) => Self::FetchFailed(clean(text)),
            WitError::Denied(text) => Self::Denied(clean(text)),
            WitError::Failed(text) => Self::Failed(clean(text)),
        }
    }
}

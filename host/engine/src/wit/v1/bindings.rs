//! Generated bindings, one module per world. Only `pages` is linked by hand, see
//! [`pages`](super::pages).

/// Extractors through the synchronous API, without fibers.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod extractor {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "extractor",
        imports: { default: trappable },
        with: { "orbweaver:plugin/pages.page": crate::capability::pages::HostPage },
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

/// Extractors through the asynchronous API: interpreters, and those with WASI grants.
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
            "orbweaver:plugin/inputs": super::extractor::orbweaver::plugin::inputs,
            "orbweaver:plugin/dom": super::actor::orbweaver::plugin::dom,
        },
        require_store_data_send: true,
    });
}

/// Actors without asynchronous functions.
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
            "orbweaver:plugin/dom": super::actor::orbweaver::plugin::dom,
            "orbweaver:plugin/parsing": super::actor::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch": super::actor::orbweaver::plugin::batch,
            "orbweaver:plugin/requests": super::actor::orbweaver::plugin::requests,
            "orbweaver:plugin/extraction-sync": super::actor::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/crawl-data": super::actor::orbweaver::plugin::crawl_data,
            "orbweaver:plugin/state": super::actor::orbweaver::plugin::state,
            "orbweaver:plugin/job": super::actor::orbweaver::plugin::job,
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
            "orbweaver:plugin/dom": super::actor::orbweaver::plugin::dom,
            "orbweaver:plugin/parsing": super::actor::orbweaver::plugin::parsing,
            "orbweaver:plugin/http": super::actor::orbweaver::plugin::http,
            "orbweaver:plugin/rendering": super::actor::orbweaver::plugin::rendering,
            "orbweaver:plugin/batch": super::actor::orbweaver::plugin::batch,
            "orbweaver:plugin/requests": super::actor::orbweaver::plugin::requests,
            "orbweaver:plugin/extraction": super::actor::orbweaver::plugin::extraction,
            "orbweaver:plugin/extraction-sync": super::actor::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/state": super::actor::orbweaver::plugin::state,
        },
        require_store_data_send: true,
    });
}

/// Fetchers without asynchronous functions.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod fetcher_sync {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "fetcher-sync",
        exports: { default: async },
        with: {
            "orbweaver:plugin/types": super::extractor::orbweaver::plugin::types,
            "orbweaver:plugin/pages": super::extractor::orbweaver::plugin::pages,
            "orbweaver:plugin/log": super::extractor::orbweaver::plugin::log,
            "orbweaver:plugin/dom": super::actor::orbweaver::plugin::dom,
            "orbweaver:plugin/parsing": super::actor::orbweaver::plugin::parsing,
            "orbweaver:plugin/batch": super::actor::orbweaver::plugin::batch,
            "orbweaver:plugin/requests": super::actor::orbweaver::plugin::requests,
            "orbweaver:plugin/extraction-sync": super::actor::orbweaver::plugin::extraction_sync,
            "orbweaver:plugin/state": super::actor::orbweaver::plugin::state,
        },
        require_store_data_send: true,
    });
}

/// Hooks through the synchronous API, without fibers: those that do not import `state`, whose functions
/// wait.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod hook {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "hook",
        imports: { default: trappable },
        with: {
            "orbweaver:plugin/types": super::extractor::orbweaver::plugin::types,
            "orbweaver:plugin/pages": super::extractor::orbweaver::plugin::pages,
            "orbweaver:plugin/log": super::extractor::orbweaver::plugin::log,
            "orbweaver:plugin/inputs": super::extractor::orbweaver::plugin::inputs,
            "orbweaver:plugin/dom": super::extractor::orbweaver::plugin::dom,
        },
    });
}

/// Hooks through the asynchronous API: interpreters, those with WASI grants, and those with state.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod hook_async {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "hook",
        exports: { default: async },
        with: {
            "orbweaver:plugin/types": super::extractor::orbweaver::plugin::types,
            "orbweaver:plugin/pages": super::extractor::orbweaver::plugin::pages,
            "orbweaver:plugin/log": super::extractor::orbweaver::plugin::log,
            "orbweaver:plugin/inputs": super::extractor::orbweaver::plugin::inputs,
            "orbweaver:plugin/dom": super::actor::orbweaver::plugin::dom,
            "orbweaver:plugin/state": super::actor::orbweaver::plugin::state,
            "orbweaver:plugin/crawl": super::hook::orbweaver::plugin::crawl,
        },
        require_store_data_send: true,
    });
}

/// Hooks of deliveries.
#[allow(missing_docs, dead_code, reason = "generated")]
pub(crate) mod delivery_hook {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "delivery-hook",
        exports: { default: async },
        with: {
            "orbweaver:plugin/types": super::extractor::orbweaver::plugin::types,
            "orbweaver:plugin/log": super::extractor::orbweaver::plugin::log,
        },
        require_store_data_send: true,
    });
}

/// The version of the WIT package.
pub(crate) const VERSION: &str = "1.1.0";

//! Adds the interfaces to a linker.

use wasmtime::component::{HasSelf, Linker};

use super::bindings::actor::orbweaver::plugin::{
    batch, crawl_data, dom, http, job, parsing, rendering, state,
};
use super::bindings::extractor::orbweaver::plugin::{dom as dom_here, inputs, log};
use super::bindings::hook::orbweaver::plugin::crawl;
use super::{extraction, pages};
use crate::state::State;

/// Links the interfaces of extractors and hooks on worker threads: pages and their elements, the log,
/// outputs of other roles, and the crawl.
pub(crate) fn add_extractor_interfaces(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    pages::add_to_linker(linker)?;
    pages::add_snapshot_sync(linker)?;
    dom_here::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    log::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    inputs::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    crawl::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}

/// Links the interfaces of tasks: pages and their elements, the log, and the capabilities of actors,
/// fetchers and hooks.
/// Imports that are not granted were refused when the plugin was loaded; the capabilities check
/// again.
pub(crate) fn add_task_interfaces(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    pages::add_to_linker(linker)?;
    pages::add_snapshot_async(linker)?;
    dom::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    log::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    inputs::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    crawl::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    parsing::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    http::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    rendering::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    batch::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    extraction::add_to_linker(linker)?;
    crawl_data::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    state::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    job::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}

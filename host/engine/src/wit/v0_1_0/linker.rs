//! Adds the interfaces to a linker.

use wasmtime::component::{HasSelf, Linker};

use super::bindings::actor::orbweaver::plugin::{
    batch, crawl_data, extraction, http, job, parsing, rendering, secret_http, state,
};
use super::bindings::extractor::orbweaver::plugin::{inputs, log};
use super::pages;
use crate::state::State;

/// Links the interfaces of extractors on worker threads: pages, the log, and outputs of other roles.
pub(crate) fn add_extractor_interfaces(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    pages::add_to_linker(linker)?;
    pages::add_snapshot_sync(linker)?;
    log::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    inputs::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}

/// Links the interfaces of tasks: pages, the log, and the capabilities of actors and fetchers.
/// Imports that are not granted were refused when the plugin was loaded; the capabilities check
/// again.
pub(crate) fn add_task_interfaces(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    pages::add_to_linker(linker)?;
    pages::add_snapshot_async(linker)?;
    log::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    inputs::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    parsing::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    http::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    rendering::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    batch::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    extraction::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    crawl_data::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    state::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    secret_http::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    job::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}

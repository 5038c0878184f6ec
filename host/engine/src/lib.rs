//! Runs plugins: WebAssembly components that turn pages into data.
//!
//! Every call gets a fresh instance with budgets of time, memory and output; nothing of
//! one call reaches another. What a plugin may touch is what its manifest asks cut to what
//! the operator grants, checked when it is loaded and again at every call. Nobody outside
//! this crate sees wasmtime.
//!
//! - [`Engine`] loads, watches, lists and calls plugins.
//! - [`Manifest`] is what a plugin says of itself, [`manifest`] reads and embeds it.
//! - [`Host`] is what an actor may ask for; the server implements it.
//! - [`Page`] is a fetched page, parsed once for all plugins.

mod call;
mod classify;
mod code_cache;
mod compile;
mod config;
mod engine;
mod error;
mod extract;
mod folder;
mod grants;
mod host;
mod imports;
mod inspect;
mod limiter;
mod load;
pub mod manifest;
mod meter;
mod output;
mod page;
mod plugin;
mod plugin_log;
mod pool;
mod registry;
mod runtime;
mod schema;
mod state;
mod task;
mod wasi;
mod wit;

pub use config::{EngineConfig, Grant, GrantConfig, GrantWord, LimitRange, Limits, LimitsConfig};
pub use engine::{Engine, LoadReport, PluginRef, StartError};
pub use error::{HostError, Limit, LoadError, PluginError};
pub use extract::RoleCall;
pub use grants::{HostPatterns, Permissions, WASI_CAPABILITIES};
pub use host::{
    FetchRequest, Host, LinkColumns, LogLevel, NoHost, PageRow, ProxyChoice, RunInfo, WaitFor,
};
pub use inspect::{Inspection, Shape};
pub use load::{Grants, file_name};
pub use manifest::{FetcherInfo, FetcherPath, Kind, Manifest};
pub use page::{COST_HEADER, Hop, Page, PageParts};
pub use plugin::{PluginInfo, Source};
pub use task::Output;

//! Runs plugins: WebAssembly components that turn pages into data.
//!
//! Every call gets a new instance with budgets of time, memory and output; calls share no state.
//! A plugin may use what its manifest requests and the operator grants; this is checked when it
//! is loaded and again at every call. wasmtime is not part of this crate's interface.
//!
//! - [`Engine`] loads, watches, lists and calls plugins.
//! - [`Manifest`] is a plugin's description of itself; [`manifest`] reads and embeds it.
//! - [`Host`] is what an actor may request, one trait per capability; the server implements it.
//! - [`Page`] is a fetched page, parsed once for all plugins.

mod apart;
mod api_version;
mod bulk;
mod bundle;
mod capability;
mod classify;
mod code_cache;
mod compile;
mod config;
mod document;
mod embed;
mod engine;
mod error;
mod extract;
mod figures;
mod folder;
mod folder_retry;
mod folder_scan;
mod grants;
mod hook;
mod host;
mod host_tasks;
mod imports;
mod inner;
mod inputs;
mod inspect;
mod interrupt;
mod journal;
mod json;
mod kind;
mod label;
mod lane;
mod limiter;
mod limits;
mod load;
pub mod manifest;
mod memory;
mod meter;
mod output;
mod page;
mod pending;
mod plugin;
mod pool;
mod pool_slots;
mod quarantine;
mod registry;
mod runtime;
mod schema;
mod state;
mod stats;
mod task;
mod tasks;
mod tenancy;
mod text;
mod ticker;
mod unloaded;
mod verdict;
mod wasi;
mod wit;

pub use apart::{COMPILE_COMMAND, compile_for_service};
pub use bundle::has_bundle;
pub use config::{EngineConfig, Grant, GrantConfig, GrantWord};
pub use embed::{BundleReport, write_bundle};
pub use engine::{Engine, PluginRef};
pub use error::{BundleError, CodedError, ErrorCode, Limit, LoadError, PluginError, StartError};
pub use extract::RoleCall;
pub use figures::{TimeSpread, VersionFigures};
pub use folder::LoadReport;
pub use grants::{HostPatterns, MAX_PERMISSION_ENTRIES, Permissions, WASI_CAPABILITIES};
pub use hook::{
    Delivery, FoundLink, HookFailure, HookPoints, HookReason, HookRecord, HookUse, JudgedLink,
    PageFate, PageVerdict, PageWork, RequestChange, Visit,
};
pub use host::crawl_data::{CrawlDataHost, LinkColumns, PageRow, RunInfo};
pub use host::extraction::ExtractionHost;
pub use host::http::{FetchRequest, HttpHost, ProxyChoice, SecretHeader};
pub use host::job::{CallProgress, JobContext, JobHost};
pub use host::rendering::{RenderingHost, WaitFor};
pub use host::state::{PluginId, StateError, StateHost, StateValue};
pub use host::work::HostWork;
pub use host::{HookHosts, Host, NoHost};
pub use inspect::{Inspection, Shape};
pub use journal::{
    CallInput, CallNote, CallOrigin, FailedCall, Journal, LogLevel, PluginFacts, QuarantineTurn,
    RunRef, current_request, within_request,
};
pub use json::Json;
pub use kind::Kind;
pub use limits::{LimitRange, Limits, LimitsConfig};
pub use load::{Grants, file_name};
pub use manifest::{FetcherInfo, FetcherPath, HookPoint, Manifest};
pub use page::{Hop, Page, PageParts};
pub use plugin::{PluginInfo, Source};
pub use quarantine::QuarantineState;
pub use registry::Rival;
pub use task::{CallOutput, RunBudget};
pub use tenancy::{ProjectPolicy, lower_priority};
pub use verdict::Verdict;

/// Boxes the future of a public async function, so that it is compiled here, once, and not in
/// every crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;

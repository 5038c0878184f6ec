//! A loaded plugin: code, manifest, budgets, grants, and what it has done so far.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;

use crate::config::Limits;
use crate::error::PluginError;
use crate::grants::{Effective, Permissions};
use crate::inspect::Digest;
use crate::manifest::{FetcherInfo, Kind, Manifest};
use crate::state::State;
use crate::wit::v0_1_0::actor::ActorPre;
use crate::wit::v0_1_0::actor_sync::ActorSyncPre;
use crate::wit::v0_1_0::extractor::ExtractorPre;
use crate::wit::v0_1_0::extractor_async::ExtractorPre as ExtractorAsyncPre;
use crate::wit::v0_1_0::fetcher::FetcherPre;

/// Where a plugin came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A file of the plugin folder.
    Folder(PathBuf),
    /// Given to the running service; shadows the folder's plugin of the same name.
    Upload,
}

/// Compiled, linked and type-checked; instantiating is all that is left.
pub(crate) enum Code {
    Extractor(ExtractorPre<State>),
    ExtractorOnDemand(ExtractorAsyncPre<State>),
    Actor(ActorPre<State>),
    ActorSync(ActorSyncPre<State>),
    Fetcher(FetcherPre<State>),
}

/// A loaded plugin.
pub(crate) struct Plugin {
    pub manifest: Manifest,
    pub digest: Digest,
    pub size: u64,
    pub source: Source,
    pub limits: Limits,
    pub grants: Arc<Effective>,
    pub code: Arc<Code>,
    /// Of `manifest.schema.input`.
    pub input: Option<jsonschema::Validator>,
    pub loaded_at: SystemTime,
    /// `KIND:NAME`, for logs.
    pub label: Arc<str>,
    pub stats: Arc<Stats>,
}

impl Plugin {
    pub fn kind(&self) -> Kind {
        self.manifest.kind
    }

    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// What a listing shows.
    pub fn info(&self, problem: Option<&str>) -> PluginInfo {
        let json = |text: &Option<String>| {
            text.as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
        };
        let manifest = &self.manifest;
        PluginInfo {
            kind: manifest.kind,
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            description: manifest.description.clone(),
            roles: manifest.roles.clone(),
            digest: self.digest.to_string(),
            size: self.size,
            source: self.source.clone(),
            asked: manifest.permissions.clone(),
            granted: self.grants.listed.clone(),
            limits: self.limits,
            input_schema: json(&manifest.schema.input),
            output_schema: json(&manifest.schema.output),
            fetcher: manifest.fetcher.clone(),
            loaded_at: self.loaded_at,
            problem: problem.map(str::to_owned),
            calls: self.stats.calls.load(Ordering::Relaxed),
            errors: self.stats.errors.load(Ordering::Relaxed),
            cpu: Duration::from_nanos(self.stats.cpu.load(Ordering::Relaxed)),
            peak_memory: self.stats.peak_memory.load(Ordering::Relaxed),
        }
    }
}

/// One plugin as listings show it.
#[derive(Clone, Debug, Serialize)]
pub struct PluginInfo {
    /// What it is for.
    pub kind: Kind,
    /// Its name, unique within its kind.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// What it does.
    pub description: String,
    /// Of an extractor: the roles it can serve.
    pub roles: Vec<String>,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// In bytes.
    pub size: u64,
    /// Where it came from.
    pub source: Source,
    /// What its manifest asks.
    pub asked: Permissions,
    /// What of that is granted.
    pub granted: Permissions,
    /// Budgets of one call.
    pub limits: Limits,
    /// JSON Schema of the input.
    pub input_schema: Option<Value>,
    /// JSON Schema of the output.
    pub output_schema: Option<Value>,
    /// Of a fetcher: domains and paths.
    pub fetcher: Option<FetcherInfo>,
    /// When this version was loaded.
    pub loaded_at: SystemTime,
    /// Why a newer file of the same name is not the one that serves.
    pub problem: Option<String>,
    /// Calls since the process started, all versions.
    pub calls: u64,
    /// Failed calls.
    pub errors: u64,
    /// CPU time of all calls.
    pub cpu: Duration,
    /// The most memory that one instance had, in bytes.
    pub peak_memory: u64,
}

/// Counters of one (kind, name), across versions.
pub(crate) struct Stats {
    kind: &'static str,
    name: String,
    calls: AtomicU64,
    errors: AtomicU64,
    /// Nanoseconds.
    cpu: AtomicU64,
    /// Bytes.
    peak_memory: AtomicU64,
    calls_metric: metrics::Counter,
    cpu_metric: metrics::Histogram,
}

impl Stats {
    fn new(kind: &'static str, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
            peak_memory: AtomicU64::new(0),
            calls_metric: metrics::counter!(
                "orbweaver_plugin_calls_total", "kind" => kind, "plugin" => name.to_owned()
            ),
            cpu_metric: metrics::histogram!(
                "orbweaver_plugin_cpu_seconds", "kind" => kind, "plugin" => name.to_owned()
            ),
        }
    }

    /// Counters that nobody reads, for self-tests.
    pub fn silent() -> Self {
        Self {
            kind: "",
            name: String::new(),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
            peak_memory: AtomicU64::new(0),
            calls_metric: metrics::Counter::noop(),
            cpu_metric: metrics::Histogram::noop(),
        }
    }

    /// Counts one call: its CPU time and the bytes of its instance's memory.
    pub fn record(&self, cpu: Duration, memory: u64, error: Option<&PluginError>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.peak_memory.fetch_max(memory, Ordering::Relaxed);
        let nanos = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX);
        self.cpu.fetch_add(nanos, Ordering::Relaxed);
        self.calls_metric.increment(1);
        self.cpu_metric.record(cpu);
        if let Some(error) = error {
            self.errors.fetch_add(1, Ordering::Relaxed);
            if self.kind.is_empty() {
                return;
            }
            metrics::counter!(
                "orbweaver_plugin_errors_total",
                "kind" => self.kind, "plugin" => self.name.clone(), "error" => error.kind()
            )
            .increment(1);
        }
    }
}

/// The counters of every plugin ever loaded.
#[derive(Default)]
pub(crate) struct AllStats(Mutex<HashMap<(Kind, String), Arc<Stats>>>);

impl AllStats {
    pub fn of(&self, kind: Kind, name: &str) -> Arc<Stats> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stats = all
            .entry((kind, name.to_owned()))
            .or_insert_with(|| Arc::new(Stats::new(kind.as_str(), name)));
        Arc::clone(stats)
    }
}

//! Counters of plugins, for listings and metrics.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use orbweaver_core::ids::ProjectId;

use crate::error::PluginError;
use crate::kind::Kind;

/// Counters of one plugin by kind and name, over all versions.
pub(crate) struct Stats {
    kind: &'static str,
    /// Its name in metrics.
    shown: String,
    calls: AtomicU64,
    errors: AtomicU64,
    /// Nanoseconds.
    cpu: AtomicU64,
    /// Bytes.
    peak_memory: AtomicU64,
    fuel: AtomicU64,
    calls_metric: metrics::Counter,
    cpu_metric: metrics::Histogram,
}

impl Stats {
    fn new(kind: &'static str, shown: &str) -> Self {
        let shown = shown.to_owned();
        Self {
            kind,
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
            peak_memory: AtomicU64::new(0),
            fuel: AtomicU64::new(0),
            calls_metric: metrics::counter!(
                "orbweaver_plugin_calls_total", "kind" => kind, "plugin" => shown.clone()
            ),
            cpu_metric: metrics::histogram!(
                "orbweaver_plugin_cpu_seconds", "kind" => kind, "plugin" => shown.clone()
            ),
            shown,
        }
    }

    /// Counters for self-tests, without metrics.
    pub fn silent() -> Self {
        Self {
            kind: "",
            shown: String::new(),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
            peak_memory: AtomicU64::new(0),
            fuel: AtomicU64::new(0),
            calls_metric: metrics::Counter::noop(),
            cpu_metric: metrics::Histogram::noop(),
        }
    }

    /// Number of calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Number of failed calls.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// CPU time of all calls.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu.load(Ordering::Relaxed))
    }

    /// Largest memory of one call, in bytes.
    pub fn peak_memory(&self) -> u64 {
        self.peak_memory.load(Ordering::Relaxed)
    }

    /// Fuel of all calls.
    pub fn fuel(&self) -> u64 {
        self.fuel.load(Ordering::Relaxed)
    }

    /// Adds one call's fuel.
    pub fn record_fuel(&self, fuel: u64) {
        self.fuel.fetch_add(fuel, Ordering::Relaxed);
    }

    /// Counts one call: its CPU time, its bytes of memory, and its error.
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
                "kind" => self.kind, "plugin" => self.shown.clone(), "error" => error.kind()
            )
            .increment(1);
        }
    }
}

/// The counters of every plugin that was ever loaded.
#[derive(Default)]
pub(crate) struct AllStats(Mutex<HashMap<Owned, Arc<Stats>>>);

/// Owner, kind and name of a plugin.
type Owned = (Option<ProjectId>, Kind, String);

/// The name that all projects' plugins have together in metrics: their own names are the
/// projects' business, and have no bound.
const OF_PROJECTS: &str = "(of projects)";

impl AllStats {
    /// The counters of one plugin, created on first use.
    pub fn for_plugin(&self, owner: Option<ProjectId>, kind: Kind, name: &str) -> Arc<Stats> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = owner.map_or(name, |_| OF_PROJECTS);
        let stats = all
            .entry((owner, kind, name.to_owned()))
            .or_insert_with(|| Arc::new(Stats::new(kind.as_str(), shown)));
        Arc::clone(stats)
    }

    /// Forgets the counters of a plugin that a project has removed.
    pub fn forget(&self, project: ProjectId, kind: Kind, name: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(Some(project), kind, name.to_owned()));
    }
}

//! Counters of plugins, for listings and metrics: over all versions, and of each version
//! (`figures`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use orbweaver_core::ids::ProjectId;

use crate::error::PluginError;
use crate::figures::{CallUse, Figures, KEPT_VERSIONS};
use crate::inspect::Digest;
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
    denials_metric: metrics::Counter,
    cpu_metric: metrics::Histogram,
    wall_metric: metrics::Histogram,
    /// The version that was loaded last is the last one.
    versions: Mutex<Vec<Arc<Figures>>>,
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
            denials_metric: metrics::counter!(
                "orbweaver_plugin_denials_total", "kind" => kind, "plugin" => shown.clone()
            ),
            cpu_metric: metrics::histogram!(
                "orbweaver_plugin_cpu_seconds", "kind" => kind, "plugin" => shown.clone()
            ),
            wall_metric: metrics::histogram!(
                "orbweaver_plugin_wall_seconds", "kind" => kind, "plugin" => shown.clone()
            ),
            shown,
            versions: Mutex::default(),
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
            denials_metric: metrics::Counter::noop(),
            cpu_metric: metrics::Histogram::noop(),
            wall_metric: metrics::Histogram::noop(),
            versions: Mutex::default(),
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

    /// The figures of a version that is being loaded; those of an earlier time if it was loaded
    /// before.
    pub fn version(&self, digest: Digest, version: &str, now: SystemTime) -> Arc<Figures> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = versions.iter().position(|known| known.digest == digest);
        let figures = match known {
            Some(index) => versions.remove(index),
            None => Arc::new(Figures::new(digest, version, now)),
        };
        if versions.len() >= KEPT_VERSIONS {
            versions.remove(0);
        }
        versions.push(Arc::clone(&figures));
        figures
    }

    /// The figures of the last versions, the one that was loaded last first.
    pub fn versions(&self) -> Vec<Arc<Figures>> {
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.iter().rev().cloned().collect()
    }

    /// Counts a quarantine.
    pub fn record_quarantine(&self) {
        metrics::counter!(
            "orbweaver_plugin_quarantines_total",
            "kind" => self.kind, "plugin" => self.shown.clone()
        )
        .increment(1);
    }

    /// Counts one call: what it used, and its error.
    pub fn record(&self, used: &CallUse, error: Option<&PluginError>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.peak_memory.fetch_max(used.memory, Ordering::Relaxed);
        let nanos = u64::try_from(used.cpu.as_nanos()).unwrap_or(u64::MAX);
        self.cpu.fetch_add(nanos, Ordering::Relaxed);
        self.calls_metric.increment(1);
        if used.denials > 0 {
            self.denials_metric.increment(u64::from(used.denials));
        }
        self.cpu_metric.record(used.cpu);
        self.wall_metric.record(used.wall);
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

    /// The figures of the last versions of a plugin, the one that was loaded last first.
    pub fn figures(&self, owner: Option<ProjectId>, kind: Kind, name: &str) -> Vec<Arc<Figures>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stats = all.get(&(owner, kind, name.to_owned()));
        stats.map(|stats| stats.versions()).unwrap_or_default()
    }

    /// Forgets the counters of a plugin that a project has removed.
    pub fn forget(&self, project: ProjectId, kind: Kind, name: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(Some(project), kind, name.to_owned()));
    }
}

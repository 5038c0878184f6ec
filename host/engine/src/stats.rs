//! Counters of plugins, for listings and metrics.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::PluginError;
use crate::kind::Kind;

/// Counters of one plugin by kind and name, over all versions.
pub(crate) struct Stats {
    kind: &'static str,
    name: String,
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
    fn new(kind: &'static str, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
            peak_memory: AtomicU64::new(0),
            fuel: AtomicU64::new(0),
            calls_metric: metrics::counter!(
                "orbweaver_plugin_calls_total", "kind" => kind, "plugin" => name.to_owned()
            ),
            cpu_metric: metrics::histogram!(
                "orbweaver_plugin_cpu_seconds", "kind" => kind, "plugin" => name.to_owned()
            ),
        }
    }

    /// Counters for self-tests, without metrics.
    pub fn silent() -> Self {
        Self {
            kind: "",
            name: String::new(),
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
                "kind" => self.kind, "plugin" => self.name.clone(), "error" => error.kind()
            )
            .increment(1);
        }
    }
}

/// The counters of every plugin that was ever loaded.
#[derive(Default)]
pub(crate) struct AllStats(Mutex<HashMap<(Kind, String), Arc<Stats>>>);

impl AllStats {
    /// The counters of one plugin, created on first use.
    pub fn for_plugin(&self, kind: Kind, name: &str) -> Arc<Stats> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stats = all
            .entry((kind, name.to_owned()))
            .or_insert_with(|| Arc::new(Stats::new(kind.as_str(), name)));
        Arc::clone(stats)
    }
}

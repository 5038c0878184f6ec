//! The engine's part of the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::grants::Permissions;
use crate::manifest::Kind;

/// Where plugins live, what they may use, and what they are granted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    /// Folder for compiled plugins; none compiles anew at every start. Must be a folder
    /// that only this user can write: what lies there is run as machine code.
    pub cache_dir: Option<PathBuf>,
    /// Folder of `extract-NAME.wasm`, `actor-NAME.wasm`, `site-NAME.wasm`.
    pub plugin_dir: Option<PathBuf>,
    /// Largest component accepted, in bytes.
    pub max_component_bytes: u64,
    /// Longest compilation of one component, in milliseconds.
    pub compile_timeout_ms: u64,
    /// Slots of the instance pool: extractor instances alive at once.
    pub max_instances: u32,
    /// Threads that run extractors; 0 takes one per core.
    pub extractor_threads: usize,
    /// Actor and fetcher calls alive at once; more wait.
    pub max_actors: usize,
    /// Of these, calls of one project that may wait. The engine's callers see to it.
    pub actor_queue_per_project: usize,
    /// Budgets of one call, per kind.
    pub limits: LimitsConfig,
    /// What plugins are granted.
    pub grants: GrantConfig,
    /// Which plugin serves a role, where it is not the one of the role's own name.
    pub roles: BTreeMap<String, String>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            cache_dir: None,
            plugin_dir: None,
            max_component_bytes: 64 << 20,
            compile_timeout_ms: 60_000,
            max_instances: 256,
            extractor_threads: 0,
            max_actors: 64,
            actor_queue_per_project: 256,
            limits: LimitsConfig::default(),
            grants: GrantConfig::default(),
            roles: BTreeMap::new(),
        }
    }
}

impl EngineConfig {
    /// Longest compilation of one component.
    pub(crate) fn compile_timeout(&self) -> Duration {
        Duration::from_millis(self.compile_timeout_ms)
    }

    /// Number of extractor threads, the default resolved.
    pub(crate) fn threads(&self) -> usize {
        if self.extractor_threads > 0 {
            return self.extractor_threads;
        }
        std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
    }
}

/// Budgets per kind: what a plugin gets that asks for nothing, and the most that one gets
/// that asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Of extractors.
    pub extractor: LimitRange,
    /// Of actors.
    pub actor: LimitRange,
    /// Of fetchers.
    pub fetcher: LimitRange,
}

impl LimitsConfig {
    /// The range for one kind.
    pub fn of(&self, kind: Kind) -> &LimitRange {
        match kind {
            Kind::Extractor => &self.extractor,
            Kind::Actor => &self.actor,
            Kind::Fetcher => &self.fetcher,
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        let extractor = Limits {
            cpu_ms: 2_000,
            wall_ms: 10_000,
            memory_mib: 256,
            table_elements: 100_000,
            output_kib: 32 << 10,
            handles: 1_000,
            host_call_kib: 64 << 10,
            log_lines: 100,
            fetches: 0,
            concurrency: 0,
            fetch_mib: 0,
        };
        let actor = Limits {
            cpu_ms: 10_000,
            wall_ms: 180_000,
            memory_mib: 512,
            log_lines: 1_000,
            fetches: 1_000,
            concurrency: 16,
            fetch_mib: 256,
            ..extractor
        };
        let ceiling = Limits {
            cpu_ms: 300_000,
            wall_ms: 600_000,
            memory_mib: 1_024,
            fetches: 100_000,
            concurrency: 64,
            fetch_mib: 8_192,
            ..actor
        };
        let extractor_ceiling = Limits {
            cpu_ms: 10_000,
            wall_ms: 30_000,
            memory_mib: 1_024,
            ..extractor
        };
        Self {
            extractor: LimitRange {
                default: extractor,
                max: extractor_ceiling,
            },
            actor: LimitRange {
                default: actor,
                max: ceiling,
            },
            fetcher: LimitRange {
                default: actor,
                max: ceiling,
            },
        }
    }
}

/// Default and ceiling of one kind's budgets.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitRange {
    /// For a plugin whose manifest asks for nothing.
    pub default: Limits,
    /// The most that a manifest can ask for.
    pub max: Limits,
}

/// Budgets of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Time on a CPU inside the guest, in milliseconds.
    pub cpu_ms: u64,
    /// Time from start to end, in milliseconds.
    pub wall_ms: u64,
    /// Linear memory, in MiB.
    pub memory_mib: u64,
    /// Elements of all tables together.
    pub table_elements: u64,
    /// Size of the answer, in KiB.
    pub output_kib: u64,
    /// Host resources (pages, streams) open at once.
    pub handles: u32,
    /// Data that the guest may hand to one host call, in KiB.
    pub host_call_kib: u64,
    /// Lines written to the log; the rest is counted and dropped.
    pub log_lines: u32,
    /// Requests through the host.
    pub fetches: u32,
    /// Requests at once.
    pub concurrency: u32,
    /// Decoded bytes fetched, in MiB.
    pub fetch_mib: u64,
}

impl Limits {
    pub(crate) fn cpu(&self) -> Duration {
        Duration::from_millis(self.cpu_ms)
    }

    pub(crate) fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms)
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_mib.saturating_mul(1 << 20)
    }

    pub(crate) fn output_bytes(&self) -> u64 {
        self.output_kib.saturating_mul(1 << 10)
    }

    pub(crate) fn host_call_bytes(&self) -> u64 {
        self.host_call_kib.saturating_mul(1 << 10)
    }

    pub(crate) fn fetch_bytes(&self) -> u64 {
        self.fetch_mib.saturating_mul(1 << 20)
    }
}

/// What the operator grants. A plugin that is not named gets what its source gets: one in
/// the folder all that its manifest asks (the operator put it there), an uploaded one
/// nothing but `log` and `extract`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantConfig {
    /// By plugin: `NAME`, or `KIND:NAME` where two kinds share a name.
    pub plugins: BTreeMap<String, Grant>,
}

impl GrantConfig {
    /// The entry for this plugin, if there is one.
    pub fn find(&self, kind: Kind, name: &str) -> Option<&Grant> {
        self.plugins
            .get(&format!("{}:{name}", kind.as_str()))
            .or_else(|| self.plugins.get(name))
    }
}

/// One plugin's grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Grant {
    /// The word `all` (everything asked) or `none`.
    Word(GrantWord),
    /// A list of permissions.
    Some(Permissions),
}

/// Grants that are one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantWord {
    /// Whatever the manifest asks.
    All,
    /// Nothing.
    None,
}

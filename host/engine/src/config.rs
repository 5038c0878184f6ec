//! The engine's part of the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::grants::Permissions;
use crate::kind::Kind;
use crate::limits::LimitsConfig;

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
    /// Limits of one call, per kind.
    pub limits: LimitsConfig,
    /// Permissions that plugins are granted.
    pub grants: GrantConfig,
    /// Which plugin serves a role, where it is not the one of the role's own name.
    pub roles: BTreeMap<String, String>,
    /// Counts the instructions that extractors execute ([`crate::PluginInfo::fuel`]): for
    /// tests of their cost. It slows every guest, so no configuration file can set it.
    #[serde(skip)]
    pub count_fuel: bool,
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
            count_fuel: false,
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

/// Permissions that the operator grants. A plugin that is not listed gets its source's
/// default: one in the folder everything that its manifest asks for (the operator put it
/// there), an uploaded one nothing but `log` and `extract`.
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
    /// Everything that the manifest asks for.
    All,
    /// Nothing.
    None,
}

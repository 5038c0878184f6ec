//! The engine's part of the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use orbweaver_core::setting::Millis;
use orbweaver_core::settings;
use serde::{Deserialize, Serialize};

use crate::grants::Permissions;
use crate::kind::Kind;
use crate::limits::LimitsConfig;

settings! {
    /// `[plugins]`: where plugins live, what they may use, and what they are granted.
    pub struct EngineConfig {
        /// As `plugin_dir`, which wins.
        pub plugin_dir: Option<PathBuf>,
        /// Folder of compiled plugins; unset, `compiled` in the data folder. Only this user
        /// may write there: what lies there is run as machine code.
        pub cache_dir: Option<PathBuf>,
        /// Largest plugin file, in bytes.
        pub max_component_bytes: u64 = 64 << 20,
        /// Longest compilation of one plugin, in milliseconds.
        pub compile_timeout_ms: Millis = Millis(60_000),
        /// Extractor instances alive at once.
        pub max_instances: u32 = 256,
        /// Threads that run extractors; 0 takes one per core.
        pub extractor_threads: usize = 0,
        /// Actor and fetcher calls at once; more wait, and projects take turns.
        pub max_actors: usize = 64,
        /// Actor and fetcher calls of one project that may wait; more are answered 429.
        pub actor_queue_per_project: usize = 256,
        /// Which extractor serves a role, where it is not the one of the role's name:
        /// `{ article = "my-article" }`.
        pub roles: BTreeMap<String, String>,
        /// Permissions that plugins are granted, by name: "all", "none", or a table
        /// `{ http, extract, render, crawl-data, wasi }`. A plugin of the folder that is not
        /// named gets all that its manifest asks.
        pub grants: GrantConfig,
        /// A program whose plugins inside serve where the folder has none of their name: the
        /// one that runs.
        #[internal]
        pub bundle: Option<PathBuf>,
        /// Compiles for any processor of the last ten years, not just for this one.
        #[internal]
        pub portable_code: bool = false,
        /// Counts the instructions that extractors execute ([`crate::PluginInfo::fuel`]): for
        /// tests of their cost. It slows every guest, so no configuration file can set it.
        #[internal]
        pub count_fuel: bool = false,
        /// `[plugins.limits]`.
        #[section]
        pub limits: LimitsConfig,
    }
}

impl EngineConfig {
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

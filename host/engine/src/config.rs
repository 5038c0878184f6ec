//! The engine's settings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use orbweaver_core::setting::Millis;
use orbweaver_core::settings;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};

use crate::grants::Permissions;
use crate::kind::Kind;
use crate::limits::LimitsConfig;

settings! {
    /// `[plugins]`: plugin folders, limits and grants.
    pub struct EngineConfig {
        /// Same as `plugin_dir`, which takes precedence.
        pub plugin_dir: Option<PathBuf>,
        /// Folder of compiled plugins; unset, `orbweaver/compiled` in the user's cache
        /// ($XDG_CACHE_HOME, else ~/.cache), or `compiled` in the data folder where that can't
        /// be had. Only this user may write there: what lies there is run as machine code.
        pub cache_dir: Option<PathBuf>,
        /// Largest plugin file, in bytes.
        pub max_component_bytes: u64 = 64 << 20,
        /// Time limit for compiling one plugin, in milliseconds.
        pub compile_timeout_ms: Millis = Millis(60_000),
        /// Memory for compiling one uploaded plugin, in MiB: that is done in a process of its own. A
        /// plugin that takes more is refused.
        pub compile_memory_mib: u64 = 2_048,
        /// Disk space for the compiled code of all plugins of the instance, in MiB. Code that was
        /// not used for the longest time is removed first.
        pub compiled_mib: u64 = 4_096,
        /// The same for the plugins of one project.
        pub compiled_mib_per_project: u64 = 256,
        /// Most versions kept of an uploaded plugin, the one that serves included.
        pub kept_versions: u32 = 10,
        /// Most plugins of all projects together; further uploads of projects are answered 429.
        pub max_project_plugins: u64 = 2_000,
        /// Most instances of extractors and hooks in compiled languages at the same time; further ones wait.
        pub max_instances: u32 = 256,
        /// Threads that run extractors; 0: one per core.
        pub extractor_threads: usize = 0,
        /// Most actor and fetcher calls at once; further ones wait, and projects take turns.
        pub max_actors: usize = 64,
        /// Most waiting actor and fetcher calls of one project; further ones are answered 429.
        pub actor_queue_per_project: usize = 256,
        /// CPU time that the host spends at most for one call of an actor or fetcher, besides the call's
        /// own: on extractors that it asks for, and on the links of crawls that it reads, in
        /// milliseconds. A call whose own limit of CPU time is higher may have as much as that.
        pub host_cpu_ms: Millis = Millis(30_000),
        /// Uploads of plugins that may wait for those under way; more are answered 429.
        pub upload_queue: usize = 4,
        /// Crashes in a row after which an uploaded plugin is in quarantine: calls of the project
        /// whose calls crashed it are refused for a while. 0: never.
        pub quarantine_crashes: u32 = 5,
        /// How long calls are refused first, in milliseconds; then one call is tried, and every
        /// further crash doubles the time.
        pub quarantine_ms: Millis = Millis(1_000),
        /// The longest time for which calls are refused, in milliseconds.
        pub quarantine_max_ms: Millis = Millis(300_000),
        /// Which extractor serves a role, where it is not the one of the role's name:
        /// `{ article = "my-article" }`.
        pub roles: BTreeMap<String, String>,
        /// Permissions granted to plugins, by name: "all", "none", or a table
        /// `{ http, extract, render, crawl-data, state, secrets, wasi }`. A plugin of the folder that
        /// is not listed gets all that its manifest requests, an upload only log and extract. The
        /// grants that an upload names take precedence.
        pub grants: GrantConfig,
        /// A program file with plugins inside ([`crate::write_bundle`]), which serve unless the
        /// folder has a plugin of the same name: the running program.
        #[internal]
        pub bundle: Option<PathBuf>,
        /// The program that compiles uploads, with [`crate::COMPILE_COMMAND`], in a process of its own; `None`: this
        /// process does.
        #[internal]
        pub compiler: Option<PathBuf>,
        /// Whether to compile for any recent processor (x86-64-v3) instead of only for this one.
        #[internal]
        pub portable_code: bool = false,
        /// Whether to count the instructions that plugins execute ([`crate::PluginInfo::fuel`]),
        /// for tests of their cost. It slows every guest, so it is not a configuration setting.
        #[internal]
        pub count_fuel: bool = false,
        /// Names of the files to load, where not all of the folder's are needed: for a command
        /// that runs one extractor. No configuration file can set it.
        #[internal]
        pub only_files: Option<Vec<String>>,
        /// `[plugins.limits]`.
        #[section]
        pub limits: LimitsConfig,
    }
}

impl EngineConfig {
    /// Number of extractor threads, with the default resolved.
    pub(crate) fn threads(&self) -> usize {
        if self.extractor_threads > 0 {
            return self.extractor_threads;
        }
        std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
    }
}

/// Permissions that the operator grants. A plugin that is not listed gets the default of its
/// source: one of the program or the folder everything that its manifest requests (the operator
/// put it there), an upload only `log` and `extract`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantConfig {
    /// By plugin: `NAME`, or `KIND:NAME` if two kinds share a name.
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

/// The grant of one plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Grant {
    /// The word `all` (everything requested) or `none`.
    Word(GrantWord),
    /// A list of permissions.
    Some(Permissions),
}

/// By hand, so that an error names the wrong field of a table.
impl<'de> Deserialize<'de> for Grant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GrantVisitor)
    }
}

struct GrantVisitor;

impl<'de> Visitor<'de> for GrantVisitor {
    type Value = Grant;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("`all`, `none` or a table of permissions")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Grant, E> {
        match word {
            "all" => Ok(Grant::Word(GrantWord::All)),
            "none" => Ok(Grant::Word(GrantWord::None)),
            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Grant, A::Error> {
        Permissions::deserialize(MapAccessDeserializer::new(members)).map(Grant::Some)
    }
}

/// Grants written as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantWord {
    /// Everything that the manifest requests.
    All,
    /// Nothing.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_a_word_or_a_table_and_an_error_names_what_is_wrong() {
        let read = |text: &str| toml::from_str::<GrantConfig>(text);
        let config = read("a = \"all\"\nb = \"none\"\nc = { http = [\"*\"], crawl-data = true }");
        let plugins = config.expect("grants").plugins;
        assert_eq!(plugins["a"], Grant::Word(GrantWord::All));
        assert_eq!(plugins["b"], Grant::Word(GrantWord::None));
        let some = Permissions {
            http: vec!["*".to_owned()],
            crawl_data: true,
            ..Permissions::default()
        };
        assert_eq!(plugins["c"], Grant::Some(some));
        for (text, why) in [
            (
                "x = \"every\"",
                "expected `all`, `none` or a table of permissions",
            ),
            ("x = 7", "expected `all`, `none` or a table of permissions"),
            ("x = { htp = [] }", "unknown field `htp`"),
            ("x = { render = \"yes\" }", "expected a boolean"),
            ("x = { http = \"*\" }", "expected a sequence"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

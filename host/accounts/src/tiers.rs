//! `[tiers]`: the caps of projects.

use std::collections::BTreeMap;

use orbweaver_core::setting::SettingInfo;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Every tier by its name.
pub type Tiers = BTreeMap<String, TierConfig>;

/// `[tiers.NAME]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierConfig {
    /// Pages and cloud pages together, per UTC day.
    pub pages_per_day: Cap,
    /// Pages and cloud pages together, per calendar month, UTC.
    pub pages_per_month: Cap,
    /// Cloud pages, per UTC day.
    pub cloud_pages_per_day: Cap,
    /// Crawl runs queued or running at the same time.
    pub concurrent_runs: Cap,
    /// Monitors, paused ones included.
    pub monitors: Cap,
    /// Whether crawls may be `aggressive`.
    pub aggressive: bool,
    /// Seconds after which a crawl run ends with the pages it has; only where shorter than
    /// `crawl.max_age_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_run_seconds: Option<u64>,
    /// Plugins that a project installs for itself.
    #[serde(default, skip_serializing_if = "PluginCaps::is_default")]
    pub plugins: PluginCaps,
}

/// `[tiers.NAME.plugins]`: what the plugins that a project installs for itself may be and have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginCaps {
    /// Most plugins of the project; 0, the default: it may install none.
    pub count: Cap,
    /// Largest component, in MiB.
    pub component_mib: u64,
    /// Most CPU time of one call, in milliseconds, where the kind allows more.
    pub cpu_ms: u64,
    /// Most memory of one call, in MiB, where the kind allows more.
    pub memory_mib: u64,
    /// Whether they may be granted `http`: the guard and the plugin's own list apply in any case.
    pub http: bool,
    /// Whether they may be granted `render`.
    pub render: bool,
    /// Whether they may be granted `crawl-data`.
    pub crawl_data: bool,
    /// Whether they may be granted `wasi`.
    pub wasi: bool,
    /// Whether they may be granted `state`.
    pub state: bool,
    /// Whether they may be granted `secret`.
    pub secrets: bool,
    /// Most MiB that all plugins which the project calls keep for it, the instance's too.
    pub state_mib: u64,
    /// Most values that they keep.
    pub state_entries: u64,
}

impl Default for PluginCaps {
    fn default() -> Self {
        Self {
            count: Cap::at(0),
            component_mib: 24,
            cpu_ms: 10_000,
            memory_mib: 256,
            http: true,
            render: true,
            crawl_data: true,
            wasi: true,
            state: true,
            secrets: true,
            state_mib: 16,
            state_entries: 10_000,
        }
    }
}

impl PluginCaps {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a project may install any plugin.
    pub fn may_install(&self) -> bool {
        self.count != Cap::at(0)
    }

    /// The allowed permissions, as the names of grants.
    pub fn grants(&self) -> Vec<&'static str> {
        let words = [
            (self.http, "http"),
            (self.render, "render"),
            (self.crawl_data, "crawl-data"),
            (self.wasi, "wasi"),
            (self.state, "state"),
            (self.secrets, "secret"),
        ];
        let allowed = words.into_iter().filter(|(allowed, _)| *allowed);
        allowed.map(|(_, word)| word).collect()
    }
}

/// A number, or no cap: `"unlimited"` in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap(pub Option<u64>);

/// Configuration text of no cap.
const UNLIMITED: &str = "unlimited";

impl Cap {
    /// No cap.
    pub const NONE: Self = Self(None);

    /// A cap of `limit`.
    pub const fn at(limit: u64) -> Self {
        Self(Some(limit))
    }

    /// Whether one more fits when `used` are in use.
    pub fn has_room(self, used: u64) -> bool {
        self.0.is_none_or(|cap| used < cap)
    }
}

impl Serialize for Cap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(limit) => serializer.serialize_u64(limit),
            None => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for Cap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(u64),
            Word(String),
        }
        // The error of a field that is missing says which one.
        let given = serde_json::Value::deserialize(deserializer)?;
        match Either::deserialize(given) {
            Ok(Either::Number(limit)) => Ok(Self::at(limit)),
            Ok(Either::Word(word)) if word == UNLIMITED => Ok(Self::NONE),
            _ => Err(serde::de::Error::custom(
                "must be a whole number or \"unlimited\"",
            )),
        }
    }
}

/// Name, pages per day and month, cloud pages per day, runs, monitors, aggressive.
type Line = (&'static str, u64, u64, u64, u64, u64, bool);

const LINES: [Line; 4] = [
    ("free", 200, 1_500, 100, 2, 3, false),
    ("pro", 2_000, 50_000, 1_000, 16, 25, false),
    ("agency", 10_000, 250_000, 5_000, 32, 200, true),
    ("studio", 50_000, 1_500_000, 25_000, 64, 200, true),
];

/// The built-in tiers of the product.
pub fn defaults() -> Tiers {
    let mut tiers: Tiers = LINES
        .into_iter()
        .map(|(name, day, month, cloud, runs, monitors, aggressive)| {
            let tier = TierConfig {
                pages_per_day: Cap::at(day),
                pages_per_month: Cap::at(month),
                cloud_pages_per_day: Cap::at(cloud),
                concurrent_runs: Cap::at(runs),
                monitors: Cap::at(monitors),
                aggressive,
                max_run_seconds: None,
                plugins: PluginCaps::default(),
            };
            (name.to_owned(), tier)
        })
        .collect();
    let own = TierConfig {
        pages_per_day: Cap::NONE,
        pages_per_month: Cap::NONE,
        cloud_pages_per_day: Cap::NONE,
        concurrent_runs: Cap::at(5),
        monitors: Cap::NONE,
        aggressive: true,
        max_run_seconds: None,
        plugins: PluginCaps::default(),
    };
    tiers.insert("self_hosted".to_owned(), own);
    tiers
}

/// Describes the built-in tiers, each with all its caps.
pub fn describe(prefix: &str, all: &mut Vec<SettingInfo>) {
    let mut tier = |name, help| all.push(SettingInfo::new(prefix, name, &[help], None));
    tier(
        "free",
        "What projects of tier free may use: pages_per_day (UTC) and pages_per_month count pages \
         and cloud pages together, cloud_pages_per_day cloud pages alone; concurrent_runs and \
         monitors at once; aggressive: whether crawls may be; optionally max_run_seconds, the longest time of a crawl run. \
         plugins: a table for plugins that a project installs for itself: count (0, the default: none), component_mib, \
         cpu_ms and memory_mib of a call, and whether they may be granted http, render, crawl_data, wasi, state, secrets; \
         state_mib and state_entries bound what all plugins keep for the project. A number, or \"unlimited\". \
         Further tiers may be added with all six values.",
    );
    tier("pro", "As tiers.free, for tier pro.");
    tier("agency", "As tiers.free, for tier agency.");
    tier("studio", "As tiers.free, for tier studio.");
    tier(
        "self_hosted",
        "As tiers.free, for the tier of the first project, and of those created on the command line.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_of_projects_are_off_until_they_are_set() {
        let tiers = defaults();
        assert!(tiers.values().all(|tier| !tier.plugins.may_install()));
        let caps: PluginCaps = toml::from_str("count = 3\nrender = false").unwrap();
        assert!(caps.may_install());
        assert_eq!(
            caps.grants(),
            ["http", "crawl-data", "wasi", "state", "secret"]
        );
        assert!(toml::from_str::<PluginCaps>("number = 3").is_err());
    }

    #[test]
    fn caps_are_numbers_or_unlimited() {
        let mut tier: toml::Table = toml::from_str(
            "pages_per_day = \"unlimited\"\npages_per_month = 7\ncloud_pages_per_day = 0\n\
             concurrent_runs = 1\nmonitors = 1\naggressive = false",
        )
        .unwrap();
        let read: TierConfig = tier.clone().try_into().unwrap();
        assert_eq!(read.pages_per_day, Cap::NONE);
        assert_eq!(read.pages_per_month, Cap::at(7));
        assert!(!read.cloud_pages_per_day.has_room(0));
        assert_eq!(toml::Table::try_from(read).unwrap(), tier);
        tier.insert("monitors".to_owned(), "many".into());
        assert!(tier.try_into::<TierConfig>().is_err());
    }
}

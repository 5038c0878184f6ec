//! Limits of one call, per kind of plugin.

use std::time::Duration;

use orbweaver_core::settings;
use serde::{Deserialize, Serialize};

use crate::kind::Kind;

settings! {
    /// `[plugins.limits]`: budgets per kind of plugin: the defaults, and the most that a manifest
    /// can request.
    pub struct LimitsConfig {
        /// Budgets of an extractor call: `default` if the manifest requests nothing, `max` is the
        /// most that it can request. Times in milliseconds.
        pub extractor: LimitRange = LimitRange {
            default: EXTRACTOR,
            max: Limits {
                cpu_ms: 10_000,
                wall_ms: 30_000,
                memory_mib: 1_024,
                ..EXTRACTOR
            },
        },
        /// Budgets of an actor call.
        pub actor: LimitRange = ACTOR,
        /// Budgets of a fetcher call.
        pub fetcher: LimitRange = ACTOR,
        /// Budgets of a hook: for all its calls for one page together, or for one request.
        pub hook: LimitRange = HOOK,
    }
}

/// Default budgets of an extractor.
const EXTRACTOR: Limits = Limits {
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

/// Budgets of actors and fetchers.
const ACTOR: LimitRange = {
    let default = Limits {
        cpu_ms: 10_000,
        wall_ms: 180_000,
        memory_mib: 512,
        log_lines: 1_000,
        fetches: 1_000,
        concurrency: 16,
        fetch_mib: 256,
        ..EXTRACTOR
    };
    LimitRange {
        default,
        max: Limits {
            cpu_ms: 300_000,
            wall_ms: 600_000,
            memory_mib: 1_024,
            fetches: 100_000,
            concurrency: 64,
            fetch_mib: 8_192,
            ..default
        },
    }
};

/// Budgets of hooks: a crawl waits for them on every page.
const HOOK: LimitRange = {
    let default = Limits {
        cpu_ms: 500,
        wall_ms: 5_000,
        memory_mib: 128,
        output_kib: 1 << 10,
        handles: 100,
        host_call_kib: 4 << 10,
        log_lines: 20,
        ..EXTRACTOR
    };
    LimitRange {
        default,
        max: Limits {
            cpu_ms: 5_000,
            wall_ms: 30_000,
            memory_mib: 512,
            output_kib: 8 << 10,
            ..default
        },
    }
};

impl LimitsConfig {
    /// The range for one kind.
    pub fn for_kind(&self, kind: Kind) -> &LimitRange {
        match kind {
            Kind::Extractor => &self.extractor,
            Kind::Actor => &self.actor,
            Kind::Fetcher => &self.fetcher,
            Kind::Hook => &self.hook,
        }
    }
}

/// Default and maximum budgets of one kind.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitRange {
    /// For a plugin whose manifest requests nothing.
    pub default: Limits,
    /// The most that a manifest can request.
    pub max: Limits,
}

/// Limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// CPU time of the guest, in milliseconds.
    pub cpu_ms: u64,
    /// Wall time of the call, in milliseconds.
    pub wall_ms: u64,
    /// Memory of the call in MiB: linear memory of the guest, and data that the host holds for it
    /// (pages, snapshots, requests in progress).
    pub memory_mib: u64,
    /// Elements of all tables together.
    pub table_elements: u64,
    /// Size of the answer, in KiB.
    pub output_kib: u64,
    /// Host resources (pages, streams) open at the same time.
    pub handles: u32,
    /// Data that the guest may pass to one host call, in KiB.
    pub host_call_kib: u64,
    /// Log lines; further ones are counted and dropped.
    pub log_lines: u32,
    /// Requests made through the host.
    pub fetches: u32,
    /// Parallel requests.
    pub concurrency: u32,
    /// Decoded bytes fetched, and bytes of requests' bodies, in MiB.
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

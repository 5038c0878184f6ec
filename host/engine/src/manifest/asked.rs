//! Limits that a manifest requests.

use serde::{Deserialize, Serialize};

use crate::limits::{LimitRange, Limits};

/// Limits that a manifest may request; see [`Limits`] for the units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedLimits {
    /// CPU time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Wall time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Memory in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Output size in KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_kib: Option<u64>,
    /// Number of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetches: Option<u32>,
    /// Parallel requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Fetched bytes in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_mib: Option<u64>,
}

impl AskedLimits {
    /// Each limit as requested, or its default, limited to its maximum.
    pub fn within(&self, range: &LimitRange) -> Limits {
        let LimitRange { default, max } = range;
        Limits {
            cpu_ms: self.cpu_ms.unwrap_or(default.cpu_ms).min(max.cpu_ms),
            wall_ms: self.wall_ms.unwrap_or(default.wall_ms).min(max.wall_ms),
            memory_mib: self
                .memory_mib
                .unwrap_or(default.memory_mib)
                .min(max.memory_mib),
            output_kib: self
                .output_kib
                .unwrap_or(default.output_kib)
                .min(max.output_kib),
            fetches: self.fetches.unwrap_or(default.fetches).min(max.fetches),
            concurrency: self
                .concurrency
                .unwrap_or(default.concurrency)
                .min(max.concurrency),
            fetch_mib: self
                .fetch_mib
                .unwrap_or(default.fetch_mib)
                .min(max.fetch_mib),
            ..*default
        }
    }

    /// The requests that exceed the maximum, one line each.
    pub fn cut(&self, range: &LimitRange) -> Vec<String> {
        let max = &range.max;
        let asked = [
            ("cpu-ms", self.cpu_ms, max.cpu_ms),
            ("wall-ms", self.wall_ms, max.wall_ms),
            ("memory-mib", self.memory_mib, max.memory_mib),
            ("output-kib", self.output_kib, max.output_kib),
            ("fetches", self.fetches.map(u64::from), max.fetches.into()),
            (
                "concurrency",
                self.concurrency.map(u64::from),
                max.concurrency.into(),
            ),
            ("fetch-mib", self.fetch_mib, max.fetch_mib),
        ];
        asked
            .into_iter()
            .filter_map(|(name, asked, most)| {
                let asked = asked.filter(|asked| *asked > most)?;
                Some(format!(
                    "{name}: {asked} asked, cut to the maximum of {most}"
                ))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requested_limits_are_capped_at_the_maximum() {
        let range = crate::limits::LimitsConfig::default().extractor;
        let asked = AskedLimits {
            cpu_ms: Some(1),
            memory_mib: Some(1 << 40),
            ..AskedLimits::default()
        };
        let got = asked.within(&range);
        assert_eq!((got.cpu_ms, got.memory_mib), (1, range.max.memory_mib));
        assert_eq!(got.wall_ms, range.default.wall_ms);
        let said = "memory-mib: 1099511627776 asked, cut to the maximum of 1024";
        assert_eq!(asked.cut(&range), [said]);
    }
}

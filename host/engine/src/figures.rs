//! Figures of one version of a plugin: calls, errors by code, times and memory, on this node.
//!
//! Their size is bounded: a sketch of times has at most [`BINS`] counters, the codes of errors are
//! a fixed set, and a plugin keeps the figures of its last [`KEPT_VERSIONS`] versions.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use sketches_ddsketch::{Config, DDSketch};

use crate::error::PluginError;
use crate::inspect::Digest;

/// Versions of one plugin whose figures are kept.
pub(crate) const KEPT_VERSIONS: usize = 8;

/// Largest relative error of a quantile: 1 %.
const ALPHA: f64 = 0.01;

/// Most counters of a sketch: from a microsecond to more than an hour at this error. They are made as
/// they are needed; a plugin whose calls take about the same time needs a few.
const BINS: u32 = 1_280;

/// Times of calls, as a sketch of microseconds.
struct Times {
    sketch: DDSketch,
    total: Duration,
}

impl Times {
    fn new() -> Self {
        Self {
            sketch: DDSketch::new(Config::new(ALPHA, BINS, 1.0)),
            total: Duration::ZERO,
        }
    }

    fn add(&mut self, time: Duration) {
        self.sketch.add(time.as_secs_f64() * 1e6);
        self.total = self.total.saturating_add(time);
    }

    fn quantile(&self, quantile: f64) -> Option<Duration> {
        let position = nearest_rank(quantile, self.sketch.count());
        let micros = self.sketch.quantile(position).ok().flatten()?;
        Duration::try_from_secs_f64(micros / 1e6).ok()
    }

    fn spread(&self) -> TimeSpread {
        TimeSpread {
            p50: self.quantile(0.5).unwrap_or_default(),
            p99: self.quantile(0.99).unwrap_or_default(),
            total: self.total,
        }
    }
}

/// What to ask a sketch of so many values for, so that it answers the smallest of them that is no smaller than this
/// share of all (the nearest rank). The sketch itself rounds the rank down: it takes the value at
/// `floor(position * (count - 1))`, and so the smaller one of two for every position below 1.
fn nearest_rank(quantile: f64, count: usize) -> f64 {
    if count <= 1 {
        return quantile;
    }
    let count = count as f64;
    // 0.99 times 300 may be a little more than 297.
    let place = (quantile * count - 1e-6).ceil() - 1.0;
    // Half of a place more, so that no rounding leads to the place before.
    ((place + 0.5) / (count - 1.0)).min(1.0)
}

struct Data {
    calls: u64,
    errors: BTreeMap<&'static str, u64>,
    denials: u64,
    refused: u64,
    cpu: Times,
    wall: Times,
    peak_memory: u64,
}

/// What one ended call used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallUse {
    pub cpu: Duration,
    pub wall: Duration,
    /// Bytes.
    pub memory: u64,
    /// Requests of the plugin for what it is not granted.
    pub denials: u32,
}

/// The figures of one version.
pub(crate) struct Figures {
    pub digest: Digest,
    version: String,
    since: SystemTime,
    data: Mutex<Data>,
}

impl Figures {
    pub fn new(digest: Digest, version: &str, since: SystemTime) -> Self {
        Self {
            digest,
            version: version.to_owned(),
            since,
            data: Mutex::new(Data {
                calls: 0,
                errors: BTreeMap::new(),
                denials: 0,
                refused: 0,
                cpu: Times::new(),
                wall: Times::new(),
                peak_memory: 0,
            }),
        }
    }

    /// Counts one call.
    pub fn record(&self, used: &CallUse, error: Option<&PluginError>) {
        let mut data = self.data.lock();
        data.calls += 1;
        data.denials += u64::from(used.denials);
        data.cpu.add(used.cpu);
        data.wall.add(used.wall);
        data.peak_memory = data.peak_memory.max(used.memory);
        if let Some(error) = error {
            *data.errors.entry(error.kind()).or_default() += 1;
        }
    }

    /// Counts a call that was refused because the plugin is in quarantine.
    pub fn record_refused(&self) {
        self.data.lock().refused += 1;
    }

    /// The figures as they stand.
    pub fn shown(&self, serving: bool) -> VersionFigures {
        let data = self.data.lock();
        let errors = data.errors.iter();
        VersionFigures {
            version: self.version.clone(),
            digest: self.digest.to_string(),
            serving,
            since: self.since,
            calls: data.calls,
            errors: errors.map(|(code, count)| (*code, *count)).collect(),
            denials: data.denials,
            refused: data.refused,
            cpu: data.cpu.spread(),
            wall: data.wall.spread(),
            peak_memory: data.peak_memory,
        }
    }
}

/// Median, 99th percentile and sum of the times of all calls; quantiles to within 1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpread {
    /// Half of the calls took at most this.
    pub p50: Duration,
    /// 99 of 100 calls took at most this.
    pub p99: Duration,
    /// All calls together.
    pub total: Duration,
}

/// What the calls of one version of a plugin used on this node, since it was first loaded here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionFigures {
    /// Its manifest's version.
    pub version: String,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// Whether it is the version that serves.
    pub serving: bool,
    /// When it was first loaded by this process.
    pub since: SystemTime,
    /// Number of calls.
    pub calls: u64,
    /// Failed calls by [`PluginError::kind`], in ascending order; codes without a call are left out.
    pub errors: Vec<(&'static str, u64)>,
    /// How often the plugin asked for something that it is not granted.
    pub denials: u64,
    /// Calls refused because the plugin was in quarantine; they count as no calls.
    pub refused: u64,
    /// CPU time.
    pub cpu: TimeSpread,
    /// Wall time.
    pub wall: TimeSpread,
    /// Largest memory of one call, in bytes.
    pub peak_memory: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures::new(Digest::compute(b"x"), "1.0.0", SystemTime::UNIX_EPOCH)
    }

    fn used(micros: u64) -> CallUse {
        CallUse {
            cpu: Duration::from_micros(micros),
            wall: Duration::from_micros(2 * micros),
            memory: micros,
            denials: 1,
        }
    }

    fn is_about(time: Duration, wanted: Duration) -> bool {
        (time.as_secs_f64() / wanted.as_secs_f64() - 1.0).abs() <= 0.011
    }

    #[test]
    fn quantiles_are_within_a_hundredth() {
        let figures = figures();
        for micros in 1..=10_000 {
            figures.record(&used(micros), None);
        }
        let shown = figures.shown(true);
        assert_eq!((shown.calls, shown.denials), (10_000, 10_000));
        assert_eq!(shown.peak_memory, 10_000);
        assert!(is_about(shown.cpu.p50, Duration::from_micros(5_000)));
        assert!(is_about(shown.cpu.p99, Duration::from_micros(9_900)));
        assert!(is_about(shown.wall.p99, Duration::from_micros(19_800)));
        assert_eq!(shown.cpu.total, Duration::from_micros(50_005_000));
    }

    #[test]
    fn the_percentiles_of_a_few_calls_are_those_of_the_nearest_rank() {
        // (calls, the places of the median and of the 99th percentile, from 1)
        for (calls, median, last) in [
            (1, 1, 1),
            (2, 1, 2),
            (3, 2, 3),
            (36, 18, 36),
            (200, 100, 198),
        ] {
            let figures = figures();
            for place in 1..=calls {
                figures.record(&used(place * 1_000), None);
            }
            let shown = figures.shown(true).cpu;
            let time = |place: u64| Duration::from_millis(place);
            assert!(is_about(shown.p50, time(median)), "{calls}: {shown:?}");
            assert!(is_about(shown.p99, time(last)), "{calls}: {shown:?}");
        }
    }

    #[test]
    fn any_time_is_taken_and_a_sketch_stays_small() {
        let figures = figures();
        for exponent in 0..64 {
            figures.record(&used((1_u64 << exponent) / 4), None);
        }
        figures.record(&used(0), None);
        assert_eq!(figures.shown(false).calls, 65);
        let data = figures.data.lock();
        assert!(data.cpu.sketch.length() <= BINS as usize + 1);
    }

    #[test]
    fn errors_are_counted_by_code() {
        let figures = figures();
        let trap = PluginError::Trap("unreachable".to_owned());
        let wrong = PluginError::invalid("depth: must be 1");
        for error in [Some(&trap), Some(&wrong), Some(&trap), None] {
            figures.record(&used(1), error);
        }
        figures.record_refused();
        let shown = figures.shown(false);
        assert_eq!(shown.errors, [("invalid-input", 1), ("trap", 2)]);
        assert_eq!((shown.calls, shown.refused), (4, 1));
    }
}

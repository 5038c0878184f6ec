//! Watches health, one victim's scans, memory and files during a soak.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;

use super::client::{Ask, Whereabouts};
use crate::program::Program;

/// How long some requests took.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// The time that this share of the requests did not exceed.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut times = self.0.clone();
        times.sort_unstable();
        let at = (times.len() as f64 * share) as usize;
        let last = times.len().saturating_sub(1);
        times.get(at.min(last)).copied().unwrap_or_default()
    }

    /// How many requests there were.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There were none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many took longer.
    pub fn beyond(&self, limit: Duration) -> usize {
        self.0.iter().filter(|took| **took > limit).count()
    }
}

/// Asks for the health again and again; requests that a kill of the server broke do not count.
pub(super) fn health(at: &Whereabouts, stop: &AtomicBool) -> Times {
    let mut times = Times::default();
    while !stop.load(Ordering::Relaxed) {
        if let Some(address) = at.get()
            && let Ok(answer) = Ask::get("/v1/health", "").send(address)
            && at.get() == Some(address)
        {
            times.0.push(answer.took);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    times
}

/// Scans one page at a time.
pub(super) fn victim(at: &Whereabouts, key: &str, url: &str, stop: &AtomicBool) -> Times {
    let body = json!({"url": url, "max_age_seconds": 0}).to_string();
    let mut times = Times::default();
    while !stop.load(Ordering::Relaxed) {
        if let Some(address) = at.get()
            && let Ok(answer) = Ask::post("/v1/scan", key, &body).send(address)
            && answer.status == 200
            && at.get() == Some(address)
        {
            times.0.push(answer.took);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    times
}

/// What a process holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Memory that is resident, in MiB.
    pub resident_mib: f64,
    /// The most of it so far, in MiB.
    pub peak_mib: f64,
    /// Open files.
    pub files: usize,
    /// Memory of its caches, as its metrics tell it, in MiB. Settings bound it.
    pub cached_mib: f64,
}

impl Held {
    /// By a server at present.
    ///
    /// # Errors
    /// It does not run, or tells no metrics.
    pub fn by(server: &Program) -> Result<Self> {
        let pid = server.pid();
        let metrics = Ask::get("/metrics", "").send(server.address())?;
        let text = String::from_utf8_lossy(&metrics.body).into_owned();
        let caches = text
            .lines()
            .filter(|line| line.starts_with("orbweaver_cache_bytes{"))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        let cached = caches.sum::<f64>();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let mib = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line
                .and_then(|rest| rest.split_whitespace().next())
                .with_context(|| format!("no {name}"))?;
            Ok(kib.parse::<f64>()? / 1024.0)
        };
        Ok(Self {
            resident_mib: mib("VmRSS:")?,
            peak_mib: mib("VmHWM:")?,
            files: std::fs::read_dir(format!("/proc/{pid}/fd"))?.count(),
            cached_mib: cached / f64::from(1 << 20),
        })
    }
}

/// The longest time that the runtime kept ready work waiting, as the server's metrics told it
/// every second.
pub(super) fn longest_poll(at: &Whereabouts, stop: &AtomicBool) -> f64 {
    let mut longest = 0.0_f64;
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if let Some(address) = at.get()
            && let Ok(answer) = Ask::get("/metrics", "").send(address)
        {
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            let told = text
                .lines()
                .find_map(|line| line.strip_prefix("orbweaver_runtime_longest_poll_seconds "));
            longest = longest.max(
                told.and_then(|told| told.trim().parse().ok())
                    .unwrap_or(0.0),
            );
        }
        next += Duration::from_secs(1);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    longest
}

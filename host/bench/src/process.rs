//! The resource usage of a running process, as counted by Linux.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// Ticks per second in `/proc`: the same on every Linux, whatever the kernel's own clock.
const TICKS: f64 = 100.0;

/// CPU time of all threads.
pub fn cpu(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in parentheses, may contain anything.
    let (_, rest) = stat.rsplit_once(") ").context("no name in stat")?;
    let mut fields = rest.split(' ').skip(11);
    let mut ticks = || -> Result<f64> { Ok(fields.next().context("a short stat")?.parse()?) };
    Ok(Duration::from_secs_f64((ticks()? + ticks()?) / TICKS))
}

/// CPU time of all threads, once the process has had nothing to do for two seconds.
pub fn settled_cpu(pid: u32) -> Result<Duration> {
    const QUIET: Duration = Duration::from_secs(2);
    /// Timers use less.
    const IDLE: Duration = Duration::from_millis(40);
    let mut last = cpu(pid)?;
    loop {
        std::thread::sleep(QUIET);
        let now = cpu(pid)?;
        if now.saturating_sub(last) <= IDLE {
            return Ok(now);
        }
        last = now;
    }
}

/// CPU time of all running processes with this name.
pub fn cpu_of_all(name: &str) -> Result<Duration> {
    let mut total = Duration::ZERO;
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?.file_name();
        let Some(pid) = entry.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let named = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        if named.is_ok_and(|found| found.trim() == name) {
            // It may have ended since.
            total += cpu(pid).unwrap_or_default();
        }
    }
    Ok(total)
}

/// Processor time to the nanosecond, and how often a thread was given a processor: of all
/// threads that there are now.
pub fn scheduled(pid: u32) -> Result<(Duration, u64)> {
    let (mut time, mut times) = (0, 0);
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let mut fields = stat.split_whitespace();
        let mut next =
            || -> Result<u64> { Ok(fields.next().context("a short schedstat")?.parse()?) };
        time += next()?;
        next()?;
        times += next()?;
    }
    Ok((Duration::from_nanos(time), times))
}

/// The most memory that was resident, in MiB.
pub fn peak_mib(pid: u32) -> Result<f64> {
    status(pid, "VmHWM:")
}

/// Resident memory, in MiB.
pub fn resident_mib(pid: u32) -> Result<f64> {
    status(pid, "VmRSS:")
}

/// Resets the peak.
pub fn reset_peak(pid: u32) -> Result<()> {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?;
    Ok(())
}

fn status(pid: u32, name: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .with_context(|| format!("no {name} of process {pid}"))?;
    Ok(value.parse::<f64>()? / 1024.0)
}

//! Measures the resources that a browser's processes use while pages run.
//!
//! A page may allocate a gigabyte a second, outside the heap that V8 bounds. So a page that takes too
//! much memory is ended while it runs, or the browser with it if no single page is the cause. A page
//! that computes for long goes behind all others.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Weak;
use std::time::Duration;

use tokio::sync::watch::{self, Receiver, Sender};

use super::chromium::Chromium;

/// Interval of the looks while pages run.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Looks after which processes outside the group are read again: their ids may have been reused.
const AGAIN: u32 = 25;
/// Time on the processors after which a page goes behind all others.
const BUSY: Duration = Duration::from_secs(2);
/// The nice value of such a page.
const LAST: libc::c_int = 19;

/// Counts the pages that run in a browser: while none does, nobody looks at it.
pub(super) struct Pages(Sender<usize>);

impl Pages {
    pub fn new() -> Self {
        Self(watch::channel(0).0)
    }

    /// Begins a page, which runs until what this returns is dropped.
    pub fn begin(&self) -> Running {
        self.0.send_modify(|count| *count += 1);
        Running(self.0.clone())
    }

    pub fn count(&self) -> Receiver<usize> {
        self.0.subscribe()
    }
}

/// A page that runs.
pub(super) struct Running(Sender<usize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// What the processes of a browser take.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Memory of all, in bytes: what each has alone, and once what they share.
    pub bytes: u64,
    /// The process of pages that has the most alone, with its bytes.
    pub largest: Option<(i32, u64)>,
}

/// Looks at one process group.
struct Meter {
    group: i32,
    /// Processes that are known to be outside it.
    others: HashSet<i32>,
    looks: u32,
}

impl Meter {
    fn look(&mut self) -> Usage {
        self.looks += 1;
        if self.looks.is_multiple_of(AGAIN) {
            self.others.clear();
        }
        let mut usage = Usage::default();
        let mut shared = 0;
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if self.others.contains(&pid) {
                continue;
            }
            let path = entry.path();
            let Some(stat) = Stat::read(&path) else {
                continue;
            };
            if stat.group != self.group {
                self.others.insert(pid);
                continue;
            }
            let (own, common) = memory(&path).unwrap_or_default();
            usage.bytes += own;
            shared = shared.max(common);
            let is_larger = usage.largest.is_none_or(|(_, most)| own > most);
            if (is_larger || stat.is_busy()) && is_renderer(&path) {
                if is_larger {
                    usage.largest = Some((pid, own));
                }
                if stat.is_busy() {
                    put_last(&path);
                }
            }
        }
        usage.bytes += shared;
        usage
    }
}

/// Of `/proc/PID/stat`.
struct Stat {
    group: i32,
    /// Time on the processors, in ticks of the kernel's clock.
    ticks: u64,
}

impl Stat {
    fn read(path: &Path) -> Option<Self> {
        let stat = std::fs::read_to_string(path.join("stat")).ok()?;
        // The name may contain anything, even parentheses; only numbers follow it.
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ').skip(2);
        let group = fields.next()?.parse().ok()?;
        let mut times = fields.skip(8);
        let user: u64 = times.next()?.parse().ok()?;
        let system: u64 = times.next()?.parse().ok()?;
        Some(Self {
            group,
            ticks: user + system,
        })
    }

    fn is_busy(&self) -> bool {
        // SAFETY: takes a plain number.
        let second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        let second = u64::try_from(second).unwrap_or(100);
        self.ticks >= second.saturating_mul(BUSY.as_secs())
    }
}

/// Whether a process is of this group now.
pub(super) fn is_member(pid: i32, group: i32) -> bool {
    let path = Path::new("/proc").join(pid.to_string());
    Stat::read(&path).is_some_and(|stat| stat.group == group)
}

/// A process's memory of its own, and what it shares with other processes, in bytes.
fn memory(path: &Path) -> Option<(u64, u64)> {
    let status = std::fs::read_to_string(path.join("status")).ok()?;
    let kilobytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let own = kilobytes("RssAnon:")?.saturating_mul(1_024);
    let shared = kilobytes("RssShmem:")?.saturating_mul(1_024);
    Some((own, shared))
}

/// Whether a process of the browser runs pages.
fn is_renderer(path: &Path) -> bool {
    std::fs::read(path.join("cmdline")).is_ok_and(|line| {
        line.split(|byte| matches!(byte, 0 | b' '))
            .any(|argument| argument == b"--type=renderer")
    })
}

/// Lets all others go before the threads of a process; new threads inherit it.
fn put_last(path: &Path) {
    let threads = std::fs::read_dir(path.join("task"));
    for thread in threads.into_iter().flatten().flatten() {
        let name = thread.file_name();
        if let Some(id) = name
            .to_str()
            .and_then(|name| name.parse::<libc::id_t>().ok())
        {
            // SAFETY: takes plain numbers. One that has ended is an error without effect.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, id, LAST) };
        }
    }
}

/// Looks at the browser until it ends.
pub(super) async fn look(browser: Weak<Chromium>, mut pages: Receiver<usize>, most: u64) {
    let mut meter: Option<Meter> = None;
    loop {
        // One that accepts no more pages may have one that could not be closed.
        let is_fit = browser.upgrade().is_some_and(|browser| browser.is_fit());
        if is_fit && *pages.borrow() == 0 {
            // The ids that it knows may be reused meanwhile.
            meter = None;
            if pages.wait_for(|count| *count > 0).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        let Some(group) = browser.upgrade().and_then(|browser| browser.group()) else {
            return;
        };
        let mut current = meter.take().unwrap_or_else(|| Meter {
            group,
            others: HashSet::new(),
            looks: 0,
        });
        let looked = tokio::task::spawn_blocking(move || {
            let usage = current.look();
            (current, usage)
        });
        let Ok((current, usage)) = looked.await else {
            return;
        };
        meter = Some(current);
        let Some(browser) = browser.upgrade() else {
            return;
        };
        browser.bound(&usage, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_until_it_ends() {
        let pages = Pages::new();
        let count = pages.count();
        let (one, other) = (pages.begin(), pages.begin());
        assert_eq!(*count.borrow(), 2);
        drop(one);
        assert_eq!(*count.borrow(), 1);
        drop(other);
        assert_eq!(*count.borrow(), 0);
    }

    #[test]
    fn a_look_has_the_memory_and_the_time_of_a_group() {
        // SAFETY: no arguments, cannot fail.
        let group = unsafe { libc::getpgrp() };
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let mut meter = Meter {
            group,
            others: HashSet::new(),
            looks: 0,
        };
        let usage = meter.look();
        assert!(usage.bytes >= block.len() as u64, "{usage:?}");
        assert!(usage.largest.is_none(), "{usage:?}");
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(is_member(own, group) && !is_member(own, group + 1));
        assert!(!meter.others.contains(&own));
        assert!(Stat::read(Path::new("/proc/self")).unwrap().group == group);
    }
}

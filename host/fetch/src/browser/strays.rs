//! Helpers of a browser that have left its process group, as Chromium's crash handlers do.
//!
//! They end by themselves once the browser is gone. This process has adopted them, so they stay
//! zombies until it reaps them.

use std::path::Path;

/// Reaps those that have ended.
pub(super) fn collect() {
    let Ok(own) = i32::try_from(std::process::id()) else {
        return;
    };
    // SAFETY: takes no arguments.
    let own_group = unsafe { libc::getpgrp() };
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if is_stray(&entry.path(), pid, own, own_group) {
            // SAFETY: asks for the end of one child; the status pointer may be null.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
        }
    }
}

/// Whether a process has ended, and is a child of this one that this one has not started: those are in
/// its own group, or lead one.
fn is_stray(path: &Path, pid: i32, own: i32, own_group: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(path.join("stat")) else {
        return false;
    };
    // The name before may hold anything.
    let Some((_, fields)) = stat.rsplit_once(") ") else {
        return false;
    };
    let mut fields = fields.split(' ');
    let has_ended = fields.next() == Some("Z");
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group) = (number(), number());
    has_ended
        && parent == Some(own)
        && group.is_some_and(|group| group != pid && group != own_group)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::process::{adopt_orphans, wait_without_collecting};

    #[test]
    fn a_helper_that_left_its_group_leaves_no_zombie() {
        adopt_orphans();
        // In the group of a leader that has ended, as a crash handler is.
        let started = Command::new("setsid")
            .args(["sh", "-c", "true > /dev/null & echo $!"])
            .output()
            .unwrap();
        let pid = String::from_utf8(started.stdout).unwrap();
        let pid: i32 = pid.trim().parse().unwrap();
        wait_without_collecting(pid);
        super::collect();
        // SAFETY: asks for the end of one process; the status pointer may be null.
        let left = unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
        assert_eq!(left, -1, "it is still there");
    }
}

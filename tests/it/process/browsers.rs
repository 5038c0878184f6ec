//! Browsers end with the program that started them, whether it stops or is killed.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Served, command};
use crate::support::{Client, KEY, Site};

/// The process groups of the browsers that a process started.
fn browsers_of(parent: u32) -> Vec<i32> {
    stats()
        .into_iter()
        .filter(|(_, name, ppid, _)| name.contains("chrom") && *ppid == i64::from(parent))
        .map(|(_, _, _, group)| group)
        .collect()
}

fn group_members(group: i32) -> usize {
    let of_group = |(_, _, _, of): &(i32, String, i64, i32)| *of == group;
    // A zombie that nobody waits for does not count as a process.
    stats().iter().filter(|stat| of_group(stat)).count()
}

/// Id, name, parent and group of every process that is not a zombie.
fn stats() -> Vec<(i32, String, i64, i32)> {
    let entries = std::fs::read_dir("/proc").expect("a process table");
    entries
        .filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
            let (front, fields) = stat.rsplit_once(") ")?;
            let (pid, name) = front.split_once(" (")?;
            let mut fields = fields.split(' ');
            if fields.next()? == "Z" {
                return None;
            }
            let ppid = fields.next()?.parse().ok()?;
            Some((
                pid.parse().ok()?,
                name.to_owned(),
                ppid,
                fields.next()?.parse().ok()?,
            ))
        })
        .collect()
}

#[tokio::test]
async fn no_browser_is_left_after_a_stop_or_a_kill() {
    let site = Site::start().await;
    for signal in ["TERM", "KILL"] {
        let data = tempfile::tempdir().expect("a folder");
        let mut served = Served::start(command(&data).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
        let client = Client::new(served.address, Some(KEY));
        let body = json!({"url": site.url("/article")});
        client.post("/v1/cloud/render", &body).await.ok();
        let groups = browsers_of(served.process.id());
        assert_eq!(groups.len(), 1, "one browser runs");
        served.signal(signal);
        served.process.wait().expect("it ends");
        let end = Instant::now() + Duration::from_secs(60);
        while group_members(groups[0]) > 0 {
            assert!(Instant::now() < end, "left behind after {signal}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

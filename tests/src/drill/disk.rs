//! Drills in which the disk is full in the middle of a crawl.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use orbweaver_origin::{LargeSite, SiteSpec};
use serde_json::json;

use super::{check, check_with};
use crate::crawl;
use crate::program::{Launch, Program};

/// The disk is full of log lines in the middle of a crawl: the log can't grow, nor can the database.
/// Later both can again.
///
/// # Errors
/// As [`kill`](super::kill).
pub fn full_log(launch: &Launch, spec: &SiteSpec) -> Result<()> {
    let site = LargeSite::start(spec)?;
    let expected = crawl::expected_rows(&site);
    let data = tempfile::tempdir()?;
    // Longer than the limit will be, so that no line at all can be written.
    let limit = 1 << 20;
    std::fs::write(data.path().join("log.txt"), vec![b'\n'; 2 * limit as usize])?;
    let program = Program::start(launch, data.path(), None)?;
    let run = crawl::submit(&program, &crawl::whole_site(&site))?;
    crawl::asked(&site, expected.len() as u64 / 10)?;
    program.limit_files(Some(limit))?;
    let begun = Instant::now();
    let scan = json!({"url": site.url("/"), "max_age_seconds": 0}).to_string();
    let (mut failed, mut scanned) = (0, 0);
    while failed < 10 {
        // An answer, if one that tells of a failure: no connection breaks off.
        let (status, _) = program.ask("POST", "/v1/scan", &scan)?;
        failed += u32::from(status >= 500);
        scanned += u64::from(status == 200);
        if begun.elapsed() > crawl::CRAWL_TIMEOUT {
            bail!("the database could be written all the time");
        }
    }
    program.limit_files(None)?;
    let run = crawl::finished(&program, run, Duration::from_millis(20))?;
    let (status, _) = program.ask("POST", "/v1/scan", &scan)?;
    if status != 200 {
        bail!("a scan is answered {status} when there is room again");
    }
    check_with(&program, &site, &expected, &run, scanned + 1)
}

/// The database can't grow in the middle of a crawl, and later it can again.
///
/// # Errors
/// As [`kill`](super::kill).
pub fn full_disk(launch: &Launch, spec: &SiteSpec) -> Result<()> {
    let site = LargeSite::start(spec)?;
    let expected = crawl::expected_rows(&site);
    let data = tempfile::tempdir()?;
    let program = Program::start(launch, data.path(), None)?;
    let run = crawl::submit(&program, &crawl::whole_site(&site))?;
    crawl::asked(&site, expected.len() as u64 / 10)?;
    // The WAL file, which the next write makes longer, is the one that is limited.
    let size = data.path().join("orbweaver.db-wal").metadata()?.len();
    program.limit_files(Some(size.max(64 << 10)))?;
    let begun = Instant::now();
    let log = data.path().join("log.txt");
    while !std::fs::read_to_string(&log)?.contains("cannot write a crawl") {
        if begun.elapsed() > crawl::CRAWL_TIMEOUT {
            bail!("the database could be written all the time");
        }
        thread::sleep(Duration::from_millis(20));
    }
    let (status, _) = program.ask("GET", &format!("/v1/crawls/{run}"), "")?;
    if status != 200 {
        bail!("a run can't be read while the disk is full: {status}");
    }
    // A write that just fits may pass in between.
    while program.ask("GET", "/v1/ready", "")?.0 != 503 {
        if begun.elapsed() > crawl::CRAWL_TIMEOUT {
            bail!("a service that cannot write is ready");
        }
        thread::sleep(Duration::from_millis(20));
    }
    program.limit_files(None)?;
    let run = crawl::finished(&program, run, Duration::from_millis(20))?;
    check(&program, &site, &expected, &run)
}

//! Kills the program in the middle of a crawl, repeatedly: nothing is lost, stored twice or
//! billed twice.

mod disk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orbweaver_origin::{LargeSite, SiteSpec};
use serde_json::{Value, json};

use crate::crawl;
use crate::postgres::Postgres;
use crate::program::{Launch, Program, ask_at};

pub use disk::{full_disk, full_log};

/// The database of a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    /// SQLite, in the data folder.
    Sqlite,
    /// PostgreSQL, on a server for this drill.
    Postgres,
}

impl Database {
    /// The URL of a fresh database; none where it is the data folder's file.
    ///
    /// # Errors
    /// The throw-away server does not start.
    pub fn fresh(self) -> Result<Option<String>> {
        match self {
            Self::Sqlite => Ok(None),
            Self::Postgres => Postgres::shared().database().map(Some),
        }
    }
}

/// The result of a drill. The drill fails if a page is missing, stored twice or billed twice.
#[derive(Clone, Debug)]
pub struct Report {
    /// Page rows.
    pub rows: usize,
    /// Pages billed.
    pub billed: u64,
    /// Repeated requests of pages, summed: the requests that were in progress at each kill.
    pub fetched_again: usize,
    /// The times from a start of the program to the next request of its crawl.
    pub resumed_after: Vec<Duration>,
    /// The time from the first start to the end of the run.
    pub took: Duration,
}

/// Kills the program `kills` times while it crawls a site of this specification, each time
/// at a random moment derived from `seed`.
///
/// # Errors
/// The run does not end `done` with exactly the site's pages, each billed once.
pub fn kill(
    launch: &Launch,
    database: Database,
    spec: &SiteSpec,
    kills: usize,
    seed: u64,
) -> Result<Report> {
    kill_with(launch, database, spec, (kills, seed), &[])
}

/// As [`kill`], with these hooks, each of which makes one record of every page.
///
/// # Errors
/// As [`kill`], or a page does not have exactly one record of each hook.
pub fn kill_with(
    launch: &Launch,
    database: Database,
    spec: &SiteSpec,
    (kills, seed): (usize, u64),
    hooks: &[&str],
) -> Result<Report> {
    let site = LargeSite::start(spec)?;
    let expected = crawl::expected_rows(&site);
    let data = tempfile::tempdir()?;
    let url = database.fresh()?;
    let start = || Program::start(launch, data.path(), url.as_deref());
    let begun = Instant::now();
    let mut program = start()?;
    let mut body = crawl::whole_site(&site);
    if !hooks.is_empty() {
        body["hooks"] = hooks.iter().map(|name| json!({ "name": name })).collect();
    }
    let run = crawl::submit(&program, &body)?;
    let mut resumed_after = Vec::new();
    let mut random = seed;
    for kill in 0..kills {
        // Each kill comes in its own part of the requests that are left.
        let part = (expected.len() / (kills + 1)) as u64;
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = part * kill as u64 + 1 + (random >> 33) % part.max(1);
        crawl::asked(&site, at)?;
        thread::sleep(Duration::from_micros((random >> 20) % 30_000));
        program.kill()?;
        let before = site.total();
        let restarted = Instant::now();
        program = start()?;
        resumed(&program, &site, run, before)?;
        resumed_after.push(restarted.elapsed());
    }
    let run = crawl::finished(&program, run, Duration::from_millis(20))?;
    let took = begun.elapsed();
    check(&program, &site, &expected, &run)?;
    check_records(&program, &run, expected.len(), hooks)?;
    let pages = site
        .counts()
        .into_iter()
        .filter(|(path, _)| expected.contains_key(path));
    Ok(Report {
        rows: expected.len(),
        billed: crawl::billed(&program)?,
        fetched_again: pages.map(|(_, count)| count - 1).sum(),
        resumed_after,
        took,
    })
}

/// Every page has one record of each hook.
fn check_records(program: &Program, run: &Value, pages: usize, hooks: &[&str]) -> Result<()> {
    let path = format!("/v1/crawls/{}/records?limit=100000", run["id"]);
    let list = program.get(&path)?;
    let items = list["items"].as_array().context("no records")?;
    let distinct: BTreeSet<(Option<i64>, Option<&str>)> = items
        .iter()
        .map(|item| (item["page_id"].as_i64(), item["hook"].as_str()))
        .collect();
    let expected = pages * hooks.len();
    if items.len() != expected || distinct.len() != expected {
        bail!(
            "{} records, {} distinct, instead of {expected}",
            items.len(),
            distinct.len()
        );
    }
    Ok(())
}

/// Waits for the next request of a run, or for its end: the program may have been killed
/// after the last page.
fn resumed(program: &Program, site: &LargeSite, run: i64, before: u64) -> Result<()> {
    let start = Instant::now();
    while site.total() <= before {
        let run = program.get(&format!("/v1/crawls/{run}"))?;
        if run["finished_at"].is_string() {
            return Ok(());
        }
        if start.elapsed() > crawl::CRAWL_TIMEOUT {
            bail!("no process continues {run}");
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Two programs use one database: the one that runs a crawl is killed, and the other
/// continues it. Returns the time from the kill to its first request.
///
/// # Errors
/// As [`kill`].
pub fn take_over(launch: &Launch, database: Database, spec: &SiteSpec) -> Result<Duration> {
    two_programs(launch, database, spec, |first| first.kill())
}

/// As [`take_over`], but the first program is asked to end: it hands its crawl back.
///
/// # Errors
/// As [`kill`], or it does not end within ten seconds.
pub fn hand_back(launch: &Launch, database: Database, spec: &SiteSpec) -> Result<Duration> {
    two_programs(launch, database, spec, |first| {
        let (status, took) = first.terminate()?;
        if !status.success() || took > Duration::from_secs(10) {
            bail!("SIGTERM: {status} after {took:?}");
        }
        Ok(())
    })
}

/// Several programs crawl one list of pages on `hosts` hosts together; `kills` times a random one of
/// them is killed, at a random moment derived from `seed`, and started again.
///
/// # Errors
/// The run does not end `done` with exactly the pages, each billed once.
pub fn kill_nodes(
    launch: &Launch,
    spec: &SiteSpec,
    hosts: u16,
    nodes: usize,
    kills: usize,
    seed: u64,
) -> Result<Report> {
    let site = LargeSite::start_everywhere(spec)?;
    let pages = site.pages();
    let urls: BTreeSet<String> = (0..hosts)
        .cycle()
        .zip(&pages)
        .map(|(host, path)| site.url_at(host, path))
        .collect();
    let url = Database::Postgres.fresh()?;
    let folders: Vec<_> = (0..nodes)
        .map(|_| tempfile::tempdir())
        .collect::<Result<_, _>>()?;
    let start = |node: usize| {
        let folder = folders.get(node).context("no such node")?;
        Program::start(launch, folder.path(), url.as_deref())
    };
    let begun = Instant::now();
    let mut programs: Vec<Program> = (0..nodes).map(start).collect::<Result<_>>()?;
    let body = json!({"urls": urls, "delay_ms": 0, "respect_robots": false});
    let first = programs.first().context("no node")?;
    let run = first.post("/v1/batch", &body, 202)?["id"].clone();
    let run = run.as_i64().context("no id")?;
    let mut resumed_after = Vec::new();
    let mut random = seed;
    for kill in 0..kills {
        let part = (urls.len() / (kills + 1)) as u64;
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        crawl::asked(&site, part * kill as u64 + 1 + (random >> 33) % part.max(1))?;
        let node = usize::try_from(random >> 40)? % nodes;
        programs.swap_remove(node).kill()?;
        let (before, restarted) = (site.total(), Instant::now());
        programs.push(start(node)?);
        let asked = programs.first().context("no node")?;
        resumed(asked, &site, run, before)?;
        resumed_after.push(restarted.elapsed());
    }
    let program = programs.first().context("no node")?;
    let ended = crawl::finished(program, run, Duration::from_millis(20))?;
    let took = begun.elapsed();
    if ended["status"] != "done" {
        bail!("the run did not end well: {ended}");
    }
    let path = format!("/v1/crawls/{run}/pages?limit=100000");
    let list = program.get(&path)?;
    let rows: Vec<&str> = list["items"]
        .as_array()
        .context("no pages")?
        .iter()
        .filter_map(|row| row["url"].as_str())
        .collect();
    let distinct: BTreeSet<String> = rows.iter().map(|url| (*url).to_owned()).collect();
    if distinct != urls || rows.len() != urls.len() {
        let missing: Vec<_> = urls.difference(&distinct).take(5).collect();
        bail!(
            "{} rows, {} distinct, for {} pages; missing {missing:?}",
            rows.len(),
            distinct.len(),
            urls.len()
        );
    }
    let billed = crawl::billed(program)?;
    if billed != urls.len() as u64 || ended["page_count"] != urls.len() {
        bail!("{} pages, {billed} billed: {ended}", urls.len());
    }
    Ok(Report {
        rows: urls.len(),
        billed,
        fetched_again: usize::try_from(site.total())?.saturating_sub(urls.len()),
        resumed_after,
        took,
    })
}

/// Two programs on one database are upgraded one by one under load: `migrate` changes the database
/// as a newer program does when it starts, then each program is asked to end and started again.
/// Returns the number of requests made meanwhile.
///
/// A client asks the other program where one does not answer, as a load balancer does.
///
/// # Errors
/// An answer other than 200, a program that does not end within ten seconds, or as [`kill`].
pub fn upgrade(
    launch: &Launch,
    spec: &SiteSpec,
    migrate: impl FnOnce(&str) -> Result<()>,
) -> Result<u64> {
    let site = LargeSite::start(spec)?;
    let expected = crawl::expected_rows(&site);
    let url = Database::Postgres.fresh()?.context("no database")?;
    let folders = [tempfile::tempdir()?, tempfile::tempdir()?];
    let start = |folder: &tempfile::TempDir| Program::start(launch, folder.path(), Some(&url));
    let mut programs = folders.iter().map(start).collect::<Result<Vec<_>>>()?;
    let addresses = Mutex::new(programs.iter().map(|one| one.address()).collect::<Vec<_>>());
    let first = programs.first().context("no program")?;
    let run = crawl::submit(first, &crawl::whole_site(&site))?;
    let (is_over, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let client = |number: usize| -> Result<()> {
        let scanned = json!({"url": site.url("/")}).to_string();
        let mut turn = number;
        while !is_over.load(Ordering::Acquire) {
            turn += 1;
            let (method, path, body) = match turn % 2 {
                0 => ("GET", format!("/v1/crawls/{run}"), ""),
                _ => ("POST", "/v1/scan".to_owned(), scanned.as_str()),
            };
            let all = addresses
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let mut order = all.iter().cycle().skip(turn).take(all.len());
            let answer = order.find_map(|at| ask_at(*at, method, &path, body).ok());
            let (status, answer) = answer.with_context(|| format!("{path}: nobody answers"))?;
            if status != 200 {
                bail!("{path}: {status} {}", String::from_utf8_lossy(&answer));
            }
            made.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    thread::scope(|scope| -> Result<()> {
        let client = &client;
        let clients: Vec<_> = (0..3)
            .map(|number| scope.spawn(move || client(number)))
            .collect();
        let upgraded = (|| {
            crawl::asked(&site, expected.len() as u64 / 10)?;
            migrate(&url)?;
            for folder in &folders {
                let (status, took) = programs.remove(0).terminate()?;
                if !status.success() || took > Duration::from_secs(10) {
                    bail!("SIGTERM: {status} after {took:?}");
                }
                programs.push(start(folder)?);
                *addresses.lock().unwrap_or_else(PoisonError::into_inner) =
                    programs.iter().map(|one| one.address()).collect();
            }
            let program = programs.first().context("no program")?;
            crawl::finished(program, run, Duration::from_millis(20))
        })();
        is_over.store(true, Ordering::Release);
        for client in clients {
            let Ok(ended) = client.join() else {
                bail!("a client panicked");
            };
            ended?;
        }
        let run_at_end = upgraded?;
        if run_at_end["status"] != "done" || run_at_end["page_count"] != expected.len() {
            bail!("the run did not end well: {run_at_end}");
        }
        Ok(())
    })?;
    let program = programs.first().context("no program")?;
    if crawl::rows(program, &site, run)? != expected {
        bail!("the run's pages are not those of the site");
    }
    Ok(made.into_inner())
}

fn two_programs(
    launch: &Launch,
    database: Database,
    spec: &SiteSpec,
    end: impl FnOnce(Program) -> Result<()>,
) -> Result<Duration> {
    let site = LargeSite::start(spec)?;
    let expected = crawl::expected_rows(&site);
    let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let url = match database.fresh()? {
        Some(url) => Some(url),
        None => Some(format!("sqlite:{}", one.path().join("both.db").display())),
    };
    let start = |data: &Path| Program::start(launch, data, url.as_deref());
    let first = start(one.path())?;
    let run = crawl::submit(&first, &crawl::whole_site(&site))?;
    crawl::asked(&site, expected.len() as u64 / 10)?;
    // The first program has the lease by now, so the second one can only wait for it (on SQLite
    // it waits for the worker lock).
    let second = start(two.path())?;
    end(first)?;
    let (before, ended) = (site.total(), Instant::now());
    if before > expected.len() as u64 {
        bail!("the crawl was over before the first program was");
    }
    crawl::asked(&site, before + 1)?;
    let waited = ended.elapsed();
    let run = crawl::finished(&second, run, Duration::from_millis(20))?;
    check(&second, &site, &expected, &run)?;
    Ok(waited)
}

/// Checks that the run ended well, with exactly the expected rows, each billed once.
fn check(
    program: &Program,
    site: &LargeSite,
    expected: &BTreeMap<String, u16>,
    run: &serde_json::Value,
) -> Result<()> {
    check_with(program, site, expected, run, 0)
}

/// As [`check`], where the project also made so many scans.
fn check_with(
    program: &Program,
    site: &LargeSite,
    expected: &BTreeMap<String, u16>,
    run: &serde_json::Value,
    scans: u64,
) -> Result<()> {
    if run["status"] != "done" {
        bail!("the run did not end well: {run}");
    }
    let id = run["id"].as_i64().context("no id")?;
    let rows = crawl::rows(program, site, id)?;
    if rows != *expected {
        let missing: Vec<_> = expected
            .keys()
            .filter(|path| !rows.contains_key(*path))
            .collect();
        let surplus: Vec<_> = rows
            .keys()
            .filter(|path| !expected.contains_key(*path))
            .collect();
        bail!(
            "{} rows for {} pages; missing {missing:?}; surplus {surplus:?}",
            rows.len(),
            expected.len()
        );
    }
    let billed = crawl::billed(program)?;
    if billed != expected.len() as u64 + scans || run["page_count"] != expected.len() {
        let pages = expected.len();
        bail!("{pages} pages and {scans} scans, {billed} billed: {run}");
    }
    Ok(())
}

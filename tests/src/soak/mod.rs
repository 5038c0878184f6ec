//! Many projects at work on one server, while it is killed, its database crashes, its disk is
//! full, and hostile clients do their worst; then an audit of all that was promised.

mod audit;
mod client;
mod hostile;
mod ledger;
mod load;
mod receiver;
mod site;
mod watch;

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orbweaver_origin::{LargeSite, SiteSpec};

use crate::crawl;
use crate::drill::Database;
use crate::postgres::Postgres;
use crate::program::{Launch, Program};
use client::Whereabouts;
pub use ledger::Ledger;
use load::{Dice, Ground, Tenant};
use receiver::Receiver;
pub use watch::{Held, Times};

/// Pages of the site that projects crawl.
const SITE_PAGES: usize = 20;
/// Time without any load before and after, for what an idle server holds.
const QUIET: Duration = Duration::from_secs(20);
/// Time within which the server gives back what the load took.
const GIVEN_BACK: Duration = Duration::from_secs(120);

/// What a soak is like.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long the load lasts.
    pub time: Duration,
    /// Where the data is.
    pub database: Database,
    /// Projects at work.
    pub projects: usize,
    /// Whether the projects work; without it, only hostile clients and one project's scans load
    /// the server.
    pub works: bool,
    /// Hostile clients.
    pub hostile: usize,
    /// What all moments are derived from.
    pub seed: u64,
}

/// What a soak came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// Crawls and scans that were accepted.
    pub runs: usize,
    /// Scans that were answered with a page.
    pub scans: u64,
    /// What was done to the server, in order.
    pub faults: Vec<&'static str>,
    /// `/v1/health` under load.
    pub health: Times,
    /// One project's scans, one at a time, without other load.
    pub idle: Times,
    /// As `idle`, under load in the first half, in which the server is killed.
    pub faulty: Times,
    /// As `idle`, under load in the second half, in which nothing is killed.
    pub loaded: Times,
    /// The longest delay of ready work that the server told, in seconds.
    pub longest_poll: f64,
    /// Held by the idle server before the load.
    pub before: Held,
    /// Held by the server under load, at the end of the second half, in which nothing is killed.
    pub busy: Held,
    /// As `before`, after the load.
    pub after: Held,
    /// What is not as promised.
    pub broken: Vec<String>,
}

/// Runs a soak.
///
/// # Errors
/// A part of it cannot be started, or the server does not answer in the end. Broken promises
/// are no error: they are in the report.
pub fn run(launch: &Launch, settings: &Settings) -> Result<Report> {
    let data = tempfile::tempdir()?;
    let url = match settings.database {
        Database::Sqlite => None,
        Database::Postgres => Some(Postgres::shared().database()?),
    };
    let launch = launch.clone().with("METRICS__PUBLIC", "true");
    let site = LargeSite::start(&SiteSpec {
        record: false,
        ..SiteSpec::small_pages(SITE_PAGES)
    })?;
    let hostile_site = site::HostileSite::start()?;
    let receiver = Receiver::start()?;
    let start = || Program::start(&launch, data.path(), url.as_deref());
    let program = start()?;
    let tenants = tenants(&launch, data.path(), url.as_deref(), settings.projects)?;
    let victim = tenants.last().context("no projects")?.key.clone();
    let mut report = Report {
        runs: 0,
        scans: 0,
        faults: Vec::new(),
        health: Times::default(),
        idle: Times::default(),
        faulty: Times::default(),
        loaded: Times::default(),
        longest_poll: 0.0,
        before: Held::default(),
        busy: Held::default(),
        after: Held::default(),
        broken: Vec::new(),
    };
    let at = Whereabouts::default();
    at.set(Some(program.address()));
    let page = site.url("/");
    let stop = AtomicBool::new(false);
    let hostile_url = hostile_site.url();
    let ground = Ground {
        at: &at,
        site: &site,
        fault_url: &hostile_url,
        receiver: &receiver,
        stop: &stop,
    };
    // Pools, caches and the browser that every server holds after its first work.
    let first = tenants.first().context("no projects")?;
    load::each_kind_once(first, &ground, settings.seed);
    report.idle = for_a_while(QUIET, |stop| watch::victim(&at, &victim, &page, stop));
    report.before = Held::by(&program)?;
    let running = Mutex::new(Some(program));
    let calm = AtomicBool::new(false);
    std::thread::scope(|scope| -> Result<()> {
        // The last one is the victim, whose only requests are those that are timed.
        let at_work = tenants.iter().rev().skip(1).filter(|_| settings.works);
        for (number, tenant) in at_work.enumerate() {
            let (ground, seed) = (&ground, settings.seed + number as u64);
            scope.spawn(move || load::work(tenant, ground, seed));
        }
        for number in 0..settings.hostile {
            // Keys of their own projects: the first ones, whose bills nobody counts.
            let (at, stop, url) = (&at, &stop, &hostile_url);
            let others = tenants.iter().rev().skip(1).rev();
            let key = others.filter(|tenant| !tenant.is_exact).nth(number);
            let key = key.map(|tenant| tenant.key.clone()).unwrap_or_default();
            scope.spawn(move || hostile::attack(number, &key, url, at, stop));
        }
        let health = scope.spawn(|| watch::health(&at, &stop));
        let scans = scope.spawn(|| {
            let faulty = watch::victim(&at, &victim, &page, &calm);
            (faulty, watch::victim(&at, &victim, &page, &stop))
        });
        let longest = scope.spawn(|| watch::longest_poll(&at, &stop));
        let faults = chaos(settings, &running, &at, &start, &calm);
        // Also after an error, which ends the first half.
        calm.store(true, Ordering::Relaxed);
        let busy = held(&running);
        stop.store(true, Ordering::Relaxed);
        let gone = |_| anyhow::anyhow!("a thread that watches panicked");
        report.health = health.join().map_err(gone)?;
        (report.faulty, report.loaded) = scans.join().map_err(gone)?;
        report.longest_poll = longest.join().map_err(gone)?;
        report.faults = faults?;
        report.busy = busy?;
        Ok(())
    })?;
    for tenant in &tenants {
        load::finish(tenant, &at)?;
    }
    report.broken = audit(&tenants, &at, &site, &receiver)?;
    // Connections that are kept for the next request end by themselves within this time.
    let until = Instant::now() + GIVEN_BACK;
    loop {
        std::thread::sleep(QUIET);
        report.after = held(&running)?;
        if not_given_back(&report).is_empty() || Instant::now() > until {
            break;
        }
    }
    report.runs = tenants.iter().map(|one| one.promised().runs.len()).sum();
    report.scans = tenants.iter().map(|one| one.promised().scans).sum();
    report.scans += (report.faulty.len() + report.loaded.len()) as u64;
    report.broken.extend(not_given_back(&report));
    Ok(report)
}

/// What is not as it was promised.
fn audit(
    tenants: &[Tenant],
    at: &Whereabouts,
    site: &LargeSite,
    receiver: &Receiver,
) -> Result<Vec<String>> {
    let whole = crawl::expected_rows(site).len();
    let projects: Vec<_> = tenants
        .iter()
        .map(|tenant| {
            let promised = tenant.promised().clone();
            let expected = (tenant.is_exact && tenant.cap.is_none()).then_some(whole);
            audit::Project {
                name: &tenant.name,
                key: &tenant.key,
                cap: tenant.cap,
                scans: tenant.is_exact.then_some(promised.scans),
                runs: promised.runs.iter().map(|run| (*run, expected)).collect(),
            }
        })
        .collect();
    audit::broken(&projects, at, receiver)
}

/// What the server still holds after the load, beyond a tenth more than before. Caches may fill:
/// their settings bound them.
fn not_given_back(report: &Report) -> Vec<String> {
    let (before, after) = (&report.before, &report.after);
    let mut broken = Vec::new();
    let own = |held: &Held| held.resident_mib - held.cached_mib;
    if own(after) > own(before) * 1.1 {
        let (is, was, cached) = (after.resident_mib, before.resident_mib, after.cached_mib);
        broken.push(format!(
            "{is:.0} MiB are held after the load ({cached:.0} of it caches), {was:.0} before"
        ));
    }
    if after.files as f64 > before.files as f64 * 1.1 {
        let (is, was) = (after.files, before.files);
        broken.push(format!("{is} files are open after the load, {was} before"));
    }
    if report.after.peak_mib > 1024.0 {
        broken.push(format!(
            "{:.0} MiB were held at most",
            report.after.peak_mib
        ));
    }
    broken
}

fn for_a_while<T: Send>(time: Duration, work: impl FnOnce(&AtomicBool) -> T + Send) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
        });
        work(&stop)
    })
}

fn held(running: &Mutex<Option<Program>>) -> Result<Held> {
    let running = running
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    Held::by(running.as_ref().context("no server runs")?)
}

/// Faults at random moments of the first half; in the second half, once `calm` is set, the server
/// only works.
fn chaos(
    settings: &Settings,
    running: &Mutex<Option<Program>>,
    at: &Whereabouts,
    start: &dyn Fn() -> Result<Program>,
    calm: &AtomicBool,
) -> Result<Vec<&'static str>> {
    let begun = Instant::now();
    let mut dice = Dice::new(settings.seed);
    let mut faults = Vec::new();
    loop {
        std::thread::sleep(Duration::from_secs(10 + dice.below(10)));
        if begun.elapsed() > settings.time / 2 {
            break;
        }
        let mut running = running
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let program = running.as_ref().context("no server runs")?;
        match (faults.len() % 3, settings.database) {
            (0, _) => {
                at.set(None);
                if let Some(program) = running.take() {
                    program.kill()?;
                }
                let program = start()?;
                at.set(Some(program.address()));
                *running = Some(program);
                faults.push("server killed");
            }
            (1, Database::Sqlite) => {
                program.limit_files(Some(1 << 20))?;
                std::thread::sleep(Duration::from_secs(3));
                program.limit_files(None)?;
                faults.push("disk full");
            }
            (1, Database::Postgres) => {
                Postgres::shared().crash()?;
                faults.push("database crashed");
            }
            _ => {
                let browsers = kill_browsers(program.pid())?;
                faults.push(if browsers > 0 {
                    "browser killed"
                } else {
                    "no browser to kill"
                });
            }
        }
    }
    calm.store(true, Ordering::Relaxed);
    std::thread::sleep(settings.time.saturating_sub(begun.elapsed()));
    Ok(faults)
}

/// Kills the browsers that a server has started: how many.
fn kill_browsers(server: u32) -> Result<usize> {
    let found = Command::new("pgrep")
        .args(["-P", &server.to_string(), "-f", "chrom"])
        .output()?;
    let pids = String::from_utf8(found.stdout)?;
    for pid in pids.lines() {
        // It may have ended by itself.
        Command::new("kill").args(["-s", "KILL", pid]).status()?;
    }
    Ok(pids.lines().count())
}

/// Creates projects on the command line: of each five one with a cap, two whose bills are
/// known to the page, and two that do everything.
fn tenants(
    launch: &Launch,
    data: &Path,
    database: Option<&str>,
    count: usize,
) -> Result<Vec<Tenant>> {
    let mut tenants = Vec::with_capacity(count);
    for number in 0..count {
        let name = format!("soak-{number}");
        let is_capped = number % 5 == 1;
        let tier = if is_capped { "free" } else { "self_hosted" };
        let key = create_project(launch, data, database, &name, tier)?;
        tenants.push(Tenant {
            name,
            key,
            cap: is_capped.then_some(200),
            // The last one is the victim, whose scans are repeated under no key.
            is_exact: number % 5 > 1 && number + 1 < count,
            promised: Mutex::default(),
        });
    }
    Ok(tenants)
}

/// Creates a project on the command line; returns its key.
fn create_project(
    launch: &Launch,
    data: &Path,
    database: Option<&str>,
    name: &str,
    tier: &str,
) -> Result<String> {
    let mut command = Command::new(&launch.binary);
    command
        .args(["project", "create", name, "--tier", tier])
        .env("ORBWEAVER_DATA_DIR", data)
        .env("ORBWEAVER_PLUGIN_DIR", &launch.plugin_dir)
        .envs(launch.settings.iter().map(|(name, value)| (name, value)));
    if let Some(database) = database {
        command.env("ORBWEAVER_DATABASE_URL", database);
    }
    let output = command.output()?;
    let key = String::from_utf8(output.stdout)?.trim().to_owned();
    if !output.status.success() || key.is_empty() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(key)
}

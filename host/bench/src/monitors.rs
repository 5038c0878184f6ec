//! The cost of many monitors and webhooks for a node: CPU of one search for due monitors, CPU
//! of both loops while nothing is due, and the time from when a delivery is due to its
//! arrival.

#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks run on the real clock"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use axum::Router;
use axum::routing::post;
use chrono::{DateTime, TimeDelta, Utc};
use clap::Args as ClapArgs;
use orbweaver_accounts::bootstrap;
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::secret::SafeUrl;
use orbweaver_accounts::tiers::Cap;
use orbweaver_core::ids::ProjectId;
use orbweaver_core::webhook::Event;
use orbweaver_crawl::scheduler;
use orbweaver_crawl::spec::CrawlSpec;
use orbweaver_crawl::webhooks;
use orbweaver_server::config::Config;
use orbweaver_server::service::{self as assembled, Service as Assembled};
use orbweaver_store::crawl::{Created, Ending, NewRun};
use orbweaver_store::monitors::NewMonitor;
use orbweaver_store::webhook::{NewDelivery, RunWebhook};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

#[derive(ClapArgs)]
pub struct Args {
    /// Monitors, none of them due.
    #[arg(long, default_value_t = 10_000)]
    monitors: u32,
    /// Deliveries that wait for their next attempt.
    #[arg(long, default_value_t = 10_000)]
    deliveries: u32,
    /// Deliveries that are measured.
    #[arg(long, default_value_t = 100)]
    rounds: u32,
    /// postgres://…; by default a new SQLite file.
    #[arg(long)]
    database_url: Option<String>,
}

pub fn run(args: &Args) -> Result<()> {
    tokio::runtime::Runtime::new()?.block_on(measure(args))
}

struct Node {
    app: Assembled,
    project: ProjectId,
}

async fn measure(args: &Args) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let node = Node::start(folder.path().to_owned(), args.database_url.as_deref()).await?;
    let (address, mut arrivals) = receiver().await?;
    let tomorrow = Utc::now() + TimeDelta::days(1);
    for _ in 0..args.monitors {
        node.monitor(tomorrow).await?;
    }
    for index in 0..args.deliveries {
        // Spread over targets as in production.
        let target = format!("http://hooks-{}.example", index % 1_000);
        node.delivery(&target, &target, tomorrow).await?;
    }
    println!(
        "{}: {} monitors, {} pending deliveries",
        node.app.store.kind(),
        args.monitors,
        args.deliveries
    );

    const LOOKS: u32 = 400;
    let (began, cpu) = (Instant::now(), cpu()?);
    for _ in 0..LOOKS {
        ensure!(
            scheduler::tick(&node.app.crawls).await? == 0,
            "nothing is due"
        );
    }
    report(
        "a look, nothing due",
        began.elapsed(),
        cpu_since(cpu)?,
        LOOKS,
    );

    const FIRES: u32 = 640;
    for _ in 0..FIRES {
        node.monitor(Utc::now() - TimeDelta::seconds(1)).await?;
    }
    let (began, cpu) = (Instant::now(), self::cpu()?);
    let mut looks = 0;
    let mut fired = 0;
    loop {
        let fires = scheduler::tick(&node.app.crawls).await?;
        if fires == 0 {
            break;
        }
        fired += fires;
        looks += 1;
    }
    ensure!(u32::try_from(fired)? == FIRES, "{fired} fires");
    report(
        "a look that fires 64",
        began.elapsed(),
        cpu_since(cpu)?,
        looks,
    );

    let scheduler = tokio::spawn(scheduler::run(node.app.crawls.clone()));
    let worker = tokio::spawn(webhooks::work(node.app.crawls.clone()));
    const IDLE: Duration = Duration::from_secs(10);
    let cpu = self::cpu()?;
    tokio::time::sleep(IDLE).await;
    println!(
        "both loops, nothing due: {:.2} ms of CPU a second",
        cpu_since(cpu)?.as_secs_f64() * 1e3 / IDLE.as_secs_f64()
    );

    let url = format!("http://{address}/");
    let mut waits = Vec::new();
    for _ in 0..args.rounds {
        let due = Instant::now();
        node.delivery(&url, &url, Utc::now()).await?;
        let arrived = arrivals.recv().await.context("the receiver runs")?;
        waits.push(arrived.duration_since(due));
    }
    waits.sort_unstable();
    let (Some(median), Some(most)) = (waits.get(waits.len() / 2), waits.last()) else {
        bail!("--rounds must be at least 1");
    };
    println!(
        "a delivery, from due to its arrival: median {} ms, most {} ms of {}",
        median.as_millis(),
        most.as_millis(),
        waits.len()
    );
    scheduler.abort();
    worker.abort();
    Ok(())
}

impl Node {
    async fn start(folder: PathBuf, database: Option<&str>) -> Result<Self> {
        let plugins = folder.join("plugins");
        std::fs::create_dir(&plugins)?;
        let mut config = Config {
            data_dir: folder,
            plugin_dir: Some(plugins),
            allow_nets: vec!["127.0.0.0/8".parse()?],
            database_url: database.map(SafeUrl::new),
            ..Config::default()
        };
        for tier in config.tiers.values_mut() {
            tier.concurrent_runs = Cap::NONE;
        }
        let app = assembled::build(config, Clock::system(), None).await?;
        bootstrap::run(&app.store, &app.clock, None).await?;
        let project = app.store.project_named("default").await?;
        Ok(Self {
            project: project.context("the first project")?.id,
            app,
        })
    }

    async fn monitor(&self, fires: DateTime<Utc>) -> Result<()> {
        let spec = CrawlSpec::new("https://example.org/");
        let new = NewMonitor {
            project: self.project,
            schedule: "0 0 1 1 *".to_owned(),
            url: spec.url.clone(),
            url_key: spec.url.clone(),
            spec: serde_json::to_string(&spec)?,
            seed_is_page: true,
            proxy_shown: None,
            has_webhook: false,
            next_fires_at: fires,
            idem_key: None,
            created_at: Utc::now(),
        };
        self.app.store.create_monitor(&new, None).await?;
        Ok(())
    }

    /// Ends a run with a webhook; its delivery is due at `due`.
    async fn delivery(&self, url: &str, target: &str, due: DateTime<Utc>) -> Result<()> {
        let (store, now) = (&self.app.store, Utc::now());
        let new = NewRun {
            project: self.project,
            url: "https://example.org/".to_owned(),
            url_key: "https://example.org/".to_owned(),
            spec: "{}".to_owned(),
            seed_is_page: true,
            proxy_shown: None,
            monitor: None,
            previous: None,
            idem_key: None,
            enqueued_at: now,
            has_webhook: true,
        };
        let Created::New(run) = store.create_run(&new, None).await? else {
            bail!("no run was made");
        };
        let until = now + TimeDelta::hours(1);
        let mut leased = store.lease_run("bench", now, until).await?;
        // The measured fires left runs that nobody works on.
        while leased
            .as_ref()
            .is_some_and(|leased| leased.run.id != run.id)
        {
            leased = store.lease_run("bench", now, until).await?;
        }
        let lease = leased.context("the run")?.lease;
        let told = RunWebhook::Deliver {
            deliveries: vec![NewDelivery {
                message_id: format!("msg_{}", run.id),
                event: Event::Done,
                url: url.to_owned(),
                target: target.to_owned(),
                payload: None,
            }],
            diff: None,
            urls: None,
        };
        let done = Ending {
            done: true,
            error_message: None,
        };
        ensure!(store.end_run(lease, &done, Some(&told), due).await?);
        Ok(())
    }
}

async fn receiver() -> Result<(SocketAddr, mpsc::UnboundedReceiver<Instant>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (sender, arrivals) = mpsc::unbounded_channel();
    let router = Router::new().route(
        "/",
        post(async move || {
            let _ = sender.send(Instant::now());
        }),
    );
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((address, arrivals))
}

fn report(what: &str, wall: Duration, cpu: Duration, looks: u32) {
    let each = |time: Duration| time.as_secs_f64() * 1e3 / f64::from(looks.max(1));
    println!(
        "{what}: {:.2} ms of CPU, {:.2} ms of wall time ({looks} looks)",
        each(cpu),
        each(wall)
    );
}

/// CPU time of this process so far, user and system, to a hundredth of a second.
fn cpu() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The program's name, in parentheses, may hold spaces.
    let (_, fields) = stat
        .rsplit_once(')')
        .context("no name in /proc/self/stat")?;
    let ticks: u64 = fields
        .split_ascii_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

fn cpu_since(before: Duration) -> Result<Duration> {
    Ok(cpu()?.saturating_sub(before))
}

//! `bench reads`: what is asked of a large run (all pages, orphans, diff, links far in) on
//! a SQLite file of its own.

use std::hash::{DefaultHasher, Hasher as _};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_store::crawl::{
    Created, CrawledPage, Ending, FrontierChange, NewFrontier, NewRun, PageRange, Progress,
    RunBatch, pack_links, pack_targets,
};
use orbweaver_store::{CloudMode, KeyHash, NewKey, NewPage, NewProject, Options, Store};

#[derive(clap::Args)]
pub struct Args {
    /// Pages of each of the two runs.
    #[arg(long, default_value_t = 100_000)]
    pages: u64,
    /// Links of a page.
    #[arg(long, default_value_t = 50)]
    links: u64,
    /// Another database than a SQLite file: postgres://…
    #[arg(long)]
    database_url: Option<String>,
}

pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(measure(args))
}

async fn measure(args: &Args) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = match &args.database_url {
        Some(url) => Options::url(url.as_str()),
        None => Options::sqlite(&folder.path().join("bench.db")),
    };
    let store = Store::open(&options).await?;
    let now: DateTime<Utc> = "2026-03-01T12:00:00Z".parse()?;
    let key = NewKey {
        hash: KeyHash::of("bench"),
        prefix: "bench",
        label: None,
    };
    let project = NewProject {
        name: "bench",
        tier: "self_hosted",
        key,
    };
    let project = store.create_project(&project, now).await?;
    let started = Instant::now();
    let old = fill(&store, project, args, now, 0).await?;
    let new = fill(&store, project, args, now, 1).await?;
    println!(
        "two runs of {} pages with {} links each, written in {:.1} s",
        args.pages,
        args.links,
        started.elapsed().as_secs_f64()
    );
    for round in 1..=3 {
        let (pages, listing) = timed(list(&store, project, new)).await?;
        let (orphans, graph) = timed(async { Ok(store.orphans(project, new).await?) }).await?;
        let (diff, differing) = timed(async { Ok(store.diff(project, old, new).await?) }).await?;
        println!(
            "round {round}: all {pages} pages {}, {} orphans {}, {} changed and {} added {}",
            shown(listing),
            orphans.len(),
            shown(graph),
            diff.changed.len(),
            diff.added.len(),
            shown(differing),
        );
    }
    store.close().await;
    Ok(())
}

async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<(T, Duration)> {
    let started = Instant::now();
    Ok((work.await?, started.elapsed()))
}

fn shown(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

async fn list(store: &Store, project: ProjectId, run: RunId) -> Result<usize> {
    let (mut count, mut after) = (0, PageId(0));
    loop {
        let range = PageRange {
            status: None,
            after,
            offset: 0,
            limit: 1_000,
        };
        let rows = store.run_pages(project, run, &range).await?;
        let Some(last) = rows.last() else {
            return Ok(count);
        };
        count += rows.len();
        after = last.id;
    }
}

/// A run in which every hundredth page has no link to it, and every tenth differs from
/// `version` to version.
async fn fill(
    store: &Store,
    project: ProjectId,
    args: &Args,
    now: DateTime<Utc>,
    version: u64,
) -> Result<RunId> {
    let new = NewRun {
        project,
        url: url(0),
        url_key: url(0),
        spec: "{}".to_owned(),
        proxy_shown: None,
        monitor: None,
        previous: None,
        idem_key: None,
        enqueued_at: now,
        has_webhook: false,
    };
    let Created::New(run) = store.create_run(&new, None).await? else {
        anyhow::bail!("the run was not created");
    };
    let lease = store
        .lease_run("bench", now, now + TimeDelta::hours(1))
        .await?
        .context("the run is there")?
        .lease;
    let pages: Vec<u64> = (0..args.pages).collect();
    for piece in pages.chunks(250) {
        let batch = RunBatch {
            lease,
            progress: Progress::default(),
            engine_state: None,
            pages: piece
                .iter()
                .map(|&n| page(project, run.id, args, now, version, n))
                .collect(),
            discovered: piece
                .iter()
                .map(|&n| NewFrontier {
                    seq: n.cast_signed(),
                    url: url(n),
                    key_hash: hash(&url(n)),
                    depth: 1,
                })
                .collect(),
            changes: piece
                .iter()
                .map(|&n| FrontierChange::Done {
                    seq: n.cast_signed(),
                    redirect_to: None,
                })
                .collect(),
            errors: 0,
            at: now,
        };
        store.commit_crawl(&[batch]).await?;
    }
    let ending = Ending {
        done: true,
        ..Ending::default()
    };
    store.finish_run(lease, &ending, now).await?;
    Ok(run.id)
}

fn page(
    project: ProjectId,
    run: RunId,
    args: &Args,
    now: DateTime<Utc>,
    version: u64,
    n: u64,
) -> CrawledPage {
    let to: Vec<String> = (0..args.links)
        .map(|link| (n * 31 + link * 7_919) % args.pages.max(1))
        .filter(|target| target % 100 != 99)
        .map(url)
        .collect();
    let targets: Vec<u64> = to.iter().map(|url| hash(url)).collect();
    let links = to.iter().map(|url| (url.as_str(), "An anchor of a few words", "", false));
    let content = if n % 10 == 3 { version } else { 0 };
    // A page in a thousand is in one of the runs only.
    let path = if n % 1_000 == 7 { n + version * 1_000_000 } else { n };
    CrawledPage {
        seq: n.cast_signed(),
        key_hash: hash(&url(path)),
        depth: u32::from(n > 0),
        title: Some(format!("The title of page {n}")),
        canonical: None,
        robots: None,
        extensions: None,
        same_body: None,
        targets: pack_targets(&targets),
        links: pack_links(links),
        page: NewPage {
            project,
            run: Some(run),
            url: url(path),
            url_key: url(path),
            final_url: url(path),
            status: 200,
            bytes: 38_000,
            fetched_at: now,
            content_hash: Some(format!("{:064x}", hash(&(n, content)))),
            kind: Kind::Html,
            user_agent: String::new(),
            cloud_mode: CloudMode::None,
            headers: format!("[[\"content-type\",\"text/html\"],[\"x-fill\",\"{}\"]]", "x".repeat(300)),
            metadata: None,
            body: None,
        },
    }
}

fn url(n: u64) -> String {
    format!("https://www.example.com/section-{}/an-article-about-{n}.html", n % 97)
}

fn hash<T: std::hash::Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

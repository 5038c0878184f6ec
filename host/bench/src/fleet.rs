//! `bench fleet`: a database of a million pages. Some nodes on one PostgreSQL database and one
//! bucket crawl large sites twice, each site for a project of its own; then the audit of the soak, and
//! what lists, comparison, search, export and deletion of one run cost in it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use orbweaver_origin::{LargeSite, SiteSpec};
use orbweaver_tests::crawl;
use orbweaver_tests::postgres::Postgres;
use orbweaver_tests::program::{Api, Launch, Program};
use orbweaver_tests::s3::{ACCESS_KEY, S3, SECRET_KEY};
use orbweaver_tests::soak::Ledger;

use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// The server to measure; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<std::path::PathBuf>,
    /// Sites. Each is crawled twice; between the crawls every twentieth page changes.
    #[arg(long, default_value_t = 6)]
    sites: usize,
    /// Pages of each site.
    #[arg(long, default_value_t = 84_000)]
    pages: usize,
    /// Mean length of a page.
    #[arg(long, default_value_t = 8_000)]
    page_bytes: usize,
    /// Links on a page.
    #[arg(long, default_value_t = 30)]
    links: usize,
    /// Nodes; each crawls a site at a time.
    #[arg(long, default_value_t = 2)]
    nodes: usize,
}

/// Both runs of one site, in their order, each with its pages. The site has its project's number.
struct Crawled {
    project: usize,
    runs: [(i64, usize); 2],
}

pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let s3 = runtime.block_on(S3::start())?;
    let database = Postgres::shared().database()?;
    let launch = settings(crate::crawl::launch(args.binary.as_deref())?, &s3);
    let folders: Vec<tempfile::TempDir> = (0..args.nodes)
        .map(|_| tempfile::tempdir())
        .collect::<Result<_, _>>()?;
    let nodes: Vec<Program> = folders
        .iter()
        .map(|folder| Program::start(&launch, folder.path(), Some(&database)))
        .collect::<Result<_>>()?;
    let folder = folders.first().context("no node")?.path();
    let mut ledger = Ledger::open(&launch, folder, Some(&database), args.sites)?;
    let start = Instant::now();
    let crawled = crawl_all(args, &nodes, &ledger)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut rows = 0;
    for Crawled { project, runs } in &crawled {
        for (run, pages) in runs {
            rows += pages;
            ledger.note(*project, *run, *pages)?;
        }
    }
    println!(
        "{rows} pages in {seconds:.0} s: {:.0} pages/s on {} nodes",
        rows as f64 / seconds,
        args.nodes
    );
    memory(&nodes, "crawling")?;
    let node = nodes.first().context("no node")?;
    let start = Instant::now();
    let broken = ledger.broken(node.address())?;
    ensure!(broken.is_empty(), "{}", broken.join("\n"));
    println!(
        "audit: nothing lost, twice, unbilled or seen by others; {:.0} s",
        start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    for node in &nodes {
        process::settled_cpu(node.pid())?;
    }
    println!(
        "indexed for search {:.0} s after the last crawl; bucket {:.2} GB, database {:.2} GB",
        start.elapsed().as_secs_f64(),
        gigabytes(&s3.bucket())?,
        gigabytes(&Postgres::shared().data())?
    );
    memory(&nodes, "crawling and indexing")?;
    let last = crawled.last().context("no site")?;
    let api = node.with_key(ledger.key(last.project)?);
    let runs = last.runs.map(|(run, _)| run);
    reads(node.pid(), &api, runs)?;
    memory(&nodes, "reading")?;
    delete(node.pid(), &api, runs[0])?;
    for node in &nodes {
        process::settled_cpu(node.pid())?;
    }
    memory(&nodes, "deleting")
}

fn settings(launch: Launch, s3: &S3) -> Launch {
    launch
        .with("BLOBS", s3.url("pages"))
        .with("BLOB_STORE__ACCESS_KEY_ID", ACCESS_KEY)
        .with("BLOB_STORE__SECRET_ACCESS_KEY", SECRET_KEY)
}

/// Every site twice, one site on each node at a time.
fn crawl_all(args: &Args, nodes: &[Program], ledger: &Ledger) -> Result<Vec<Crawled>> {
    let next = AtomicUsize::new(0);
    let threads: Vec<Result<Vec<Crawled>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = nodes
            .iter()
            .map(|node| {
                let next = &next;
                scope.spawn(move || {
                    let mut crawled = Vec::new();
                    loop {
                        let site = next.fetch_add(1, Ordering::Relaxed);
                        if site >= args.sites {
                            return Ok(crawled);
                        }
                        crawled.push(twice(args, node, ledger, site)?);
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked")))
            .collect()
    });
    let mut all = Vec::new();
    for crawled in threads {
        all.extend(crawled?);
    }
    Ok(all)
}

fn twice(args: &Args, node: &Program, ledger: &Ledger, project: usize) -> Result<Crawled> {
    let seed = project as u64 + 1;
    let api = node.with_key(ledger.key(project)?);
    let spec = SiteSpec {
        page_bytes: args.page_bytes,
        links: args.links,
        level: 1,
        seed,
        record: false,
        ..SiteSpec::pages(args.pages)
    };
    let site = LargeSite::start(&spec)?;
    let mut runs = [(0, 0); 2];
    for edition in 0..2 {
        site.replace(&SiteSpec {
            edition,
            ..spec.clone()
        });
        let start = Instant::now();
        let mut body = crawl::whole_site(&site);
        body["webhook_url"] = ledger.webhook(project)?.into();
        let run = crawl::submit(&api, &body)?;
        let ended = crawl::finished(&api, run, Duration::from_millis(200))?;
        ensure!(ended["status"] == "done", "the run failed: {ended}");
        let seconds = start.elapsed().as_secs_f64();
        // No page twice, none missing, none that the site does not have. With so few links a page, not
        // every missing page is linked.
        let rows = crawl::rows(&api, &site, run)?;
        let expected = crawl::expected_rows(&site);
        let wrong = rows
            .iter()
            .find(|(path, status)| expected.get(*path) != Some(*status));
        let lost = site
            .pages()
            .into_iter()
            .find(|path| !rows.contains_key(path));
        ensure!(
            wrong.is_none() && lost.is_none(),
            "run {run}: {wrong:?} is wrong, {lost:?} is lost"
        );
        eprintln!(
            "  site {seed}, edition {edition}: {} pages in {seconds:.0} s",
            rows.len()
        );
        runs[edition as usize] = (run, rows.len());
    }
    Ok(Crawled { project, runs })
}

fn reads(node: u32, api: &Api, [first, second]: [i64; 2]) -> Result<()> {
    for path in [
        "/v1/crawls?limit=100".to_owned(),
        format!("/v1/crawls/{second}/pages?limit=100"),
        format!("/v1/crawls/{second}/pages?limit=100000&format=csv"),
        format!("/v1/crawls/{second}/pages?limit=100000&format=ndjson"),
        format!("/v1/crawls/{second}/links?limit=1000"),
        format!("/v1/crawls/{second}/orphans"),
        format!("/v1/crawls/{first}/diff/{second}"),
        format!("/v1/crawls/{second}/export?format=ndjson&include=html"),
        format!("/v1/crawls/{second}/export?format=parquet&include=markdown"),
    ] {
        timed(node, api, "GET", &path, "", 200)?;
    }
    timed(
        node,
        api,
        "POST",
        "/v1/cloud/search",
        r#"{"query": "page"}"#,
        200,
    )
}

fn delete(node: u32, api: &Api, run: i64) -> Result<()> {
    let path = format!("/v1/crawls/{run}");
    timed(node, api, "DELETE", &path, "", 204)
}

/// A request, its time, its answer's length, and how much memory it took.
fn timed(node: u32, api: &Api, method: &str, path: &str, body: &str, wanted: u16) -> Result<()> {
    process::reset_peak(node)?;
    let before = process::resident_mib(node)?;
    let (start, mut bytes, mut shown) = (Instant::now(), 0_usize, Vec::new());
    let status = api.stream(method, path, body, |piece| {
        bytes += piece.len();
        if shown.len() < 300 {
            shown.extend_from_slice(piece);
        }
    })?;
    let shown = String::from_utf8_lossy(&shown);
    ensure!(status == wanted, "{method} {path}: {status} {shown}");
    println!(
        "{method} {path}: {bytes} bytes in {:.2} s; memory {before:.0} MiB before, peak {:.0} MiB",
        start.elapsed().as_secs_f64(),
        process::peak_mib(node)?
    );
    Ok(())
}

fn memory(nodes: &[Program], when: &str) -> Result<()> {
    let peaks: Vec<String> = nodes
        .iter()
        .map(|node| Ok(format!("{:.0}", process::peak_mib(node.pid())?)))
        .collect::<Result<_>>()?;
    println!("peak memory of the nodes, {when}: {} MiB", peaks.join(", "));
    for node in nodes {
        process::reset_peak(node.pid())?;
    }
    Ok(())
}

/// Bytes of a folder's files, in GB.
fn gigabytes(folder: &Path) -> Result<f64> {
    fn bytes(folder: &Path) -> Result<u64> {
        let mut total = 0;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // A file may be gone by now.
            let Ok(about) = entry.metadata() else {
                continue;
            };
            total += if about.is_dir() {
                bytes(&entry.path())?
            } else {
                about.len()
            };
        }
        Ok(total)
    }
    Ok(bytes(folder)? as f64 / 1e9)
}

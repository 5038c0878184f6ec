//! `bench crawl`: a whole crawl of a generated site through the service's own API, in turns
//! with the spider crate in its own program, and with a bare client that knows every URL in
//! advance: no crawler can be faster.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orbweaver_origin::{LargeSite, SiteSpec};
use orbweaver_tests::crawl;
use orbweaver_tests::program::{Launch, Program};
use serde_json::{Value, json};

use crate::measure::median;
use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// The server to measure; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    pub binary: Option<PathBuf>,
    /// Pages of the site.
    #[arg(long, default_value_t = 8_000)]
    pages: usize,
    /// Milliseconds that the site takes to answer.
    #[arg(long, default_value_t = 0)]
    latency: u64,
    /// Requests at the same time.
    #[arg(long, default_value_t = 32)]
    concurrency: usize,
    /// Rounds, in each of which every candidate has its turn.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Hooks of the candidate with hooks, as in a crawl request.
    #[arg(long, default_value = HOOKS)]
    hooks: String,
    /// Only candidates whose name contains this.
    #[arg(long)]
    only: Option<String>,
}

/// A hook that judges the links of every page, and one that reads its document.
const HOOKS: &str = r#"[
    {"name": "section-priority", "config": {"sections": [{"prefix": "/a", "priority": 1}]}},
    {"name": "language-filter", "config": {"languages": ["en"]}}
]"#;

/// The usage of a crawl.
struct Figures {
    seconds: f64,
    cpu_ms: f64,
    /// The same, with what the program does after the run's end: it indexes pages for search that
    /// it had left for later.
    settled_ms: f64,
    peak_mib: f64,
    found: usize,
    /// Requests that the site answered, pages or not.
    requests: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Candidate {
    Full,
    Hooks,
    Metadata,
    SpiderFull,
    SpiderMetadata,
    Bare,
}

impl Candidate {
    const ALL: [Self; 6] = [
        Self::Full,
        Self::Hooks,
        Self::SpiderFull,
        Self::Metadata,
        Self::SpiderMetadata,
        Self::Bare,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Full => "orbweaver, full HTML",
            Self::Hooks => "orbweaver, hooks",
            Self::Metadata => "orbweaver, metadata",
            Self::SpiderFull => "spider, full HTML",
            Self::SpiderMetadata => "spider, metadata",
            Self::Bare => "bare client, known list",
        }
    }
}

pub fn run(args: &Args) -> Result<()> {
    let started = Instant::now();
    let site = LargeSite::start(&SiteSpec {
        latency: Duration::from_millis(args.latency),
        record: false,
        ..SiteSpec::pages(args.pages)
    })?;
    eprintln!(
        "{} pages made in {:.1} s",
        args.pages,
        started.elapsed().as_secs_f64()
    );
    let chosen: Vec<Candidate> = Candidate::ALL
        .into_iter()
        .filter(|candidate| {
            let only = args.only.as_deref().unwrap_or_default();
            candidate.name().contains(only)
        })
        .collect();
    let mut all: Vec<Vec<Figures>> = chosen.iter().map(|_| Vec::new()).collect();
    for round in 1..=args.rounds {
        for (candidate, all) in chosen.iter().zip(&mut all) {
            let figures = measure(*candidate, args, &site)?;
            eprintln!(
                "round {round}: {:<24} {:>6.0} pages/s {:>7.3} CPU ms/page, {:>7.3} settled {:>6.0} MiB {:>6} pages",
                candidate.name(),
                rate(&figures),
                cost(&figures),
                settled_cost(&figures),
                figures.peak_mib,
                figures.found
            );
            all.push(figures);
        }
    }
    report(args, &site, &chosen, &all);
    Ok(())
}

fn report(args: &Args, site: &LargeSite, chosen: &[Candidate], all: &[Vec<Figures>]) {
    println!(
        "{} pages, {} at once, latency {} ms; medians of {} rounds",
        args.pages, args.concurrency, args.latency, args.rounds
    );
    println!(
        "{:<24} {:>8} {:>12} {:>8} {:>9} {:>14}",
        "", "pages/s", "CPU ms/page", "settled", "peak MiB", "found"
    );
    for (candidate, figures) in chosen.iter().zip(all) {
        println!(
            "{:<24} {:>8.0} {:>12.3} {:>8.3} {:>9.0} {:>6} of {:>5}",
            candidate.name(),
            median(figures.iter().map(rate)).unwrap_or(f64::NAN),
            median(figures.iter().map(cost)).unwrap_or(f64::NAN),
            median(figures.iter().map(settled_cost)).unwrap_or(f64::NAN),
            median(figures.iter().map(|f| f.peak_mib)).unwrap_or(f64::NAN),
            figures.iter().map(|f| f.found).min().unwrap_or(0),
            site.pages().len()
        );
    }
    let of = |candidate| {
        let at = chosen.iter().position(|known| *known == candidate)?;
        all.get(at)
    };
    for (ours, theirs) in [
        (Candidate::Hooks, Candidate::Full),
        (Candidate::Full, Candidate::SpiderFull),
        (Candidate::Full, Candidate::SpiderMetadata),
        (Candidate::Metadata, Candidate::SpiderMetadata),
        (Candidate::Full, Candidate::Bare),
    ] {
        if let (Some(a), Some(b)) = (of(ours), of(theirs)) {
            // Ratios of rounds, not of medians: a noisy minute affects both sides of one round.
            let ratio = |figure: fn(&Figures) -> f64| {
                median(a.iter().zip(b).map(|(a, b)| figure(a) / figure(b))).unwrap_or(f64::NAN)
            };
            println!(
                "{} / {}: pages/s {:.2}, CPU {:.2}, settled {:.2}, memory {:.2}",
                ours.name(),
                theirs.name(),
                ratio(rate),
                ratio(cost),
                ratio(settled_cost),
                ratio(|f| f.peak_mib)
            );
        }
    }
    if args.latency > 0 {
        let limit = args.concurrency as f64 * 1000.0 / args.latency as f64;
        for (candidate, figures) in chosen.iter().zip(all) {
            let share = |rate: fn(&Figures) -> f64| {
                median(figures.iter().map(rate)).unwrap_or(f64::NAN) / limit
            };
            println!(
                "{}: {:.3} of concurrency / latency; {:.3} with redirects, pages that are missing \
                 and files for robots",
                candidate.name(),
                share(rate),
                share(|figures| figures.requests as f64 / figures.seconds)
            );
        }
    }
}

fn rate(figures: &Figures) -> f64 {
    figures.found as f64 / figures.seconds
}

fn cost(figures: &Figures) -> f64 {
    figures.cpu_ms / figures.found as f64
}

fn settled_cost(figures: &Figures) -> f64 {
    figures.settled_ms / figures.found as f64
}

fn measure(candidate: Candidate, args: &Args, site: &LargeSite) -> Result<Figures> {
    let before = site.total();
    let figures = match candidate {
        Candidate::Full => orbweaver(args, site, json!({"store_html": true})),
        Candidate::Hooks => {
            let hooks: Value = serde_json::from_str(&args.hooks).context("--hooks")?;
            orbweaver(args, site, json!({"store_html": true, "hooks": hooks}))
        }
        Candidate::Metadata => orbweaver(args, site, json!({"store_html": false})),
        Candidate::SpiderFull => spider(args, site, "html"),
        Candidate::SpiderMetadata => spider(args, site, "metadata"),
        Candidate::Bare => bare(args, site),
    }?;
    Ok(Figures {
        requests: site.total() - before,
        ..figures
    })
}

/// The release build, with the plugins that the benchmark's caller names.
pub fn launch(binary: Option<&Path>) -> Result<Launch> {
    let beside = std::env::current_exe()?.with_file_name("orbweaver");
    let binary = binary.map_or(beside, Path::to_owned);
    let plugins = binary
        .parent()
        .and_then(Path::parent)
        .map(|target| target.join("plugins"));
    let plugins = std::env::var_os("ORBWEAVER_PLUGIN_DIR")
        .map(PathBuf::from)
        .or(plugins);
    Ok(Launch {
        plugin_dir: plugins.context("no plugin folder")?,
        cache_dir: Some(std::env::temp_dir().join("orbweaver-bench-plugins")),
        settings: Vec::new(),
        binary,
    })
}

fn orbweaver(args: &Args, site: &LargeSite, fields: Value) -> Result<Figures> {
    let data = tempfile::tempdir()?;
    let program = Program::start(&launch(args.binary.as_deref())?, data.path(), None)?;
    let mut body = crawl::whole_site(site);
    body["concurrency"] = args.concurrency.into();
    if let (Some(body), Value::Object(fields)) = (body.as_object_mut(), fields) {
        body.extend(fields);
    }
    let (start, before) = (Instant::now(), process::cpu(program.pid())?);
    let run = crawl::submit(&program, &body)?;
    let run = crawl::finished(&program, run, Duration::from_millis(50))?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu = process::cpu(program.pid())?.saturating_sub(before);
    let peak_mib = process::peak_mib(program.pid())?;
    let settled = process::settled_cpu(program.pid())?.saturating_sub(before);
    if run["status"] != "done" {
        bail!("the run failed: {run}");
    }
    let id = run["id"].as_i64().context("no id")?;
    let rows = crawl::rows(&program, site, id)?;
    Ok(Figures {
        requests: 0,
        seconds,
        cpu_ms: cpu.as_secs_f64() * 1e3,
        settled_ms: settled.as_secs_f64() * 1e3,
        peak_mib,
        found: found(site, |path| rows.get(path) == Some(&200)),
    })
}

/// How many of the site's pages were found.
fn found(site: &LargeSite, is: impl Fn(&str) -> bool) -> usize {
    site.pages().iter().filter(|path| is(path)).count()
}

fn spider(args: &Args, site: &LargeSite, keep: &str) -> Result<Figures> {
    let program = std::env::var_os("ORBWEAVER_PEER_SPIDER").context(
        "ORBWEAVER_PEER_SPIDER: where the peer program is; `cargo xtask bench crawl` says it",
    )?;
    let data = tempfile::tempdir()?;
    let out = data.path().join("pages.jsonl");
    let mut child = Running(
        Command::new(program)
            .arg(site.url("/"))
            .args([
                "--keep",
                keep,
                "--concurrency",
                &args.concurrency.to_string(),
            ])
            .arg("--out")
            .arg(&out)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?,
    );
    let figures = child.figures()?;
    let mut urls = std::collections::HashSet::new();
    for line in BufReader::new(std::fs::File::open(&out)?).lines() {
        let line: serde_json::Value = serde_json::from_str(&line?)?;
        if line["status"] == 200
            && let Some(url) = line["url"].as_str()
        {
            urls.insert(url.to_owned());
        }
    }
    Ok(Figures {
        found: found(site, |path| urls.contains(&site.url(path))),
        ..figures
    })
}

fn bare(args: &Args, site: &LargeSite) -> Result<Figures> {
    let data = tempfile::tempdir()?;
    let list = data.path().join("paths.txt");
    std::fs::write(&list, site.pages().join("\n"))?;
    let mut child = Running(
        Command::new(std::env::current_exe()?)
            .arg("fetch-list")
            .arg(site.address().to_string())
            .arg(&list)
            .arg(args.concurrency.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let figures = child.figures()?;
    Ok(Figures {
        found: site.pages().len(),
        ..figures
    })
}

/// A program that prints a line when its work is done, then waits for the end of its
/// standard input.
struct Running(Child);

impl Running {
    fn figures(&mut self) -> Result<Figures> {
        let start = Instant::now();
        let out = self.0.stdout.take().context("no standard output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let seconds = start.elapsed().as_secs_f64();
        if line.is_empty() {
            bail!("it ended early: {}", self.0.wait()?);
        }
        let cpu_ms = process::cpu(self.0.id())?.as_secs_f64() * 1e3;
        let figures = Figures {
            seconds,
            cpu_ms,
            settled_ms: cpu_ms,
            peak_mib: process::peak_mib(self.0.id())?,
            found: 0,
            requests: 0,
        };
        drop(self.0.stdin.take());
        self.0.wait()?;
        Ok(figures)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `bench fetch-list`: requests every path of a file over this many connections.
pub fn fetch_list(address: SocketAddr, list: &Path, connections: usize) -> Result<()> {
    let paths: Vec<String> = std::fs::read_to_string(list)?
        .lines()
        .map(str::to_owned)
        .collect();
    let (paths, next) = (Arc::new(paths), Arc::new(AtomicUsize::new(0)));
    let workers: Vec<_> = (0..connections)
        .map(|_| {
            let (paths, next) = (Arc::clone(&paths), Arc::clone(&next));
            std::thread::spawn(move || fetch_some(address, &paths, &next))
        })
        .collect();
    for worker in workers {
        worker
            .join()
            .map_err(|_| anyhow::anyhow!("a worker panicked"))??;
    }
    println!("{} pages", paths.len());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn fetch_some(address: SocketAddr, paths: &[String], next: &AtomicUsize) -> Result<()> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    let mut body = Vec::new();
    while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept-Encoding: gzip\r\n\r\n");
        reader.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line)?;
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse()?;
            }
        }
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
    }
    Ok(())
}

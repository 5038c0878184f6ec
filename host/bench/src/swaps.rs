//! `bench swaps`: uploads and rollbacks of a plugin under load. No call may fail, and the program's
//! memory may not grow.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use orbweaver_engine::manifest;
use orbweaver_origin::{Origin, Reply};
use orbweaver_tests::program::{KEY, Program};
use serde_json::{Value, json};

use crate::{crawl, process};

/// Most growth of the resident memory.
const MAX_GROWTH: f64 = 0.10;

#[derive(clap::Args)]
pub struct Args {
    /// The server to measure; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<std::path::PathBuf>,
    /// Swaps that are measured; every second one is a rollback.
    #[arg(long, default_value_t = 1_000)]
    swaps: usize,
    /// Swaps before, until caches are full.
    #[arg(long, default_value_t = 2_000)]
    warm_up: usize,
    /// Threads that call the plugin.
    #[arg(long, default_value_t = 4)]
    callers: usize,
}

pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let origin = runtime.block_on(Origin::start())?;
    origin.set("/robots.txt", Reply::text(""));
    origin.set_under("/page/", |request| {
        let links = "<p><a href=/a>a link</a>".repeat(50);
        Reply::html(format!("<title>{}</title>{links}", request.target))
    });
    let data = tempfile::tempdir()?;
    let launch = crawl::launch(args.binary.as_deref())?
        .with("HTTP__RATE__KEY__PER_SECOND", "0")
        .with("HTTP__RATE__ADDRESS__PER_SECOND", "0");
    let component = std::fs::read(launch.plugin_dir.join("extract-links.wasm"))?;
    let program = Program::start(&launch, data.path(), None)?;
    let versions = (0..4)
        .map(|version| renamed(&component, version))
        .collect::<Result<Vec<_>>>()?;
    for version in &versions {
        upload(&program, version)?;
    }
    let (stop, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..args.callers)
            .map(|caller| {
                let (program, stop, calls) = (&program, &stop, &calls);
                let url = origin.url(&format!("/page/{caller}"));
                scope.spawn(move || call_on(program, &url, stop, calls))
            })
            .collect();
        let swapped = measure(args, &program, &versions, &calls);
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            match caller.join() {
                Ok(done) => done?,
                Err(_) => bail!("a caller panicked"),
            }
        }
        swapped
    })
}

fn measure(
    args: &Args,
    program: &Program,
    versions: &[Vec<u8>],
    calls: &AtomicUsize,
) -> Result<()> {
    swap(program, versions, args.warm_up)?;
    let (before, calls_before) = (resident(program)?, calls.load(Ordering::Relaxed));
    let started = Instant::now();
    swap(program, versions, args.swaps)?;
    let elapsed = started.elapsed();
    let (after, calls_after) = (resident(program)?, calls.load(Ordering::Relaxed));
    let growth = after / before - 1.0;
    println!(
        "{} swaps in {:.1} s ({:.1} ms each), {} calls meanwhile, none failed; resident {before:.1} MiB \
         before, {after:.1} MiB after ({:+.1} %)",
        args.swaps,
        elapsed.as_secs_f64(),
        elapsed.as_secs_f64() * 1e3 / args.swaps.max(1) as f64,
        calls_after - calls_before,
        growth * 100.0
    );
    ensure!(
        growth <= MAX_GROWTH,
        "the resident memory grew by more than 10 %"
    );
    Ok(())
}

/// The median of some moments: what calls hold comes and goes.
fn resident(program: &Program) -> Result<f64> {
    let mut samples = Vec::new();
    for _ in 0..21 {
        samples.push(process::resident_mib(program.pid())?);
        std::thread::sleep(Duration::from_millis(50));
    }
    samples.sort_by(f64::total_cmp);
    samples.get(10).copied().context("no sample")
}

/// Uploads and rolls back in turns.
fn swap(program: &Program, versions: &[Vec<u8>], times: usize) -> Result<()> {
    for (turn, version) in (0..times).zip(versions.iter().cycle()) {
        if turn % 2 == 0 {
            upload(program, version)?;
        } else {
            let path = "/v1/plugins/swapped/rollback";
            program.post(path, &json!({}), 200)?;
        }
    }
    Ok(())
}

/// Scans pages, each another one, until it is told to stop.
fn call_on(program: &Program, url: &str, stop: &AtomicBool, calls: &AtomicUsize) -> Result<()> {
    let mut page = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        page += 1;
        let scan = json!({"url": format!("{url}/{page}"), "extractors": ["swapped"]});
        let answer = program.post("/v1/scan", &scan, 200)?;
        let has_output = answer
            .pointer("/extensions/swapped")
            .is_some_and(|out| !out.is_null());
        ensure!(
            has_output && answer.get("errors") == Some(&Value::Array(Vec::new())),
            "a call failed: {answer}"
        );
        calls.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The component as a plugin of another name and version.
fn renamed(component: &[u8], version: usize) -> Result<Vec<u8>> {
    let text = manifest::read_text(component)?;
    let lines = text.lines().map(|line| {
        let is = |field: &str| {
            line.split('=')
                .next()
                .is_some_and(|name| name.trim() == field)
        };
        if is("name") {
            "name = \"swapped\"".to_owned()
        } else if is("version") {
            format!("version = \"{version}.0.0\"")
        } else {
            line.to_owned()
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    Ok(manifest::embed(component, &text)?)
}

fn upload(program: &Program, component: &[u8]) -> Result<()> {
    let mut stream = TcpStream::connect(program.address())?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    write!(
        stream,
        "PUT /v1/plugins/swapped HTTP/1.0\r\nHost: bench\r\nAuthorization: Bearer {KEY}\r\n\
         Content-Type: application/wasm\r\nContent-Length: {}\r\n\r\n",
        component.len()
    )?;
    stream.write_all(component)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).unwrap_or_default();
    ensure!(
        matches!(status, "200" | "201"),
        "an upload failed: {answer}"
    );
    Ok(())
}

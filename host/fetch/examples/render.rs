//! Compares rendering a static page here with bare Chromium over its protocol, in turns.
//!
//! Bare is the minimum that yields the same HTML: one browser, a new page in its only context,
//! navigate, wait for `load`, read the document, close. This renderer also gives every page its
//! own browser context and a filtering proxy in front of it.
//!
//! `cargo xtask bench render [ROUNDS] [PARALLEL]`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot run has failed; it prints what it measured"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use orbweaver_fetch::{BrowserConfig, FetchConfig, Fetcher, RenderRequest, Renderer, find_browser};
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

/// Chromium with its protocol on standard input and output.
struct Bare {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Bare {
    fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new("sh")
            .args([
                "-c",
                r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#,
            ])
            .arg(find_browser(None).unwrap())
            .args([
                "--headless",
                "--no-sandbox",
                "--remote-debugging-pipe",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--window-size=1280,800",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            next: 0,
            events: Vec::new(),
            _profile: profile,
        }
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.output.read_until(0, &mut message).unwrap();
        message.pop();
        serde_json::from_slice(&message).unwrap()
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap();
        loop {
            let message = self.read();
            if message["id"] == self.next {
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn render(&mut self, url: &str) -> usize {
        let target = self.call(None, "Target.createTarget", json!({"url": "about:blank"}));
        let id = target["targetId"].clone();
        let attach = json!({"targetId": id, "flatten": true});
        let session = self.call(None, "Target.attachToTarget", attach);
        let session = session["sessionId"].as_str().unwrap().to_owned();
        self.call(Some(&session), "Page.enable", json!({}));
        self.events.clear();
        self.call(Some(&session), "Page.navigate", json!({"url": url}));
        let loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(loaded) {
            let event = self.read();
            self.events.push(event);
        }
        let script = json!({"expression": "document.documentElement.outerHTML"});
        let html = self.call(Some(&session), "Runtime.evaluate", script);
        let length = html["result"]["value"].as_str().unwrap().len();
        self.call(None, "Target.closeTarget", json!({"targetId": id}));
        length
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let (rounds, parallel): (usize, usize) = (args.next().unwrap_or(30), args.next().unwrap_or(50));
    let origin = Origin::start().await.unwrap();
    let text = "<p>A paragraph of a static page, with <a href=/x>a link</a>.</p>\n".repeat(400);
    origin.set(
        "/",
        Reply::html(format!("<!doctype html><title>Static</title>{text}")),
    );
    let config = FetchConfig {
        allow_nets: vec!["127.0.0.0/8".parse().unwrap()],
        ..FetchConfig::default()
    };
    let renderer = Renderer::new(
        Fetcher::new(config).unwrap(),
        None,
        BrowserConfig::default(),
    );
    let mut bare = Bare::start();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds + 3 {
        let begun = Instant::now();
        let length = tokio::task::block_in_place(|| bare.render(&origin.url("/")));
        let bare_took = begun.elapsed();
        let begun = Instant::now();
        let page = renderer
            .render(RenderRequest::new(origin.url("/")))
            .await
            .unwrap();
        let took = begun.elapsed();
        assert!(page.response.body.len() >= length);
        // The first rounds warm both up; the pause between pages is as in a running service.
        if round >= 3 {
            theirs.push(bare_took);
            ours.push(took);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    println!("render of a static page, median of {rounds}:");
    println!("  bare Chromium    {theirs:8.1} ms");
    println!(
        "  this renderer    {ours:8.1} ms   {:.2} x (goal: at most 1.5)",
        ours / theirs
    );
    drop(bare);
    let begun = Instant::now();
    let group = renderer.process_group().await.unwrap();
    let peak = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let watching = {
        let peak = peak.clone();
        tokio::spawn(async move {
            loop {
                let now = memory(group);
                peak.fetch_max(now, std::sync::atomic::Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    };
    let pages = (0..parallel).map(|_| renderer.render(RenderRequest::new(origin.url("/"))));
    let done = futures::future::join_all(pages).await;
    watching.abort();
    let good = done.iter().filter(|page| page.is_ok()).count();
    println!(
        "{parallel} at once: {good} rendered in {:.1} s, browser at most {} MiB (shared pages once per process)",
        begun.elapsed().as_secs_f64(),
        peak.load(std::sync::atomic::Ordering::Relaxed) >> 20,
    );
    renderer.shutdown().await;
}

/// Resident memory of a process group.
fn memory(group: i32) -> u64 {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let stat = std::fs::read_to_string(path.join("stat")).ok()?;
            let of: i32 = stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()?;
            let statm = std::fs::read_to_string(path.join("statm")).ok()?;
            let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
            (of == group).then_some(pages * 4_096)
        })
        .sum()
}

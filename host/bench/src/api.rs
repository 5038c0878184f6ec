//! `bench api`: requests per second through the whole service, in turns with a bare axum
//! handler in its own process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::corpus;

/// Well-formed (`orb_` and 24 bytes), and of no use elsewhere.
const KEY: &str = "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

#[derive(clap::Args)]
pub struct Args {
    /// The server to measure; `target/release/orbweaver` beside this program by default.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Seconds per measurement.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// Rounds, in each of which every candidate has its turn.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Keep-alive connections.
    #[arg(long, default_value_t = 32)]
    connections: usize,
}

pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure(args))
}

/// The baseline: `bench hello ADDRESS`.
pub fn hello(address: SocketAddr) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let app = axum::Router::new().route("/", axum::routing::get(|| async { "hello" }));
        axum::serve(TcpListener::bind(address).await?, app).await?;
        Ok(())
    })
}

struct Candidate {
    name: &'static str,
    address: SocketAddr,
    request: Vec<u8>,
    /// Minimum share of the baseline's rate.
    goal: Option<f64>,
    rates: Vec<f64>,
}

async fn measure(args: &Args) -> Result<()> {
    let data = tempfile::tempdir()?;
    let origin = origin().await?;
    let (hello, service) = (free_address().await?, free_address().await?);
    let this = std::env::current_exe()?;
    let binary = match &args.binary {
        Some(path) => path.clone(),
        None => this.with_file_name("orbweaver"),
    };
    let _hello = Server(
        Command::new(&this)
            .arg("hello")
            .arg(hello.to_string())
            .spawn()?,
    );
    let _service = Server(
        Command::new(&binary)
            .arg("serve")
            .arg("--data-dir")
            .arg(data.path())
            .args([
                "--listen",
                &service.to_string(),
                "--allow-net",
                "127.0.0.0/8",
            ])
            .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
            // The service is measured without its rate limits.
            .env("ORBWEAVER_HTTP__RATE__KEY__PER_SECOND", "0")
            .env("ORBWEAVER_HTTP__RATE__ADDRESS__PER_SECOND", "0")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| binary.display().to_string())?,
    );
    let get = |path: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\n\r\n")
            .into_bytes()
    };
    let body = format!(r#"{{"url":"http://{origin}/page","max_age_seconds":3600}}"#);
    let scan = format!(
        "POST /v1/scan HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut candidates = [
        ("hello", hello, get("/"), None),
        ("GET /v1/health", service, get("/v1/health"), Some(0.7)),
        ("GET /v1/usage", service, get("/v1/usage"), Some(0.4)),
        (
            "GET /v1/logs?limit=1",
            service,
            get("/v1/logs?limit=1"),
            None,
        ),
        ("POST /v1/scan, cached", service, scan.into_bytes(), None),
    ]
    .map(|(name, address, request, goal)| Candidate {
        name,
        address,
        request,
        goal,
        rates: Vec::new(),
    });
    wait_for(hello).await?;
    wait_for(service).await?;
    for candidate in &candidates {
        // Fills the scan's cache, and fails at once if the answer is not 200.
        load(candidate, 1, Duration::from_millis(300)).await?;
    }
    for _ in 0..args.rounds {
        for candidate in &mut candidates {
            let rate = load(
                candidate,
                args.connections,
                Duration::from_secs(args.seconds),
            )
            .await?;
            candidate.rates.push(rate);
        }
    }
    let base = median(&candidates[0].rates);
    for candidate in &candidates {
        let rate = median(&candidate.rates);
        let goal = match candidate.goal {
            Some(goal) if rate / base >= goal => format!("   goal {goal} met"),
            Some(goal) => format!("   goal {goal} MISSED"),
            None => String::new(),
        };
        println!(
            "{:<24} {rate:>9.0} requests/s   {:>5.2} x hello{goal}",
            candidate.name,
            rate / base
        );
    }
    // Both answer from memory; the difference is the key, the log and the JSON.
    let [health, usage] = [1, 2].map(|index| 1e6 / median(&candidates[index].rates));
    println!(
        "{:<24} {:>9.1} µs a request more than health (wall time, all cores)",
        "with a key",
        usage - health
    );
    Ok(())
}

/// Requests per second over `connections` connections; each sends the next when answered.
async fn load(candidate: &Candidate, connections: usize, time: Duration) -> Result<f64> {
    let start = Instant::now();
    let tasks = (0..connections).map(|_| async {
        let mut stream = TcpStream::connect(candidate.address).await?;
        stream.set_nodelay(true)?;
        let mut buffer = vec![0; 1 << 16];
        let mut count = 0_u64;
        while start.elapsed() < time {
            stream.write_all(&candidate.request).await?;
            read_answer(&mut stream, &mut buffer)
                .await
                .context(candidate.name)?;
            count += 1;
        }
        anyhow::Ok(count)
    });
    let counts = futures::future::try_join_all(tasks).await?;
    Ok(counts.iter().sum::<u64>() as f64 / start.elapsed().as_secs_f64())
}

async fn read_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<()> {
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(filled * 2, 0);
        }
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            bail!("connection closed");
        }
        filled += read;
        let Some(head) = buffer[..filled].windows(4).position(|w| w == b"\r\n\r\n") else {
            continue;
        };
        let text = std::str::from_utf8(&buffer[..head])?.to_ascii_lowercase();
        if !text.starts_with("http/1.1 200") {
            bail!("{}", String::from_utf8_lossy(&buffer[..filled]));
        }
        let length: usize = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .context("no content-length")?
            .trim()
            .parse()?;
        if filled >= head + 4 + length {
            return Ok(());
        }
    }
}

/// A site with one page of 38 KB.
async fn origin() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let page = corpus::page(38_000);
    let app = axum::Router::new().route(
        "/page",
        axum::routing::get(move || async move { axum::response::Html(page) }),
    );
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(address)
}

async fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?)
}

async fn wait_for(address: SocketAddr) -> Result<()> {
    let start = Instant::now();
    while TcpStream::connect(address).await.is_err() {
        if start.elapsed() > Duration::from_secs(60) {
            bail!("{address} does not answer");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It is no error if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

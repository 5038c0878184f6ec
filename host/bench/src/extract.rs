//! `bench extract`: the six roles of one page.
//!
//! * `sandboxed`: parse, then the roles in a fresh instance of their component, on one thread;
//! * `native`: parse once, then the same code compiled natively;
//! * `scraper`: `scraper`'s parse, then the same native code on a tree made beforehand, so
//!   that the outputs are the same and only the parser differs;
//! * `dom_smoothie`, `htmd`: one role each of the peers, parsing included.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use orbweaver_engine::{Engine, EngineConfig, Page, RoleCall};

use crate::corpus::{self, Sample};
use crate::measure::{Candidate, Rounds};

/// The address that every page is taken to have.
pub const URL: &str = "https://example.com/weavers";
/// The roles of a scan, in the order of its answer.
pub const ROLES: [&str; 6] = [
    "markdown",
    "article",
    "metadata",
    "signals",
    "structured-data",
    "links",
];

#[derive(clap::Args)]
pub struct Args {
    /// Measure real pages (.html, .html.gz) of this folder instead of generated ones.
    #[arg(long)]
    pages: Option<PathBuf>,
    /// Rounds per size.
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// Also each role separately.
    #[arg(long)]
    roles: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let engine = engine()?;
    let samples = match &args.pages {
        Some(dir) => corpus::from_folder(dir)?,
        None => corpus::generated(),
    };
    let mut peers = Peers::start()?;
    println!(
        "{:<12} {:>10} {:>10} {:>10} {:>10} {:>13} {:>10} | {:>9} {:>9} {:>9} {:>9}",
        "page",
        "parse µs",
        "native",
        "sandboxed",
        "scraper",
        "dom_smoothie",
        "htmd",
        "/native",
        "/scraper",
        "/smoothie",
        "md MB/s"
    );
    for sample in &samples {
        six_roles(&engine, sample, args, &mut peers)?;
        if args.roles {
            each_role(&engine, sample, args)?;
        }
    }
    Ok(())
}

/// An engine with the plugins of `ORBWEAVER_PLUGIN_DIR`.
pub fn engine() -> Result<Engine> {
    let dir = std::env::var_os("ORBWEAVER_PLUGIN_DIR")
        .context("ORBWEAVER_PLUGIN_DIR is not set; run `cargo xtask bench`")?;
    let engine = Engine::new(EngineConfig {
        plugin_dir: Some(dir.into()),
        ..EngineConfig::default()
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = runtime.block_on(engine.load_dir());
    if let Some((file, error)) = report.refused.first() {
        bail!("{}: {error}", file.display());
    }
    Ok(engine)
}

/// One call of each role, without options.
pub fn calls(roles: &[&str]) -> Vec<RoleCall> {
    roles
        .iter()
        .map(|role| RoleCall {
            role: (*role).to_owned(),
            options: String::new(),
        })
        .collect()
}

/// A page for roles that are compiled natively.
pub fn native_page<'a>(
    html: &'a str,
    view: &'a orbweaver_dom::View<'a>,
) -> orbweaver_sdk::Page<'a> {
    let parts = orbweaver_sdk::Parts {
        url: URL,
        final_url: URL,
        status: 200,
        headers: &[],
        html,
        view,
    };
    orbweaver_sdk::Page::from_parts(parts)
}

/// A role's answer, by the same code that is compiled for the sandbox.
pub fn native(role: &str, page: &orbweaver_sdk::Page<'_>) -> Result<String> {
    let extract = match role {
        "markdown" => orbweaver_extract_markdown::extract,
        "article" => orbweaver_extract_article::extract,
        "metadata" => orbweaver_extract_metadata::extract,
        "signals" => orbweaver_extract_signals::extract,
        "structured-data" => orbweaver_extract_structured_data::extract,
        "links" => orbweaver_extract_links::extract,
        other => bail!("no native code for role `{other}`"),
    };
    extract(page, "").map_err(|error| anyhow::anyhow!("{role}: {error:?}"))
}

fn sandboxed(engine: &Engine, page: &std::sync::Arc<Page>, roles: &[&str]) -> Result<()> {
    for (role, answer) in roles
        .iter()
        .zip(engine.extract_blocking(page, calls(roles)))
    {
        black_box(answer.with_context(|| (*role).to_owned())?);
    }
    Ok(())
}

fn six_roles(engine: &Engine, sample: &Sample, args: &Args, peers: &mut Peers) -> Result<()> {
    let file = tempfile::NamedTempFile::with_suffix(".html")?;
    std::fs::write(file.path(), &sample.html)?;
    let html = sample.html.as_str();
    let snapshot = orbweaver_dom::parse(html);
    let view = snapshot.view()?;
    let peers = std::cell::RefCell::new(peers);
    let candidates = vec![
        Candidate::new("parse", || {
            black_box(orbweaver_dom::parse(html));
            Ok(())
        }),
        Candidate::new("native", || {
            let snapshot = orbweaver_dom::parse(html);
            let view = snapshot.view()?;
            let page = native_page(html, &view);
            for role in ROLES {
                black_box(native(role, &page)?);
            }
            Ok(())
        }),
        Candidate::new("sandboxed", || {
            sandboxed(engine, &Page::from_html(URL, html), &ROLES)
        }),
        Candidate::new("scraper", || {
            black_box(scraper::Html::parse_document(html));
            let page = native_page(html, &view);
            for role in ROLES {
                black_box(native(role, &page)?);
            }
            Ok(())
        }),
        Candidate {
            name: "dom_smoothie",
            run: Box::new(|| peers.borrow_mut().time("dom_smoothie", file.path())),
        },
        Candidate {
            name: "htmd",
            run: Box::new(|| peers.borrow_mut().time("htmd", file.path())),
        },
        Candidate::new("markdown", || {
            black_box(native("markdown", &native_page(html, &view))?);
            Ok(())
        }),
    ];
    let rounds = Rounds::run(candidates, args.rounds, Duration::from_secs(20))?;
    let median = |name: &str| {
        rounds
            .medians()
            .find(|(n, _)| *n == name)
            .map_or(0.0, |(_, d)| d.as_secs_f64() * 1e6)
    };
    let ratio = |a: &str, b: &str| rounds.ratio(a, b).unwrap_or(f64::NAN);
    println!(
        "{:<12} {:>10.0} {:>10.0} {:>10.0} {:>10.0} {:>13.0} {:>10.0} | {:>9.2} {:>9.2} {:>9.2} {:>9.0}",
        sample.name,
        median("parse"),
        median("native"),
        median("sandboxed"),
        median("scraper"),
        median("dom_smoothie"),
        median("htmd"),
        ratio("sandboxed", "native"),
        ratio("sandboxed", "scraper"),
        ratio("sandboxed", "dom_smoothie"),
        html.len() as f64 / median("markdown")
    );
    Ok(())
}

fn each_role(engine: &Engine, sample: &Sample, args: &Args) -> Result<()> {
    let snapshot = orbweaver_dom::parse(&sample.html);
    let view = snapshot.view()?;
    let page = Page::from_html(URL, &sample.html);
    page.snapshot();
    for role in ROLES {
        let rounds = Rounds::run(
            vec![
                Candidate::new("native", || {
                    black_box(native(role, &native_page(&sample.html, &view))?);
                    Ok(())
                }),
                Candidate::new("sandboxed", || sandboxed(engine, &page, &[role])),
            ],
            args.rounds,
            Duration::from_secs(5),
        )?;
        let medians: Vec<_> = rounds
            .medians()
            .map(|(_, d)| d.as_secs_f64() * 1e6)
            .collect();
        println!(
            "  {:<16} native {:>8.0} µs   sandboxed {:>8.0} µs   ratio {:>5.2}",
            role,
            medians[0],
            medians[1],
            rounds.ratio("sandboxed", "native").unwrap_or(f64::NAN)
        );
    }
    Ok(())
}

/// The peers' process (`xtask/peers`), used in turns.
struct Peers {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Peers {
    fn start() -> Result<Self> {
        let program = std::env::var_os("ORBWEAVER_PEERS")
            .context("ORBWEAVER_PEERS is not set; run `cargo xtask bench`")?;
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let answers = BufReader::new(child.stdout.take().context("no pipe")?);
        Ok(Self { child, answers })
    }

    fn time(&mut self, tool: &str, path: &std::path::Path) -> Result<Duration> {
        let stdin = self.child.stdin.as_mut().context("no pipe")?;
        writeln!(stdin, "{tool} 1 {}", path.display())?;
        stdin.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let nanos: u64 = line
            .trim()
            .parse()
            .with_context(|| format!("{tool} ended"))?;
        Ok(Duration::from_nanos(nanos))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends with its input; nothing to do if it has already ended.
        let _ = self.child.wait();
    }
}

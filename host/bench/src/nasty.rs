//! `bench nasty`: what the host itself does with a page, and the roles natively, over hostile
//! documents at size n and at 2n. Work that is linear doubles.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use orbweaver_core::{charset, content, markdown, page, words};
use orbweaver_nasty::{MAX_GROWTH, Pattern};

use crate::extract::{ROLES, native, native_page};

const URL: &str = "https://example.com/a/b?c=d";
/// Times shorter than this are not told apart from the clock's noise.
const MEASURABLE: Duration = Duration::from_micros(200);
/// How many times larger the documents are on which a steep growth is measured again.
const FARTHER: usize = 4;
/// Measurements again, each of more rounds, before a growth is believed.
const RETRIES: usize = 3;

#[derive(clap::Args)]
pub struct Args {
    /// Size of the smaller document, in bytes.
    #[arg(long, default_value_t = 200_000)]
    bytes: usize,
    /// Rounds per document, of which the fastest counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How many of the worst are printed, per kind of work.
    #[arg(long, default_value_t = 3)]
    worst: usize,
    /// Only patterns whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
}

/// A document, with what later steps of the host start from.
struct Input {
    html: String,
    snapshot: orbweaver_dom::Snapshot,
    markdown: String,
}

/// Does some work once.
type Step = dyn Fn(&Input) -> Result<()>;

/// One kind of work on a document.
struct Work {
    name: &'static str,
    run: Box<Step>,
}

/// How one kind of work grew on one pattern.
struct Growth {
    pattern: &'static str,
    small: Duration,
    large: Duration,
}

impl Growth {
    fn ratio(&self) -> f64 {
        if self.large < MEASURABLE {
            return 0.0;
        }
        self.large.as_secs_f64() / self.small.as_secs_f64()
    }
}

pub fn run(args: &Args) -> Result<()> {
    let mut steep = Vec::new();
    println!(
        "{:<22} {:>9} {:>9} {:>7}  {:<28} {:>9}",
        "work", "ms at n", "ms at 2n", "ratio", "on", "MB/s"
    );
    let html = measure(args, orbweaver_nasty::html(), |document| {
        let snapshot = orbweaver_dom::parse(&document);
        let markdown = {
            let view = snapshot.view()?;
            let json = native("markdown", &native_page(&document, &view))?;
            serde_json::from_str(&json)?
        };
        Ok(Input {
            html: document,
            snapshot,
            markdown,
        })
    })?;
    let texts = measure(args, orbweaver_nasty::markdown(), |markdown| {
        Ok(Input {
            html: String::new(),
            snapshot: orbweaver_dom::parse(""),
            markdown,
        })
    })?;
    for (name, mut grown) in html.into_iter().chain(texts) {
        grown.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
        for growth in grown.iter().take(args.worst) {
            print(name, args, growth);
        }
        if let Some(slowest) = grown.iter().max_by_key(|growth| growth.large) {
            print(&format!("{name} (slowest)"), args, slowest);
        }
        let beyond = grown
            .iter()
            .take_while(|growth| growth.ratio() >= MAX_GROWTH);
        steep.extend(beyond.map(|growth| format!("{name} on {}", growth.pattern)));
    }
    if !steep.is_empty() {
        bail!("not linear: {}", steep.join(", "));
    }
    Ok(())
}

fn print(name: &str, args: &Args, growth: &Growth) {
    println!(
        "{name:<22} {:>9.2} {:>9.2} {:>7.2}  {:<28} {:>9.1}",
        growth.small.as_secs_f64() * 1e3,
        growth.large.as_secs_f64() * 1e3,
        growth.ratio(),
        growth.pattern,
        2.0 * args.bytes as f64 / 1e6 / growth.large.as_secs_f64()
    );
}

/// The host's work on a page, in the order of a scan, and the roles natively.
fn works() -> Vec<Work> {
    fn work(name: &'static str, run: impl Fn(&Input) -> Result<()> + 'static) -> Work {
        Work {
            name,
            run: Box::new(run),
        }
    }
    let mut works = vec![
        work("charset", |input| {
            let limits = charset::Limits::default();
            black_box(charset::decode(input.html.as_bytes(), None, limits));
            Ok(())
        }),
        work("sniff", |input| {
            black_box(content::sniff(Some("text/html"), input.html.as_bytes()));
            Ok(())
        }),
        work("page pass", |input| {
            black_box(page::page_pass(&input.html, URL));
            Ok(())
        }),
        work("page text", |input| {
            black_box(page::page_text(&input.html, URL, 1 << 20));
            Ok(())
        }),
        work("parse", |input| {
            black_box(orbweaver_dom::parse(&input.html));
            Ok(())
        }),
        work("snapshot view", |input| {
            black_box(input.snapshot.view()?);
            Ok(())
        }),
        work("text", |input| {
            black_box(markdown::plain_text(&input.markdown));
            Ok(())
        }),
        work("index words", |input| {
            black_box(words::index_words(&input.markdown));
            Ok(())
        }),
    ];
    for role in ROLES {
        works.push(work(role, move |input| {
            let view = input.snapshot.view()?;
            black_box(native(role, &native_page(&input.html, &view))?);
            Ok(())
        }));
    }
    works
}

/// Growth of every kind of work on every pattern.
fn measure(
    args: &Args,
    patterns: impl Iterator<Item = &'static Pattern>,
    input: impl Fn(String) -> Result<Input>,
) -> Result<Vec<(&'static str, Vec<Growth>)>> {
    let works = works();
    let mut grown: Vec<_> = works.iter().map(|work| (work.name, Vec::new())).collect();
    for pattern in patterns.filter(|pattern| pattern.name.contains(&args.only)) {
        let small = input(pattern.sized(args.bytes))?;
        let large = input(pattern.sized(2 * args.bytes))?;
        for (work, (_, grown)) in works.iter().zip(&mut grown) {
            let mut growth = grow(work, args.rounds, pattern.name, &small, &large)?;
            if growth.ratio() >= MAX_GROWTH {
                // Where a cache ends, work that is linear grows more, but not at every size.
                let (small, large) = (
                    input(pattern.sized(FARTHER * args.bytes))?,
                    input(pattern.sized(2 * FARTHER * args.bytes))?,
                );
                let farther = grow(work, args.rounds, pattern.name, &small, &large)?;
                if farther.ratio() < MAX_GROWTH {
                    growth = farther;
                }
            }
            grown.push(growth);
        }
    }
    Ok(grown)
}

/// The growth of one kind of work; measured again where it looks steep, since a busy machine
/// makes times longer, never shorter.
fn grow(
    work: &Work,
    rounds: usize,
    pattern: &'static str,
    small: &Input,
    large: &Input,
) -> Result<Growth> {
    let mut growth = Growth {
        pattern,
        small: Duration::MAX,
        large: Duration::MAX,
    };
    for retry in 0..=RETRIES {
        for _ in 0..rounds << retry {
            growth.small = growth.small.min(time(work, small)?);
            growth.large = growth.large.min(time(work, large)?);
        }
        if growth.ratio() < MAX_GROWTH {
            break;
        }
    }
    Ok(growth)
}

fn time(work: &Work, input: &Input) -> Result<Duration> {
    let begun = Instant::now();
    (work.run)(input)?;
    Ok(begun.elapsed())
}

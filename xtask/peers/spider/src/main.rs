//! Crawls one site with the spider crate and writes a JSON line per page.
//!
//! At the end of the crawl it prints a line to standard output and waits for the end of its
//! standard input, so that the caller can read its memory and time from the system before it
//! exits.

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, ValueEnum};
use serde::Serialize;
use spider::page::Page;
use spider::website::Website;
use tokio::sync::broadcast::error::RecvError;

#[derive(Parser)]
struct Args {
    /// Start URL.
    url: String,
    /// Data kept of each page.
    #[arg(long, value_enum)]
    keep: Keep,
    /// Output file.
    #[arg(long)]
    out: PathBuf,
    /// Parallel requests.
    #[arg(long, default_value_t = 32)]
    concurrency: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// URL, status, title and number of links.
    Metadata,
    /// URL, status and the complete HTML.
    Html,
}

#[derive(Serialize)]
struct Metadata<'a> {
    url: &'a str,
    status: u16,
    title: Option<&'a str>,
    links: usize,
}

#[derive(Serialize)]
struct Html<'a> {
    url: &'a str,
    status: u16,
    html: &'a str,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let mut website = Website::new(&args.url);
    website
        .with_respect_robots_txt(true)
        .with_delay(0)
        .with_depth(50)
        .with_concurrency_limit(Some(args.concurrency))
        .with_return_page_links(args.keep == Keep::Metadata);
    // A slow reader loses pages; with this capacity none is lost.
    let mut pages = website.subscribe(1 << 14);
    let mut out = BufWriter::new(File::create(&args.out).context("--out")?);
    let start = Instant::now();
    let writer = tokio::spawn(async move {
        let mut count = 0_u64;
        loop {
            match pages.recv().await {
                Ok(page) => {
                    write(&mut out, &page, args.keep)?;
                    count += 1;
                }
                Err(RecvError::Closed) => break,
                Err(RecvError::Lagged(lost)) => bail!("{lost} pages were lost"),
            }
        }
        out.flush()?;
        Ok(count)
    });
    website.crawl().await;
    website.unsubscribe();
    let count = writer.await??;
    println!("{count} pages in {:.3} s", start.elapsed().as_secs_f64());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn write(out: &mut impl std::io::Write, page: &Page, keep: Keep) -> Result<()> {
    let (url, status) = (page.get_url(), page.status_code.as_u16());
    match keep {
        Keep::Metadata => {
            let html = page.get_html_cow();
            let links = page.page_links.as_ref().map_or(0, |links| links.len());
            serde_json::to_writer(
                &mut *out,
                &Metadata {
                    url,
                    status,
                    title: title(&html),
                    links,
                },
            )?;
        }
        Keep::Html => {
            let html = &page.get_html_cow();
            serde_json::to_writer(&mut *out, &Html { url, status, html })?;
        }
    }
    out.write_all(b"\n")?;
    Ok(())
}

/// The text between the first `title` tags, found in the cheapest way, which favours spider.
fn title(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("<title>")?;
    rest.split_once("</title>").map(|(title, _)| title)
}

//! `bench selectors`: what fields by CSS selectors cost a page, in the sandbox and after the parse.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use orbweaver_engine::{Page, RoleCall};

use crate::corpus;
use crate::extract::{URL, engine};

/// Fields of many kinds: single values, lists, objects, a pattern, types and a schema.
const OPTIONS: &str = r#"{
  "schema": {"type": "object", "required": ["title"], "properties": {
    "title": {"type": "string"}, "year": {"type": ["integer", "null"]},
    "rows": {"type": "array", "items": {"type": "object"}}}},
  "selectors": {
    "title": "title",
    "headline": {"selector": ["h1", "h2"]},
    "description": "meta[name=description]",
    "canonical": {"selector": "link[rel=canonical]", "type": "url"},
    "year": {"selector": "time, [itemprop=datePublished]", "regex": "(\\d{4})", "type": "integer"},
    "date": {"selector": "time", "type": "date"},
    "menu": {"selector": "nav a", "list": true, "limit": 100, "fields": {
      "text": "::text", "url": {"attribute": "href", "type": "url"}}},
    "sections": {"selector": "h2", "list": true, "limit": 100},
    "rows": {"selector": "table tbody tr", "list": true, "limit": 100, "fields": {
      "name": "td:nth-child(1)", "value": {"selector": "td:nth-child(2)", "type": "number"}}},
    "has_code": {"selector": "pre code", "take": "exists"}
  }
}"#;

#[derive(clap::Args)]
pub struct Args {
    /// Measure real pages (.html, .html.gz) of this folder instead of generated ones.
    #[arg(long)]
    pages: Option<PathBuf>,
    /// Number of pages; those of the folder are repeated.
    #[arg(long, default_value_t = 1_000)]
    count: usize,
}

pub fn run(args: &Args) -> Result<()> {
    let engine = engine()?;
    let samples = match &args.pages {
        Some(dir) => vec![("real".to_owned(), corpus::pages(dir)?)],
        None => [20_000, 38_000, 100_000]
            .map(|size| (format!("{} KB", size / 1_000), vec![corpus::page(size)]))
            .into(),
    };
    println!(
        "{:<8} {:>10} {:>10} {:>10} {:>12}",
        "pages", "mean µs", "median", "p99", "bytes"
    );
    for (name, pages) in samples {
        let mut times: Vec<Duration> = Vec::with_capacity(args.count);
        let mut bytes = 0;
        for html in pages.iter().cycle().take(args.count) {
            bytes += html.len();
            let page = Page::from_html(URL, html);
            page.snapshot();
            let call = RoleCall {
                role: "selectors".to_owned(),
                options: OPTIONS.to_owned(),
            };
            let begun = Instant::now();
            for answer in engine.extract_blocking(&page, vec![call]) {
                answer?;
            }
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 100).copied();
        let mean = times.iter().sum::<Duration>() / u32::try_from(times.len().max(1))?;
        let (median, p99) = (at(50).context("no pages")?, at(99).context("no pages")?);
        println!(
            "{name:<8} {:>10} {:>10} {:>10} {:>12}",
            mean.as_micros(),
            median.as_micros(),
            p99.as_micros(),
            bytes / times.len().max(1)
        );
    }
    Ok(())
}

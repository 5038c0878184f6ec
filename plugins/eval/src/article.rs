//! `eval article`: the main content.

use std::collections::BTreeMap;

use anyhow::Result;
use orbweaver_sdk::testing::Document;

use crate::Common;
use crate::blocks::{Block, blocks};
use crate::causes::Causes;
use crate::data::{self, Measure, TruePage};
use crate::metric::{self, Overlap, mean, percentile, set_f1};
use crate::peers;
use crate::report::{self, ReportPage};
use crate::roles;
use crate::sites::{estimate, folds};
use crate::speed;
use crate::table::Table;

/// The score of one text on one page.
struct Score<'p> {
    page: &'p TruePage,
    overlap: Overlap,
    exact: bool,
    /// Shares of the snippets that must appear and do, and of those that must not and don't.
    with: Option<f64>,
    without: Option<f64>,
}

impl<'p> Score<'p> {
    fn new(page: &'p TruePage, text: &str) -> Self {
        let share = |snippets: &[String], wanted: bool| {
            let good = snippets
                .iter()
                .filter(|snippet| text.contains(snippet.trim()) == wanted)
                .count();
            (!snippets.is_empty()).then(|| good as f64 / snippets.len() as f64)
        };
        Self {
            page,
            overlap: match page.measure {
                Measure::Shingles => metric::shingles(&page.text, text),
                Measure::Words => metric::words(&page.text, text),
            },
            exact: metric::tokens(&page.text) == metric::tokens(text),
            with: share(&page.with, true),
            without: share(&page.without, false),
        }
    }
}

/// One page as it was extracted.
struct Extracted<'p> {
    score: Score<'p>,
    text: String,
    blocks: Vec<Block>,
    page_type: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// Pages cannot be read, an extractor fails, or the report cannot be written.
pub fn run(common: &Common) -> Result<()> {
    let pages = data::load(common)?;
    let mut extracted = Vec::with_capacity(pages.len());
    for page in &pages {
        extracted.push(extract(page)?);
    }
    if common.show.is_some() {
        for page in &extracted {
            println!("{}\n{}\n", page.score.page.url, page.text);
        }
        return Ok(());
    }
    let scores: Vec<&Score<'_>> = extracted.iter().map(|page| &page.score).collect();
    let mut tables = vec![summary("Main content", &scores)];
    tables.extend(recognised(&extracted));
    if common.peers {
        tables.extend(peer_tables(&pages)?);
    }
    let mut causes = Causes::default();
    for page in &extracted {
        causes.add(page.score.page, page.score.overlap, &page.blocks);
    }
    tables.extend(causes.tables());
    tables.push(speed::table(speed::measure(&pages, common.runs)?));
    extracted.sort_by(|a, b| a.score.overlap.f1().total_cmp(&b.score.overlap.f1()));
    tables.push(worst(&extracted, common.worst));
    tables.iter().for_each(Table::print);
    if let Some(path) = &common.report {
        let shown: Vec<ReportPage<'_>> = extracted
            .iter()
            .take(common.report_pages)
            .map(|page| ReportPage {
                page: page.score.page,
                score: format!("F1 {:.3}", page.score.overlap.f1()),
                blocks: &page.blocks,
                answer: &page.text,
            })
            .collect();
        report::write(path, "Main content", &tables, &shown)?;
    }
    Ok(())
}

fn extract(page: &TruePage) -> Result<Extracted<'_>> {
    let document: Document = page.document()?;
    let parsed = document.page();
    let answer = roles::ARTICLE.answer(&parsed)?;
    let text = answer["text"].as_str().unwrap_or_default().to_owned();
    Ok(Extracted {
        score: Score::new(page, &text),
        blocks: blocks(parsed.view()?, &page.text, &text),
        page_type: answer["page_type"]["name"].as_str().map(str::to_owned),
        text,
    })
}

/// The score of a set: the mean of its pages, or the shingles' own figure where every page is
/// measured by them.
fn figure(scores: &[&Score<'_>], pages: &[usize]) -> f64 {
    let chosen = pages.iter().filter_map(|at| scores.get(*at));
    if scores.iter().all(|s| s.page.measure == Measure::Shingles) {
        set_f1(chosen.map(|score| score.overlap))
    } else {
        mean(chosen.map(|score| score.overlap.f1()))
    }
}

/// Scores by page type and of all pages, with the error of drawing sites.
fn summary(title: &str, scores: &[&Score<'_>]) -> Table {
    let head = [
        "type",
        "pages",
        "F1",
        "±",
        "P",
        "R",
        "with",
        "without",
        "exact",
        "folds by site",
    ];
    let mut table = Table::new(title, &head);
    let mut types: BTreeMap<&str, Vec<&Score<'_>>> = BTreeMap::new();
    for score in scores {
        types.entry(&score.page.page_type).or_default().push(score);
    }
    if types.len() > 1 {
        for (name, scores) in &types {
            table.row(summary_row(name, scores));
        }
    }
    table.row(summary_row("all", scores));
    table
}

fn summary_row(name: &str, scores: &[&Score<'_>]) -> Vec<String> {
    let sites: Vec<&str> = scores.iter().map(|s| s.page.site.as_str()).collect();
    let f1 = estimate(&sites, |pages| figure(scores, pages));
    let share = |value: &dyn Fn(&Score<'_>) -> Option<f64>| {
        let values: Vec<f64> = scores.iter().filter_map(|s| value(s)).collect();
        if values.is_empty() {
            return "-".to_owned();
        }
        format!("{:.3}", mean(values.into_iter()))
    };
    let folds = folds(&sites, |pages| figure(scores, pages));
    vec![
        name.to_owned(),
        scores.len().to_string(),
        format!("{:.4}", f1.value),
        format!("{:.4}", f1.error),
        share(&|s| Some(s.overlap.precision())),
        share(&|s| Some(s.overlap.recall())),
        share(&|s| s.with),
        share(&|s| s.without),
        share(&|s| Some(f64::from(u8::from(s.exact)))),
        folds
            .iter()
            .map(|f| format!("{f:.3}"))
            .collect::<Vec<_>>()
            .join(" "),
    ]
}

/// How often the page type is recognised, where the extractor tells one.
fn recognised(extracted: &[Extracted<'_>]) -> Option<Table> {
    if extracted.iter().all(|page| page.page_type.is_none()) {
        return None;
    }
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for page in extracted {
        let told = page.page_type.as_deref().unwrap_or("none");
        let row = counts.entry(&page.score.page.page_type).or_default();
        *row.entry(told).or_default() += 1;
    }
    let mut table = Table::new("Page types recognised", &["type", "right", "told"]);
    for (truth, told) in counts {
        let all: usize = told.values().sum();
        let right = told.get(truth).copied().unwrap_or(0);
        let told: Vec<String> = told.iter().map(|(name, n)| format!("{name} {n}")).collect();
        table.row([
            truth.to_owned(),
            format!("{:.3}", right as f64 / all.max(1) as f64),
            told.join(", "),
        ]);
    }
    Some(table)
}

fn peer_tables(pages: &[TruePage]) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    let mut times = Table::new(
        "Peers' milliseconds a page, parsing included",
        &["tool", "median", "p95"],
    );
    for mut peer in peers::start()? {
        let mut scores = Vec::with_capacity(pages.len());
        let mut millis = Vec::with_capacity(pages.len());
        for page in pages {
            let answer = peer.ask(&page.url, &page.html()?)?;
            scores.push(Score::new(page, answer.text.as_deref().unwrap_or_default()));
            millis.push(answer.micros / 1e3);
        }
        tables.push(summary(&peer.name, &scores.iter().collect::<Vec<_>>()));
        let median = percentile(&mut millis, 0.5);
        let high = percentile(&mut millis, 0.95);
        times.row([
            peer.name.clone(),
            format!("{median:.2}"),
            format!("{high:.2}"),
        ]);
    }
    tables.push(times);
    Ok(tables)
}

fn worst(extracted: &[Extracted<'_>], count: usize) -> Table {
    let mut table = Table::new("Worst pages", &["F1", "P", "R", "type", "id", "URL"]);
    for page in extracted.iter().take(count) {
        let overlap = page.score.overlap;
        table.row([
            format!("{:.3}", overlap.f1()),
            format!("{:.3}", overlap.precision()),
            format!("{:.3}", overlap.recall()),
            page.score.page.page_type.clone(),
            page.score.page.id.chars().take(10).collect(),
            page.score.page.url.clone(),
        ]);
    }
    table
}

//! `eval markdown`: Markdown of the main content beside the article, and the fidelity probes.

use anyhow::{Context as _, Result};
use fancy_regex::Regex;
use orbweaver_extract_markdown::{Options, markdown};
use pulldown_cmark::{Event, Options as Extensions, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::Common;
use crate::blocks::blocks;
use crate::data;
use crate::metric::{self, mean};
use crate::report::{self, ReportPage};
use crate::roles;
use crate::table::Table;

/// Fidelity probes: a piece of HTML, patterns that its Markdown must match (`need`) and must
/// not (`no`).
const PROBES: &str = include_str!("../../extract-markdown/fixtures/probes.json");

struct Compared<'p> {
    page: &'p data::TruePage,
    markdown: String,
    plain: String,
    /// F1 of the Markdown's text with the article's as the truth.
    agreement: f64,
    /// The first words that differ: of the article and of the Markdown.
    differs: Option<(String, String)>,
    markdown_f1: f64,
    article_f1: f64,
}

/// Runs the command.
///
/// # Errors
/// Pages cannot be read, an extractor fails, or the report cannot be written.
pub fn run(common: &Common) -> Result<()> {
    let pages = data::load(common)?;
    let mut compared = Vec::with_capacity(pages.len());
    for page in &pages {
        compared.push(compare(page)?);
    }
    if common.show.is_some() {
        for page in &compared {
            println!("{}\n{}\n", page.page.url, page.markdown);
        }
        return Ok(());
    }
    let mut tables = vec![agreement(&compared), probes()?];
    compared.sort_by(|a, b| a.agreement.total_cmp(&b.agreement));
    let mut table = Table::new(
        "Pages whose texts differ",
        &[
            "agreement",
            "type",
            "id",
            "article has",
            "Markdown has",
            "URL",
        ],
    );
    let different = compared
        .iter()
        .filter_map(|page| Some((page, page.differs.as_ref()?)));
    for (page, (article, markdown)) in different.take(common.worst) {
        table.row([
            format!("{:.3}", page.agreement),
            page.page.page_type.clone(),
            page.page.id.chars().take(10).collect(),
            article.clone(),
            markdown.clone(),
            page.page.url.clone(),
        ]);
    }
    tables.push(table);
    tables.iter().for_each(Table::print);
    if let Some(path) = &common.report {
        let mut judged = Vec::new();
        for page in compared.iter().take(common.report_pages) {
            let document = page.page.document()?;
            judged.push(blocks(
                document.page().view()?,
                &page.page.text,
                &page.plain,
            ));
        }
        let shown: Vec<ReportPage<'_>> = compared
            .iter()
            .zip(&judged)
            .map(|(page, blocks)| ReportPage {
                page: page.page,
                score: format!("agreement {:.3}", page.agreement),
                blocks,
                answer: &page.markdown,
            })
            .collect();
        report::write(path, "Markdown of the main content", &tables, &shown)?;
    }
    Ok(())
}

fn compare(page: &data::TruePage) -> Result<Compared<'_>> {
    let document = page.document()?;
    let parsed = document.page();
    let article = roles::ARTICLE.answer(&parsed)?;
    let article = article["text"].as_str().unwrap_or_default();
    let markdown = roles::MAIN_MARKDOWN.answer(&parsed)?;
    let markdown = markdown.as_str().unwrap_or_default().to_owned();
    let plain = plain_text(without_headline(&markdown, article));
    Ok(Compared {
        page,
        agreement: metric::words(article, &plain).f1(),
        differs: first_difference(article, &plain),
        markdown_f1: metric::words(&page.text, &plain).f1(),
        article_f1: metric::words(&page.text, article).f1(),
        markdown,
        plain,
    })
}

/// The text that a CommonMark reader shows, without what images say in place of a picture.
fn plain_text(markdown: &str) -> String {
    let extensions = Extensions::ENABLE_TABLES
        | Extensions::ENABLE_STRIKETHROUGH
        | Extensions::ENABLE_TASKLISTS
        | Extensions::ENABLE_FOOTNOTES;
    let mut out = String::with_capacity(markdown.len());
    let mut in_images = 0u32;
    for event in Parser::new_ext(markdown, extensions) {
        match event {
            Event::Start(Tag::Image { .. }) => in_images += 1,
            Event::End(TagEnd::Image) => in_images = in_images.saturating_sub(1),
            Event::Text(text) | Event::Code(text) if in_images == 0 => out.push_str(&text),
            Event::SoftBreak => out.push(' '),
            Event::HardBreak | Event::Rule => out.push('\n'),
            // A line break in a table's cell.
            Event::InlineHtml(html) if html.starts_with("<br") => out.push('\n'),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::CodeBlock
                | TagEnd::TableCell
                | TagEnd::TableRow
                | TagEnd::TableHead
                | TagEnd::FootnoteDefinition,
            ) => out.push('\n'),
            // A text in an item stands before the list below it without a paragraph's end.
            Event::Start(Tag::List(_) | Tag::Item) => out.push('\n'),
            _ => {}
        }
    }
    out
}

/// The Markdown below the headline, which is no part of the article's text, or all of it:
/// content may begin with its headline. The one with the article's words where one has them.
fn without_headline<'m>(markdown: &'m str, article: &str) -> &'m str {
    let Some((headline, rest)) = markdown.split_once("\n\n") else {
        return markdown;
    };
    let is_headline = headline.starts_with("# ");
    let differs = |markdown: &str| first_difference(article, &plain_text(markdown)).is_some();
    if is_headline && (differs(markdown) || !differs(rest)) {
        rest
    } else {
        markdown
    }
}

/// A few words from where two texts begin to differ; `None` where their words are equal.
fn first_difference(a: &str, b: &str) -> Option<(String, String)> {
    const SHOWN: usize = 4;
    let (a, b) = (metric::tokens(a), metric::tokens(b));
    let at = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    if at == a.len() && at == b.len() {
        return None;
    }
    let some = |words: &[&str]| {
        words
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take(SHOWN)
            .copied()
            .collect::<Vec<_>>()
            .join(" ")
    };
    Some((some(&a), some(&b)))
}

fn agreement(compared: &[Compared<'_>]) -> Table {
    let equal = compared
        .iter()
        .filter(|page| page.differs.is_none())
        .count();
    let mut table = Table::new(
        "Markdown of the main content against the article",
        &["figure", "value"],
    );
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("pages", compared.len().to_string());
    row("same words in the same order", equal.to_string());
    row(
        "mean agreement (word F1 of both texts)",
        format!("{:.4}", mean(compared.iter().map(|p| p.agreement))),
    );
    row(
        "word F1 of the Markdown's text",
        format!("{:.4}", mean(compared.iter().map(|p| p.markdown_f1))),
    );
    row(
        "word F1 of the article's text",
        format!("{:.4}", mean(compared.iter().map(|p| p.article_f1))),
    );
    table
}

fn probes() -> Result<Table> {
    let probes: Vec<Value> = serde_json::from_str(PROBES)?;
    let mut failed = Vec::new();
    for probe in &probes {
        let snapshot = orbweaver_sdk::dom::parse(probe["html"].as_str().unwrap_or_default());
        let found = markdown(
            &snapshot.view()?,
            "https://host.example/page",
            &Options::default(),
        );
        for (key, wanted) in [("need", true), ("no", false)] {
            for pattern in probe[key]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                let regex = Regex::new(pattern).with_context(|| pattern.to_owned())?;
                if regex.is_match(&found)? != wanted {
                    failed.push(format!("{}: {key} {pattern}", probe["id"]));
                }
            }
        }
    }
    let mut table = Table::new(format!("Fidelity probes ({})", probes.len()), &["failed"]);
    table.row([format!("{} patterns", failed.len())]);
    for failure in failed {
        table.row([failure]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_s_text_is_what_a_reader_shows() {
        let text = "# One\n\nTwo *three* [four](https://x.example/) ![alt](i.png)\n\n- five\n  - six\n\n| a | b |\n|---|---|\n| 1\\* | `c`<br>d |\n";
        let plain = plain_text(text);
        assert_eq!(
            metric::tokens(&plain),
            [
                "One", "Two", "three", "four", "five", "six", "a", "b", "1", "c", "d"
            ],
            "{plain:?}"
        );
    }

    #[test]
    fn the_first_difference_of_two_texts_is_told() {
        assert_eq!(first_difference("a b, c", "a b c!"), None);
        assert_eq!(
            first_difference("a b c", "a x"),
            Some(("b c".to_owned(), "x".to_owned()))
        );
        assert_eq!(
            first_difference("a", "a b"),
            Some((String::new(), "b".to_owned()))
        );
    }

    #[test]
    fn every_probe_is_counted() {
        let table = probes().expect("table");
        assert_eq!(table.title, "Fidelity probes (24)");
        assert_eq!(table.rows, [["0 patterns"]]);
    }
}

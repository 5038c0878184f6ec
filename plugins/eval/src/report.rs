//! The report: one HTML file without scripts or references to other files.
//!
//! Texts of the pages are hostile. Every text is escaped, and the report forbids itself
//! scripts, images, frames, forms and requests.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::blocks::Block;
use crate::causes::Mistake;
use crate::data::TruePage;
use crate::table::Table;

/// Longest text that is shown of one page, in characters.
const MAX_SHOWN: usize = 40_000;

/// A page in the report.
pub struct ReportPage<'r> {
    /// The page with its truth.
    pub page: &'r TruePage,
    /// Its score in words.
    pub score: String,
    /// The page's blocks, judged.
    pub blocks: &'r [Block],
    /// What was extracted.
    pub answer: &'r str,
}

const HEAD: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
"#;

const STYLE: &str = "
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem; color: #1a1a1a; background: #fff }
table { border-collapse: collapse; margin: 0 0 1.5rem } caption { text-align: left; font-weight: 600; padding: .3rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: .15rem .6rem; text-align: right; font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left } td { overflow-wrap: anywhere }
details { border: 1px solid #ccc; margin: .4rem 0; padding: .3rem .6rem } summary { cursor: pointer; overflow-wrap: anywhere }
.sides { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 1rem; max-height: 80vh; overflow: auto }
.sides p { margin: .2rem 0; overflow-wrap: anywhere; white-space: pre-wrap; unicode-bidi: plaintext }
.good { background: #e3f4e3 } .kept { background: #fbd9d9 } .lost { background: #ffe9c2 } .rest { color: #888 }
small { color: #666 }
";

/// Writes the report.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, title: &str, tables: &[Table], pages: &[ReportPage<'_>]) -> Result<()> {
    std::fs::write(path, html(title, tables, pages)).with_context(|| path.display().to_string())?;
    println!("\nReport: {}", path.display());
    Ok(())
}

fn html(title: &str, tables: &[Table], pages: &[ReportPage<'_>]) -> String {
    let mut out = String::from(HEAD);
    // Writing to a String does not fail.
    let _ = write!(
        out,
        "<title>{0}</title><style>{STYLE}</style></head><body><h1>{0}</h1>",
        escape(title)
    );
    for table in tables {
        push_table(&mut out, table);
    }
    if !pages.is_empty() {
        out.push_str(
            "<h2>Pages, the worst first</h2><p><span class=good>in truth and answer</span> \
             <span class=kept>kept wrongly</span> <span class=lost>lost</span> \
             <span class=rest>left out</span></p>",
        );
    }
    for page in pages {
        push_page(&mut out, page);
    }
    out.push_str("</body></html>\n");
    out
}

fn push_table(out: &mut String, table: &Table) {
    let _ = write!(
        out,
        "<table><caption>{}</caption><tr>",
        escape(&table.title)
    );
    for cell in &table.head {
        let _ = write!(out, "<th>{}</th>", escape(cell));
    }
    out.push_str("</tr>");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}</td>", escape(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table>\n");
}

fn push_page(out: &mut String, shown: &ReportPage<'_>) {
    let page = shown.page;
    let _ = write!(
        out,
        "<details><summary>{} <small>{} {}</small> {}</summary>\
         <div class=sides><div><h3>Page</h3>",
        escape(&shown.score),
        escape(&page.page_type),
        escape(&page.id),
        escape(&page.url),
    );
    let mut room = MAX_SHOWN;
    for block in shown.blocks {
        let class = match Mistake::in_block(block) {
            Some(Mistake::KeptWrongly) => "kept",
            Some(Mistake::Lost) => "lost",
            None if block.wanted => "good",
            None => "rest",
        };
        let names: Vec<&str> = block.names.iter().take(6).map(String::as_str).collect();
        let place = format!("{} {}", block.place, names.join("."));
        let _ = write!(
            out,
            "<p class={class} title=\"{}\">{}</p>",
            escape(&place),
            escape(cut(&block.text, room))
        );
        room = room.saturating_sub(block.text.chars().count());
        if room == 0 {
            break;
        }
    }
    out.push_str("</div><div><h3>Truth</h3>");
    push_lines(out, &page.text);
    out.push_str("</div><div><h3>Answer</h3>");
    push_lines(out, shown.answer);
    out.push_str("</div></div></details>\n");
}

fn push_lines(out: &mut String, text: &str) {
    for line in cut(text, MAX_SHOWN)
        .lines()
        .filter(|line| !line.trim().is_empty())
    {
        let _ = write!(out, "<p>{}</p>", escape(line));
    }
}

/// The first characters of a text.
fn cut(text: &str, chars: usize) -> &str {
    let end = text
        .char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// Text as HTML, fit for quoted attributes too.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters have no place in HTML.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str =
        "</p><script>alert(1)</script><img src=x onerror=alert(1)>\" onmouseover='x' \0";

    #[test]
    fn no_text_of_a_page_becomes_markup_of_the_report() {
        let evil = || EVIL.to_owned();
        let mut page = TruePage::for_test();
        for slot in [
            &mut page.id,
            &mut page.url,
            &mut page.page_type,
            &mut page.text,
        ] {
            *slot = evil();
        }
        let blocks = [Block {
            text: evil(),
            words: 3,
            place: evil(),
            names: vec![evil()],
            wanted: false,
            kept: true,
        }];
        let shown = ReportPage {
            page: &page,
            score: evil(),
            blocks: &blocks,
            answer: EVIL,
        };
        let mut table = Table::new(EVIL, &[EVIL]);
        table.row([evil()]);
        let report = html(EVIL, &[table], &[shown]);
        let snapshot = orbweaver_sdk::dom::parse(&report);
        let view = snapshot.view().expect("view");
        for node in view.elements() {
            assert!(
                !matches!(node.name(), "script" | "img" | "iframe" | "a"),
                "{}",
                node.name()
            );
            for attribute in node.attrs() {
                assert!(!attribute.name().starts_with("on"), "{}", attribute.name());
            }
        }
        assert!(!report.contains('\0'));
        assert!(
            view.root().text_content().contains("alert(1)"),
            "the text is shown"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(cut("añb", 2), "añ");
        assert_eq!(cut("añb", 9), "añb");
    }
}

//! Blocks as HTML.

use super::blocks::Block;
use super::lines::Rich;
use super::links::Targets;
use crate::html::{MAX_HTML, attribute, escape};

/// The body, and whether it has everything.
pub(crate) fn body(blocks: &[Block], targets: &Targets) -> (String, bool) {
    let mut out = String::new();
    let mut list: Option<&str> = None;
    let mut last = 0;
    for block in blocks {
        if out.len() > MAX_HTML {
            close(&mut list, &mut out);
            return (out, false);
        }
        if let Block::Item(number, rich) = block {
            let kind = if number.is_some() { "ol" } else { "ul" };
            let follows = number.is_none_or(|number| number == last + 1);
            if list != Some(kind) || !follows {
                close(&mut list, &mut out);
                match number {
                    Some(number) if *number != 1 => {
                        out.push_str(&format!("<ol start=\"{number}\">\n"));
                    }
                    _ => out.push_str(&format!("<{kind}>\n")),
                }
                list = Some(kind);
            }
            last = number.unwrap_or(0);
            element("li", rich, targets, &mut out);
            continue;
        }
        close(&mut list, &mut out);
        match block {
            Block::Heading(level, rich) => {
                let name = ["h1", "h2", "h3", "h4", "h5", "h6"];
                let name = name.get(level.saturating_sub(1)).unwrap_or(&"h6");
                element(name, rich, targets, &mut out);
            }
            Block::Paragraph(rich) | Block::Item(_, rich) => element("p", rich, targets, &mut out),
            Block::Code(lines) => {
                out.push_str("<pre><code>");
                for line in lines {
                    inline(line, targets, &mut out);
                    out.push('\n');
                }
                out.push_str("</code></pre>\n");
            }
            Block::Table(rows) => {
                out.push_str("<table>\n");
                for row in rows {
                    out.push_str("<tr>");
                    for cell in row {
                        out.push_str("<td>");
                        inline(cell, targets, &mut out);
                        out.push_str("</td>");
                    }
                    out.push_str("</tr>\n");
                }
                out.push_str("</table>\n");
            }
        }
    }
    close(&mut list, &mut out);
    (out, true)
}

fn close(list: &mut Option<&str>, out: &mut String) {
    if let Some(kind) = list.take() {
        out.push_str(&format!("</{kind}>\n"));
    }
}

fn element(name: &str, rich: &Rich, targets: &Targets, out: &mut String) {
    if rich.text.trim().is_empty() {
        return;
    }
    out.push_str(&format!("<{name}>"));
    inline(rich, targets, out);
    out.push_str(&format!("</{name}>\n"));
}

/// Text with its links; soft hyphens within words are left out.
fn inline(rich: &Rich, targets: &Targets, out: &mut String) {
    let mut at = 0;
    let text = |from: usize, to: usize| {
        rich.text
            .get(from..to)
            .unwrap_or_default()
            .replace('\u{ad}', "")
    };
    for &(start, end, link) in &rich.links {
        let Some(url) = targets.get(link).filter(|_| start >= at && start < end) else {
            continue;
        };
        escape(&text(at, start), out);
        out.push_str("<a");
        attribute("href", url, out);
        out.push('>');
        escape(&text(start, end), out);
        out.push_str("</a>");
        at = end;
    }
    escape(&text(at, rich.text.len()), out);
}

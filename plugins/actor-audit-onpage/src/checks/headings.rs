//! Rules about headings and their order.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text;

use crate::facts::{Facts, is_hidden, opening};
use crate::report::Report;
use crate::rules;

/// Checks the headings.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let headings: Vec<(u8, Node<'_>, String)> = facts
        .headings
        .iter()
        .map(|(level, node)| (*level, *node, name(*node)))
        .collect();
    let first = headings
        .iter()
        .filter(|(level, _, text)| *level == 1 && !text.is_empty());
    let first: Vec<&str> = first.map(|(_, _, text)| text.as_str()).collect();
    if first.is_empty() && !facts.noscript.contains("<h1") {
        report.add(
            &rules::H1_MISSING,
            "The page has no h1 heading. Add one that names its topic.",
        );
    } else if first.len() > 1 {
        report.add_all(
            &rules::H1_MULTIPLE,
            "The page has several h1 headings. Keep one, and use h2 for the others.",
            first,
        );
    }
    report.add_all(
        &rules::HEADING_EMPTY,
        "A heading has no text. Add text, or remove the heading.",
        headings
            .iter()
            .filter(|(_, node, text)| text.is_empty() && !is_hidden(*node))
            .map(|(_, node, _)| opening(*node)),
    );
    let said: Vec<&(u8, Node<'_>, String)> = headings
        .iter()
        .filter(|(_, node, text)| !text.is_empty() && !is_hidden(*node))
        .collect();
    report.add_all(
        &rules::HEADING_ORDER,
        "A heading skips a level of the outline. Use the next level.",
        said.windows(2).filter_map(|pair| match pair {
            [(above, _, _), (level, _, text)] if *level > above + 1 => {
                Some(format!("h{level} after h{above}: {text}"))
            }
            _ => None,
        }),
    );
}

/// A heading's name: its text, or that of its images, or its label.
fn name(node: Node<'_>) -> String {
    let line = text::line(node);
    if !line.is_empty() {
        return line;
    }
    let alts = node
        .elements()
        .filter(|n| n.tag() == tag::IMG || n.tag() == tag::SVG)
        .filter_map(|n| {
            let alt = n.attr(attr::ALT).filter(|alt| !alt.trim().is_empty());
            alt.or_else(|| n.attr(attr::ARIA_LABEL))
                .or_else(|| n.attr(attr::TITLE))
        });
    let label = [attr::ARIA_LABEL, attr::TITLE]
        .into_iter()
        .filter_map(|id| node.attr(id));
    text::collapse(&alts.chain(label).collect::<Vec<_>>().join(" "))
}

//! Rules about title and description.

use orbweaver_sdk::text;

use crate::facts::{Facts, width};
use crate::report::Report;
use crate::rules;

/// Range of widths in which a title is neither too short nor cut.
const TITLE: (usize, usize) = (20, 60);
/// The same range for descriptions.
const DESCRIPTION: (usize, usize) = (80, 160);

/// Checks title and description.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    // Elements in the title are text in HTML.
    let title = facts
        .titles
        .first()
        .map(|node| text::collapse(&node.text_content()));
    let title = title.filter(|title| !title.is_empty());
    match &title {
        None => report.add(
            &rules::TITLE_MISSING,
            "The page has no title, so search results make one up. Add a title element.",
        ),
        Some(title) => {
            let wide = width(title);
            if wide < TITLE.0 {
                report.add_value(
                    &rules::TITLE_SHORT,
                    format!(
                        "The title is {wide} characters wide, which is too short. Use {} to {} characters.",
                        TITLE.0, TITLE.1
                    ),
                    title,
                );
            } else if wide > TITLE.1 {
                report.add_value(
                    &rules::TITLE_LONG,
                    format!(
                        "The title is {wide} characters wide, but search results show about {}. Shorten it.",
                        TITLE.1
                    ),
                    title,
                );
            }
        }
    }
    let titles = facts.titles.iter().filter(|node| facts.in_head(**node));
    let titles: Vec<String> = titles
        .map(|node| text::collapse(&node.text_content()))
        .collect();
    if titles.len() > 1 {
        report.add_all(
            &rules::TITLE_MULTIPLE,
            "The head has several titles, and only the first is used. Remove the others.",
            titles,
        );
    }
    // One meta may have two names; that of a Microdata item describes a thing on the page.
    let mut metas: Vec<_> = facts
        .head
        .metas
        .iter()
        .filter(|meta| meta.name.eq_ignore_ascii_case("description") && !meta.is_of_item())
        .collect();
    metas.dedup_by_key(|meta| meta.node.id());
    let descriptions: Vec<String> = metas
        .iter()
        .map(|meta| text::collapse(meta.content))
        .collect();
    if descriptions.len() > 1 {
        report.add_all(
            &rules::DESCRIPTION_MULTIPLE,
            "The page has several meta descriptions. Keep one.",
            &descriptions,
        );
    }
    let Some(description) = descriptions.iter().find(|text| !text.is_empty()) else {
        report.add(
            &rules::DESCRIPTION_MISSING,
            "The page has no meta description, so search results show a part of its text. Add one.",
        );
        return;
    };
    let wide = width(description);
    if wide < DESCRIPTION.0 {
        report.add_value(
            &rules::DESCRIPTION_SHORT,
            format!(
                "The meta description is {wide} characters wide, but search results show about {}. Extend it.",
                DESCRIPTION.1
            ),
            description,
        );
    } else if wide > DESCRIPTION.1 {
        report.add_value(
            &rules::DESCRIPTION_LONG,
            format!(
                "The meta description is {wide} characters wide, but search results show about {}. Shorten it.",
                DESCRIPTION.1
            ),
            description,
        );
    }
    if title.is_some_and(|title| title.eq_ignore_ascii_case(description)) {
        report.add_value(
            &rules::DESCRIPTION_IS_TITLE,
            "The meta description repeats the title. Summarise the page instead.",
            description,
        );
    }
}

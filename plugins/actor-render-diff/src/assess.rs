//! Compares the two sides and assesses the difference.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Serialize;

use crate::side::Side;

/// Most samples of each list.
const SAMPLES: usize = 25;

/// Content that only exists after rendering.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Delta {
    /// Distinct link targets, at most 25.
    pub links_only_after_render: Vec<String>,
    /// Total number of such links.
    pub links_only_after_render_count: u64,
    /// Distinct heading texts, at most 25.
    pub headings_only_after_render: Vec<String>,
    /// Total number of such headings.
    pub headings_only_after_render_count: u64,
    /// Types of JSON-LD objects, at most 25.
    pub json_ld_only_after_render: Vec<String>,
    /// Total number of such objects.
    pub json_ld_only_after_render_count: u64,
    /// Number of characters of visible text, without white space.
    pub text_chars_only_after_render: u64,
    /// Their share of all characters of the rendered text, 0 to 1; 0 if there are none.
    pub ai_bot_blind_pct: f64,
    /// Assessment as text.
    pub assessment: String,
}

/// Compares the page as sent by the server with the rendered page.
pub fn delta(before: &Side, after: &Side) -> Delta {
    let (links, link_count) = only_after(&before.links, &after.links);
    let (headings, heading_count) = only_after(&before.headings, &after.headings);
    let (json_ld, json_ld_count) = new_objects(before, after);
    let (new_chars, all_chars) = new_text(before, after);
    let share = if all_chars == 0 {
        0.0
    } else {
        new_chars as f64 / all_chars as f64
    };
    let mut delta = Delta {
        links_only_after_render: links,
        links_only_after_render_count: link_count,
        headings_only_after_render: headings,
        headings_only_after_render_count: heading_count,
        json_ld_only_after_render: json_ld,
        json_ld_only_after_render_count: json_ld_count,
        text_chars_only_after_render: new_chars,
        // Four digits are precise enough, and easy to read.
        ai_bot_blind_pct: (share * 10_000.0).round() / 10_000.0,
        assessment: String::new(),
    };
    delta.assessment = assessment(before, after, &delta);
    delta
}

/// Distinct elements that are only in the second list: the first of them, and their number.
fn only_after(before: &[String], after: &[String]) -> (Vec<String>, u64) {
    let known: HashSet<&str> = before.iter().map(String::as_str).collect();
    let mut seen = HashSet::new();
    let new: Vec<&String> = after
        .iter()
        .filter(|item| !known.contains(item.as_str()) && seen.insert(item.as_str()))
        .collect();
    let samples = new.iter().take(SAMPLES).map(|item| (*item).clone());
    (samples.collect(), new.len() as u64)
}

/// JSON-LD objects compared by content, so that a moved object is not new.
fn new_objects(before: &Side, after: &Side) -> (Vec<String>, u64) {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (_, json) in &before.json_ld {
        *known.entry(json).or_default() += 1;
    }
    let mut count = 0;
    let mut samples = Vec::new();
    for (types, json) in &after.json_ld {
        if let Some(left) = known.get_mut(json.as_str()).filter(|left| **left > 0) {
            *left -= 1;
            continue;
        }
        count += 1;
        if samples.len() < SAMPLES {
            samples.push(if types.is_empty() {
                "(no type)".to_owned()
            } else {
                types.clone()
            });
        }
    }
    (samples, count)
}

/// Number of characters of text that only exists after rendering, and of all text; without white
/// space. Lines that were sent unchanged are known. In the other lines, words are matched with
/// words, so that a changed number or different line breaks do not make a whole line new.
fn new_text(before: &Side, after: &Side) -> (u64, u64) {
    let mut lines: HashMap<&str, usize> = HashMap::new();
    for line in &before.lines {
        *lines.entry(line).or_default() += 1;
    }
    let mut left_over = Vec::new();
    for line in &after.lines {
        match lines.get_mut(line.as_str()) {
            Some(left) if *left > 0 => *left -= 1,
            _ => left_over.push(line.as_str()),
        }
    }
    let mut words: HashMap<&str, usize> = HashMap::new();
    for (line, left) in lines {
        for word in line.split_whitespace() {
            *words.entry(word).or_default() += left;
        }
    }
    let mut new = 0;
    for word in left_over.iter().flat_map(|line| line.split_whitespace()) {
        match words.get_mut(word) {
            Some(left) if *left > 0 => *left -= 1,
            _ => new += word.chars().count() as u64,
        }
    }
    let all = after
        .lines
        .iter()
        .flat_map(|line| line.split_whitespace())
        .map(|word| word.chars().count() as u64)
        .sum();
    (new, all)
}

fn assessment(before: &Side, after: &Side, delta: &Delta) -> String {
    let share = delta.ai_bot_blind_pct;
    let percent = (share * 100.0).round();
    let mut text = if after.lines.is_empty() && before.lines.is_empty() {
        "The page has no visible text, before or after rendering.".to_owned()
    } else if share >= 0.9 {
        format!(
            "Nearly all of the visible text ({percent} %) exists only after scripts have run: to a robot that runs none, the page is an empty shell. Render it on the server."
        )
    } else if share >= 0.5 {
        format!(
            "Most of the visible text ({percent} %) exists only after scripts have run: robots that run none, as most AI crawlers are, miss most of the page. Send the main content in the HTML."
        )
    } else if share >= 0.2 {
        format!(
            "A substantial part of the visible text ({percent} %) exists only after scripts have run. Check that none of it is main content that robots without scripts should read."
        )
    } else if share >= 0.05 {
        format!(
            "Most of the page is in its HTML; {percent} % of the visible text is added by scripts."
        )
    } else {
        "The page's text is in its HTML: robots that run no scripts read practically all of it."
            .to_owned()
    };
    if after.url != before.url {
        text.push_str(&format!(
            " In a browser the page leads on to {}, as by a script or a refresh: what is compared after rendering is the page there. Use an HTTP redirect instead.",
            after.url
        ));
    }
    let parts = [
        (delta.links_only_after_render_count, "link", "links"),
        (
            delta.headings_only_after_render_count,
            "heading",
            "headings",
        ),
        (
            delta.json_ld_only_after_render_count,
            "JSON-LD object",
            "JSON-LD objects",
        ),
    ];
    let list: Vec<String> = parts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    if !list.is_empty() {
        text.push_str(&format!(" Only after rendering: {}.", list.join(", ")));
    }
    let lost = before
        .counts
        .word_count
        .saturating_sub(after.counts.word_count);
    if lost * 5 > before.counts.word_count && lost > 20 {
        text.push_str(&format!(
            " Scripts remove {lost} words that the server sent: robots index text that visitors do not see."
        ));
    }
    let headings: BTreeSet<&String> = after.headings.iter().collect();
    let gone = before
        .headings
        .iter()
        .filter(|h| !headings.contains(h))
        .count();
    if gone > 0 {
        text.push_str(&format!(
            " {gone} {} of the HTML {} changed or removed by scripts.",
            if gone == 1 { "heading" } else { "headings" },
            if gone == 1 { "is" } else { "are" },
        ));
    }
    text
}

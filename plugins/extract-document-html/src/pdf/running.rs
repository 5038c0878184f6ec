//! Headers, footers and page numbers, which are repeated from page to page and are no content.

use std::collections::HashMap;

use super::lines::Line;

/// Parts of the page's height, at its top and at its bottom, in which they stand.
const EDGE: f32 = 0.12;
/// Lines at each edge that are examined.
const EDGE_LINES: usize = 3;
/// Fewest pages on which a line stands at the same place.
const REPEATS: usize = 3;

/// Least size of a heading, in sizes of the text.
const HEADING: f32 = 1.2;

/// Removes lines that at least three pages have at the same place at their edge; numbers in them
/// may differ, unless they are headings: chapters begin on pages of their own.
pub(crate) fn remove(pages: &mut [Vec<Line>]) {
    let usual = usual_size(pages);
    let mut counts: HashMap<(String, i32), usize> = HashMap::new();
    for page in pages.iter() {
        for at in edges(page) {
            if let Some(key) = page.get(at).and_then(key) {
                *counts.entry(key).or_default() += 1;
            }
        }
    }
    // A line on a boundary of the rounding counts with its neighbours.
    let often = |(text, place): (String, i32)| {
        let count = |place| counts.get(&(text.clone(), place)).copied().unwrap_or(0);
        count(place - 1) + count(place) + count(place + 1) >= REPEATS
    };
    for page in pages.iter_mut() {
        let mut gone: Vec<usize> = edges(page)
            .into_iter()
            .filter(|at| {
                let line = page.get(*at);
                let is_heading = line.is_some_and(|line| is_numbered_heading(line, usual));
                !is_heading && line.and_then(key).is_some_and(often)
            })
            .collect();
        gone.sort_unstable_by(|a, b| b.cmp(a));
        gone.dedup();
        for at in gone {
            page.remove(at);
        }
    }
}

/// The size that most text has.
fn usual_size(pages: &[Vec<Line>]) -> f32 {
    let mut bytes: HashMap<i32, usize> = HashMap::new();
    for line in pages.iter().flatten() {
        *bytes.entry(tenths(line.size)).or_default() += line.rich.text.len();
    }
    let most = bytes
        .into_iter()
        .max_by_key(|(size, bytes)| (*bytes, *size));
    most.map_or(0.0, |(size, _)| size as f32 / 10.0)
}

fn tenths(size: f32) -> i32 {
    (size * 10.0).round() as i32
}

/// Whether a line has words and a number, in large letters.
fn is_numbered_heading(line: &Line, usual: f32) -> bool {
    let text = &line.rich.text;
    line.size >= HEADING * usual
        && text.chars().any(char::is_numeric)
        && text.chars().filter(|c| c.is_alphabetic()).count() >= 3
}

/// The outermost lines of a page.
fn edges(page: &[Line]) -> Vec<usize> {
    let mut places: Vec<(f32, usize)> = page
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((line.place?, at)))
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let top = places.iter().take(EDGE_LINES).filter(|one| one.0 < EDGE);
    let bottom = places
        .iter()
        .rev()
        .take(EDGE_LINES)
        .filter(|one| one.0 > 1.0 - EDGE);
    top.chain(bottom).map(|one| one.1).collect()
}

/// The text without its numbers, and the place in 300ths of the page's height.
fn key(line: &Line) -> Option<(String, i32)> {
    let place = (line.place? * 300.0).round() as i32;
    let text = line.rich.text.trim();
    if text.len() > 200 {
        return None;
    }
    if text.len() <= 8 && !text.is_empty() && text.chars().all(|c| "ivxlcIVXLC".contains(c)) {
        return Some(("#".to_owned(), place));
    }
    let mut key = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_numeric() => {
                if !key.ends_with('#') {
                    key.push('#');
                }
            }
            c if c.is_whitespace() => {}
            c => key.push(c),
        }
    }
    Some((key, place))
}

//! Paragraphs, headings, lists, tables and code, made of lines.

use std::collections::BTreeMap;

use super::characters::{ends_sentence, is_bullet, is_spaceless};
use super::lines::{Line, Rich};

/// A heading is larger than the text by this factor.
const HEADING: f32 = 1.14;
/// Longest heading, in bytes.
const MAX_HEADING: usize = 300;
/// Longest heading that only its bold letters show.
const MAX_BOLD_HEADING: usize = 120;
/// Most columns of a table: every row has all.
const MAX_COLUMNS: usize = 250;
/// Most levels of headings by size.
const LEVELS: usize = 4;

/// A part of the text.
#[derive(Debug)]
pub(crate) enum Block {
    /// Its level from 1 to 6.
    Heading(usize, Rich),
    Paragraph(Rich),
    /// An item of a list, with its number if it has one.
    Item(Option<u32>, Rich),
    /// Lines of code.
    Code(Vec<Rich>),
    /// Rows of cells.
    Table(Vec<Vec<Rich>>),
}

/// Lines that belong together.
struct Group {
    lines: Vec<Line>,
    page: usize,
    /// `None` where the group is no item of a list.
    item: Option<Marker>,
    /// Median distance of its column's lines.
    leading: f32,
}

#[derive(Clone, Copy)]
struct Marker {
    /// The number of a numbered item; a letter counts from 1.
    number: Option<u32>,
    /// Bytes of the marker and the space after it.
    bytes: usize,
}

/// The blocks of the whole document.
pub(crate) fn blocks(pages: Vec<Vec<Line>>) -> Vec<Block> {
    let mut groups: Vec<Group> = Vec::new();
    for (page, lines) in pages.into_iter().enumerate() {
        let leadings = leadings(&lines);
        for line in lines {
            let leading = leadings
                .get(&line.column)
                .copied()
                .unwrap_or(line.size * 1.2);
            let marker = marker(&line);
            match groups.last_mut() {
                Some(group) if group.page == page && !begins(group, &line, marker) => {
                    group.lines.push(line);
                }
                _ => groups.push(Group {
                    item: marker,
                    lines: vec![line],
                    page,
                    leading,
                }),
            }
        }
    }
    let body = body_size(&groups);
    let sizes = heading_sizes(&groups, body);
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<(usize, u32, bool)> = None;
    for group in groups {
        let Some(first) = group.lines.first() else {
            continue;
        };
        let place = (group.page, first.column);
        let level = level(&group, body, &sizes);
        let full = group
            .lines
            .last()
            .is_some_and(|last| shortfall(last) < 2.0 * last.size);
        let block = block(group, level);
        // A paragraph goes on in the next column or on the next page.
        let went_on = open.is_some_and(|(page, column, full)| full && (page, column) != place);
        open = Some((place.0, place.1, full));
        match (blocks.last_mut(), block) {
            (Some(Block::Paragraph(before) | Block::Item(_, before)), Block::Paragraph(after))
                if went_on && goes_on(&before.text, &after.text) =>
            {
                join(before, &after);
            }
            (Some(Block::Table(before)), Block::Table(rows))
                if went_on && width(before) == width(&rows) =>
            {
                before.extend(rows);
            }
            (_, block) => blocks.push(block),
        }
    }
    blocks
}

/// The first heading of the first level.
pub(crate) fn title(blocks: &[Block]) -> Option<String> {
    let first = blocks.iter().take(30);
    let mut headings = first.filter_map(|block| match block {
        Block::Heading(level, rich) => Some((*level, rich.text.trim())),
        _ => None,
    });
    let (level, text) = headings.clone().min_by_key(|(level, _)| *level)?;
    (level <= 2 && headings.next().is_some()).then(|| text.to_owned())
}

fn width(rows: &[Vec<Rich>]) -> usize {
    rows.iter().map(Vec::len).max().unwrap_or(0)
}

/// The median distance of lines, by column.
fn leadings(lines: &[Line]) -> BTreeMap<u32, f32> {
    let mut distances: BTreeMap<u32, Vec<f32>> = BTreeMap::new();
    for (before, line) in lines.iter().zip(lines.iter().skip(1)) {
        let distance = line.y - before.y;
        let sizes = 0.7 * line.size..2.2 * line.size;
        if before.column == line.column && sizes.contains(&distance) {
            distances.entry(line.column).or_default().push(distance);
        }
    }
    let medians = distances.into_iter().filter_map(|(column, mut all)| {
        all.sort_by(f32::total_cmp);
        // The lower third: a page of short paragraphs has many gaps between them.
        Some((column, *all.get(all.len() / 3)?))
    });
    medians.collect()
}

/// How far the line's end is from its column's edge, and its beginning.
fn shortfall(line: &Line) -> f32 {
    match line.rtl {
        true => line.x0 - line.left,
        false => line.right - line.x1,
    }
}

fn indent(line: &Line) -> f32 {
    match line.rtl {
        true => line.right - line.x1,
        false => line.x0 - line.left,
    }
}

/// Whether the line begins something new after this group.
fn begins(group: &Group, line: &Line, marker: Option<Marker>) -> bool {
    let (Some(first), Some(last)) = (group.lines.first(), group.lines.last()) else {
        return true;
    };
    let size = line.size.max(last.size);
    let distance = line.y - last.y;
    if line.column != last.column || line.monospace != last.monospace || distance < 0.2 * size {
        return true;
    }
    if line.monospace {
        return distance > 2.6 * size;
    }
    if (line.size - last.size).abs() > 0.1 * size || distance > 1.3 * group.leading.max(0.9 * size)
    {
        return true;
    }
    if !line.cells.is_empty() || !first.cells.is_empty() {
        // Lines below a cell belong to it.
        let below = !first.cells.is_empty() && line.x0 > first.left + 2.0 * size;
        return line.cells.is_empty() != first.cells.is_empty() && !below;
    }
    if line.bold != last.bold || has_leader(&last.rich.text) {
        return true;
    }
    let text = last.rich.text.trim_end();
    let ended = text
        .chars()
        .next_back()
        .is_some_and(|c| ends_sentence(c) || "”\")]’»".contains(c));
    let short = shortfall(last) > 0.25 * (last.right - last.left) || shortfall(last) > 25.0 * size;
    if let Some(marker) = marker {
        let is_list = group
            .item
            .is_some_and(|item| item.number.is_some() == marker.number.is_some());
        if marker.number.is_none() || is_list || ended || short {
            return true;
        }
    }
    let (before, now) = (indent(last), indent(line));
    if now > before + 0.8 * size && group.item.is_none() && (ended || short) {
        return true;
    }
    if now < before - 0.8 * size && group.lines.len() > 1 {
        return true;
    }
    if group.item.is_some()
        && group.lines.len() == 1
        && now < before + 0.2 * size
        && (ended || short)
    {
        return true;
    }
    short && (ended || starts_anew(&line.rich.text))
}

fn starts_anew(text: &str) -> bool {
    text.chars()
        .next()
        .is_some_and(|c| c.is_uppercase() || c.is_numeric())
}

/// The mark of an item of a list at the beginning of the line.
fn marker(line: &Line) -> Option<Marker> {
    let text = &line.rich.text;
    let first = text.chars().next()?;
    if is_bullet(first)
        || (matches!(first, '-' | '–' | '*')
            && text.get(1..).is_some_and(|rest| rest.starts_with(' ')))
    {
        let rest = text.get(first.len_utf8()..)?;
        return Some(Marker {
            number: None,
            bytes: text.len() - rest.trim_start().len(),
        });
    }
    let open = text.strip_prefix('(').unwrap_or(text);
    let digits = open.bytes().take_while(u8::is_ascii_digit).count();
    let label = match digits {
        0 => open
            .bytes()
            .take_while(u8::is_ascii_lowercase)
            .take(2)
            .count(),
        digits => digits,
    };
    let after = open.get(label..)?;
    let closed = after.strip_prefix([')', '.'])?;
    let numbered = (1..=3).contains(&digits) || (label == 1 && after.starts_with(')'));
    if !numbered || !closed.starts_with(' ') {
        return None;
    }
    Some(Marker {
        number: number(open.get(..label)?),
        bytes: text.len() - closed.trim_start().len(),
    })
}

/// The value of a number, or a letter's place in the alphabet.
fn number(label: &str) -> Option<u32> {
    let letter = label.bytes().next()?.wrapping_sub(b'a');
    label.parse().ok().or(Some(u32::from(letter) + 1))
}

/// The level of a heading that its number shows, such as 2 for `3.1 Scope`.
fn numbered_level(group: &Group) -> Option<usize> {
    let [line] = group.lines.as_slice() else {
        return None;
    };
    let text = line.rich.text.trim();
    let (number, title) = text.split_once(' ')?;
    let parts: Vec<&str> = number.trim_end_matches('.').split('.').collect();
    let numbers = parts
        .iter()
        .all(|part| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()));
    let is_title = title.trim_start().starts_with(char::is_uppercase)
        && text.len() <= MAX_BOLD_HEADING
        && !text.ends_with(|c: char| c.is_ascii_digit() || ends_sentence(c) || c == ',');
    let alone = line.cells.is_empty() && !line.monospace;
    ((2..=5).contains(&parts.len()) && numbers && is_title && alone).then_some(parts.len())
}

/// Whether the line has dots that lead to a page's number, as in a table of contents.
fn has_leader(text: &str) -> bool {
    text.contains("....") || text.contains(". . . .")
}

/// The text without leading dots.
fn without_leader(rich: &mut Rich) {
    let text = &rich.text;
    let Some(at) = text.find(". . . .").or_else(|| text.find("....")) else {
        return;
    };
    let rest = text.get(at..).unwrap_or_default();
    let dots = rest.len() - rest.trim_start_matches(['.', ' ']).len();
    let mut short = Rich::default();
    short
        .text
        .push_str(text.get(..at).unwrap_or_default().trim_end());
    let cut = at + dots;
    let moved = cut - short.text.len() - 1;
    short.text.push(' ');
    short.text.push_str(text.get(cut..).unwrap_or_default());
    let before = short.text.len();
    for &(start, end, link) in &rich.links {
        let map = |at: usize, cut_at: usize| {
            if at >= cut {
                at - moved
            } else {
                at.min(cut_at)
            }
        };
        let limit = before.min(at);
        let (start, end) = (map(start, limit), map(end, limit));
        let valid = short.text.is_char_boundary(start) && short.text.is_char_boundary(end);
        if start < end && valid {
            short.links.push((start, end, link));
        }
    }
    *rich = short;
}

/// The size that most of the text has.
fn body_size(groups: &[Group]) -> f32 {
    let mut sizes: BTreeMap<i32, usize> = BTreeMap::new();
    for line in groups.iter().flat_map(|group| &group.lines) {
        *sizes.entry(rounded(line.size)).or_default() += line.rich.text.len();
    }
    let most = sizes.into_iter().max_by_key(|(_, bytes)| *bytes);
    most.map_or(10.0, |(size, _)| size as f32 / 2.0)
}

/// In half points.
fn rounded(size: f32) -> i32 {
    (size * 2.0).round().clamp(0.0, 10_000.0) as i32
}

fn text_length(group: &Group) -> usize {
    group.lines.iter().map(|line| line.rich.text.len()).sum()
}

/// Whether the group may be a heading, whatever its size.
fn is_short(group: &Group) -> bool {
    let letters = group
        .lines
        .iter()
        .any(|line| line.rich.text.chars().filter(|c| c.is_alphabetic()).count() >= 2);
    let plain = group
        .lines
        .iter()
        .all(|line| !line.monospace && line.place.is_some());
    let leads = group.lines.iter().any(|line| has_leader(&line.rich.text));
    letters && plain && !leads && group.lines.len() <= 5 && text_length(group) <= MAX_HEADING
}

/// Sizes of headings, largest first. Sizes that differ by little are one.
fn heading_sizes(groups: &[Group], body: f32) -> Vec<f32> {
    let mut sizes: Vec<f32> = groups
        .iter()
        .filter(|group| is_short(group))
        .filter_map(|group| Some(group.lines.first()?.size))
        .filter(|size| *size >= HEADING * body)
        .collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    sizes.dedup_by(|smaller, larger| *smaller > *larger * 0.94);
    sizes.truncate(LEVELS);
    sizes
}

fn level(group: &Group, body: f32, sizes: &[f32]) -> Option<usize> {
    let first = group.lines.first()?;
    if !is_short(group) {
        return None;
    }
    if first.size >= HEADING * body {
        let at = sizes.iter().position(|size| first.size > size * 0.94);
        return Some(at.unwrap_or(LEVELS - 1) + 1);
    }
    if let Some(level) = numbered_level(group) {
        return Some(level.clamp(2, 6));
    }
    let bold = group
        .lines
        .iter()
        .all(|line| line.bold && line.cells.is_empty());
    let bullet = group.item.is_some_and(|item| item.number.is_none());
    let ended = group
        .lines
        .last()
        .is_some_and(|last| last.rich.text.trim_end().ends_with(['.', ',', ';']));
    let is_heading = bold
        && !bullet
        && !ended
        && group.lines.len() <= 2
        && first.size >= 0.95 * body
        && text_length(group) <= MAX_BOLD_HEADING;
    is_heading.then(|| (sizes.len() + 1).clamp(2, 6))
}

fn block(mut group: Group, level: Option<usize>) -> Block {
    if group.lines.iter().all(|line| line.monospace) && level.is_none() {
        return Block::Code(code(group.lines));
    }
    let is_table = group
        .lines
        .first()
        .is_some_and(|first| !first.cells.is_empty());
    if is_table && let Some(rows) = table(&group.lines) {
        return Block::Table(rows);
    }
    for line in &mut group.lines {
        without_leader(&mut line.rich);
    }
    let mut lines = group.lines.into_iter();
    let mut rich = lines.next().map(|line| line.rich).unwrap_or_default();
    if let Some(marker) = group.item.filter(|_| level.is_none()) {
        rich.skip(marker.bytes);
        lines.for_each(|line| join(&mut rich, &line.rich));
        return Block::Item(marker.number, rich);
    }
    lines.for_each(|line| join(&mut rich, &line.rich));
    match level {
        Some(level) => Block::Heading(level, rich),
        None => Block::Paragraph(rich),
    }
}

/// The lines with their indentation.
fn code(lines: Vec<Line>) -> Vec<Rich> {
    let left = lines
        .iter()
        .map(|line| line.x0)
        .reduce(f32::min)
        .unwrap_or_default();
    let lines = lines.into_iter().map(|line| {
        let width = 0.6 * line.size;
        let spaces = ((line.x0 - left) / width.max(0.1)).round().clamp(0.0, 80.0) as usize;
        let mut rich = Rich {
            text: " ".repeat(spaces),
            ..Rich::default()
        };
        rich.append(&line.rich);
        rich
    });
    lines.collect()
}

/// The rows of a table; `None` for a single line with a gap in it. A line with one cell goes on with
/// the cell above.
fn table(lines: &[Line]) -> Option<Vec<Vec<Rich>>> {
    let full = lines.iter().filter(|line| !line.cells.is_empty());
    let most = full.clone().map(|line| line.cells.len()).max()?;
    if most > MAX_COLUMNS || full.clone().count() < 2 || (full.count() < 3 && most < 3) {
        return None;
    }
    let widest = lines.iter().find(|line| line.cells.len() == most)?;
    let starts: Vec<f32> = widest.cells.iter().map(|(x, _)| *x).collect();
    let column_of = |x: f32| {
        let distances = starts.iter().map(|start| (start - x).abs());
        let nearest = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map_or(0, |(at, _)| at)
    };
    let mut rows: Vec<Vec<Rich>> = Vec::new();
    for line in lines {
        if line.cells.is_empty() {
            let cell = rows
                .last_mut()
                .and_then(|row| row.get_mut(column_of(line.x0)));
            if let Some(cell) = cell {
                join(cell, &line.rich);
            }
            continue;
        }
        let mut row = vec![Rich::default(); most];
        for (at, (x, cell)) in line.cells.iter().enumerate() {
            let at = if line.cells.len() == most {
                at
            } else {
                column_of(*x)
            };
            if let Some(place) = row.get_mut(at) {
                join(place, cell);
            }
        }
        rows.push(row);
    }
    Some(rows)
}

/// Whether a paragraph that ends like this goes on with this text.
fn goes_on(before: &str, after: &str) -> bool {
    let Some(end) = before.trim_end().chars().next_back() else {
        return false;
    };
    let Some(start) = after.chars().next() else {
        return false;
    };
    !ends_sentence(end) && (start.is_lowercase() || is_hyphen(end) || is_spaceless(start))
}

const fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{ad}' | '\u{2010}')
}

/// Appends the text of the next line: without the hyphen that divides a word, and without a space
/// in scripts that have none.
fn join(before: &mut Rich, after: &Rich) {
    while before.text.ends_with(' ') {
        before.pop();
    }
    let mut ends = before.text.chars().rev();
    let (end, inner) = (ends.next(), ends.next());
    let start = after.text.chars().next();
    let divided = end.is_some_and(is_hyphen)
        && inner.is_some_and(char::is_alphabetic)
        && start.is_some_and(char::is_lowercase);
    let spaceless = end.is_some_and(is_spaceless) && start.is_some_and(is_spaceless);
    if divided || end == Some('\u{ad}') {
        before.pop();
    } else if !spaceless && end.is_some() {
        before.text.push(' ');
    }
    before.append(after);
}

//! The lines of a page in the order in which they are read.
//!
//! Characters on one baseline make a row; a gap of a character's width ends a segment of it. A
//! gutter that few rows cross, with prose on both sides, separates columns. Each part between
//! rows that cross it is read column by column.

use super::characters::is_rtl;
use super::glyphs::{Character, Direction, Glyphs};
use super::lines::{Line, join_code, line};
use super::links::Areas;

/// Least gap that ends a segment, in sizes of the text.
const SEGMENT_GAP: f32 = 0.9;
/// Fewest lines of a column.
const COLUMN_ROWS: usize = 4;
/// Fewest characters of half of the lines of a column of prose.
const COLUMN_CHARACTERS: usize = 12;
/// Columns within columns.
const MAX_SPLITS: u32 = 4;

/// Characters on a baseline.
struct Row<'c> {
    y: f32,
    size: f32,
    segments: Vec<Segment<'c>>,
}

/// Characters that follow each other without a wide gap.
#[derive(Clone)]
struct Segment<'c> {
    x0: f32,
    x1: f32,
    characters: Vec<&'c Character>,
}

/// The lines of a page.
pub(crate) fn lines(glyphs: Glyphs, areas: &Areas) -> Vec<Line> {
    let mut lines = Vec::new();
    let height = glyphs.height() as f32;
    let mut column = 0;
    for direction in [
        Direction::Right,
        Direction::Vertical,
        Direction::Down,
        Direction::Up,
        Direction::Left,
    ] {
        let mut characters: Vec<&Character> = glyphs
            .characters
            .iter()
            .filter(|one| one.direction == direction)
            .collect();
        if characters.is_empty() {
            continue;
        }
        characters.sort_by(|a, b| a.y.total_cmp(&b.y));
        let rtl =
            glyphs.text.chars().filter(|c| is_rtl(*c)).count() * 2 > glyphs.text.chars().count();
        let mut columns = Vec::new();
        order(rows(&characters), rtl, 0, &mut columns);
        for rows in columns {
            column += 1;
            let left = bound(
                &rows,
                |row| row.segments.first().map(|one| one.x0),
                f32::min,
            );
            let right = bound(&rows, |row| row.segments.last().map(|one| one.x1), f32::max);
            for row in rows {
                let all: Vec<&Character> = row
                    .segments
                    .into_iter()
                    .flat_map(|one| one.characters)
                    .collect();
                let Some(mut line) = line(&all, &glyphs.text, areas) else {
                    continue;
                };
                (line.left, line.right, line.column) = (left, right, column);
                line.place = (direction == Direction::Right).then(|| line.y / height.max(1.0));
                lines.push(line);
            }
        }
    }
    join_code(&mut lines);
    lines
}

fn bound(rows: &[Row<'_>], edge: fn(&Row<'_>) -> Option<f32>, pick: fn(f32, f32) -> f32) -> f32 {
    rows.iter()
        .filter_map(edge)
        .reduce(pick)
        .unwrap_or_default()
}

/// Rows of characters that are sorted by their baselines.
fn rows<'c>(characters: &[&'c Character]) -> Vec<Row<'c>> {
    let mut groups: Vec<(f32, f32, Vec<&'c Character>)> = Vec::new();
    for &one in characters {
        if let Some((y, size, group)) = groups.last_mut() {
            // An index stands higher or lower than its line.
            let equal = one.size > 0.9 * *size && *size > 0.9 * one.size;
            let reach = if equal { 0.3 } else { 0.52 };
            if (one.y - *y).abs() <= reach * one.size.max(*size) {
                if one.size > *size * 1.02 {
                    (*y, *size) = (one.y, one.size);
                }
                group.push(one);
                continue;
            }
        }
        groups.push((one.y, one.size, vec![one]));
    }
    let rows = groups.into_iter().map(|(y, size, mut group)| {
        group.sort_by(|a, b| a.x0.total_cmp(&b.x0));
        Row {
            y,
            size,
            segments: segments(&group, size),
        }
    });
    rows.filter(|row| !row.segments.is_empty()).collect()
}

/// Splits a row at its wide gaps. A character that is drawn twice, to look bold, counts once.
fn segments<'c>(row: &[&'c Character], size: f32) -> Vec<Segment<'c>> {
    let mut segments: Vec<Segment<'c>> = Vec::new();
    let mut spaces: Vec<&Character> = Vec::new();
    for &one in row {
        if one.text.0 == one.text.1 {
            spaces.push(one);
            continue;
        }
        let last = segments.last_mut();
        match last {
            Some(last) if one.x0 - last.x1 <= SEGMENT_GAP * size => {
                let twin = last.characters.iter().rev().take(3).any(|other| {
                    other.x1 - other.x0 > 0.0
                        && (other.x0 - one.x0).abs() < 0.12 * size
                        && (other.x1 - one.x1).abs() < 0.12 * size
                        && (other.y - one.y).abs() < 0.12 * size
                });
                if !twin {
                    last.characters.append(&mut spaces);
                    last.x1 = last.x1.max(one.x1);
                    last.characters.push(one);
                }
            }
            _ => segments.push(Segment {
                x0: one.x0,
                x1: one.x1,
                characters: vec![one],
            }),
        }
        spaces.clear();
    }
    segments
}

/// Appends the columns of these rows in the order in which they are read.
fn order<'c>(rows: Vec<Row<'c>>, rtl: bool, depth: u32, columns: &mut Vec<Vec<Row<'c>>>) {
    let gutter = match depth < MAX_SPLITS {
        true => gutter(&rows),
        false => None,
    };
    let Some(gutter) = gutter else {
        columns.push(rows);
        return;
    };
    let mut whole: Vec<Row<'c>> = Vec::new();
    let mut band: Vec<Row<'c>> = Vec::new();
    for row in rows {
        let crosses = row
            .segments
            .iter()
            .any(|one| one.x0 < gutter && gutter < one.x1);
        if crosses {
            split(&mut band, gutter, rtl, depth, &mut whole, columns);
            whole.push(row);
        } else {
            band.push(row);
        }
    }
    split(&mut band, gutter, rtl, depth, &mut whole, columns);
    if !whole.is_empty() {
        columns.push(whole);
    }
}

/// Reads a part between rows that cross the gutter: column by column if it has columns, else row
/// by row.
fn split<'c>(
    band: &mut Vec<Row<'c>>,
    gutter: f32,
    rtl: bool,
    depth: u32,
    whole: &mut Vec<Row<'c>>,
    columns: &mut Vec<Vec<Row<'c>>>,
) {
    let rows = std::mem::take(band);
    if !has_columns(&rows, gutter) {
        whole.extend(rows);
        return;
    }
    if !whole.is_empty() {
        columns.push(std::mem::take(whole));
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for Row { y, size, segments } in rows {
        let (a, b): (Vec<_>, Vec<_>) = segments.into_iter().partition(|one| one.x0 < gutter);
        for (side, segments) in [(&mut left, a), (&mut right, b)] {
            if !segments.is_empty() {
                side.push(Row { y, size, segments });
            }
        }
    }
    if rtl {
        std::mem::swap(&mut left, &mut right);
    }
    order(left, rtl, depth + 1, columns);
    order(right, rtl, depth + 1, columns);
}

/// Whether both sides of the gutter are columns of prose beside each other.
fn has_columns(rows: &[Row<'_>], gutter: f32) -> bool {
    let side = |is_left: bool| {
        let mut found: Vec<(f32, f32, usize, f32)> = Vec::new();
        for row in rows {
            let own = || {
                row.segments
                    .iter()
                    .filter(|one| (one.x0 < gutter) == is_left)
            };
            let count: usize = own().map(|one| one.characters.len()).sum();
            let x0 = own().map(|one| one.x0).reduce(f32::min);
            let x1 = own().map(|one| one.x1).reduce(f32::max);
            if let (Some(x0), Some(x1)) = (x0, x1) {
                found.push((x0, x1, count, row.y));
            }
        }
        found
    };
    let (left, right) = (side(true), side(false));
    let is_prose = |rows: &[(f32, f32, usize, f32)]| {
        let x0 = rows
            .iter()
            .map(|row| row.0)
            .reduce(f32::min)
            .unwrap_or_default();
        let x1 = rows
            .iter()
            .map(|row| row.1)
            .reduce(f32::max)
            .unwrap_or_default();
        let mut widths: Vec<f32> = rows.iter().map(|row| row.1 - row.0).collect();
        let mut counts: Vec<usize> = rows.iter().map(|row| row.2).collect();
        widths.sort_by(f32::total_cmp);
        counts.sort_unstable();
        let middle = rows.len() / 2;
        rows.len() >= COLUMN_ROWS
            && widths
                .get(middle)
                .is_some_and(|width| *width > 0.5 * (x1 - x0))
            && counts
                .get(middle)
                .is_some_and(|count| *count >= COLUMN_CHARACTERS)
    };
    let extent = |rows: &[(f32, f32, usize, f32)]| {
        let top = rows
            .iter()
            .map(|row| row.3)
            .reduce(f32::min)
            .unwrap_or_default();
        let bottom = rows
            .iter()
            .map(|row| row.3)
            .reduce(f32::max)
            .unwrap_or_default();
        (top, bottom)
    };
    let ((a0, a1), (b0, b1)) = (extent(&left), extent(&right));
    let overlap = a1.min(b1) - a0.max(b0);
    is_prose(&left) && is_prose(&right) && overlap > 0.3 * (a1 - a0).min(b1 - b0)
}

/// The place, between the first and the last fifth of the width, that the fewest rows cross. `None`
/// if many rows cross every place.
fn gutter(rows: &[Row<'_>]) -> Option<f32> {
    /// Places that are compared.
    const BINS: usize = 300;
    if rows.len() < 2 * COLUMN_ROWS {
        return None;
    }
    let left = bound(rows, |row| row.segments.first().map(|one| one.x0), f32::min);
    let right = bound(rows, |row| row.segments.last().map(|one| one.x1), f32::max);
    let step = (right - left) / BINS as f32;
    if !step.is_finite() || step <= 0.0 {
        return None;
    }
    let mut crossing = [0_i32; BINS + 2];
    for segment in rows.iter().flat_map(|row| &row.segments) {
        let bin = |x: f32| ((x - left) / step).clamp(0.0, BINS as f32) as usize;
        let (from, to) = (bin(segment.x0), bin(segment.x1) + 1);
        if let Some(one) = crossing.get_mut(from) {
            *one += 1;
        }
        if let Some(one) = crossing.get_mut(to) {
            *one -= 1;
        }
    }
    let mut depth = 0;
    for one in &mut crossing {
        depth += *one;
        *one = depth;
    }
    let most = *crossing.iter().max()?;
    let middle = crossing.get(BINS / 5..BINS - BINS / 5)?;
    let least = *middle.iter().min()?;
    if least * 5 > most * 2 {
        return None;
    }
    // The middle of the widest of these places.
    let (mut best, mut start) = ((0, 0), None);
    for (at, count) in middle.iter().copied().chain([i32::MAX]).enumerate() {
        match (count == least, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                if at - from > best.1 - best.0 {
                    best = (from, at);
                }
                start = None;
            }
            _ => {}
        }
    }
    let at = (best.0 + best.1) as f32 / 2.0 + (BINS / 5) as f32;
    Some(left + at * step)
}

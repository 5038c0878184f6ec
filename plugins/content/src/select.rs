//! The blocks of a selection, and the selection of chosen blocks: the rest is marked as dropped.

use std::ops::Range;

use orbweaver_sdk::dom::{Node, View, tag};

use crate::blocks::Blocks;
use crate::measure::{BLOCK, DROP, HIDE, Info, PICTURE, SKIP, get};
use crate::table::{Shape, cells, has_content, rows};

/// By block, whether the selection has it.
pub fn kept(view: &View<'_>, info: &[Info], root: u32, blocks: &Blocks) -> Vec<bool> {
    let mut kept = vec![false; blocks.list.len()];
    let end = view.node(root).map_or(0, |root| root.end());
    let mut id = root;
    while id < end {
        let Some(node) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP | PICTURE) != 0 {
            id = node.end();
            continue;
        }
        if node.is_text()
            && let Some(&block) = blocks.of.get(me.owner as usize)
            && block > 0
            && let Some(slot) = kept.get_mut(block as usize - 1)
        {
            *slot = true;
        }
        id += 1;
    }
    kept
}

/// Marks everything but the kept blocks and what belongs to them. Pictures without text stay
/// where the blocks before and behind them do, and pictures with a caption, which are no part of
/// the text, beside one block that does. Returns the smallest subtree that holds all that is kept.
pub fn apply(view: &View<'_>, info: &mut [Info], blocks: &Blocks, keep: &[bool]) -> u32 {
    let mut keep = keep.to_vec();
    whole_listings(view, blocks, &mut keep);
    whole_tables(view, info, blocks, &mut keep);
    let keep = &keep;
    let is_kept = |block: usize| keep.get(block).copied().unwrap_or(false);
    let mut pictures = pictures(view, info, blocks, keep);
    // Texts and pictures in the subtree that are kept.
    let mut kept = vec![0u32; info.len()];
    for id in (0..info.len()).rev() {
        let Some(node) = view.node(id as u32) else {
            continue;
        };
        if let Some(picture) = pictures
            .last()
            .filter(|picture| picture.contains(&(id as u32)))
        {
            if picture.start == id as u32 {
                pictures.pop();
                if let Some(slot) = info.get_mut(id) {
                    slot.state &= !DROP;
                }
                if let Some(sum) = node.parent().and_then(|p| kept.get_mut(p.id() as usize)) {
                    *sum += 1;
                }
            }
            continue;
        }
        let me = get(info, id as u32);
        if me.state & SKIP != 0 && me.state & HIDE == 0 {
            continue;
        }
        let block = blocks.of.get(me.owner as usize).copied().unwrap_or(0) as usize;
        let mut count = kept.get(id).copied().unwrap_or(0);
        let mut drop = false;
        if node.is_text() {
            let keeps = block > 0 && is_kept(block - 1);
            drop = !keeps && me.chars > 0;
            count = u32::from(keeps && me.chars > 0);
        } else if count == 0 && !matches!(me.tag, tag::BR | tag::WBR) {
            let next = blocks.before.get(id).copied().unwrap_or(0) as usize;
            // Highlighters wrap the white space between words in elements of its own.
            let is_space = block > 0
                && is_kept(block - 1)
                && me.state & BLOCK == 0
                && node.first_child().is_some_and(|child| child.is_text());
            drop = me.chars > 0 || !is_space && (next == 0 || !is_kept(next - 1) || !is_kept(next));
        }
        if let Some(slot) = info.get_mut(id) {
            slot.state &= !(DROP | PICTURE);
            if drop {
                slot.state |= DROP;
            }
            // What a script shows.
            if count > 0 && slot.state & HIDE != 0 {
                slot.state &= !SKIP;
            }
            if block == 0 || slot.owner == id as u32 && !is_kept(block - 1) {
                slot.own = 0;
            }
        }
        if let Some(parent) = node.parent()
            && let Some(sum) = kept.get_mut(parent.id() as usize)
        {
            *sum += count;
        }
        if let Some(slot) = kept.get_mut(id) {
            *slot = count;
        }
    }
    let Some(mut at) = view.body() else { return 0 };
    let of = |id: u32| kept.get(id as usize).copied().unwrap_or(0);
    let all = of(at.id());
    while let Some(child) = at.child_elements().find(|c| of(c.id()) == all)
        && all > 0
    {
        at = child;
    }
    at.id()
}

/// Takes preformatted text as a whole: code of which lines are missing is none. That is kept of
/// which most characters are.
fn whole_listings(view: &View<'_>, blocks: &Blocks, keep: &mut [bool]) {
    let mut id = 0;
    while let Some(node) = view.node(id) {
        id += 1;
        if !matches!(node.tag(), tag::PRE | tag::LISTING | tag::XMP) {
            continue;
        }
        id = node.end();
        let range = blocks.range(node.id(), node.end());
        let lines = blocks.list.get(range.clone()).unwrap_or_default();
        let Some(kept) = keep.get_mut(range).filter(|kept| kept.len() > 1) else {
            continue;
        };
        let sum = |wanted: bool| -> u64 {
            let of = lines.iter().zip(kept.iter()).filter(|(_, k)| **k == wanted);
            of.map(|(line, _)| u64::from(line.chars)).sum()
        };
        kept.fill(sum(true) > sum(false));
    }
}

/// Tables of fewer rows are not told by how many of them have a kept cell.
const FEW_ROWS: usize = 3;

/// Keeps every cell of a data table of which nearly all cells are kept, and every cell of the rows
/// that have one where that are nearly all cells of these rows: a label without its value says
/// nothing. So does every cell of a table that has one kept in nearly all rows, a quarter of all at least.
fn whole_tables(view: &View<'_>, info: &[Info], blocks: &Blocks, keep: &mut [bool]) {
    let mut spans = Vec::new();
    let mut id = 0;
    while let Some(node) = view.node(id) {
        id += 1;
        if node.tag() != tag::TABLE || !Shape::of(node, &mut spans, has_content).is_data(node) {
            continue;
        }
        id = node.end();
        let is_shown = |block: usize| {
            let block = blocks.list.get(block);
            block.is_some_and(|block| get(info, block.first).state & (HIDE | SKIP) == 0)
        };
        // By row, for each cell that shows a text, its blocks and whether one of them is kept.
        let shown = |cell: Node<'_>| {
            let blocks = blocks.range(cell.id(), cell.end());
            let is_kept = keep
                .get(blocks.clone())
                .is_some_and(|kept| kept.contains(&true));
            blocks.clone().any(is_shown).then_some((blocks, is_kept))
        };
        let rows: Vec<Vec<_>> = rows(node)
            .map(|row| cells(row).filter_map(shown).collect())
            .collect();
        let is_begun = |row: &Vec<(Range<usize>, bool)>| row.iter().any(|(_, kept)| *kept);
        let is_mostly_begun = rows.len() >= FEW_ROWS
            && rows.iter().filter(|row| is_begun(row)).count() * 5 >= rows.len() * 4;
        let (begun, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_begun);
        let begun: Vec<_> = begun.into_iter().flatten().collect();
        let others: Vec<_> = others.into_iter().flatten().collect();
        let kept = begun.iter().filter(|(_, kept)| *kept).count();
        let nearly_all = |of: usize| kept * 5 >= of * 4;
        // Names and few values of many: the others look like each other to the block model.
        let is_torn = is_mostly_begun && kept * 4 >= begun.len() + others.len();
        let mut keep_cells = |cells: Vec<(Range<usize>, bool)>| {
            let left = cells.into_iter().filter(|(_, kept)| !kept);
            for block in left
                .flat_map(|(blocks, _)| blocks)
                .filter(|block| is_shown(*block))
            {
                if let Some(slot) = keep.get_mut(block) {
                    *slot = true;
                }
            }
        };
        if is_torn || nearly_all(begun.len() + others.len()) {
            keep_cells(others);
        }
        if is_torn || nearly_all(begun.len()) {
            keep_cells(begun);
        }
    }
}

/// The pictures with captions that stay as they are, in document order.
fn pictures(view: &View<'_>, info: &[Info], blocks: &Blocks, keep: &[bool]) -> Vec<Range<u32>> {
    let mut found = Vec::new();
    let is_kept = |block: usize| keep.get(block) == Some(&true);
    let mut id = 0;
    while let Some(node) = view.node(id) {
        id += 1;
        if get(info, node.id()).state & (PICTURE | SKIP) != PICTURE {
            continue;
        }
        let inside = blocks.range(node.id(), node.end());
        let beside = inside.start.checked_sub(1).is_some_and(is_kept) || is_kept(inside.end);
        if beside && !inside.clone().any(is_kept) {
            id = node.end();
            found.push(node.id()..node.end());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Topic;
    use crate::measure::measure;

    /// The texts of the blocks that are kept, where the block model would drop those of `dropped`.
    fn kept(html: &str, dropped: &[&str]) -> Vec<String> {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let info = measure(&view, false, 4).info;
        let blocks = Blocks::of(&view, &info, &Topic::of(&view));
        let text = |block: &crate::blocks::Block| {
            let node = view.node(block.node).expect("node");
            orbweaver_sdk::text::line(node)
        };
        let texts: Vec<String> = blocks.list.iter().map(text).collect();
        let mut keep: Vec<bool> = texts
            .iter()
            .map(|text| !dropped.contains(&text.as_str()))
            .collect();
        whole_tables(&view, &info, &blocks, &mut keep);
        let pairs = texts.into_iter().zip(keep);
        pairs
            .filter(|(_, keep)| *keep)
            .map(|(text, _)| text)
            .collect()
    }

    const FACTS: &str = "<table><tr><th>Fat<td>47 g<tr><th>Salt<td><p>1 g</p><tr><th>Sugar<td>2 g\
                         <tr style='display:none'><th>Hidden<td>9 g</table>";

    #[test]
    fn a_data_table_keeps_its_single_cells() {
        let all = ["Fat", "47 g", "Salt", "1 g", "Sugar", "2 g"];
        assert_eq!(kept(FACTS, &["1 g", "Hidden", "9 g"]), all);
        let most = kept(FACTS, &["1 g", "2 g", "Hidden", "9 g"]);
        assert_eq!(most, ["Fat", "47 g", "Salt", "Sugar"], "too few are kept");
        let begun = kept(FACTS, &["Fat", "47 g", "Hidden", "9 g"]);
        assert_eq!(
            begun,
            ["Salt", "1 g", "Sugar", "2 g"],
            "a row without any stays out"
        );
    }

    #[test]
    fn a_data_table_keeps_a_row_of_which_no_cell_is_kept() {
        let rows: String = (0..6)
            .map(|n| format!("<tr><th>Name {n}<td>{n} g"))
            .collect();
        let table = format!("<table>{rows}</table>");
        assert_eq!(kept(&table, &["Name 2", "2 g"]).len(), 12);
        let fewer = ["Name 2", "2 g", "Name 3", "3 g"];
        assert_eq!(kept(&table, &fewer).len(), 8, "8 of 12 are too few");
    }

    #[test]
    fn a_data_table_keeps_its_values_where_most_names_are_kept() {
        let plans = "<table><tr><th>Feature<th>Free<th>Grow<tr><td>Pages<td>No<td>Yes\
                     <tr><td>Tests<td>No<td>Yes<tr><td>Phone<td>No<td>Yes<tr><td>Mail<td>No<td>Yes</table>";
        assert_eq!(
            kept(plans, &["Feature", "Free", "Grow", "No", "Yes"]).len(),
            15
        );
        let most = ["Feature", "Free", "Grow", "No", "Yes", "Pages", "Tests"];
        assert_eq!(kept(plans, &most), ["Phone", "Mail"]);
    }

    #[test]
    fn a_table_that_lays_out_is_cut() {
        let html = "<table><tr><td><h2>A</h2><p>b</p><td>c<tr><td>d<td>e<tr><td>f<td>g</table>";
        assert_eq!(kept(html, &["g"]).last().map(String::as_str), Some("f"));
    }
}

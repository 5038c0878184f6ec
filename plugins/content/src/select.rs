//! The blocks of a selection, and the selection of chosen blocks: the rest is marked as dropped.

use std::ops::Range;

use orbweaver_sdk::dom::{View, tag};

use crate::blocks::Blocks;
use crate::measure::{BLOCK, DROP, HIDE, Info, PICTURE, SKIP, get};

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
    let keep = &whole_listings(view, blocks, keep);
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

/// The kept blocks, with preformatted text as a whole: code of which lines are missing is none.
/// That is kept of which most characters are.
fn whole_listings(view: &View<'_>, blocks: &Blocks, keep: &[bool]) -> Vec<bool> {
    let mut keep = keep.to_vec();
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
    keep
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

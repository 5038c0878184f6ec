//! Makes the blocks that a model keeps the content: marks the rest as dropped.

use orbweaver_sdk::dom::{View, tag};

use crate::blocks::Blocks;
use crate::measure::{DROP, HIDE, Info, PICTURE, SKIP, get};

/// Marks everything but the kept blocks and what belongs to them. Pictures without text stay
/// where the blocks before and behind them do. Returns the smallest subtree that holds all
/// that is kept.
pub fn apply(view: &View<'_>, info: &mut [Info], blocks: &Blocks, keep: &[bool]) -> u32 {
    let is_kept = |block: usize| keep.get(block).copied().unwrap_or(false);
    // Texts in the subtree: kept ones, and any.
    let mut kept = vec![0u32; info.len()];
    for id in (0..info.len()).rev() {
        let Some(node) = view.node(id as u32) else {
            continue;
        };
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
            drop = me.chars > 0 || next == 0 || !is_kept(next - 1) || !is_kept(next);
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

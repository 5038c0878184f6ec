//! The features of the elements around a block.

use super::layout::{BOX, BOXES, FIRST_BOX};
use super::scale::{log, share, tag_class};
use super::sums::Sums;
use super::{Matrix, Source};
use crate::blocks::Block;
use crate::measure::get;

/// Ancestors that are looked at.
const MAX_CLIMB: usize = 24;

/// Writes the features of the elements around a block.
pub(super) fn boxes(source: &Source<'_>, sums: &Sums, block: &Block, i: usize, m: &mut Matrix) {
    let mut inner = block.chars;
    let mut found = 0;
    let mut at = source.view.node(block.node);
    for _ in 0..MAX_CLIMB {
        let Some(node) = at else { break };
        at = node.parent();
        let range = source.blocks.range(node.id(), node.end());
        let sum = sums.between(range.start, range.end);
        if sum.chars <= inner {
            continue;
        }
        inner = sum.chars;
        let ctx = source
            .context
            .get(node.id() as usize)
            .copied()
            .unwrap_or_default();
        let before = sums.between(range.start, i.max(range.start));
        let values: [u8; BOX.len()] = [
            log(sum.chars),
            share(sum.link, sum.chars),
            share(sum.prose, sum.chars),
            share(sum.stops * 2, sum.halves),
            log(range.len() as u32),
            share(sum.kept, sum.chars),
            log(source.repeats.count(ctx.like)),
            share(before.chars, sum.chars),
            tag_class(get(source.info, node.id()).tag),
            share(sum.hidden, sum.chars),
            share(sum.prices, range.len() as u32),
            share(sum.headings, range.len() as u32),
        ];
        for (f, value) in values.into_iter().enumerate() {
            m.set(FIRST_BOX + found * BOX.len() + f, i, value);
        }
        found += 1;
        if found == BOXES {
            break;
        }
    }
}

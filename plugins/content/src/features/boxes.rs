//! The features of the elements around a block.

use super::Source;
use super::eight::Eight;
use super::layout::{BOX, BOXES, FIRST_BOX};
use super::scale::{log, share, tag_class};
use super::sums::Sums;
use crate::blocks::Block;
use crate::measure::get;

/// Ancestors that are looked at.
const MAX_CLIMB: usize = 24;

/// Writes the features of the elements around a block.
pub(super) fn boxes(source: &Source<'_>, sums: &Sums, block: &Block, i: usize, m: &mut Eight) {
    let mut inner = block.chars;
    let mut found = 0;
    let mut at = source.view.node(block.node);
    for _ in 0..MAX_CLIMB {
        let Some(node) = at else { break };
        at = node.parent();
        let range = source.blocks.range(node.id(), node.end());
        let chars = sums.chars(range.start, range.end);
        if chars <= inner {
            continue;
        }
        inner = chars;
        let sum = sums.between(range.start, range.end);
        let ctx = source
            .context
            .get(node.id() as usize)
            .copied()
            .unwrap_or_default();
        let before = sums.chars(range.start, i.max(range.start));
        let values: [u8; BOX.len()] = [
            log(sum.chars),
            share(sum.link, sum.chars),
            share(sum.prose, sum.chars),
            share(sum.stops * 2, sum.halves),
            log(range.len() as u32),
            share(sum.kept, sum.chars),
            log(source.repeats.count(ctx.like)),
            share(before, sum.chars),
            tag_class(get(source.info, node.id()).tag),
            share(sum.hidden, sum.chars),
            share(sum.prices, range.len() as u32),
            share(sum.headings, range.len() as u32),
        ];
        m.set(FIRST_BOX + found * BOX.len(), i, &values);
        found += 1;
        if found == BOXES {
            break;
        }
    }
}

/// Elements of a block's signatures, its own and its ancestors', that are looked at.
const MAX_LIKES: usize = 12;

/// How often the elements around a block repeat. Blocks of one parent have it in common.
#[derive(Default)]
pub(super) struct Climb {
    /// The parent of the block before, and the most that was found from it on.
    last: Option<(u32, u32)>,
}

impl Climb {
    /// The largest number of elements of one signature: the block's own or that of one of its
    /// nearest ancestors.
    pub fn most_alike(&mut self, source: &Source<'_>, block: u32) -> u32 {
        let count = |id: u32| {
            let like = source.context.get(id as usize).map_or(0, |c| c.like);
            source.repeats.count(like)
        };
        let Some(node) = source.view.node(block) else {
            return 0;
        };
        let own = count(block);
        let Some(parent) = node.parent() else {
            return own;
        };
        let above = match self.last {
            Some((last, above)) if last == parent.id() => above,
            _ => {
                let around = std::iter::once(parent).chain(parent.ancestors());
                let around = around.take(MAX_LIKES - 1).map(|node| count(node.id()));
                around.max().unwrap_or(0)
            }
        };
        self.last = Some((parent.id(), above));
        own.max(above)
    }
}

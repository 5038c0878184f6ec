//! Blocks that are alike: of one signature, or with the same text.

use super::Source;
use crate::blocks::Block;

/// Sums over the blocks of one signature.
#[derive(Clone, Copy, Default)]
pub(super) struct Like {
    pub blocks: u32,
    pub chars: u32,
    pub link: u32,
    pub halves: u32,
    pub stops: u32,
}

pub(super) struct Likes(Vec<Like>);

impl Likes {
    pub fn of(source: &Source<'_>, list: &[Block]) -> Self {
        let mut sums = vec![Like::default(); source.repeats.slots()];
        for block in list {
            let like = source
                .context
                .get(block.node as usize)
                .map_or(0, |c| c.like);
            if let Some(sum) = sums.get_mut(like as usize) {
                sum.blocks += 1;
                sum.chars += block.chars;
                sum.link += block.link;
                sum.halves += block.halves;
                sum.stops += block.stops;
            }
        }
        Self(sums)
    }

    pub fn at(&self, like: u32) -> Like {
        self.0.get(like as usize).copied().unwrap_or_default()
    }
}

/// By block, how many others have the same text, and whether one stands before it.
pub(super) fn copies(list: &[Block]) -> Vec<(u32, bool)> {
    let mut order: Vec<(u32, u32)> = list
        .iter()
        .enumerate()
        .map(|(i, b)| (b.hash ^ b.chars, i as u32))
        .collect();
    order.sort_unstable();
    let mut out = vec![(0, false); list.len()];
    for run in order.chunk_by(|a, b| a.0 == b.0) {
        for (k, (_, i)) in run.iter().enumerate() {
            if let Some(slot) = out.get_mut(*i as usize) {
                *slot = (run.len() as u32 - 1, k > 0);
            }
        }
    }
    out
}

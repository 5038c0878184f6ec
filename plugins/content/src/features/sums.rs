//! Sums over runs of blocks.

use super::Source;
use crate::blocks::Block;
use crate::measure::{HEADING, HIDE, get};

/// Sums over the blocks up to each, so that any run of them is two look-ups.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub chars: u32,
    pub link: u32,
    pub halves: u32,
    pub stops: u32,
    pub prose: u32,
    pub kept: u32,
    pub hidden: u32,
    pub prices: u32,
    pub headings: u32,
}

impl Sum {
    fn less(self, other: Self) -> Self {
        Self {
            chars: self.chars - other.chars,
            link: self.link - other.link,
            halves: self.halves - other.halves,
            stops: self.stops - other.stops,
            prose: self.prose - other.prose,
            kept: self.kept - other.kept,
            hidden: self.hidden - other.hidden,
            prices: self.prices - other.prices,
            headings: self.headings - other.headings,
        }
    }
}

/// The sums up to each block, so that any run of blocks is two look-ups.
pub(super) struct Sums(Vec<Sum>);

impl Sums {
    pub fn of(source: &Source<'_>, kept: &[bool]) -> Self {
        let list = &source.blocks.list;
        let mut sums = Vec::with_capacity(list.len() + 1);
        let mut sum = Sum::default();
        sums.push(sum);
        for (block, kept) in list.iter().zip(kept) {
            let me = get(source.info, block.node);
            sum.chars += block.chars;
            sum.link += block.link;
            sum.halves += block.halves;
            sum.stops += block.stops;
            sum.prose += prose(block);
            sum.kept += if *kept { block.chars } else { 0 };
            sum.hidden += if me.state & HIDE != 0 { block.chars } else { 0 };
            sum.prices += block.prices.min(4);
            sum.headings += u32::from(me.state & HEADING != 0);
            sums.push(sum);
        }
        Self(sums)
    }

    /// The sum of the blocks from the first index up to, not with, the second one.
    pub fn between(&self, from: usize, to: usize) -> Sum {
        let last = self.0.len().saturating_sub(1);
        let up_to = |index: usize| self.0.get(index.min(last)).copied().unwrap_or_default();
        up_to(to).less(up_to(from))
    }

    /// The characters of these blocks alone.
    pub fn chars(&self, from: usize, to: usize) -> u32 {
        let last = self.0.len().saturating_sub(1);
        let up_to = |index: usize| self.0.get(index.min(last)).map_or(0, |sum| sum.chars);
        up_to(to) - up_to(from)
    }

    /// The sum of all blocks.
    pub fn all(&self) -> Sum {
        self.0.last().copied().unwrap_or_default()
    }
}

/// How much of a block is running text, as the rules count it.
pub(super) fn prose(block: &Block) -> u32 {
    let text = block.chars - block.link;
    if block.link * 2 > block.chars {
        0
    } else if text >= 60 && block.punct > 0 {
        text
    } else if text >= 30 && block.punct > 0 || text >= 100 {
        text / 2
    } else {
        text / 8
    }
}

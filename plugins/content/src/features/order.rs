//! Neighbours of a block: what stands before and behind it, and how far away.

use crate::blocks::Block;

/// A distance where there is nothing to be distant from, in blocks.
const FAR: u32 = 10_000;

/// By block, how many blocks on the next stands that the rules keep.
pub(super) fn until_kept(kept: &[bool]) -> Vec<u32> {
    let mut out = vec![0; kept.len()];
    let mut far = FAR;
    for (slot, kept) in out.iter_mut().zip(kept).rev() {
        far = if *kept { 0 } else { far + 1 };
        *slot = far;
    }
    out
}

/// What has gone before a block.
pub(super) struct Before {
    pub since_heading: u32,
    pub level: u8,
    pub heading_phrase: u8,
    pub heading_chars: u32,
    pub since_kept: u32,
    pub since_phrase: u32,
    pub phrase: u8,
}

impl Before {
    /// Before the first block.
    pub const fn first() -> Self {
        Self {
            since_heading: FAR,
            level: 0,
            heading_phrase: 0,
            heading_chars: 0,
            since_kept: FAR,
            since_phrase: FAR,
            phrase: 0,
        }
    }

    /// Goes on behind a block. `heading` is its level, 0 if it is none.
    pub fn pass(&mut self, block: &Block, heading: u8, kept: bool) {
        self.since_heading += 1;
        self.since_kept += 1;
        self.since_phrase += 1;
        if heading > 0 {
            self.since_heading = 0;
            self.level = heading;
            self.heading_phrase = block.phrase;
            self.heading_chars = block.chars;
        }
        if kept {
            self.since_kept = 0;
        }
        if block.phrase > 0 {
            self.since_phrase = 0;
            self.phrase = block.phrase;
        }
    }
}

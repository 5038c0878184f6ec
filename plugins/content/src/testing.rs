//! For tests of the steps that change which blocks are chosen.

use orbweaver_sdk::dom::{self, View};

use crate::blocks::{Blocks, Topic};
use crate::choose;
use crate::measure::{Info, measure};

/// The texts of the blocks that stay where all blocks of a page are chosen before `change`.
pub fn kept(
    html: &str,
    change: impl FnOnce(&View<'_>, &[Info], &Blocks, &mut [bool]),
) -> Vec<String> {
    let snapshot = dom::parse(html);
    let view = snapshot.view().expect("view");
    let mut measured = measure(&view, false, 4);
    choose::sum_up(&view, &mut measured, None, true);
    let blocks = Blocks::of(&view, &measured.info, &Topic::of(&view));
    let mut keep = vec![true; blocks.list.len()];
    change(&view, &measured.info, &blocks, &mut keep);
    let stay = blocks.list.iter().zip(keep).filter(|(_, keep)| *keep);
    stay.filter_map(|(block, _)| view.node(block.node))
        .map(orbweaver_sdk::text::line)
        .collect()
}

//! What the block model reads of each block: one byte a feature, 0 to 127.
//!
//! The trainer reads the very same bytes, so that a model sees in a plugin what it saw when
//! it was trained.

mod boxes;
mod eight;
mod layout;
mod likes;
mod order;
mod page;
mod scale;
mod sums;

use orbweaver_sdk::dom::{View, tag};

pub use self::layout::{COUNT, OWN, PAGE, TYPES, names};
pub use self::page::{Said, page};

use self::boxes::{Climb, boxes};
use self::eight::Eight;
use self::layout::{
    AROUND, FIRST_BOX, FIRST_INSIDE, FIRST_MARK, FIRST_PAGE, FIRST_PLACE, FIRST_SHARED, PLACE,
    SHARED,
};
use self::likes::{Likes, copies};
use self::order::{Before, until_kept};
use self::scale::{distance, log, share, tag_class};
use self::sums::{Sums, prose};
use crate::blocks::Blocks;
use crate::context::{Context, INSIDE, Repeats};
use crate::measure::{HEADING, HIDE, Info, get};
use crate::words::MARKS;

/// The features of all blocks, feature by feature: those of one feature stand together, for
/// every eighth block filled up with zeros.
pub struct Matrix {
    /// Blocks, rounded up to eight.
    pub stride: usize,
    /// The bytes, `stride` for each feature.
    pub data: Vec<u8>,
}

impl Matrix {
    /// The value of a block's feature.
    pub fn at(&self, feature: usize, block: usize) -> u8 {
        self.data
            .get(feature * self.stride + block)
            .copied()
            .unwrap_or(0)
    }

    /// The values of a feature; none where there are fewer features.
    fn row(&mut self, feature: usize) -> &mut [u8] {
        let from = feature * self.stride;
        self.data
            .get_mut(from..from + self.stride)
            .unwrap_or_default()
    }
}

/// What the features are made of.
pub struct Source<'a> {
    /// The page.
    pub view: &'a View<'a>,
    /// As the rules left it: what they drop has [`DROP`](crate::measure::DROP).
    pub info: &'a [Info],
    /// The subtree that the rules chose.
    pub root: u32,
    /// The page's blocks.
    pub blocks: &'a Blocks,
    /// The surroundings of each node.
    pub(crate) context: &'a [Context],
    /// How often each signature occurs.
    pub(crate) repeats: &'a Repeats,
}

/// Computes the features of every block. `page` is from [`page`], `types` the probabilities
/// of [`TYPES`] in parts of 127.
pub fn compute(
    source: &Source<'_>,
    kept: &[bool],
    page: &[u8; PAGE.len()],
    types: &[u8; TYPES.len()],
) -> Matrix {
    let list = &source.blocks.list;
    let count = list.len();
    let stride = count.div_ceil(8) * 8;
    let mut m = Matrix {
        stride,
        data: vec![0; stride * COUNT],
    };
    let sums = Sums::of(source, kept);
    let likes = Likes::of(source, list);
    let copies = copies(list);
    let mut before = Before::first();
    let until = until_kept(kept);
    let h1 = list
        .iter()
        .position(|b| get(source.info, b.node).tag == tag::H1);
    let all = sums.all().chars;
    // All others are written for the page, or copied from these.
    let computed = [0..FIRST_SHARED, FIRST_BOX..FIRST_PAGE];
    let mut eight = Eight::new();
    let mut climb = Climb::default();
    for (i, block) in list.iter().enumerate() {
        if i % 8 == 0 {
            eight.flush(&computed, i, &mut m);
        }
        let me = get(source.info, block.node);
        let ctx = source
            .context
            .get(block.node as usize)
            .copied()
            .unwrap_or_default();
        let kept_here = kept.get(i).copied().unwrap_or(false);
        let like = likes.at(ctx.like);
        let (same, same_before) = copies.get(i).copied().unwrap_or((0, false));
        let words = block.halves;
        let heading = if me.state & HEADING != 0 {
            (me.tag - tag::H1 + 1) as u8
        } else {
            0
        };
        let own: [u8; OWN.len()] = [
            log(block.chars),
            log(block.halves),
            share(block.link, block.chars),
            log(block.links),
            log(block.punct),
            share(block.punct * 16, words),
            share(block.stops * 2, words),
            share(block.digits, block.chars),
            share(block.capitals * 2, words),
            (block.chars * 16 / words.max(1)).min(127) as u8,
            share(block.titled * 2, words),
            share(block.described * 2, words),
            block.head,
            block.tail,
            tag_class(me.tag),
            block.prices.min(127) as u8,
            block.years.min(127) as u8,
            u8::from(block.copyright),
            block.separators.min(127) as u8,
            u8::from(block.at),
            block.phrase,
            log(block.texts),
            log(same),
            u8::from(same_before),
            log(source.repeats.count(ctx.like)),
            log(like.chars / like.blocks.max(1)),
            share(like.link, like.chars),
            share(like.stops * 2, like.halves),
            ctx.depth.min(127) as u8,
            heading,
            u8::from(kept_here),
            log(source.view.node(block.node).map_or(0, |n| n.end() - n.id())),
            u8::from(me.state & HIDE != 0),
            log(prose(block)),
        ];
        eight.set(0, i, &own);
        let inside: [u8; INSIDE.len()] = std::array::from_fn(|bit| (ctx.inside >> bit & 1) as u8);
        eight.set(FIRST_INSIDE, i, &inside);
        let marks =
            MARKS.map(|(_, mark)| u8::from(me.above & mark != 0) + u8::from(ctx.near & mark != 0));
        eight.set(FIRST_MARK, i, &marks);
        boxes(source, &sums, block, i, &mut eight);
        let near = sums.between(i.saturating_sub(5), i + 6);
        let far = sums.between(i.saturating_sub(15), i + 16);
        let max_like = climb.most_alike(source, block.node);
        let place: [u8; PLACE.len()] = [
            share(i as u32, count as u32),
            share(sums.between(0, i).chars, all),
            h1.map_or(0, |h| distance(i as i64 - h as i64)),
            log(before.since_heading),
            before.level,
            before.heading_phrase,
            log(before.heading_chars),
            log(before.since_kept),
            log(until.get(i).copied().unwrap_or(0)),
            log(near.chars),
            share(near.link, near.chars),
            share(near.stops * 2, near.halves),
            share(near.kept, near.chars),
            share(far.kept, far.chars),
            share(far.prose, far.chars),
            log(before.since_phrase),
            before.phrase,
            log(max_like),
            u8::from(h1.is_some_and(|h| h < i)),
        ];
        eight.set(FIRST_PLACE, i, &place);
        before.pass(block, heading, kept_here);
    }
    eight.flush(&computed, count, &mut m);
    for (f, value) in page.iter().chain(types).enumerate() {
        let row = m.row(FIRST_PAGE + f);
        row.get_mut(..count).unwrap_or_default().fill(*value);
    }
    copy_neighbours(&mut m, count);
    m
}

/// Gives each block the features of [`SHARED`] that its neighbours have.
fn copy_neighbours(m: &mut Matrix, count: usize) {
    for (d, &by) in AROUND.iter().enumerate() {
        let far = by.unsigned_abs().min(count);
        // From the first block that has such a neighbour, or from the first such neighbour.
        let (from, to) = if by < 0 { (0, far) } else { (far, 0) };
        for (k, &f) in SHARED.iter().enumerate() {
            let source = f * m.stride + from;
            let target = (FIRST_SHARED + d * SHARED.len() + k) * m.stride + to;
            // Both features have rows of at least so many blocks.
            m.data.copy_within(source..source + (count - far), target);
        }
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_sdk::testing::Document;

    use super::*;
    use crate::Content;
    use crate::context;

    #[test]
    fn blocks_have_their_neighbours_features_and_the_repeats_around_them() {
        // Each paragraph is the only one of its class, in a card that is one of many.
        let cards: String = ('a'..='s')
            .zip(1..)
            .map(|(name, at)| {
                let text = "word ".repeat(at);
                format!("<div class=card><h2>{text}</h2><p class={name}>{text}<a href=/>more</a></p></div>")
            })
            .collect();
        let html = format!("<body><h1>Title</h1><main><ul><li>one<li>two</ul>{cards}</main>");
        let document = Document::new("https://example.org/list", &html);
        let page = document.page();
        let view = page.view().unwrap();
        Content::survey(view, page.final_url(), |view, selection, survey, matrix| {
            let list = &survey.blocks.list;
            assert!(list.len() > 40 && list.len() % 8 != 0, "{}", list.len());
            let (around, repeats) = context::read(view, &selection.info);
            for (i, block) in list.iter().enumerate() {
                for (d, by) in AROUND.iter().enumerate() {
                    let beside = i.checked_add_signed(*by).filter(|j| *j < list.len());
                    for (k, f) in SHARED.iter().enumerate() {
                        let value = matrix.at(FIRST_SHARED + d * SHARED.len() + k, i);
                        let expected = beside.map_or(0, |j| matrix.at(*f, j));
                        assert_eq!(value, expected, "block {i}, feature {f}, {by}");
                    }
                }
                let node = view.node(block.node).unwrap();
                let nodes = std::iter::once(node).chain(node.ancestors()).take(12);
                let likes = nodes.map(|n| repeats.count(around[n.id() as usize].like));
                let most = PLACE.iter().position(|name| *name == "max_like").unwrap();
                let value = matrix.at(FIRST_PLACE + most, i);
                assert_eq!(value, log(likes.max().unwrap()), "block {i}");
                assert_eq!(matrix.at(0, i), log(block.chars), "block {i}");
            }
        });
    }
}

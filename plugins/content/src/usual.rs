//! Lines that pages of one type usually have as content, or never: the name of a product, who wrote a
//! post and when, a thread's title over each of its posts.
//!
//! The block model has learned them together with the lines that look like them on pages of other types,
//! and on few sites of each; on sites that it has not seen it is unsure of them.

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::blocks::{Block, Blocks};
use crate::measure::{Info, get};
use crate::page_type::{PageType, Types};
use crate::words::NAME;

/// How sure it must be that a page is of a type.
const SURE: f32 = 0.5;

/// How far the odds of a product's name are shifted, a logit.
const HEADLINE: f32 = 2.5;

/// How far the odds of a line about who wrote a post and when are shifted, a logit.
const POST: f32 = 1.5;

/// The longest such line, in half words.
const MAX_LINE: u32 = 16;

/// Title lines and names of things, in half words: single words are labels that many things have.
const NAMES: std::ops::RangeInclusive<u32> = 4..=40;

/// How many blocks before the second copy of a thing's name its first may stand.
const BACK: usize = 6;

/// Shifts the odds of lines that are usually content on pages of a type.
pub fn lean(view: &View<'_>, info: &[Info], blocks: &Blocks, types: &Types, logits: &mut [f32]) {
    let is_forum = types.share(PageType::Forum) >= SURE;
    let mut is_first = types.share(PageType::Product) >= SURE;
    if !is_forum && !is_first {
        return;
    }
    for (block, logit) in blocks.list.iter().zip(logits) {
        let Some(node) = view.node(block.node) else {
            continue;
        };
        if is_first && is_in_headline(node) {
            is_first = false;
            *logit += HEADLINE;
        }
        if is_forum
            && block.halves <= MAX_LINE
            && (is_named(node, info) || tells_time(node, block.digits > 0))
        {
            *logit += POST;
        }
    }
}

/// Whether a block is of a heading of the first level.
fn is_in_headline(node: Node<'_>) -> bool {
    /// Boxes inside the heading.
    const MOST: usize = 3;
    let mut around = std::iter::once(node).chain(node.ancestors().take(MOST));
    around.any(|around| around.tag() == tag::H1)
}

/// Whether a line is the name of a post's author, by the class name of the line, of its box or of a part.
fn is_named(node: Node<'_>, info: &[Info]) -> bool {
    /// Boxes around the line and nodes of it that are looked at.
    const BOXES: usize = 2;
    const PARTS: usize = 8;
    let around = std::iter::once(node).chain(node.ancestors().take(BOXES));
    let mut near = around.chain(node.descendants().take(PARTS));
    near.any(|near| get(info, near.id()).marks & NAME != 0)
}

/// Class names by which forums mark when a post was written where they do not use `<time>`.
const TIMES: [&str; 9] = [
    "age",
    "post-date",
    "post-time",
    "postdate",
    "posttime",
    "relative-date",
    "time-ago",
    "timeago",
    "timestamp",
];

/// Whether a line says when a post was written. Where no element says so but a class name does, it must
/// have digits: scripts fill in what is empty.
fn tells_time(node: Node<'_>, has_digits: bool) -> bool {
    /// Nodes of the line that are looked at.
    const MOST: usize = 12;
    let is_time = |class: &str| {
        class
            .split_ascii_whitespace()
            .any(|name| TIMES.contains(&name))
    };
    let mut inside = std::iter::once(node).chain(node.descendants().take(MOST));
    inside.any(|inside| {
        inside.tag() == tag::TIME
            || inside.has_attr(attr::DATETIME)
            || has_digits && inside.attr(attr::CLASS).is_some_and(is_time)
    })
}

/// Drops chosen lines that stand over other parts of the page again: on a forum the thread's title over
/// each of its posts, in a collection the name of a thing for a second time in its card.
pub fn drop_copies(blocks: &Blocks, types: &Types, keep: &mut [bool]) {
    if types.share(PageType::Forum) >= SURE {
        drop_titles(blocks, keep);
    } else if types.share(PageType::Collection) >= SURE {
        drop_second_names(blocks, keep);
    }
}

/// Drops lines of the page's title that stand more than once. The first is over the first post.
fn drop_titles(blocks: &Blocks, keep: &mut [bool]) {
    // A word that is not of the title: "Re:".
    let is_title = |block: &Block| {
        block.titled > 0
            && NAMES.contains(&block.halves)
            && block.titled * 2 + block.stops + 2 >= block.halves
    };
    let mut titles: Vec<u32> = blocks
        .list
        .iter()
        .filter(|block| is_title(block))
        .map(|block| block.hash)
        .collect();
    titles.sort_unstable();
    let stands_again = |hash: u32| {
        let first = titles.partition_point(|other| *other < hash);
        titles.get(first + 1) == Some(&hash)
    };
    for (block, keep) in blocks.list.iter().zip(keep) {
        *keep &= !(is_title(block) && stands_again(block.hash));
    }
}

/// Drops links whose whole text is one of the chosen blocks closely before.
fn drop_second_names(blocks: &Blocks, keep: &mut [bool]) {
    // The hashes of the last chosen blocks, the oldest to be replaced next.
    let mut last = [0u32; BACK];
    let mut at = 0;
    for (block, keep) in blocks.list.iter().zip(keep) {
        if !*keep {
            continue;
        }
        let is_name = NAMES.contains(&block.halves) && block.link * 2 > block.chars;
        if is_name && last.contains(&block.hash) {
            *keep = false;
            continue;
        }
        if let Some(slot) = last.get_mut(at % BACK) {
            *slot = block.hash;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// The texts of the blocks that are kept on a page of this type of which the block model keeps
    /// every block that does not stand in `small`.
    fn kept(kind: PageType, html: &str) -> Vec<String> {
        testing::kept(html, |view, info, blocks, keep| {
            let types = Types::only(kind);
            let is_unsure = |block: &Block| {
                let node = view.node(block.node).expect("node");
                std::iter::once(node)
                    .chain(node.ancestors())
                    .any(|around| around.attr(attr::ID) == Some("small"))
            };
            let logit = |block| if is_unsure(block) { -1.0 } else { 3.0 };
            let mut logits: Vec<f32> = blocks.list.iter().map(logit).collect();
            lean(view, info, blocks, &types, &mut logits);
            for (keep, logit) in keep.iter_mut().zip(logits) {
                *keep = logit > 0.0;
            }
            drop_copies(blocks, &types, keep);
        })
    }

    #[test]
    fn the_name_of_a_product_stays() {
        let html = "<div id=small><h1><span>Oak bench</span></h1><h1>About it</h1><p>In stock</p></div>\
                    <p>It seats three.";
        assert_eq!(
            kept(PageType::Product, html),
            ["Oak bench", "It seats three."]
        );
        assert_eq!(kept(PageType::Article, html), ["It seats three."]);
    }

    #[test]
    fn a_post_keeps_its_author_and_its_time() {
        let html = "<div id=small><h4 class=message-name><a class=username>Ann</a></h4>\
                    <div><time>May 3</time></div><div>Posts: 12</div></div><p>I think so, too.";
        let all = ["Ann", "May 3", "I think so, too."];
        assert_eq!(kept(PageType::Forum, html), all);
        assert_eq!(kept(PageType::Listing, html), ["I think so, too."]);
        let long = html.replace("May 3", "May 3, written on a train between two large towns");
        assert_eq!(kept(PageType::Forum, &long), ["Ann", "I think so, too."]);
    }

    #[test]
    fn a_time_may_be_told_by_its_class() {
        let of = |time: &str| {
            let html = format!(
                "<div id=small><p>at <span class='timeago x'>{time}</span></div><p>So do I."
            );
            kept(PageType::Forum, &html).len()
        };
        assert_eq!(of("May 3"), 2);
        assert_eq!(of(""), 1, "to be filled in");
    }

    const THREAD: &str = "<title>Hum in an old radio - Sets</title><h1>Hum in an old radio</h1>\
        <h3>Re: Hum in an old radio</h3><p>One.<h3>Re: Hum in an old radio</h3><p>Two.";

    #[test]
    fn a_threads_title_is_not_said_over_each_post() {
        let once = ["Hum in an old radio", "One.", "Two."];
        assert_eq!(kept(PageType::Forum, THREAD), once);
        assert_eq!(kept(PageType::Article, THREAD).len(), 5);
        let other = THREAD.replace("Re: Hum", "My answer to the one about what you call Hum");
        assert_eq!(kept(PageType::Forum, &other).len(), 5, "other words");
    }

    #[test]
    fn a_card_names_its_thing_once() {
        let card = |name: &str| {
            format!("<li><h3><a href=/x>{name}</a></h3><h3><a href=/x>{name}</a></h3><p>$ 7</p>")
        };
        let html = format!("<ul>{}{}</ul>", card("Oak bench"), card("Elm stool"));
        let once = ["Oak bench", "$ 7", "Elm stool", "$ 7"];
        assert_eq!(kept(PageType::Collection, &html), once);
        assert_eq!(kept(PageType::Listing, &html).len(), 6);
        let label = html.replace("Oak bench", "New").replace("Elm stool", "New");
        assert_eq!(kept(PageType::Collection, &label).len(), 6, "labels");
        let plain = html.replace("<a href=/x>", "").replace("</a>", "");
        assert_eq!(kept(PageType::Collection, &plain).len(), 6, "no links");
    }
}

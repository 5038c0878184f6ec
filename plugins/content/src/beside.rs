//! Parts of the chosen blocks that a heading announces as about other things, or, on the page of a thing
//! for sale, as what a shop says of every order.
//!
//! The rules drop such parts, too, but the block model overrules them on pages of many parts, and their
//! headings are those of articles.

use std::ops::Range;

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::blocks::Blocks;
use crate::measure::{Info, is_heading};
use crate::page_type::{PageType, Types};
use crate::phrases::{self, Announces};
use crate::sections::{MAX_CLIMB, read_line};

/// How sure it must be that a page is of a type.
const SURE: f32 = 0.5;

/// The longest heading, in half words.
const MAX_HEADING: u32 = 24;

/// The largest part of the chosen words that a heading may announce: one in so many.
const OTHERS_SHARE: u32 = 2;
const POLICY_SHARE: u32 = 4;

/// Characters of a text that are more than a card of another thing says.
const TEXT: u32 = 100;

/// Nodes that are looked at beside a heading and at the begin of each.
const MOST_BESIDE: usize = 64;
const FEW: usize = 4;

/// Whole headings over what a shop says of every order.
const POLICIES: &[&str] = &[
    "about the seller",
    "delivery",
    "delivery & returns",
    "delivery and returns",
    "delivery information",
    "delivery options",
    "meet your seller",
    "payment & security",
    "payment methods",
    "refund policy",
    "return & refund policy",
    "return policy",
    "returns",
    "returns & exchanges",
    "returns & refunds",
    "returns policy",
    "seller information",
    "shipping",
    "shipping & delivery",
    "shipping & returns",
    "shipping and delivery",
    "shipping and return policies",
    "shipping and returns",
    "shipping info",
    "shipping information",
    "shipping policy",
    "lieferung",
    "lieferung & rückgabe",
    "versand",
    "versand & lieferung",
    "versand & rückgabe",
    "versand und rückgabe",
    "garanties sécurité",
    "livraison",
    "livraison & retours",
    "livraison et retours",
    "politique de livraison",
    "politique retours",
    "envío",
    "envíos",
    "envíos y devoluciones",
    "spedizione",
    "spedizioni e resi",
    "verzending",
    "доставка",
    "доставка и оплата",
    "お支払いについて",
    "返品について",
    "配送について",
];

/// Drops such parts. Listings of articles have such headings over their content.
pub fn drop_beside(
    view: &View<'_>,
    info: &[Info],
    blocks: &Blocks,
    types: &Types,
    keep: &mut [bool],
) {
    if types.share(PageType::Listing) >= SURE {
        return;
    }
    let is_product = types.share(PageType::Product) >= SURE;
    let mut line = String::with_capacity(256);
    let mut at = 0;
    while let Some(block) = blocks.list.get(at) {
        at += 1;
        if block.halves > MAX_HEADING {
            continue;
        }
        let Some(head) = view.node(block.node).and_then(heading) else {
            continue;
        };
        let Some(node) = view.node(block.node) else {
            continue;
        };
        read_line(node, info, &mut line);
        let bare = line.trim_matches(|c: char| !c.is_alphanumeric());
        let share = if phrases::find(&line) == Some(Announces::OtherThings) {
            OTHERS_SHARE
        } else if is_product && POLICIES.contains(&bare) {
            POLICY_SHARE
        } else {
            continue;
        };
        let part = part(blocks, head, keep, share);
        at = part.end.max(at);
        keep.get_mut(part).unwrap_or_default().fill(false);
    }
}

/// The heading that a block is of: an element that is one, or is called one.
fn heading(node: Node<'_>) -> Option<Node<'_>> {
    let mut around = std::iter::once(node).chain(node.ancestors().take(2));
    around
        .find(|around| is_heading(around.tag()) || around.tag() == tag::SUMMARY)
        .or_else(|| {
            let class = node.attr(attr::CLASS).unwrap_or_default();
            (class.contains("title") || class.contains("heading")).then_some(node)
        })
}

/// The blocks of the part that a heading begins: the largest box around it in which nothing stands before
/// it, or what follows it up to the next heading or text.
fn part(blocks: &Blocks, head: Node<'_>, keep: &[bool], share: u32) -> Range<usize> {
    let sum = |range: Range<usize>| -> u32 {
        let list = blocks.list.get(range.clone()).unwrap_or_default();
        let chosen = list
            .iter()
            .zip(keep.get(range).unwrap_or_default())
            .filter(|(_, keep)| **keep);
        chosen.map(|(block, _)| block.halves).sum()
    };
    let most = sum(0..blocks.list.len()) / share;
    let range = |node: Node<'_>| blocks.range(node.id(), node.end());
    let own = range(head);
    let mut found = head;
    for _ in 0..MAX_CLIMB {
        let Some(parent) = found.parent() else { break };
        let around = range(parent);
        if around.start < own.start || sum(around) > most {
            break;
        }
        found = parent;
    }
    let mut part = range(found);
    if part.end > own.end {
        return part;
    }
    let is_level = |node: &Node<'_>| {
        is_heading(node.tag()) && (!is_heading(head.tag()) || node.tag() <= head.tag())
    };
    let beside = std::iter::successors(found.next_sibling(), Node::next_sibling);
    for next in beside.take(MOST_BESIDE) {
        let inside = range(next);
        let mut first = std::iter::once(next).chain(next.descendants().take(FEW));
        let of_other = blocks.list.get(inside.clone()).unwrap_or_default();
        let is_text = share == OTHERS_SHARE
            && of_other
                .iter()
                .any(|block| block.chars >= TEXT && block.link * 2 < block.chars);
        let end = inside.end.max(part.end);
        if first.any(|node| is_level(&node)) || is_text || sum(part.start..end) > most {
            break;
        }
        part.end = end;
    }
    if part.end == own.end && keep.get(own.end) == Some(&true) {
        // What follows stays, so its heading does.
        part.end = part.start;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// The texts of the blocks that are kept on a page of this type where all are chosen.
    fn kept(kind: PageType, html: &str) -> Vec<String> {
        let types = Types::only(kind);
        testing::kept(html, |view, info, blocks, keep| {
            drop_beside(view, info, blocks, &types, keep);
        })
    }

    const BENCH: &str = "<h1>Oak bench</h1><p>It seats three people and is made to stay outside in all weathers, \
                         with feet of steel that can be replaced by hand.</p>";

    #[test]
    fn other_things_are_left_out() {
        let cards = "<ul><li><h3>Elm stool</h3><p>$ 7<li><h3>Ash table</h3><p>$ 9</ul>";
        let boxed =
            format!("{BENCH}<section><h2>You may also like</h2>{cards}</section><p>Ask us.");
        assert_eq!(kept(PageType::Product, &boxed).len(), 3);
        assert_eq!(kept(PageType::Listing, &boxed).len(), 8);
        let counted =
            format!("{BENCH}<h2>16 other products in the same category:</h2>{cards}<h2>Care</h2>");
        let bare = kept(PageType::Product, &counted);
        assert_eq!(bare.len(), 3, "{bare:?}");
        assert_eq!(bare.last().map(String::as_str), Some("Care"));
    }

    #[test]
    fn a_text_behind_such_a_heading_stays() {
        let text = format!(
            "{BENCH}<h2>Goes well with</h2><div>Any table of a height between seventy and seventy-six \
             centimetres, whatever wood it is made of and however old it may be by now.</div>{BENCH}"
        );
        assert_eq!(kept(PageType::Product, &text).len(), 6);
    }

    #[test]
    fn what_a_shop_says_of_every_order_is_left_out() {
        let html = format!(
            "{BENCH}<details><summary>Shipping &amp; Returns</summary><div>Sent in two days.</div></details>\
             <details><summary>Care</summary><div>Oil it once a year.</div></details>"
        );
        let all = kept(PageType::Product, &html);
        assert_eq!(
            all.get(2..).unwrap_or_default(),
            ["Care", "Oil it once a year."]
        );
        assert_eq!(kept(PageType::Service, &html).len(), 6);
        let most =
            "<h2>Returns</h2><p>Send it back to us within thirty days and we pay you all of it.";
        assert_eq!(kept(PageType::Product, most).len(), 2, "all there is");
    }
}

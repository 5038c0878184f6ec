//! The context of each element: the landmarks and named parts above it, how deep it is
//! and how often the page repeats its like.

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::measure::{HIDE, Info, get, starts_hidden};
use crate::words::Marks;

/// Kinds of ancestors that a block may have, one bit each.
pub const INSIDE: [&str; 26] = [
    "nav",
    "header",
    "footer",
    "aside",
    "main",
    "article",
    "section",
    "form",
    "list",
    "table",
    "dl",
    "figure",
    "details",
    "quote",
    "heading",
    "label",
    "hidden",
    "pre",
    "prop_body",
    "prop_name",
    "prop_price",
    "prop_review",
    "prop_person",
    "type_article",
    "type_product",
    "type_breadcrumb",
];

/// Bit of [`INSIDE`] for `<main>`.
pub const IN_MAIN: u32 = 1 << 4;

/// The surroundings of one node.
#[derive(Clone, Copy, Default)]
pub struct Context {
    /// Bits of [`INSIDE`].
    pub inside: u32,
    /// Marks of class names of the element and of its two nearest ancestors.
    pub near: Marks,
    /// Levels below the body.
    pub depth: u16,
    /// The slot of the element's signature, see [`Repeats`].
    pub like: u32,
}

/// Slots that are tried for one signature.
const MAX_PROBES: usize = 32;

/// How often each signature, an element's tag and class and those of its parent, occurs,
/// and what its elements hold.
#[derive(Default)]
pub struct Repeats {
    keys: Vec<u32>,
    counts: Vec<u32>,
}

impl Repeats {
    fn with_room(elements: usize) -> Self {
        let slots = (elements.max(8) * 2).next_power_of_two();
        Self {
            keys: vec![0; slots],
            counts: vec![0; slots],
        }
    }

    fn add(&mut self, key: u32) -> u32 {
        let mask = self.keys.len() - 1;
        let key = key.max(1);
        let mut at = (key ^ key >> 16) as usize & mask;
        // A page may be made to have names that meet in one slot: far ones share the last.
        for probe in 0..=MAX_PROBES {
            match self.keys.get_mut(at) {
                Some(slot) if *slot == 0 || *slot == key || probe == MAX_PROBES => {
                    *slot = key;
                    if let Some(count) = self.counts.get_mut(at) {
                        *count += 1;
                    }
                    return at as u32;
                }
                Some(_) => at = (at + 1) & mask,
                None => break,
            }
        }
        0
    }

    /// The elements of a signature.
    pub fn count(&self, like: u32) -> u32 {
        self.counts.get(like as usize).copied().unwrap_or(0)
    }

    /// Slots of the table: signatures are below this.
    pub fn slots(&self) -> usize {
        self.keys.len()
    }
}

/// Reads the surroundings of every element of a measured page.
pub fn read(view: &View<'_>, info: &[Info]) -> (Vec<Context>, Repeats) {
    let mut all = vec![Context::default(); info.len()];
    let mut signs = vec![0u32; info.len()];
    let mut repeats = Repeats::with_room(info.iter().filter(|i| i.tag != 0).count() + 1);
    for node in view.nodes() {
        let id = node.id();
        if !node.is_element() {
            continue;
        }
        let me = get(info, id);
        let parent = node.parent().map_or(0, |p| p.id());
        let above = all.get(parent as usize).copied().unwrap_or_default();
        let sign = signature(node);
        let parent_sign = signs.get(parent as usize).copied().unwrap_or(0);
        let like = repeats.add(sign ^ parent_sign.rotate_left(7));
        if let Some(slot) = signs.get_mut(id as usize) {
            *slot = sign;
        }
        let grand = node
            .parent()
            .and_then(|p| p.parent())
            .map_or(0, |g| get(info, g.id()).marks);
        if let Some(slot) = all.get_mut(id as usize) {
            *slot = Context {
                inside: above.inside | bits(node, &me),
                near: me.marks | get(info, parent).marks | grand,
                depth: above.depth.saturating_add(1),
                like,
            };
        }
    }
    (all, repeats)
}

fn signature(node: Node<'_>) -> u32 {
    let tag = u32::from(node.tag()).wrapping_mul(0x9e37_79b1);
    // Digits number things of one kind: `post-1`, `post-2`.
    node.attr(attr::CLASS)
        .unwrap_or("")
        .bytes()
        .take(128)
        .fold(tag, |h, b| {
            if b.is_ascii_digit() {
                h
            } else {
                crate::lexicon::step(h, b)
            }
        })
}

fn bits(node: Node<'_>, me: &Info) -> u32 {
    let by_tag = match me.tag {
        tag::NAV => 0,
        tag::HEADER => 1,
        tag::FOOTER => 2,
        tag::ASIDE => 3,
        tag::MAIN => 4,
        tag::ARTICLE => 5,
        tag::SECTION => 6,
        tag::FORM => 7,
        tag::UL | tag::OL | tag::MENU => 8,
        tag::TABLE => 9,
        tag::DL => 10,
        tag::FIGURE => 11,
        tag::DETAILS | tag::DIALOG => 12,
        tag::BLOCKQUOTE => 13,
        tag::H1..=tag::H6 => 14,
        tag::LABEL | tag::LEGEND | tag::SUMMARY => 15,
        tag::PRE => 17,
        _ => 31,
    };
    let mut bits = (1u32 << by_tag) & 0x7fff_ffff;
    if me.state & HIDE != 0 || starts_hidden(node) {
        bits |= 1 << 16;
    }
    for attribute in node.attrs() {
        let value = attribute.value();
        match attribute.id() {
            attr::ROLE => {
                bits |= match value {
                    "main" => IN_MAIN,
                    "navigation" => 1,
                    "banner" => 1 << 1,
                    "contentinfo" => 1 << 2,
                    "complementary" => 1 << 3,
                    "article" => 1 << 5,
                    "heading" => 1 << 14,
                    _ => 0,
                }
            }
            attr::ITEMPROP => {
                bits |= match value {
                    "articleBody" | "text" | "description" | "reviewBody" | "mainEntity"
                    | "acceptedAnswer" | "suggestedAnswer" => 1 << 18,
                    "name" | "headline" => 1 << 19,
                    "price" | "offers" | "priceCurrency" | "availability" => 1 << 20,
                    "review" | "aggregateRating" | "reviewRating" | "comment" => 1 << 21,
                    "author" | "publisher" | "datePublished" | "dateModified" | "dateCreated" => {
                        1 << 22
                    }
                    _ => 0,
                }
            }
            attr::ITEMTYPE => {
                let kind = value.rsplit('/').next().unwrap_or("");
                bits |= match kind {
                    "Article"
                    | "NewsArticle"
                    | "BlogPosting"
                    | "DiscussionForumPosting"
                    | "Question"
                    | "Answer" => 1 << 23,
                    "Product" | "Offer" => 1 << 24,
                    "BreadcrumbList"
                    | "SiteNavigationElement"
                    | "WPFooter"
                    | "WPSideBar"
                    | "WPHeader" => 1 << 25,
                    _ => 0,
                }
            }
            _ => {}
        }
    }
    bits
}

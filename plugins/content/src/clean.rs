//! Finds the parts of the chosen subtree that are not content.

use orbweaver_sdk::dom::{Node, View, tag};

use crate::figure::Figures;
use crate::headings::{Titles, heads_part};
use crate::kind::Kind;
use crate::lines;
use crate::measure::{BLOCK, DROP, HEADING, Info, Measured, PICTURE, SKIP, get};
use crate::sections::{self, MAX_CLIMB};
use crate::words::{BIO, BYLINE, CAPTION, META, NAME, SIGNATURE, TITLE, USER};

/// Share of the text after which linked headings are teasers of other pages.
const TAIL: f32 = 0.85;

/// Share of the text before which lines about who wrote it and when are looked for.
const START: f32 = 0.1;

/// Longest line about the author or the site, in characters.
const MAX_ASIDE: u32 = 320;

/// Marks what is to be left out of a single text.
pub fn focused(view: &View<'_>, measured: &mut Measured, root: u32, kind: Kind) {
    let Some(node) = view.node(root) else { return };
    let total = get(&measured.info, root).prose.max(1) as f32;
    let info = &mut measured.info;
    let doc = kind == Kind::Documentation;
    let article = kind == Kind::Article;
    // Running text so far.
    let mut seen = 0u32;
    let titles = Titles::of(view);
    let figures = Figures::of(view, info, node);
    let mut line = String::with_capacity(256);
    let mut id = root + 1;
    while id < node.end() {
        let Some(here) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            id = here.end();
            continue;
        }
        if me.state & BLOCK == 0 {
            // Every rule is about blocks.
            id += 1;
            continue;
        }
        let small = (me.prose as f32) < total * 0.2;
        let density = if me.chars == 0 {
            0.0
        } else {
            me.link as f32 / me.chars as f32
        };
        let picture = me.tag == tag::FIGCAPTION
            || small
                && (me.tag == tag::FIGURE || me.marks & CAPTION != 0)
                && !(me.tag == tag::FIGURE && figures.hold_text(here));
        if picture {
            if let Some(me) = info.get_mut(id as usize) {
                me.state |= PICTURE;
            }
            id = here.end();
            continue;
        }
        let links = small
            && density > 0.6
            && me.state & HEADING == 0
            && !matches!(me.tag, tag::P | tag::BLOCKQUOTE)
            && !doc;
        let headline =
            me.tag == tag::H1 && (seen == 0 || !heads_part(here, info) || titles.has(here));
        let drop = headline || small && me.marks & (META | BYLINE | BIO) != 0 || links;
        let leaf = me.own > 0 && me.own == me.left;
        if leaf && me.state & HEADING == 0 {
            seen += me.prose;
        }
        let drop = drop
            || article
                && (is_promotion(&me, leaf)
                    || seen == 0 && small && is_headline(here, &me, leaf, &titles));
        let late = seen as f32 > total * TAIL;
        let early = (seen as f32) < total * START;
        let aside = article && leaf && me.own <= MAX_ASIDE && me.state & HEADING == 0;
        let drop = drop
            || aside && (early || late) && {
                sections::read_line(here, info, &mut line);
                lines::is_credit(&line)
                    || late && (lines::is_plug(&line) || titles.is_author(&line))
            };
        if article
            && late
            && me.state & HEADING != 0
            && me.own > 14
            && me.own_link * 10 > me.own * 9
        {
            id = drop_teaser(here, info, node, kind);
            continue;
        }
        if drop {
            if let Some(me) = info.get_mut(id as usize) {
                me.state |= DROP;
            }
            id = here.end();
            continue;
        }
        id += 1;
    }
}

/// Marks what is to be left out of a page of many parts.
pub fn broad(view: &View<'_>, measured: &mut Measured, root: u32, kind: Kind) {
    let Some(node) = view.node(root) else { return };
    let info = &mut measured.info;
    let all = get(info, root).left as f32;
    let prose = get(info, root).prose as f32;
    let titles = Titles::of(view);
    let mut id = root + 1;
    while id < node.end() {
        let Some(here) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            id = here.end();
            continue;
        }
        if me.state & BLOCK == 0 {
            // Every rule is about blocks.
            id += 1;
            continue;
        }
        let leaf = me.own == me.left;
        let linked = me.own_link * 2 >= me.own;
        let headline = me.tag == tag::H1
            && leaf
            && matches!(kind, Kind::Forum | Kind::Other)
            && (linked || !heads_part(here, info) || titles.has(here));
        let site_header = me.tag == tag::HEADER
            && (me.left as f32) < all * 0.2
            && here
                .ancestors()
                .take(MAX_CLIMB)
                .all(|a| !matches!(a.tag(), tag::ARTICLE | tag::MAIN | tag::SECTION));
        let links = matches!(kind, Kind::Product | Kind::Forum)
            && me.links >= 3
            && me.link * 2 > me.chars
            && (me.prose as f32) < prose * 0.2
            && (me.left as f32) < all * 0.5;
        let drop = headline || site_header || links;
        if drop {
            if let Some(me) = info.get_mut(id as usize) {
                me.state |= DROP;
            }
            id = here.end();
            continue;
        }
        id += 1;
    }
}

/// A paragraph that is one link: "Click here to …", the headline of another article.
fn is_promotion(me: &Info, leaf: bool) -> bool {
    leaf && me.tag == tag::P && me.own < 120 && me.own_link * 20 >= me.own * 19
}

/// Whether a block before the text is the page's own headline.
fn is_headline(node: Node<'_>, me: &Info, leaf: bool, titles: &Titles) -> bool {
    me.state & BLOCK != 0 && (me.marks & TITLE != 0 || leaf && me.own < 200 && titles.has(node))
}

/// Late in a text, a heading that is a link heads a teaser. Drops the teaser: its box, or
/// the heading and what follows it up to the next box or heading.
fn drop_teaser(heading: Node<'_>, info: &mut [Info], root: Node<'_>, kind: Kind) -> u32 {
    let card = sections::announced(heading, info, root, kind);
    let mut at = Some(card);
    let mut end = card.end();
    while let Some(node) = at {
        let me = get(info, node.id());
        let boxed = me.state & BLOCK != 0 && me.left != me.own;
        if node != card && (me.state & HEADING != 0 || boxed) {
            break;
        }
        if let Some(me) = info.get_mut(node.id() as usize) {
            me.state |= DROP;
        }
        end = node.end();
        at = if card == heading {
            node.next_sibling()
        } else {
            None
        };
    }
    end
}

/// Marks what in a thread is about posts rather than in them: ranks, counts, signatures.
/// The authors' names stay.
pub fn thread(view: &View<'_>, measured: &mut Measured, root: u32) {
    let Some(node) = view.node(root) else { return };
    let info = &mut measured.info;
    let all = get(info, root).prose as f32;
    let mut id = root + 1;
    // Inside a box about a user, up to here.
    let mut user_end = 0;
    while id < node.end() {
        let Some(here) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            id = here.end();
            continue;
        }
        let small = (me.prose as f32) < all * 0.15;
        if me.marks & SIGNATURE != 0 && small {
            drop(info, id);
            id = here.end();
            continue;
        }
        if me.marks & USER != 0 && me.prose < 60 && me.state & BLOCK != 0 {
            user_end = user_end.max(here.end());
        }
        if id < user_end && here.is_text() && me.above & NAME == 0 {
            drop(info, id);
        }
        id += 1;
    }
}

fn drop(info: &mut [Info], id: u32) {
    if let Some(me) = info.get_mut(id as usize) {
        me.state |= DROP;
    }
}

//! What of the chosen subtree is not content.

use orbweaver_sdk::dom::{View, tag};

use crate::kind::Kind;
use crate::measure::{BLOCK, DROP, HEADING, Measured, SKIP, get};
use crate::words::{BIO, BYLINE, CAPTION, META};

/// Marks what is to be left out of a single text.
pub fn focused(view: &View<'_>, measured: &mut Measured, root: u32, kind: Kind) {
    let Some(node) = view.node(root) else { return };
    let total = get(&measured.info, root).prose.max(1) as f32;
    let info = &mut measured.info;
    let doc = kind == Kind::Documentation;
    let mut id = root + 1;
    while id < node.end() {
        let Some(here) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            id = here.end();
            continue;
        }
        let small = (me.prose as f32) < total * 0.2;
        let block = me.state & BLOCK != 0;
        let density = if me.chars == 0 {
            0.0
        } else {
            me.link as f32 / me.chars as f32
        };
        let drop = me.tag == tag::H1
            || small && block && me.marks & (META | BYLINE | BIO | CAPTION) != 0
            || me.tag == tag::FIGCAPTION
            || me.tag == tag::FIGURE && small && !doc
            || block
                && small
                && density > 0.6
                && me.state & HEADING == 0
                && me.tag != tag::P
                && !doc;
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
pub fn broad(view: &View<'_>, measured: &mut Measured, root: u32, kind: Option<Kind>) {
    let Some(node) = view.node(root) else { return };
    let info = &mut measured.info;
    let all = get(info, root).left as f32;
    let _ = kind;
    let mut id = root + 1;
    while id < node.end() {
        let Some(here) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            id = here.end();
            continue;
        }
        let drop = me.tag == tag::HEADER
            && (me.left as f32) < all * 0.2
            && here
                .ancestors()
                .all(|a| !matches!(a.tag(), tag::ARTICLE | tag::MAIN | tag::SECTION));
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

//! Which subtree holds the content.

use orbweaver_sdk::dom::{View, tag};

use crate::kind::Kind;
use crate::measure::{DROP, Info, Measured, SKIP, get};
use crate::words::{AD, BOILERPLATE, COMMENT, FOOT, Marks, NAV, POPUP, STRONG};

/// Share of the page's running text above which no class name makes a box boilerplate.
const MAJOR: f32 = 0.4;

/// Sums the figures up the tree and drops boilerplate on the way, so that what a box
/// counts is what would be left of it.
pub fn sum_up(view: &View<'_>, measured: &mut Measured, kind: Option<Kind>) {
    let total = measured.prose;
    let mut bad = BOILERPLATE & !measured.void;
    if kind == Some(Kind::Forum) {
        bad &= !COMMENT;
    }
    let many = !matches!(kind, Some(Kind::Article | Kind::Documentation));
    let info = &mut measured.info;
    let chars: u32 = info.iter().map(|i| i.own - i.own_link).sum();
    for id in (1..info.len()).rev() {
        let Some(me) = info.get_mut(id) else { continue };
        if me.state & SKIP != 0 {
            continue;
        }
        let major = (me.prose as f32) > total as f32 * MAJOR
            || many && me.marks & (NAV | FOOT | POPUP) == 0 && (me.left as f32) > chars as f32 * 0.3;
        if is_boilerplate(me, bad) && !major {
            me.state |= DROP;
        }
        let me = *me;
        let Some(parent) = view.node(id as u32).and_then(|n| n.parent()) else {
            continue;
        };
        let Some(parent) = info.get_mut(parent.id() as usize) else {
            continue;
        };
        parent.chars += me.chars;
        parent.link += me.link;
        parent.links += me.links;
        if me.state & DROP == 0 {
            parent.prose += me.prose;
            parent.left += me.left;
        }
    }
}

fn is_boilerplate(me: &Info, bad: Marks) -> bool {
    match me.tag {
        tag::NAV | tag::FOOTER | tag::ASIDE | tag::SEARCH | tag::DIALOG | tag::MENU => true,
        tag::FORM | tag::FIELDSET => true,
        tag::BLOCKQUOTE | tag::P => me.marks & AD != 0,
        _ => me.marks & bad != 0 && me.marks & STRONG == 0,
    }
}

/// The root of a single text: from the body down, as long as one child holds nearly all.
pub fn focus(view: &View<'_>, measured: &Measured) -> u32 {
    let info = &measured.info;
    let Some(body) = view.body() else { return 0 };
    let mut at = body;
    loop {
        let prose = get(info, at.id()).prose;
        let best = at
            .child_elements()
            .filter(|c| get(info, c.id()).state & (SKIP | DROP) == 0)
            .max_by_key(|c| get(info, c.id()).prose);
        let Some(best) = best else { break };
        if (get(info, best.id()).prose as f32) < prose as f32 * 0.7 || prose == 0 {
            break;
        }
        if matches!(
            best.tag(),
            tag::P | tag::PRE | tag::BLOCKQUOTE | tag::LI | tag::TD
        ) {
            break;
        }
        at = best;
    }
    at.id()
}

/// The root of a page of many parts: the `main` element if it holds most of what is
/// left, else the body.
pub fn broad(view: &View<'_>, measured: &Measured) -> u32 {
    let info = &measured.info;
    let Some(body) = view.body() else { return 0 };
    let all = get(info, body.id()).left as f32;
    let main = body.descendants().find(|n| {
        (n.tag() == tag::MAIN
            || n.is_element()
                && n.attr(orbweaver_sdk::dom::attr::ROLE)
                    .is_some_and(|r| r == "main"))
            && get(info, n.id()).left as f32 > all * 0.4
    });
    main.map_or(body.id(), |n| n.id())
}

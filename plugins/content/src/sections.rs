//! Parts of the content's subtree that announce themselves as something else.

use orbweaver_sdk::dom::{Node, View, tag};

use crate::kind::Kind;
use crate::lower;
use crate::measure::{BLOCK, DROP, HEADING, Info, Measured, SKIP, TITLED, get};
use crate::phrases::{self, Announces};

/// Longest line that announces something, in characters.
const MAX_LINE: u32 = 60;

/// Most levels climbed in search of a box, so that deep pages cost no more than long ones.
pub const MAX_CLIMB: usize = 64;

/// Text that is more than a remark, and text that no invitation has, in characters.
const LITTLE: u32 = 60;
const MUCH: u32 = 300;

/// Most boxes around a list that hold nothing else.
const MAX_WRAPS: usize = 8;

/// Drops what such lines announce.
pub fn drop_announced(view: &View<'_>, measured: &mut Measured, root: u32, kind: Kind) {
    let Some(top) = view.node(root) else { return };
    let info = &mut measured.info;
    let mut line = String::with_capacity(128);
    let mut id = root + 1;
    while id < top.end() {
        let Some(here) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            id = here.end();
            continue;
        }
        id += 1;
        if me.state & BLOCK == 0 || me.own == 0 || me.own != me.left {
            continue;
        }
        let short = me.own <= MAX_LINE;
        if !short && me.own_link * 2 < me.own {
            continue;
        }
        read_line(here, info, &mut line);
        let Some(what) = phrases::find(&line) else {
            continue;
        };
        if !applies(what, kind) {
            continue;
        }
        let box_ = announced(here, info, top, kind);
        if heads_text(here, box_, info, kind, what) {
            continue;
        }
        id = drop_from(box_, here, info, top, me.state & HEADING != 0, kind, what);
    }
}

/// Whether what a line announces is beside the point on this kind of page.
fn applies(what: Announces, kind: Kind) -> bool {
    match what {
        Announces::Related | Announces::OtherThings => {
            !matches!(kind, Kind::Listing | Kind::Documentation)
        }
        Announces::Subscribe | Announces::Ad => kind != Kind::Listing,
        Announces::Comments => kind != Kind::Forum,
        Announces::Reviews => kind == Kind::Product,
        Announces::Author | Announces::Tags => matches!(kind, Kind::Article | Kind::Documentation),
    }
}

/// The text of a block in lower case, white space collapsed.
pub fn read_line(node: Node<'_>, info: &[Info], line: &mut String) {
    line.clear();
    for below in node.descendants() {
        if !below.is_text() || get(info, below.id()).owner != node.id() {
            continue;
        }
        lower::push_words(below.text(), line);
        if line.len() > 200 {
            return;
        }
    }
}

/// The largest box that begins with this line and is not most of the content.
pub fn announced<'v>(line: Node<'v>, info: &[Info], top: Node<'v>, kind: Kind) -> Node<'v> {
    let all = get(info, top.id());
    let mut found = line;
    for _ in 0..MAX_CLIMB {
        let Some(parent) = found.parent() else { break };
        if parent.id() <= top.id() {
            break;
        }
        let before = std::iter::successors(found.prev_sibling(), Node::prev_sibling)
            .take(16)
            .any(|n| get(info, n.id()).left > 0 && get(info, n.id()).state & (SKIP | DROP) == 0);
        let big = get(info, parent.id());
        let limit = if kind == Kind::Product { 0.5 } else { 0.3 };
        if before
            || big.prose as f32 > all.prose as f32 * limit
            || big.left as f32 > all.left as f32 * 0.6
        {
            break;
        }
        found = parent;
    }
    found
}

/// Drops the box; if it is no more than the line, also what follows it up to the next
/// heading or running text. Returns the node to go on with.
fn drop_from(
    found: Node<'_>,
    line: Node<'_>,
    info: &mut [Info],
    top: Node<'_>,
    heading: bool,
    kind: Kind,
    what: Announces,
) -> u32 {
    drop_node(found, info);
    let mut end = found.end();
    if get(info, found.id()).left > get(info, line.id()).left || found.id() == top.id() {
        return end;
    }
    let mut next = found.next_sibling();
    let level = get(info, line.id()).tag;
    while let Some(node) = next {
        let me = get(info, node.id());
        let skip = me.state & (SKIP | DROP) != 0 || me.left == 0;
        if !skip {
            if me.state & HEADING != 0
                && (!heading || me.tag <= level || what == Announces::Reviews)
            {
                break;
            }
            let text = me.prose * 2 > me.left;
            if text && (kind != Kind::Product || what == Announces::Reviews)
                || me.tag == tag::P && me.link * 2 < me.chars
            {
                break;
            }
            let plain = if heading && !matches!(what, Announces::Reviews | Announces::Comments) {
                is_plain_part(node, info)
            } else {
                !heading && me.link * 2 < me.chars
            };
            if plain {
                break;
            }
            drop_node(node, info);
        }
        end = node.end();
        next = node.next_sibling();
    }
    end
}

/// Whether a line that begins like an announcement is the heading of a part of the text: what follows it
/// is a list, a table or running text rather than links or a form.
fn heads_text(line: Node<'_>, found: Node<'_>, info: &[Info], kind: Kind, what: Announces) -> bool {
    let me = get(info, line.id());
    let heading = me.state & HEADING != 0;
    if me.own_link * 2 >= me.own
        || !heading
            && (!matches!(what, Announces::Related | Announces::OtherThings) || me.own_link > 0)
    {
        return false;
    }
    let Some(next) = follower(line, found, info) else {
        return false;
    };
    let after = get(info, next.id());
    let alone = get(info, found.id()).left <= me.left;
    let prose = heading
        && kind != Kind::Product
        && after.state & HEADING == 0
        && (after.state & TITLED == 0 || after.links == 0)
        && is_list(next, info).is_none()
        && after.prose * 2 > after.left
        && after.link * 4 < after.chars;
    match what {
        Announces::Related | Announces::OtherThings | Announces::Tags => {
            is_plain_part(next, info) || prose
        }
        Announces::Subscribe => {
            let enough = if alone { LITTLE } else { MUCH };
            (is_plain_part(next, info) || prose)
                && (after.left >= enough || is_table(next, info))
                && !asks(line, found, info)
        }
        Announces::Comments => {
            let is_text = is_table(next, info)
                || alone
                    && (prose && after.prose >= LITTLE
                        || is_list(next, info).is_some_and(|list| is_bare(list, info)));
            is_text && !asks(line, found, info)
        }
        Announces::Ad | Announces::Author | Announces::Reviews => false,
    }
}

/// What stands behind a line, in the box that begins with it or beside it; `None` if it is dropped,
/// or filled by a script.
fn follower<'v>(line: Node<'v>, found: Node<'v>, info: &[Info]) -> Option<Node<'v>> {
    let mut at = line;
    for _ in 0..MAX_CLIMB {
        for next in std::iter::successors(at.next_sibling(), Node::next_sibling).take(16) {
            let me = get(info, next.id());
            if me.left > 0 && me.state & (SKIP | DROP) == 0 {
                return Some(next);
            }
            let silent = matches!(
                next.tag(),
                tag::BR | tag::HR | tag::IMG | tag::PICTURE | tag::SVG | tag::FIGURE | tag::A
            );
            if next.is_element() && !(silent && me.chars == 0) {
                return None;
            }
        }
        if at.id() == found.id() {
            break;
        }
        at = at.parent()?;
    }
    None
}

/// Whether controls follow a line up to the next heading, or stand in its box.
fn asks(line: Node<'_>, found: Node<'_>, info: &[Info]) -> bool {
    /// Nodes that are looked at.
    const MOST: u32 = 400;
    let view = line.view();
    let end = found.parent().map_or(found.end(), |parent| parent.end());
    (line.end()..end.min(line.end() + MOST))
        .map_while(|id| view.node(id))
        .take_while(|node| node.id() < found.end() || get(info, node.id()).state & HEADING == 0)
        .any(|node| {
            matches!(
                node.tag(),
                tag::FORM | tag::INPUT | tag::BUTTON | tag::TEXTAREA | tag::IFRAME
            )
        })
}

/// The list or table that an element is or that is all it holds.
fn is_list<'v>(node: Node<'v>, info: &[Info]) -> Option<Node<'v>> {
    let mut at = node;
    for _ in 0..MAX_WRAPS {
        let me = get(info, at.id());
        if matches!(me.tag, tag::UL | tag::OL | tag::DL | tag::TABLE | tag::PRE) {
            return Some(at);
        }
        let mut inside = at
            .child_elements()
            .filter(|child| get(info, child.id()).left > 0);
        let only = inside.next().filter(|_| me.own == 0)?;
        if inside.next().is_some() {
            return None;
        }
        at = only;
    }
    None
}

fn is_table(node: Node<'_>, info: &[Info]) -> bool {
    is_list(node, info).is_some_and(|list| matches!(list.tag(), tag::TABLE | tag::PRE))
}

/// Whether the items of a list are lines without links: a comment has its author and date beside it.
fn is_bare(list: Node<'_>, info: &[Info]) -> bool {
    get(info, list.id()).links == 0
        && list.child_elements().all(|item| {
            let me = get(info, item.id());
            me.own == me.left && item.first_child().is_none_or(|child| child.is_text())
        })
}

/// Whether an element is a list, a table or code of which most is no link to elsewhere.
fn is_plain_part(node: Node<'_>, info: &[Info]) -> bool {
    let Some(list) = is_list(node, info) else {
        return false;
    };
    let me = get(info, list.id());
    if me.link * 2 >= me.chars {
        return false;
    }
    let items = match list.tag() {
        tag::TABLE | tag::PRE => return true,
        _ => list.child_elements().filter(|item| item.tag() != tag::DD),
    };
    // Teasers are a link each, with a date or a sentence beside it.
    me.links as usize * 2 < items.count() || me.link * 6 < me.chars && me.state & TITLED == 0
}

fn drop_node(node: Node<'_>, info: &mut [Info]) {
    if let Some(me) = info.get_mut(node.id() as usize) {
        me.state |= DROP;
    }
}

//! Parts of the content's subtree that announce themselves as something else.

use orbweaver_sdk::dom::{Node, View, tag};

use crate::kind::Kind;
use crate::lower;
use crate::measure::{BLOCK, DROP, HEADING, Info, Measured, SKIP, get};
use crate::phrases::{self, Announces};

/// Longest line that announces something, in characters.
const MAX_LINE: u32 = 60;

/// Most levels climbed in search of a box, so that deep pages cost no more than long ones.
pub const MAX_CLIMB: usize = 64;

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
        id = drop_from(box_, here, info, top, me.state & HEADING != 0, kind, what);
    }
}

/// Whether what a line announces is beside the point on this kind of page.
fn applies(what: Announces, kind: Kind) -> bool {
    match what {
        Announces::Related => matches!(kind, Kind::Article | Kind::Product | Kind::Forum),
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
            if !heading && me.link * 2 < me.chars {
                break;
            }
            drop_node(node, info);
        }
        end = node.end();
        next = node.next_sibling();
    }
    end
}

fn drop_node(node: Node<'_>, info: &mut [Info]) {
    if let Some(me) = info.get_mut(node.id() as usize) {
        me.state |= DROP;
    }
}

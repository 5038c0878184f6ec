//! Which subtree holds the content.

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::kind::Kind;
use crate::label;
use crate::measure::{BLOCK, DROP, HIDE, Info, Measured, SKIP, TITLED, get, is_heading};
use crate::words::{
    AD, BOILERPLATE, COMMENT, CONSENT, FOOT, Marks, NAV, POPUP, PROMO, SIDE, STRONG, TAB, TOOL,
};
use crate::{phrases, sections, steps};

/// Share of the page's running text above which no class name makes a box boilerplate.
const MAJOR: f32 = 0.4;

/// Share of a box's running text that one child must hold for the root to be below.
const SPLIT: f32 = 0.83;

/// The same in documentation, whose parts are uneven: the functions of a module may have nine tenths of
/// its words, and what it is for the rest.
const SPLIT_MANUAL: f32 = 0.98;

/// Levels of a note, whose names may say of each of its parts that it is of an aside.
const NOTE_DEPTH: usize = 8;

/// Sums the figures up the tree and drops boilerplate on the way, so that what a box
/// counts is what would be left of it.
pub fn sum_up(view: &View<'_>, measured: &mut Measured, kind: Option<Kind>, names: bool) {
    let total = measured.prose;
    let mut bad = BOILERPLATE & !measured.void;
    if kind == Some(Kind::Forum) {
        bad &= !COMMENT;
    }
    if !names {
        bad = 0;
    }
    if kind.is_none() {
        // Landing pages call their sections promotions and banners.
        bad &= !PROMO;
    }
    let many = !matches!(kind, Some(Kind::Article | Kind::Documentation));
    let info = &mut measured.info;
    // What readers say of a text may be longer than it.
    let comments = if has_text(info, bad) { COMMENT } else { 0 };
    let chars: u32 = info
        .iter()
        .filter(|i| i.state & HIDE == 0)
        .map(|i| i.own - i.own_link)
        .sum();
    for id in (1..info.len()).rev() {
        let Some(me) = info.get_mut(id) else { continue };
        if me.state & SKIP != 0 {
            continue;
        }
        let is_major = |me: &Info| {
            me.marks & bad & comments == 0
                && ((me.prose as f32) > total as f32 * MAJOR
                    || many
                        && me.marks & (NAV | FOOT | POPUP) == 0
                        && !matches!(me.tag, tag::NAV | tag::FOOTER | tag::DIALOG)
                        && (me.left as f32) > chars as f32 * 0.3)
        };
        let is_note = |me: &Info| {
            view.node(id as u32).is_some_and(|node| {
                let beside = me.tag != tag::ASIDE && me.marks & bad == SIDE;
                (me.tag == tag::ASIDE || beside) && is_note(node, me)
                    || beside && node.ancestors().take(NOTE_DEPTH).any(is_callout)
            })
        };
        // What is left of buttons are lines of the text.
        let is_label = |me: &Info| {
            me.marks & bad == TOOL
                && (me.tag == tag::BUTTON
                    || me.marks & TAB != 0 && view.node(id as u32).is_some_and(label::opens_text))
        };
        // Few nodes are boilerplate, so the rest is asked of few.
        if is_boilerplate(me, bad) && !is_major(me) && !is_note(me) && !is_label(me)
            || bad & CONSENT & me.marks != 0
        {
            me.state |= DROP;
        }
        if steps::is_pager(me) {
            me.state |= SKIP;
        }
        let me = *me;
        let Some(parent) = view.node(id as u32).and_then(|n| n.parent()) else {
            continue;
        };
        let Some(parent) = info.get_mut(parent.id() as usize) else {
            continue;
        };
        parent.steps = parent.steps.saturating_add(me.steps);
        parent.state |= me.state & TITLED;
        if me.state & SKIP != 0 {
            continue;
        }
        parent.chars += me.chars;
        parent.link += me.link;
        parent.links += me.links;
        if me.state & DROP == 0 {
            parent.prose += me.prose;
            parent.left += me.left;
        }
    }
}

/// Whether running text stands outside of all boxes whose names say that they are something else.
fn has_text(info: &[Info], bad: Marks) -> bool {
    /// Characters of a text that comments may be about.
    const TEXT: u32 = 200;
    let outside = info.iter().filter(|me| me.above & bad == 0);
    outside.map(|me| me.prose).sum::<u32>() >= TEXT
}

/// Whether a box belongs to the text, by the name of a kind of note, or by its role where it is more than
/// links.
fn is_note(node: Node<'_>, me: &Info) -> bool {
    is_callout(node) && (me.link * 2 < me.chars || is_named_note(node))
}

/// Whether a box is of the notes and warnings of documentation, or of what stands beside the text of books.
fn is_callout(node: Node<'_>) -> bool {
    let role = node.attr(attr::ROLE).unwrap_or("");
    let is_list = matches!(
        role,
        "doc-toc" | "doc-pagelist" | "doc-index" | "doc-backlink"
    );
    if role == "note" || role.starts_with("doc-") && !is_list {
        return true;
    }
    if node.tag() != tag::ASIDE {
        return false;
    }
    let words = [
        "topic",
        "notice",
        "hint",
        "info",
        "success",
        "error",
        "sidenote",
        "marginnote",
    ];
    // Columns of a layout are named so, too.
    let columns = ["left", "right", "sticky", "fixed", "desktop", "mobile"];
    let titles = ["topic-title", "sidebar-title"];
    // As e-books and books made with HTMLBook name their parts.
    let kind = ["epub:type", "data-type"]
        .iter()
        .find_map(|name| node.attr_named(name))
        .unwrap_or("");
    let kinds = [
        "sidebar",
        "note",
        "tip",
        "warning",
        "caution",
        "important",
        "footnote",
    ];
    is_named_note(node)
        || kinds.contains(&kind)
        || has_class(node, |class| {
            words.contains(&class)
                || class
                    .split_once("aside--")
                    .is_some_and(|(_, kind)| !columns.contains(&kind))
        })
        || (node.child_elements().take(4))
            .any(|child| has_class(child, |class| titles.contains(&class)))
}

/// Whether the class of an aside says what kind of note it is.
fn is_named_note(node: Node<'_>) -> bool {
    let names = [
        "note",
        "tip",
        "warning",
        "caution",
        "callout",
        "admonition",
        "danger",
        "important",
        "footnote",
        "quote",
    ];
    node.tag() == tag::ASIDE
        && node
            .attr(attr::CLASS)
            .is_some_and(|classes| names.iter().any(|name| classes.contains(name)))
}

fn has_class(node: Node<'_>, is: impl Fn(&str) -> bool) -> bool {
    let classes = node.attr(attr::CLASS).unwrap_or("");
    classes.split_ascii_whitespace().any(is)
}

fn is_boilerplate(me: &Info, bad: Marks) -> bool {
    match me.tag {
        tag::NAV | tag::FOOTER | tag::ASIDE | tag::SEARCH | tag::DIALOG => true,
        // Old pages have lists of sentences in it.
        tag::MENU => me.prose * 3 < me.left,
        tag::FORM | tag::FIELDSET => true,
        tag::BLOCKQUOTE | tag::P => me.marks & AD != 0,
        _ => me.marks & bad != 0 && me.marks & STRONG == 0,
    }
}

/// The root of a single text: from the body down, as long as one child holds nearly all.
pub fn focus(view: &View<'_>, measured: &Measured, kind: Kind) -> u32 {
    let split = if kind == Kind::Documentation {
        SPLIT_MANUAL
    } else {
        SPLIT
    };
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
        if (get(info, best.id()).prose as f32) < prose as f32 * split || prose == 0 {
            break;
        }
        if matches!(
            best.tag(),
            tag::P | tag::PRE | tag::BLOCKQUOTE | tag::LI | tag::TD
        ) || is_part(best, at, info)
            || is_between_headings(best, info)
            || is_one_section(best, at, info)
        {
            break;
        }
        at = best;
    }
    named(view, info, at).unwrap_or(at.id())
}

/// Whether an element is a part of the text around it: it has a heading of its own, and before it stand
/// the heading of the whole and a paragraph.
fn is_part(part: Node<'_>, around: Node<'_>, info: &[Info]) -> bool {
    /// Elements before the part that are looked at, and elements of it before its heading.
    const MOST: usize = 32;
    const NEAR: usize = 3;
    let headed = |node: Node<'_>| is_heading(node.tag());
    if !part.child_elements().take(NEAR).any(headed) {
        return false;
    }
    let (mut has_heading, mut has_text) = (false, false);
    let before = around.child_elements().take(MOST);
    for node in before.take_while(|node| node.id() < part.id()) {
        let me = get(info, node.id());
        if me.state & (SKIP | DROP) != 0 {
            continue;
        }
        has_heading |= headed(node);
        has_text |= has_heading && node.tag() == tag::P && me.prose * 3 >= me.left && me.prose > 0;
    }
    has_text
}

/// Whether an element is the body of one part of many: a heading stands before it, and one of the same
/// level or below, which announces nothing else, behind it.
fn is_between_headings(part: Node<'_>, info: &[Info]) -> bool {
    /// Siblings that are looked at.
    const MOST: usize = 16;
    let shows = |node: &Node<'_>| {
        let me = get(info, node.id());
        node.is_element() && me.left > 0 && me.state & (SKIP | DROP) == 0
    };
    let before = std::iter::successors(part.prev_sibling(), Node::prev_sibling);
    let Some(before) = before.take(MOST).find(shows) else {
        return false;
    };
    let behind = std::iter::successors(part.next_sibling(), Node::next_sibling);
    let Some(behind) = behind.take(MOST).find(shows) else {
        return false;
    };
    let me = get(info, behind.id());
    if !is_heading(before.tag())
        || !is_heading(behind.tag())
        || behind.tag() < before.tag()
        || me.own_link * 2 >= me.own
    {
        return false;
    }
    let mut line = String::new();
    sections::read_line(behind, info, &mut line);
    phrases::find(&line).is_none()
}

/// Whether an element with a heading is one of several of its name, each with a heading of the same
/// level.
fn is_one_section(part: Node<'_>, around: Node<'_>, info: &[Info]) -> bool {
    /// Elements that are looked at, and elements of each before its heading.
    const MOST: usize = 32;
    const NEAR: usize = 3;
    let level = |node: Node<'_>| {
        let first = node.child_elements().take(NEAR);
        first.map(|child| child.tag()).find(|tag| is_heading(*tag))
    };
    let Some(own) = level(part) else { return false };
    around.child_elements().take(MOST).any(|other| {
        other.id() > part.id()
            && other.tag() == part.tag()
            && other.attr(attr::CLASS) == part.attr(attr::CLASS)
            && get(info, other.id()).state & (SKIP | DROP) == 0
            && get(info, other.id()).link * 2 < get(info, other.id()).chars
            && level(other) == Some(own)
    })
}

/// The one box below the root that the site itself names as an article's text, if it
/// holds a fair part of the text and no other box of that name rivals it.
fn named(view: &View<'_>, info: &[Info], root: Node<'_>) -> Option<u32> {
    let floor = get(info, root.id()).prose / 4;
    let (mut best, mut rival) = ((0, 0), 0);
    let mut id = root.id();
    while id < root.end() {
        let node = view.node(id)?;
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            id = node.end();
        } else if me.marks & STRONG != 0 && me.prose > 0 && me.state & BLOCK != 0 {
            if me.prose > best.0 {
                rival = rival.max(best.0);
                best = (me.prose, id);
            } else {
                rival = rival.max(me.prose);
            }
            id = node.end();
        } else {
            id += 1;
        }
    }
    (best.0 > floor.max(200) && rival * 3 < best.0).then_some(best.1)
}

/// The root of a page of many parts: the `main` element if it holds most of what is
/// left, else the body.
pub fn broad(view: &View<'_>, measured: &Measured) -> u32 {
    let info = &measured.info;
    let Some(body) = view.body() else { return 0 };
    let all = get(info, body.id()).left as f32;
    let main = body.descendants().find(|n| {
        (n.tag() == tag::MAIN || n.is_element() && n.attr(attr::ROLE).is_some_and(|r| r == "main"))
            && get(info, n.id()).state & HIDE == 0
            && get(info, n.id()).left as f32 > all * 0.4
    });
    main.map_or(body.id(), |n| n.id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::measure;

    const TEXT: &str = "<p>The heating of the office is being replaced, so that orders placed on Thursday \
                        evening will be sent on Monday, as will all those of the days between.</p>";

    fn with<T>(html: &str, kind: Option<Kind>, read: impl Fn(&View<'_>, &Measured) -> T) -> T {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let mut measured = measure(&view, false, 3);
        sum_up(&view, &mut measured, kind, true);
        read(&view, &measured)
    }

    #[test]
    fn a_section_is_not_the_whole_text_if_that_has_a_beginning() {
        let root = |beginning: &str| {
            let html = format!(
                "<div id=all><h1>Orb 4.2</h1>{beginning}<section id=faults><h2>Faults</h2>{}</section></div>",
                TEXT.repeat(6)
            );
            with(&html, Some(Kind::Documentation), |view, measured| {
                let root = view
                    .node(focus(view, measured, Kind::Article))
                    .expect("a root");
                root.attr(attr::ID).unwrap_or("").to_owned()
            })
        };
        assert_eq!(
            root("<p>Orb 4.2 mends two faults that were found in Orb 4.1.</p>"),
            "all"
        );
        assert_eq!(root(""), "faults", "nothing stands before it");
    }

    #[test]
    fn a_long_part_of_a_manual_is_not_the_whole_of_it() {
        let html = format!(
            "<body><div id=all><h2>Description</h2>{TEXT}<div id=calls>{}</div></div>",
            TEXT.repeat(8)
        );
        let root = |kind: Kind| {
            with(&html, Some(kind), |view, measured| {
                let root = view.node(focus(view, measured, kind)).expect("a root");
                root.attr(attr::ID).unwrap_or("").to_owned()
            })
        };
        assert_eq!(root(Kind::Documentation), "all");
        assert_eq!(root(Kind::Article), "calls");
    }

    #[test]
    fn a_menu_of_sentences_is_a_list() {
        let drops = |inner: &str| {
            with(
                &format!("{TEXT}<menu>{inner}</menu>"),
                None,
                |view, measured| {
                    let menu = view.tagged(|tag| tag == tag::MENU).next().expect("a menu");
                    get(&measured.info, menu.id()).state & DROP != 0
                },
            )
        };
        assert!(!drops(&format!("<li>{TEXT}<li>{TEXT}")));
        assert!(drops("<li>Cut<li>Copy<li>Paste"));
    }

    #[test]
    fn comments_longer_than_the_text_are_no_text() {
        let drops = |before: &str, kind: Option<Kind>| {
            let html = format!("{before}<div id=comments>{}</div>", TEXT.repeat(6));
            with(&html, kind, |view, measured| {
                (0..view.len()).any(|id| get(&measured.info, id).state & DROP != 0)
            })
        };
        let text = format!("<div class=entry>{}</div>", TEXT.repeat(2));
        assert!(drops(&text, None));
        assert!(drops(&text, Some(Kind::Article)));
        assert!(!drops(&text, Some(Kind::Forum)), "answers of a thread");
        assert!(!drops("<h1>Orb 4.2</h1>", None), "nothing else is there");
    }

    #[test]
    fn a_long_part_is_not_the_whole_text_if_parts_like_it_follow() {
        let root = |parts: &str| {
            with(
                &format!("<div id=all>{parts}</div>"),
                Some(Kind::Article),
                |view, measured| {
                    let root = view
                        .node(focus(view, measured, Kind::Article))
                        .expect("a root");
                    root.attr(attr::ID).unwrap_or("").to_owned()
                },
            )
        };
        let long = TEXT.repeat(6);
        // As DokuWiki and Doxygen write them.
        let bodies = |behind: &str| {
            format!(
                "<h1>Laser</h1><div id=long>{long}</div>{behind}<div><ul><li>Look at the log</ul></div>"
            )
        };
        assert_eq!(root(&bodies("<h2>Before you start</h2>")), "all");
        assert_eq!(root(&bodies("<h2>Related articles</h2>")), "long");
        assert_eq!(
            root(&bodies("<h2><a href=/x>Another laser</a></h2>")),
            "long"
        );
        assert_eq!(root(&bodies("")), "long");
        let sections = |class: &str, heading: &str| {
            format!(
                "<section id=long class=part><h2>About</h2>{long}</section>\
                 <section class={class}><{heading}>Training</{heading}><ul><li>Iowa, 2014</ul></section>"
            )
        };
        assert_eq!(root(&sections("part", "h2")), "all");
        assert_eq!(root(&sections("part", "h4")), "long");
        assert_eq!(root(&sections("more", "h2")), "long");
    }

    #[test]
    fn a_footer_of_short_lines_is_dropped_however_long_it_is() {
        let lines = "<div>Orb Street 5</div>".repeat(40);
        for (element, is_dropped) in [("footer", true), ("nav", true), ("form", false)] {
            let html = format!("<main>{TEXT}</main><{element} id=box>{lines}</{element}>");
            let dropped = with(&html, None, |view, measured| {
                let mut elements = view.elements();
                let node = elements.find(|node| node.attr(attr::ID) == Some("box"));
                get(&measured.info, node.expect("the box").id()).state & DROP != 0
            });
            assert_eq!(dropped, is_dropped, "{element}");
        }
    }
}

//! Pages of few words: what frames their text.
//!
//! They are left to the rules, and where a page does not tell its kind these keep all that is not named
//! as something else. On small sites nothing is: a row of links is a menu by its place alone.

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::kind::Kind;
use crate::measure::{BLOCK, DROP, HEADING, Info, Measured, SKIP, get, is_heading};
use crate::sections;

/// Longest line about rights, in characters.
const MAX_LINE: u32 = 160;

/// Characters from which a line of text is the beginning of the text.
const BEGINNING: u32 = 60;

/// Most nodes of a row of links that are looked at.
const MOST: usize = 200;

/// Drops what lines announce as on an article, rows of links before the first heading and text and in boxes
/// behind the last of it, and lines about rights.
pub fn drop_frame(view: &View<'_>, measured: &mut Measured, root: u32, kind: Kind) {
    if kind == Kind::Other {
        sections::drop_announced(view, measured, root, Kind::Article);
    }
    let Some(top) = view.node(root) else { return };
    let info = &mut measured.info;
    let mut found = Vec::new();
    // Rows of links since the last heading and text.
    let mut bars: Vec<Node<'_>> = Vec::new();
    let mut has_begun = false;
    let mut line = String::with_capacity(128);
    let mut id = root + 1;
    while let Some(here) = view.node(id).filter(|node| node.id() < top.end()) {
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            id = here.end();
            continue;
        }
        id += 1;
        if me.state & BLOCK == 0 || me.chars == 0 {
            continue;
        }
        if is_bar(here, &me) {
            bars.push(here);
            id = here.end();
            continue;
        }
        if me.own > 0 && me.own < me.left && me.own_link * 5 >= me.own * 4 {
            // A row beside blocks, as over a line about rights.
            let is_inline = |node: &Node<'_>| get(info, node.id()).state & BLOCK == 0;
            bars.extend(here.children().take(MOST).filter(is_inline));
        }
        let is_leaf = me.own > 0 && me.own == me.left;
        let is_text = is_leaf && me.own >= BEGINNING && me.own_link * 2 < me.own;
        if is_text || me.state & HEADING != 0 {
            if !has_begun {
                found.append(&mut bars);
            }
            has_begun = true;
            bars.clear();
        }
        if is_leaf && me.own <= MAX_LINE {
            sections::read_line(here, info, &mut line);
            if is_of_rights(&line) {
                found.push(here);
            }
        }
    }
    if !has_begun {
        return;
    }
    bars.retain(|bar| is_apart(*bar, info));
    for node in found.into_iter().chain(bars) {
        if let Some(me) = info.get_mut(node.id() as usize) {
            me.state |= DROP;
        }
    }
}

/// Whether a block is little but links, two at least, or one to a place on the page itself ("To the
/// content"), and no heading is in it.
fn is_bar(node: Node<'_>, me: &Info) -> bool {
    (me.links >= 2 || leads_within(node))
        && me.link * 5 >= me.chars * 4
        && me.state & HEADING == 0
        && !node
            .descendants()
            .take(MOST)
            .any(|below| is_heading(below.tag()))
}

/// Whether the first link of a block leads to a place on the page.
fn leads_within(node: Node<'_>) -> bool {
    /// Nodes that are looked at.
    const FEW: usize = 6;
    std::iter::once(node)
        .chain(node.descendants().take(FEW))
        .find_map(|below| below.attr(attr::HREF))
        .is_some_and(|href| href.starts_with('#'))
}

/// Whether a line in small letters says whose the page is.
fn is_of_rights(line: &str) -> bool {
    let heads = ["©", "copyright ©", "copyright (c)", "(c) "];
    heads.iter().any(|head| line.starts_with(head))
        || line.trim_end_matches('.').ends_with("all rights reserved")
}

/// Whether a row of links is in a box of its own: a list of links that ends a text stands beside
/// its headings and paragraphs.
fn is_apart(bar: Node<'_>, info: &[Info]) -> bool {
    let Some(around) = bar.parent() else {
        return false;
    };
    let is_of_text = |node: Node<'_>| {
        let me = get(info, node.id());
        is_heading(node.tag())
            || node.tag() == tag::P && me.own >= BEGINNING && me.own_link * 2 < me.own
    };
    !around.child_elements().take(MOST).any(is_of_text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    /// The text of a short page.
    fn text(html: &str) -> String {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        Content::of(&view, "https://orb.example.org/boxing").text(&view)
    }

    const BAR: &str =
        "<div class=m7><a href=/a>Classes</a><a href=/b>Prices</a><a href=/c>Trainers</a></div>";

    const BODY: &str = "<h1>Boxing</h1><p>We train three times a week in the old fire station, and nobody has to spar.</p>\
                        <table><tr><td>Monday<td>18:00<tr><td>Friday<td>17:00</table>";

    #[test]
    fn a_menu_is_told_by_its_place() {
        let all = text(&format!("<div>{BODY}</div>"));
        assert!(
            all.contains("three times") && all.contains("Monday"),
            "{all}"
        );
        let framed = format!(
            "{BAR}<div>{BODY}</div><div class=m9><a href=/x>Imprint</a><a href=/y>Privacy</a><p>© 2026 Orb</p></div>"
        );
        assert_eq!(text(&framed), all);
    }

    #[test]
    fn links_of_the_text_stay() {
        let list =
            "<ul><li><a href=/m>A map of the way</a><li><a href=/f>The form for members</a></ul>";
        let before = format!("<div>{BODY}{list}</div>");
        assert!(text(&before).contains("A map of the way"), "at the end");
        let between = format!(
            "<div>{BODY}{list}<h2>Trial</h2><p>Come to any class and tell the trainer that it is your first.</div>"
        );
        assert!(text(&between).contains("The form for members"), "between");
        assert!(text(BAR).contains("Prices"), "a page of nothing else");
    }

    #[test]
    fn what_a_line_announces_is_left_out() {
        let related = format!(
            "<div>{BODY}</div><div><h2>Related pages</h2><a href=/y>Judo</a><a href=/z>Yoga</a></div>"
        );
        assert!(!text(&related).contains("Judo"));
    }

    #[test]
    fn lines_about_rights_are_told_from_text() {
        assert!(is_of_rights("© orb 2026"));
        assert!(is_of_rights("orb and sons 2004. all rights reserved."));
        assert!(!is_of_rights("copyright is a right of authors"));
    }
}

//! Buttons that are lines of the text: the headings and questions of parts that they open.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::is_block;

use crate::lower;
use crate::phrases;
use crate::visible::{self, Look};

/// Starts of what buttons are to do.
#[rustfmt::skip]
const DEEDS: &[&str] = &[
    "show ", "hide ", "toggle", "expand", "collapse", "open ", "see more", "see all", "read ", "view ",
    "load ", "learn more", "mehr ", "weiterlesen", "anzeigen", "voir plus", "afficher", "lire ", "ver más",
    "leer ", "mostrar", "ver mais", "ler ", "mostra ", "leggi", "показать", "читать", "развернуть",
    "閱讀", "阅读", "查看", "展开", "展開", "続きを", "もっと", "더보기", "더 보기",
];

/// Names of controls.
#[rustfmt::skip]
const CONTROLS: &[&str] = &[
    "menu", "more", "close", "copy", "filter", "filters", "sort", "search", "options", "settings",
    "details", "table of contents", "contents",
];

/// A button that is a line of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// All that a heading, a summary or a term consists of.
    OfLine,
    /// A line of its own, before the part that it opens.
    Line,
}

/// What line of the text a button is. One beside the text of a heading ("Copy", "Edit") is none.
pub fn of(button: Node<'_>) -> Option<Label> {
    let line = button.ancestors().take(4).find(|a| {
        matches!(a.tag(), tag::H1..=tag::H6 | tag::SUMMARY | tag::DT)
            || a.attr(attr::ROLE) == Some("heading")
    });
    match line {
        Some(line) if is_alone(button, line) => Some(Label::OfLine),
        Some(_) => None,
        None => opens_text(button).then_some(Label::Line),
    }
}

/// Whether no words but those of an element are in one around it.
fn is_alone(inner: Node<'_>, outer: Node<'_>) -> bool {
    /// Nodes that are looked at.
    const MOST: usize = 64;
    let inside = inner.id()..inner.end();
    !outer
        .descendants()
        .take(MOST)
        .any(|n| !inside.contains(&n.id()) && has_words(n))
}

fn has_words(text: Node<'_>) -> bool {
    /// Letters stand near the beginning of a text that has any.
    const NEAR: usize = 200;
    text.text().chars().take(NEAR).any(char::is_alphanumeric)
}

/// Whether a control opens a part of the text that stands right behind it: an answer, a section.
pub fn opens_text(control: Node<'_>) -> bool {
    let classes = control.attr(attr::CLASS).unwrap_or("");
    let said = control.has_attr(attr::ARIA_EXPANDED) || control.has_attr(attr::ARIA_CONTROLS);
    let names = ["accordion", "faq", "collaps"];
    let named = names.iter().any(|name| classes.contains(name));
    if !(said || named || classes.contains("toggle"))
        || control.attr_named("aria-haspopup").is_some()
        || control
            .attr(attr::ROLE)
            .is_some_and(|role| role != "button")
        || is_in_controls(control)
        || !is_question(control)
    {
        return false;
    }
    let Some(panel) = panel(control) else {
        return false;
    };
    let is_named = |node: Node<'_>| {
        let names = [
            "panel",
            "content",
            "answer",
            "body",
            "accordion",
            "faq",
            "collaps",
        ];
        let classes = node.attr(attr::CLASS).unwrap_or("");
        names.iter().any(|name| classes.contains(name))
    };
    // A paragraph or heading behind a button may be the next of the text.
    let is_box = !matches!(panel.tag(), tag::P | tag::H1..=tag::H6);
    let is_meant = named || control.has_attr(attr::ARIA_CONTROLS) || is_named(panel);
    (is_meant || said && is_box) && controls(control, panel) && holds_text(panel)
}

/// Whether an element is of a menu, a form, a row of tabs.
fn is_in_controls(node: Node<'_>) -> bool {
    /// Levels that are looked at.
    const MOST: usize = 24;
    node.ancestors().take(MOST).any(|around| {
        matches!(
            around.tag(),
            tag::NAV | tag::HEADER | tag::FOOTER | tag::FORM | tag::MENU | tag::DIALOG
        ) || matches!(
            around.attr(attr::ROLE),
            Some("navigation" | "banner" | "menu" | "menubar" | "toolbar" | "tablist" | "dialog")
        )
    })
}

/// Whether a control is named after what it opens, rather than after what it does.
fn is_question(control: Node<'_>) -> bool {
    /// Nodes and bytes of its text.
    const NODES: usize = 32;
    const BYTES: usize = 200;
    let mut line = String::new();
    for text in control.descendants().take(NODES).filter(Node::is_text) {
        if lower::push_words_up_to(BYTES, text.text(), &mut line) {
            break;
        }
    }
    let line = line.trim_matches(|c: char| !c.is_alphanumeric());
    let letters = line.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 2
        && !DEEDS.iter().any(|deed| line.starts_with(deed))
        && !CONTROLS.contains(&line)
        && phrases::find(line).is_none()
}

/// The element behind a control, or behind the box that holds nothing else.
fn panel(control: Node<'_>) -> Option<Node<'_>> {
    /// Boxes around the control.
    const MOST: usize = 2;
    let mut at = control;
    for _ in 0..=MOST {
        let mut after = std::iter::successors(at.next_sibling(), Node::next_sibling).filter(|n| {
            let silent = matches!(
                n.tag(),
                tag::SVG | tag::IMG | tag::HR | tag::SCRIPT | tag::STYLE
            );
            n.is_element() && !silent || n.is_text() && has_words(*n)
        });
        if let Some(next) = after.next() {
            return Some(next).filter(|n| is_block(n.tag()));
        }
        at = at.parent().filter(|parent| is_alone(control, *parent))?;
    }
    None
}

/// Whether a control that names what it controls means this panel.
fn controls(control: Node<'_>, panel: Node<'_>) -> bool {
    /// Nodes of the panel that are looked at.
    const MOST: usize = 16;
    let Some(id) = control.attr(attr::ARIA_CONTROLS).map(str::trim) else {
        return true;
    };
    id.is_empty()
        || std::iter::once(panel)
            .chain(panel.descendants().take(MOST))
            .any(|n| n.attr(attr::ID).is_some_and(|own| own.trim() == id))
}

/// Whether a panel shows text, and neither controls nor the page itself.
fn holds_text(panel: Node<'_>) -> bool {
    /// Nodes that are looked at, and the shortest text, in bytes.
    const MOST: usize = 400;
    const SHORTEST: usize = 16;
    if visible::look(panel, panel.tag()) == Look::Hidden {
        return false;
    }
    let (mut text, mut links, mut link_end) = (0, 0, 0);
    for node in std::iter::once(panel).chain(panel.descendants().take(MOST)) {
        match node.tag() {
            tag::H1
            | tag::MAIN
            | tag::ARTICLE
            | tag::NAV
            | tag::FORM
            | tag::SELECT
            | tag::INPUT => {
                return false;
            }
            tag::A if node.has_attr(attr::HREF) => link_end = node.end(),
            _ => {}
        }
        let len = node.text().trim_ascii().len();
        if node.id() < link_end {
            links += len;
        } else if !node
            .parent()
            .is_some_and(|p| matches!(p.tag(), tag::SCRIPT | tag::STYLE))
        {
            text += len;
        }
    }
    text >= SHORTEST && text > links
}

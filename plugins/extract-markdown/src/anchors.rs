//! Links: `<a href>` and what it is called.

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::destinations::push_title;
use crate::marks::Kind;
use crate::walk::{Close, Walker};
use crate::writer::Mode;

impl<'a> Walker<'a> {
    pub(crate) fn link(&mut self, node: Node<'a>) -> u32 {
        let next = node.id() + 1;
        let Some(href) = node
            .attr(attr::HREF)
            .or_else(|| node.attr(attr::XLINK_HREF))
        else {
            return next;
        };
        if self.w.has_mark(Kind::Link) {
            return next;
        }
        if self.w.mode == Mode::Line && is_permalink(node, href) {
            return self.pass(node);
        }
        if is_permalink(node, href) && (is_headerlink(node) || is_of_entry(node)) {
            return self.pass(node);
        }
        if self.w.mode == Mode::Line && is_own_anchor(node, href) {
            return next;
        }
        let in_cell = self.w.mode == Mode::Cell;
        let tail = &mut self.w.link_tail;
        tail.clear();
        tail.push_str("](");
        if !self.to.push(href, in_cell, tail) {
            return next;
        }
        if let Some(title) = node.attr(attr::TITLE).filter(|title| !repeats(node, title)) {
            push_title(title, in_cell, &mut self.w.link_tail);
        }
        self.w.link_tail.push(')');
        self.w.begin_mark(Kind::Link);
        self.open_link = (node.id(), self.w.out.len());
        self.push(node, Close::Link);
        next
    }

    pub(crate) fn close_link(&mut self) {
        let (id, opened_at) = self.open_link;
        // The words of main content are those of its text.
        if !self.is_planned()
            && self.w.out.len() == opened_at
            && let Some(node) = self.view.node(id)
            && node
                .attr(attr::HREF)
                .is_some_and(|href| !href.starts_with('#'))
            && let Some(name) = name_of(node)
        {
            // An icon that is a link says where to in a label for screen readers.
            self.w.text(name);
        }
        self.w.end_mark(Kind::Link);
    }
}

/// Whether a link's title only says again what the link says.
fn repeats(node: Node<'_>, title: &str) -> bool {
    let mut texts = node
        .descendants()
        .filter(Node::is_text)
        .map(|n| n.text().trim());
    let mut texts = texts.by_ref().filter(|text| !text.is_empty());
    texts.next() == Some(title.trim()) && texts.next().is_none()
}

/// The accessible name of an element without text: its label, its title, or its drawing's.
fn name_of(node: Node<'_>) -> Option<&str> {
    let own = |n: Node<'_>| {
        n.attr(attr::ARIA_LABEL)
            .is_some_and(|l| !l.trim().is_empty())
    };
    let labelled = Some(node)
        .filter(|n| own(*n))
        .or_else(|| node.descendants().take(16).find(|n| own(*n)));
    if let Some(labelled) = labelled {
        return labelled.attr(attr::ARIA_LABEL);
    }
    node.attr(attr::TITLE)
        .filter(|t| !t.trim().is_empty())
        .or_else(|| {
            let title = node
                .descendants()
                .take(16)
                .find(|n| n.tag() == tag::TITLE)?;
            title
                .first_child()
                .map(|text| text.text())
                .filter(|t| !t.trim().is_empty())
        })
}

/// Whether a link in a heading leads to that heading, or to the section it begins.
fn is_own_anchor(node: Node<'_>, href: &str) -> bool {
    href.strip_prefix('#').is_some_and(|fragment| {
        node.ancestors()
            .take(3)
            .any(|n| n.attr(attr::ID) == Some(fragment))
    })
}

/// Whether a link calls itself the mark of what it stands in, as Sphinx writes it.
fn is_headerlink(link: Node<'_>) -> bool {
    link.attr(attr::CLASS).is_some_and(|c| {
        c.split_ascii_whitespace()
            .any(|class| class == "headerlink")
    })
}

/// Whether a link stands in a defined term or a caption and leads to it.
fn is_of_entry(link: Node<'_>) -> bool {
    let is_entry = |n: &Node<'_>| matches!(n.tag(), tag::DT | tag::CAPTION | tag::FIGCAPTION);
    link.has_attr(attr::TITLE) && link.ancestors().take(4).any(|n| is_entry(&n))
}

/// Whether a link in a heading is only the sign that the heading can be linked to.
fn is_permalink(node: Node<'_>, href: &str) -> bool {
    if !href.contains('#') || node.end() - node.id() > 8 {
        return false;
    }
    let mut signs = node
        .descendants()
        .flat_map(|n| n.text().chars())
        .filter(|c| !c.is_whitespace());
    let no_words = signs.all(|c| !c.is_alphanumeric());
    no_words && !node.descendants().any(|n| n.tag() == tag::IMG)
}

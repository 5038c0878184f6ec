//! Elements with names that stand together: the authors of one text, and not those of its
//! neighbours.

use orbweaver_sdk::dom::{Node, View, attr};
use orbweaver_sdk::text::collapse;

use crate::names::is_and;

/// Authors of one text.
const MOST: usize = 20;

/// Where an element stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    parent: Option<u32>,
    grandparent: Option<u32>,
    end: u32,
}

impl Place {
    /// Of an element.
    pub fn of(node: Node<'_>) -> Self {
        let parent = node.parent();
        Self {
            parent: parent.map(|p| p.id()),
            grandparent: parent.and_then(|p| p.parent()).map(|p| p.id()),
            end: node.end(),
        }
    }

    /// Whether the element `next` goes on with a list of names: it has the same parent or grandparent, and
    /// nothing but signs and words of lists stands between.
    pub fn goes_on_with(self, next: Node<'_>) -> bool {
        let other = Self::of(next);
        let near = self.parent == other.parent || self.grandparent == other.grandparent;
        near && self.end <= next.id() && is_of_list(next.view(), self.end, next.id())
    }
}

/// Whether these nodes hold no more than what divides names: a comma, "and", or a calling and then
/// one of them.
fn is_of_list(view: &View<'_>, from: u32, to: u32) -> bool {
    /// Nodes between two names, and bytes of their text.
    const NODES: u32 = 24;
    const BYTES: usize = 60;
    if to - from > NODES {
        return false;
    }
    let mut text = String::new();
    let between = (from..to).filter_map(|id| view.node(id));
    for node in between.filter(Node::is_text) {
        text.push_str(node.text());
        if text.len() > BYTES * 4 {
            return false;
        }
    }
    let text = collapse(&text);
    let sign =
        |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '|' | '/' | '·' | '•' | '、' | '،');
    let inner = text.trim_matches(sign);
    if inner.is_empty() || is_and(inner) {
        return true;
    }
    let ends = text.ends_with(',') || text.rsplit(' ').next().is_some_and(is_and);
    text.len() <= BYTES && text.starts_with([',', '(']) && ends
}

/// Names of elements that stand together, the first of them and those that go on with it.
#[derive(Debug, Default)]
pub struct Together {
    names: Vec<String>,
    last: Option<Place>,
    /// Where the last name leads.
    target: Option<String>,
}

impl Together {
    /// Adds the name of an element, if it is the first or goes on.
    pub fn add(&mut self, node: Node<'_>, name: impl FnOnce() -> Option<String>) {
        if let Some(last) = self.last
            && (self.names.len() >= MOST || !last.goes_on_with(node))
        {
            return;
        }
        let target = node.attr(attr::HREF).map(str::to_owned);
        // A second link to the same person: "All posts by Ann".
        if target.is_some() && target == self.target {
            return;
        }
        let Some(name) = name() else { return };
        if !self.names.contains(&name) {
            self.names.push(name);
        }
        self.last = Some(Place::of(node));
        self.target = target;
    }

    /// Whether there is no name yet.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names, divided by commas.
    pub fn names(&self) -> Option<String> {
        (!self.names.is_empty()).then(|| self.names.join(", "))
    }
}

//! Which part of a page is converted.

use std::ops::Range;

use orbweaver_content::Selection;
use orbweaver_content::headings::leads_home;
use orbweaver_content::measure::{DROP, HIDE, PICTURE, SKIP, get};
use orbweaver_sdk::dom::{Node, View, tag};

/// The nodes to convert: the headline, then those of `part` without the subtrees of `skips`.
pub(crate) struct Plan {
    /// The headline, where it is not in what is kept of `part`.
    pub headline: Option<Range<u32>>,
    /// A range of node ids, of whole subtrees.
    pub part: Range<u32>,
    /// Roots of subtrees to leave out, ascending.
    pub skips: Vec<u32>,
    /// What of the page no reader sees.
    pub hidden: Hidden,
}

/// What is done with hidden content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// It is left out.
    Omit,
    /// It is wanted, since there is no other.
    Show,
    /// The skips say it.
    Planned,
}

impl Plan {
    /// The whole document.
    pub fn of_whole(view: &View<'_>) -> Self {
        Self {
            headline: None,
            part: 0..view.len(),
            skips: Vec::new(),
            hidden: Hidden::Omit,
        }
    }

    /// The whole document, with what it hides.
    pub fn of_everything(view: &View<'_>) -> Self {
        Self {
            hidden: Hidden::Show,
            ..Self::of_whole(view)
        }
    }

    /// The main content under the page's headline, which is no part of the content's text. Of
    /// pictures with captions only the pictures: captions are no part of it either.
    pub fn of_content(view: &View<'_>, content: &Selection) -> Self {
        let mut plan = Self {
            headline: None,
            part: 0..0,
            skips: Vec::new(),
            hidden: Hidden::Planned,
        };
        let Some(root) = view.node(content.root) else {
            return plan;
        };
        // A cell or an item without its table or list is a box.
        let inner = matches!(root.tag(), tag::TD | tag::TH | tag::LI | tag::DD | tag::TR);
        plan.part = root.id() + u32::from(inner)..root.end();
        let mut caption_end = 0;
        let (mut first_text, mut heading_end) = (root.end(), 0);
        // Whether a first-level heading is shown: the headline, or one of a part of the text.
        let mut is_headed = false;
        let mut id = plan.part.start;
        while let Some(node) = view.node(id).filter(|n| n.id() < root.end()) {
            let me = get(&content.info, id);
            // Their words are not in the text; the writer knows what else to make of them.
            let silent = matches!(me.tag, tag::INPUT | tag::NOSCRIPT) && me.state & DROP == 0;
            if me.state & PICTURE != 0 {
                caption_end = caption_end.max(node.end());
            }
            if silent {
                id = node.end();
            } else if me.state & (SKIP | DROP) != 0 || node.is_text() && id < caption_end {
                plan.skips.push(id);
                id = node.end();
            } else {
                if node.tag() == tag::H1 {
                    heading_end = node.end();
                } else if node.is_text() && !node.text().trim_ascii().is_empty() {
                    first_text = first_text.min(id);
                    is_headed |= id < heading_end;
                }
                id += 1;
            }
        }
        let found = headline(view, content, first_text);
        let found = if is_headed {
            found.filter(|node| !plan.shows(view, *node) && is_in_title(view, *node))
        } else {
            found.or_else(|| titled(view, content).filter(|node| !plan.shows(view, *node)))
        };
        if found.is_some() {
            plan.headline = found.map(|heading| heading.id()..heading.end());
            if let Some(heading) = found {
                plan.skip_repetition(view, content, heading, first_text);
            }
        }
        plan
    }

    /// Leaves the first block of the part out where it only says the headline again.
    fn skip_repetition(
        &mut self,
        view: &View<'_>,
        content: &Selection,
        heading: Node<'_>,
        first_text: u32,
    ) {
        let owner = get(&content.info, first_text).owner;
        let Some(block) = view.node(owner).filter(|n| self.part.contains(&n.id())) else {
            return;
        };
        let said = letters(block);
        if said.is_empty() || said != letters(heading) {
            return;
        }
        let texts = block.descendants().filter(Node::is_text).map(|n| n.id());
        self.skips.extend(texts);
        self.skips.sort_unstable();
        self.skips.dedup();
    }

    /// Whether the part has the element.
    fn shows(&self, view: &View<'_>, node: Node<'_>) -> bool {
        let is_skipped = |skip: &u32| {
            *skip <= node.id() && view.node(*skip).is_some_and(|skip| skip.end() > node.id())
        };
        self.part.contains(&node.id()) && !self.skips.iter().any(is_skipped)
    }
}

/// The headline of content that begins with the text `first_text`: the last first-level heading
/// before it, else the first one after it within the content. None that only names the site.
fn headline<'a>(view: &'a View<'a>, content: &Selection, first_text: u32) -> Option<Node<'a>> {
    /// Nodes of a heading.
    const MAX_NODES: u32 = 64;
    let end = view.node(content.root).map_or(0, |root| root.end());
    let (mut before, mut compared) = (None, 0);
    for node in view.nodes().take_while(|node| node.id() < end) {
        if node.tag() != tag::H1
            || node.end() - node.id() > MAX_NODES
            || get(&content.info, node.id()).state & HIDE != 0
            || !node
                .descendants()
                .any(|below| below.is_text() && !below.text().trim().is_empty())
            || node.descendants().any(leads_home)
        {
            continue;
        }
        compared += 1;
        if compared <= MAX_HEADINGS && names_book(view, node) {
            continue;
        }
        if node.id() < first_text {
            before = Some(node);
        } else {
            return before.or(Some(node));
        }
    }
    before
}

/// The first heading of any level that is the title of the page: books have one page for each
/// section, under a heading of its level.
fn titled<'a>(view: &'a View<'a>, content: &Selection) -> Option<Node<'a>> {
    /// Characters from which a heading may be a part of the title, beside the site's name.
    const PART: usize = 12;
    let end = view.node(content.root).map_or(0, |root| root.end());
    let title = view.nodes().find(|node| node.tag() == tag::TITLE)?;
    let title = letters(title);
    view.nodes()
        .take_while(|node| node.id() < end)
        .filter(|node| matches!(node.tag(), tag::H2..=tag::H6))
        .take(MAX_HEADINGS)
        .find(|node| {
            let text = letters(*node);
            get(&content.info, node.id()).state & HIDE == 0
                && !text.is_empty()
                && (text == title || text.chars().count() >= PART && title.contains(&text))
        })
}

/// Whether a heading is the title of the page or a part of it.
fn is_in_title(view: &View<'_>, heading: Node<'_>) -> bool {
    let heading = letters(heading);
    let mut titles = view.tagged(|id| id == tag::TITLE);
    !heading.is_empty() && titles.any(|title| letters(title).contains(&heading))
}

/// Whether the page's title ends with a heading and begins with another one: the first names the book
/// or the site, which the pages of some repeat as a first-level heading.
fn names_book(view: &View<'_>, heading: Node<'_>) -> bool {
    let mut titles = view.tagged(|id| id == tag::TITLE);
    let Some(title) = titles.next().map(letters) else {
        return false;
    };
    let name = letters(heading);
    let Some(rest) = title.strip_suffix(&name) else {
        return false;
    };
    if name.is_empty() || rest.is_empty() {
        return false;
    }
    view.tagged(|id| matches!(id, tag::H1..=tag::H6))
        .filter(|other| other.id() > heading.id())
        .take(MAX_HEADINGS)
        .map(letters)
        .any(|other| !other.is_empty() && rest.starts_with(&other))
}

/// Headings that are compared with the title.
const MAX_HEADINGS: usize = 16;

/// Letters and digits of an element's text, in lower case; of a long text the first ones.
fn letters(node: Node<'_>) -> String {
    const MAX_CHARS: usize = 400;
    let runs = node.text_runs();
    let chars = runs.flat_map(str::chars).filter(|c| c.is_alphanumeric());
    chars.take(MAX_CHARS).flat_map(char::to_lowercase).collect()
}

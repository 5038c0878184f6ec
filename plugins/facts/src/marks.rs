//! Elements of the document that state facts: headings, Microdata, `time`.

use orbweaver_sdk::dom::{Namespace, Node, attr, tag};
use orbweaver_sdk::text::line;

use crate::Sources;
use crate::brand::{Brand, Name};
use crate::image::Images;
use crate::items::Items;
use crate::linked::Topics;
use crate::names;
use crate::teasers::Teasers;
use crate::text::MAX_BYTES;
use crate::together::Together;

/// Headings of the first level that are compared.
const MAX_HEADINGS: usize = 6;
/// Headings of the second and third level that are compared.
const MAX_LOWER: usize = 12;
/// Nodes in a heading that is one.
const MAX_HEADING_NODES: u32 = 200;

/// A heading with its text.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The element's id.
    pub id: u32,
    /// White space collapsed, without the mark of a link to itself.
    pub text: String,
}

/// What is marked.
#[derive(Debug, Default)]
pub struct Marks {
    /// The first headings of the first level that have a text.
    pub headings: Vec<Heading>,
    /// The first headings of the second and third level that have a text: forums give the
    /// first level to their own name.
    pub lower: Vec<Heading>,
    /// The node where the content begins: the first `main` or `article`, else the body.
    pub content: u32,
    /// Whose the properties of Microdata are.
    pub items: Items,
    /// Microdata's `author`.
    pub author: Together,
    /// The texts of the first `rel=author` and of those beside it.
    pub linked: Together,
    /// Microdata's first dates and `<time pubdate>`, as written.
    pub published: Vec<String>,
    /// Microdata's first `dateModified`, as written.
    pub modified: Vec<String>,
    /// Microdata's images.
    pub images: Images,
    /// The text of the first link to the site's start page.
    pub brand: Option<Name>,
    /// Links to the content's tags and categories.
    topics: Topics,
}

impl Marks {
    /// Reads a document in one pass.
    pub fn of(sources: &Sources<'_>) -> Self {
        let view = sources.view;
        let mut marks = Self {
            items: Items::of(view),
            ..Self::default()
        };
        let items = marks.items;
        let mut brand = Brand::of(sources.url);
        let mut teasers = Teasers::of(sources, items.heading());
        let (mut main, mut article) = (None, None);
        for node in view.elements() {
            if node.tag() == tag::A {
                marks.topics.read(node);
                brand.read(node);
            }
            let is_property = node.tag() != tag::META && node.has_attr(attr::ITEMPROP);
            if is_property {
                marks.images.read(node, items);
            }
            match node.tag() {
                tag::META | tag::LINK => continue,
                tag::H1 if marks.headings.len() < MAX_HEADINGS => {
                    marks.headings.extend(heading(node));
                }
                tag::H2 | tag::H3 if marks.lower.len() < MAX_LOWER => {
                    marks.lower.extend(heading(node));
                }
                tag::MAIN => main = main.or(Some(node.id())),
                tag::ARTICLE => article = article.or(Some(node.id())),
                tag::TIME if marks.date(node, &mut teasers) => continue,
                _ if is_property && marks.date(node, &mut teasers) => continue,
                tag::A
                    if has(node, attr::REL, "author")
                        && !items.answers(node)
                        && (!marks.linked.is_empty() || !teasers.holds(node)) =>
                {
                    marks.linked.add(node, || names::person(node));
                }
                _ => {}
            }
            let is_author = is_property && has(node, attr::ITEMPROP, "author");
            if is_author
                && !items.answers(node)
                && (!marks.author.is_empty() || !teasers.holds(node))
            {
                marks.author.add(node, || named(node));
            }
        }
        let body = view.body().map_or(0, |body| body.id());
        marks.content = main.or(article).unwrap_or(body);
        marks.brand = brand.name();
        marks
    }

    /// What the content's links say of its topics: categories and tags.
    pub fn linked_topics(&self) -> (Vec<String>, Vec<String>) {
        self.topics.decide()
    }

    /// Reads an element that may be marked as a date; whether it was.
    fn date(&mut self, node: Node<'_>, teasers: &mut Teasers<'_>) -> bool {
        /// Values that are kept: "3 days ago" may stand before a date.
        const MOST: usize = 4;
        let published = has(node, attr::ITEMPROP, "datePublished")
            || has(node, attr::ITEMPROP, "dateCreated")
            || node.tag() == tag::TIME && node.attr_named("pubdate").is_some();
        let items = self.items;
        let slot = if published {
            &mut self.published
        } else if has(node, attr::ITEMPROP, "dateModified") {
            &mut self.modified
        } else {
            return false;
        };
        if slot.len() < MOST && !items.answers(node) && !teasers.holds(node) {
            slot.extend(time_value(node));
        }
        true
    }
}

/// A heading that has a text.
fn heading(node: Node<'_>) -> Option<Heading> {
    if node.end() - node.id() > MAX_HEADING_NODES || node.namespace() != Namespace::Html {
        return None;
    }
    let text = heading_text(node);
    (!text.is_empty() && text.len() <= MAX_BYTES).then(|| Heading {
        id: node.id(),
        text,
    })
}

/// The text of a heading without its controls and without its links to itself: signs, icons of a font,
/// and characters without width that style sheets show as one.
pub fn heading_text(node: Node<'_>) -> String {
    let mut text = line_without_controls(node);
    let kept = text.trim_end_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, '¶' | '§' | '#' | '🔗' | '\u{200b}' | '\u{feff}')
            || ('\u{e000}'..='\u{f8ff}').contains(&c)
    });
    // The names of two languages end with the sign themselves.
    let is_name = text
        .get(kept.len()..)
        .is_some_and(|signs| signs.starts_with('#'))
        && kept
            .strip_suffix(['C', 'F'])
            .is_some_and(|before| !before.ends_with(char::is_alphanumeric));
    text.truncate(kept.len() + usize::from(is_name));
    text
}

/// The text of a heading without that of its buttons ("Copy", "Edit") and of a wiki's link to edit
/// its section; where all of it stands in a button, as in an accordion, that text.
fn line_without_controls(node: Node<'_>) -> String {
    let whole = line(node);
    let is_control = |n: &Node<'_>| {
        n.tag() == tag::BUTTON || (n.tag() == tag::SPAN && has(*n, attr::CLASS, "mw-editsection"))
    };
    let Some(button) = node.descendants().find(is_control) else {
        return whole;
    };
    let label = line(button);
    let rest = whole
        .strip_suffix(label.as_str())
        .or_else(|| whole.strip_prefix(label.as_str()))
        .map(str::trim);
    // The text beside a button may be the number of the question that is its text.
    let is_text = |c: char| c.is_alphabetic() || (button.tag() == tag::SPAN && c.is_numeric());
    match rest {
        Some(rest) if rest.contains(is_text) => rest.to_owned(),
        _ => whole,
    }
}

/// What an element states for programs: `datetime`, else `content`, else the title of an `abbr`.
pub fn machine_value(node: Node<'_>) -> Option<&str> {
    let value = |attribute: u16| {
        let value = node.attr(attribute).map(str::trim);
        value.filter(|value| !value.is_empty())
    };
    let title = || value(attr::TITLE).filter(|_| node.tag() == tag::ABBR);
    value(attr::DATETIME)
        .or_else(|| value(attr::CONTENT))
        .or_else(title)
}

/// What an element of a date states for programs, else its text.
pub fn time_value(node: Node<'_>) -> Option<String> {
    /// A longer text is no date.
    const MAX_NODES: u32 = 24;
    let value = match machine_value(node) {
        Some(value) => value.to_owned(),
        None if node.end() - node.id() <= MAX_NODES => line(node),
        None => return None,
    };
    (!value.is_empty()).then_some(value)
}

/// Whether an attribute lists this token. Case does not count.
pub fn has(node: Node<'_>, attribute: u16, wanted: &str) -> bool {
    node.attr(attribute).is_some_and(|list| {
        list.split_ascii_whitespace()
            .any(|token| token.eq_ignore_ascii_case(wanted))
    })
}

/// The name of an item, or the text of what is none.
fn named(node: Node<'_>) -> Option<String> {
    /// A name stands at the beginning of its item.
    const NEAR: usize = 64;
    let mut inside = node.descendants().take(NEAR);
    match inside.find(|inner| has(*inner, attr::ITEMPROP, "name")) {
        Some(name) => match name.attr(attr::CONTENT) {
            Some(content) => names::name(content),
            None => names::person(name),
        },
        None => names::person(node),
    }
}

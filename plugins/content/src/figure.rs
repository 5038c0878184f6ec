//! Which figures hold text to read: a table, code, a quotation, a list or a note, rather than a
//! picture with its caption. A quotation that the text has, too, is no more than a picture of it.

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::text::letters;

use crate::measure::{BLOCK, DROP, Info, SKIP, get};
use crate::table::{Shape, has_content};
use crate::words::CAPTION;

/// Quotations that are looked for in the text around them, of how many letters and digits, and in how
/// much of it, in bytes.
const MAX_QUOTES: usize = 32;
const SHORTEST_QUOTE: usize = 24;
const MAX_TEXT: usize = 1 << 20;

/// What the figures of a page hold outside of their captions, by id, ascending.
#[derive(Default)]
pub struct Figures {
    /// Texts of tables, code, quotations and lists.
    parts: Vec<u32>,
    /// Sentences.
    prose: Vec<u32>,
    /// Other texts.
    texts: Vec<u32>,
    /// What is there for the eyes.
    pictures: Vec<u32>,
}

impl Figures {
    /// Reads the figures below an element.
    pub fn of(view: &View<'_>, info: &[Info], root: Node<'_>) -> Self {
        let mut found = Self::default();
        // Ends of the figure, of its caption or what is left out of it, and of the part in it.
        let (mut figure_end, mut aside_end, mut part_end) = (0, 0, 0);
        // The list or layout, which must be without pictures to be text, and its texts.
        let mut list = (0, 0);
        let mut listed: Vec<(u32, (u32, u32))> = Vec::new();
        let mut quotes = Vec::new();
        let mut spans = Vec::new();
        let mut id = root.id() + 1;
        while id < root.end() {
            let Some(node) = view.node(id) else { break };
            let me = get(info, id);
            if me.tag == tag::FIGURE {
                figure_end = figure_end.max(node.end());
            }
            if id >= figure_end {
                id += 1;
                continue;
            }
            if is_picture(node) {
                found.pictures.push(id);
                id = node.end();
                continue;
            }
            let caption =
                me.tag == tag::FIGCAPTION || me.marks & CAPTION != 0 && me.tag != tag::FIGURE;
            if caption || me.state & (SKIP | DROP) != 0 {
                // A picture may stand in a button that enlarges it.
                aside_end = aside_end.max(node.end());
            }
            id += 1;
            if node.id() < aside_end {
                continue;
            }
            if me.tag == tag::BLOCKQUOTE && quotes.len() < MAX_QUOTES && node.id() >= part_end {
                quotes.push(node);
            }
            match me.tag {
                tag::PRE | tag::BLOCKQUOTE | tag::MATH => part_end = part_end.max(node.end()),
                tag::TABLE if Shape::of(node, &mut spans, has_content).is_data(node) => {
                    part_end = part_end.max(node.end());
                }
                tag::TABLE | tag::UL | tag::OL | tag::DL if node.id() >= list.1 => {
                    list = (node.id(), node.end());
                }
                _ => {}
            }
            if me.state & BLOCK != 0 && me.own > 0 {
                found.texts.push(node.id());
                if node.id() < part_end {
                    found.parts.push(node.id());
                } else if node.id() < list.1 {
                    if me.own_link * 2 <= me.own {
                        listed.push((node.id(), list));
                    }
                } else if me.prose * 2 >= me.own {
                    found.prose.push(node.id());
                }
            } else if me.tag == tag::MATH {
                found.parts.push(node.id());
            }
        }
        listed.retain(|(_, (start, end))| !any(&found.pictures, *start, *end));
        found.parts.extend(listed.into_iter().map(|(id, _)| id));
        found.parts.sort_unstable();
        if !quotes.is_empty() {
            let said = letters_outside(view, info, root);
            for quote in quotes {
                let is_again = letters(&quote.text_content());
                if is_again.len() >= SHORTEST_QUOTE && said.contains(&is_again) {
                    let inside = quote.id()..quote.end();
                    found.parts.retain(|id| !inside.contains(id));
                    found.texts.retain(|id| !inside.contains(id));
                }
            }
        }
        found
    }

    /// Whether an element within has text of its own, and is no picture.
    pub fn hold_text(&self, figure: Node<'_>) -> bool {
        let (start, end) = (figure.id(), figure.end());
        any(&self.parts, start, end)
            || any(&self.prose, start, end) && !any(&self.pictures, start, end)
            || any(&self.texts, start, end) && is_note(figure)
    }
}

/// The letters and digits of the text that stands in no figure.
fn letters_outside(view: &View<'_>, info: &[Info], root: Node<'_>) -> String {
    let mut said = String::new();
    let mut id = root.id() + 1;
    while id < root.end() && said.len() < MAX_TEXT {
        let Some(node) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 || me.tag == tag::FIGURE {
            id = node.end();
            continue;
        }
        if node.is_text() {
            said.push_str(&letters(node.text()));
        }
        id += 1;
    }
    said
}

fn any(ids: &[u32], start: u32, end: u32) -> bool {
    let at = ids.partition_point(|id| *id < start);
    ids.get(at).is_some_and(|id| *id < end)
}

/// Whether a figure is a note with a sign beside it, as Notion makes them.
fn is_note(figure: Node<'_>) -> bool {
    let names = ["callout", "admonition"];
    let classes = figure.attr(attr::CLASS).unwrap_or("");
    names.iter().any(|name| classes.contains(name))
}

/// Whether an element is drawn, played, or loaded later into its place.
fn is_picture(node: Node<'_>) -> bool {
    match node.tag() {
        tag::IMG
        | tag::PICTURE
        | tag::SVG
        | tag::CANVAS
        | tag::VIDEO
        | tag::AUDIO
        | tag::IFRAME
        | tag::OBJECT
        | tag::EMBED
        | tag::NOSCRIPT => true,
        tag::UNKNOWN if node.is_element() => {
            let name = node.name();
            let parts = ["img", "image", "picture", "video", "photo"];
            name.contains('-') && parts.iter().any(|part| name.contains(part))
        }
        _ => false,
    }
}

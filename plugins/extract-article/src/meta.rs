//! What the page says about its content: title, author, date, language, summary.

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::jsonld::{self, Block};
use orbweaver_sdk::text::collapse;

use crate::measure::{Info, get};
use crate::words::BYLINE;

/// Longest name of an author that is believed, in bytes.
const MAX_BYLINE: usize = 200;
/// Longest excerpt, in characters.
const MAX_EXCERPT: usize = 300;

/// Facts about the content; `None` where the page does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The headline.
    pub title: Option<String>,
    /// Author or authors.
    pub byline: Option<String>,
    /// As the page writes it, usually ISO 8601.
    pub published: Option<String>,
    /// BCP 47 tag of the document.
    pub lang: Option<String>,
    /// The page's description, or the start of its first paragraph.
    pub excerpt: Option<String>,
}

/// Collects the facts. `text` is the content, whose first paragraph serves as an excerpt
/// where the page has no description.
pub fn collect(view: &View<'_>, info: &[Info], text: &str) -> Meta {
    let mut meta = Meta {
        lang: lang(view),
        ..Meta::default()
    };
    let mut found = Found::default();
    let mut id = 0;
    while let Some(node) = view.node(id) {
        id += 1;
        match node.tag() {
            tag::META => found.meta(node),
            tag::TITLE
                if found.title.is_none() && node.parent().is_some_and(|p| p.tag() == tag::HEAD) =>
            {
                found.title = filled(&node.text_content());
            }
            tag::H1 if found.h1.is_none() && get(info, node.id()).chars > 0 => {
                found.h1 = filled(&node.text_content());
            }
            tag::TIME if found.time.is_none() => {
                found.time = node.attr(attr::DATETIME).and_then(filled);
            }
            _ => {}
        }
        if found.author.is_none() && get(info, node.id()).marks & BYLINE != 0 {
            found.author_box = found.author_box.or_else(|| short_line(node));
        }
    }
    if found.author.is_none() || found.published.is_none() {
        found.json_ld(view);
    }
    meta.title = found.og_title.or(found.h1).or(found.title);
    meta.byline = found.author.or(found.author_box).map(without_by);
    meta.published = found.published.or(found.time);
    meta.excerpt = found.description.or_else(|| first_paragraph(text));
    meta
}

#[derive(Default)]
struct Found {
    og_title: Option<String>,
    title: Option<String>,
    h1: Option<String>,
    author: Option<String>,
    author_box: Option<String>,
    published: Option<String>,
    time: Option<String>,
    description: Option<String>,
}

impl Found {
    fn meta(&mut self, node: Node<'_>) {
        let key = [attr::PROPERTY, attr::NAME, attr::ITEMPROP]
            .iter()
            .find_map(|&id| node.attr(id));
        let (Some(key), Some(content)) = (key, node.attr(attr::CONTENT)) else {
            return;
        };
        let slot = match key {
            "og:title" => &mut self.og_title,
            "author" | "article:author" | "parsely-author" | "sailthru.author" | "dc.creator"
            | "DC.creator" | "citation_author" => {
                // Facebook wants a profile's address here.
                if content.contains("://") {
                    return;
                }
                &mut self.author
            }
            "article:published_time"
            | "datePublished"
            | "parsely-pub-date"
            | "date"
            | "dc.date"
            | "DC.date.issued"
            | "citation_publication_date"
            | "pubdate" => &mut self.published,
            "description" | "og:description" => &mut self.description,
            _ => return,
        };
        if slot.is_none() {
            *slot = filled(content);
        }
    }

    fn json_ld(&mut self, view: &View<'_>) {
        let scripts = view.nodes().filter(|n| jsonld::is_block(*n));
        for block in scripts.filter_map(jsonld::parse_node) {
            self.block(&block);
            if self.author.is_some() && self.published.is_some() {
                return;
            }
        }
    }

    fn block(&mut self, block: &Block) {
        for object in block.objects() {
            if self.published.is_none() {
                self.published = object
                    .get("datePublished")
                    .and_then(jsonld::string)
                    .and_then(|s| filled(&s));
            }
            if self.author.is_none() {
                self.author = object.get("author").and_then(names);
            }
        }
    }
}

/// The names of a person or of several: a string, an object with `name`, or a list.
fn names(json: &str) -> Option<String> {
    let one = |json: &str| match json.as_bytes().first() {
        Some(b'"') => jsonld::string(json).and_then(|s| filled(&s)),
        Some(b'{') => jsonld::get(json, "name")
            .and_then(jsonld::string)
            .and_then(|s| filled(&s)),
        _ => None,
    };
    if !json.starts_with('[') {
        return one(json).filter(|name| !name.contains("://"));
    }
    let all: Vec<String> = jsonld::elements(json).filter_map(one).take(8).collect();
    filled(&all.join(", "))
}

fn lang(view: &View<'_>) -> Option<String> {
    let html = view.html()?;
    filled(
        html.attr(attr::LANG)
            .or_else(|| html.attr(attr::XML_LANG))?,
    )
}

/// A text without surplus white space; `None` if nothing is left.
fn filled(text: &str) -> Option<String> {
    let text = collapse(text);
    (!text.is_empty()).then_some(text)
}

/// The text of an element if it is short enough to be a name.
fn short_line(node: Node<'_>) -> Option<String> {
    let mut text = String::new();
    for below in node.descendants().take(64).filter(Node::is_text) {
        text.push_str(below.text());
        text.push(' ');
        if text.len() > MAX_BYLINE {
            return None;
        }
    }
    filled(&text)
}

/// "By Jane Doe" is Jane Doe.
fn without_by(name: String) -> String {
    match name.get(..3) {
        Some(head) if head.eq_ignore_ascii_case("by ") => {
            name.get(3..).unwrap_or("").trim_start().to_owned()
        }
        _ => name,
    }
}

/// The first line of some length, cut between words.
pub fn first_paragraph(text: &str) -> Option<String> {
    let line = text
        .lines()
        .find(|l| l.len() >= 80)
        .or_else(|| text.lines().find(|l| !l.trim().is_empty()))?;
    let Some((cut, _)) = line.char_indices().nth(MAX_EXCERPT) else {
        return filled(line);
    };
    let head = line.get(..cut).unwrap_or(line);
    let end = head.rfind(char::is_whitespace).unwrap_or(cut);
    Some(format!("{}…", head.get(..end).unwrap_or(head).trim_end()))
}

//! What a page calls itself, and which of its first-level headings do.

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::text::letters;

use crate::measure::{BLOCK, DROP, Info, SKIP, get};

/// Whether a first-level heading below the headline heads a part of the text, which follows it. Others
/// are captions, names of sites, headlines of other pages.
pub fn heads_part(heading: Node<'_>, info: &[Info]) -> bool {
    /// Longest heading, in characters.
    const LONGEST: u32 = 160;
    /// Most nodes of one: its text is read, and headings may be nested.
    const MAX_NODES: u32 = 64;
    /// Siblings that are passed over.
    const NEAR: usize = 16;
    let me = get(info, heading.id());
    let mut after = std::iter::successors(heading.next_sibling(), Node::next_sibling).take(NEAR);
    let next = after.find(|n| {
        let next = get(info, n.id());
        next.left > 0 && next.state & (SKIP | DROP) == 0
    });
    heading.end() - heading.id() <= MAX_NODES
        && me.own <= LONGEST
        && next.is_some_and(|next| {
            let next = get(info, next.id());
            next.link * 2 < next.chars && (next.prose * 2 >= next.left || next.state & BLOCK != 0)
        })
}

/// Shortest name of an author that is looked for, in bytes.
const MIN_NAME: usize = 8;

fn is_author_key(node: Node<'_>) -> bool {
    let key = node.attr(attr::NAME).or_else(|| node.attr(attr::PROPERTY));
    matches!(
        key,
        Some("author" | "parsely-author" | "sailthru.author" | "article:author")
    )
}

/// What the page calls itself, and its authors, reduced to letters and digits.
pub struct Titles {
    titles: Vec<String>,
    authors: Vec<String>,
}

impl Titles {
    /// Reads the page's titles: those of its head, and its first heading that names more than the
    /// site.
    pub fn of(view: &View<'_>) -> Self {
        let mut found = Vec::new();
        let mut authors = Vec::new();
        let mut headed = false;
        for node in view.tagged(|id| matches!(id, tag::META | tag::TITLE | tag::H1)) {
            match node.tag() {
                tag::META if authors.len() < 4 && is_author_key(node) => {
                    authors.push(letters(node.attr(attr::CONTENT).unwrap_or("")));
                }
                tag::META if found.len() < 8 && node.attr(attr::PROPERTY) == Some("og:title") => {
                    found.push(letters(node.attr(attr::CONTENT).unwrap_or("")));
                }
                tag::TITLE if found.len() < 8 => found.push(letters(&node.text_content())),
                // Later ones may head parts of the text. One that leads home names the site.
                tag::H1 if !headed && found.len() < 8 => {
                    let title = letters(&node.text_content());
                    headed = !title.is_empty() && !node.descendants().any(leads_home);
                    found.push(title);
                }
                _ => {}
            }
        }
        authors.retain(|name| name.len() >= MIN_NAME);
        Self {
            titles: found,
            authors,
        }
    }

    /// Whether a line begins with an author's name: it tells who that is.
    pub fn is_author(&self, line: &str) -> bool {
        if self.authors.is_empty() {
            return false;
        }
        let line = letters(line);
        self.authors.iter().any(|name| line.starts_with(name))
    }

    /// Whether the element's text is a title, or the start of one that goes on with the
    /// name of the site.
    pub fn has(&self, node: Node<'_>) -> bool {
        let text = letters(&node.text_content());
        let starts = |title: &String| title == &text || text.len() > 16 && title.starts_with(&text);
        !text.is_empty() && self.titles.iter().any(starts)
    }
}

/// Whether a link leads to the start page of a site.
pub fn leads_home(link: Node<'_>) -> bool {
    let Some(href) = link.attr(attr::HREF) else {
        return false;
    };
    match href.split_once("://") {
        Some((_, rest)) => !rest.trim_end_matches('/').contains('/'),
        None => matches!(
            href.trim(),
            "/" | "./" | "index.html" | "/index.html" | "index.php" | "/index.php"
        ),
    }
}

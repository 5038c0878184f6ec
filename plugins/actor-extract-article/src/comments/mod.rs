//! Finds readers' comments on a page.
//!
//! Pages mark comments in several ways: Microdata, JSON-LD, and the class names and ids of comment
//! systems (WordPress, Drupal, Discourse, Hacker News, Reddit and many more use the word
//! "comment"). The document is searched for elements that are one comment each, the most reliable
//! signs first; JSON-LD is used if it has more comments. A forum thread is a list of posts: the
//! first is the page's content, and the others are comments.

mod data;
mod element;
mod names;
mod opening;

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::{Error, Page};
use serde::Serialize;

use names::Sign;

/// Most comments read of one page.
pub const MAX_COMMENTS: usize = 5_000;

/// One comment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comment {
    /// Its author.
    pub author: Option<String>,
    /// Its date as written on the page.
    pub published: Option<String>,
    /// Its text, one line per paragraph.
    pub text: String,
    /// 0 for a comment on the page, 1 for an answer to such a comment, and so on.
    pub depth: u32,
}

/// The comments of a page, in document order; `article` is the text of its main content.
pub fn of(page: &Page<'_>, article: &str) -> Result<Vec<Comment>, Error> {
    let view = page.view()?;
    // Posts beside an article are other articles.
    let is_article = view.nodes().any(|node| {
        node.tag() == tag::META
            && node.attr(attr::PROPERTY) == Some("og:type")
            && node
                .attr(attr::CONTENT)
                .is_some_and(|kind| kind.trim() == "article")
    });
    let shown = [Sign::Strong, Sign::Weak, Sign::Post]
        .into_iter()
        .filter(|sign| *sign != Sign::Post || !is_article)
        .map(|sign| shown(view, sign, article))
        .find(|comments| !comments.is_empty())
        .unwrap_or_default();
    let told = data::comments(view);
    Ok(if told.len() > shown.len() {
        told
    } else {
        shown
    })
}

/// An element that is one comment.
struct Item<'v> {
    node: Node<'v>,
    depth: u32,
    /// Whether it is a link from another site instead: no reader's comment, and no part of the one
    /// that it is in.
    is_ping: bool,
}

/// The comments found by this sign.
fn shown(view: &View<'_>, sign: Sign, article: &str) -> Vec<Comment> {
    let items = items(view, sign);
    if sign == Sign::Post {
        return posts(&items);
    }
    let nodes: Vec<Node<'_>> = items.iter().map(|item| item.node).collect();
    let mut first = true;
    items
        .iter()
        .filter(|item| !item.is_ping)
        .filter_map(|item| {
            let comment = element::read(item.node, &nodes, item.depth)?;
            let first = std::mem::take(&mut first);
            let opens = first && names::is_post(item.node) && opening::is(&comment, article);
            (!opens).then_some(comment)
        })
        .collect()
}

/// Elements with this sign. An element that starts with another one, before any text, is a
/// wrapper of the same comment.
fn items<'v>(view: &'v View<'v>, sign: Sign) -> Vec<Item<'v>> {
    let mut items: Vec<Item<'v>> = Vec::new();
    // Ends of the open items, and whether they have text yet.
    let mut open: Vec<(u32, bool)> = Vec::new();
    for node in view.nodes() {
        while open.last().is_some_and(|(end, _)| *end <= node.id()) {
            open.pop();
        }
        if node.is_text() {
            if !node.text().trim_ascii().is_empty() {
                for (_, said) in &mut open {
                    *said = true;
                }
            }
            continue;
        }
        if !node.is_element() || !names::is_item(node, sign) {
            continue;
        }
        // A table row holds one comment; matching elements inside are its text.
        if items
            .last()
            .is_some_and(|item| item.node.tag() == tag::TR && item.node.contains(node))
        {
            continue;
        }
        if open.last().is_some_and(|(_, said)| !said) {
            if !has_sibling(node, sign) {
                continue;
            }
            // An element that starts with the first of several comments is their list.
            open.pop();
            items.pop();
        }
        items.push(Item {
            node,
            depth: names::indent(node).unwrap_or(open.len() as u32),
            is_ping: names::is_ping(node),
        });
        open.push((node.end(), false));
        if items.len() >= MAX_COMMENTS {
            break;
        }
    }
    items
}

/// Whether another such element follows as a sibling.
fn has_sibling(node: Node<'_>, sign: Sign) -> bool {
    std::iter::successors(node.next_sibling(), Node::next_sibling)
        .any(|next| next.is_element() && names::is_item(next, sign))
}

/// The posts of a thread after the first. Lists of articles consist of posts too, so a post of a
/// thread must have an author and a date, and no headline with a link.
fn posts(items: &[Item<'_>]) -> Vec<Comment> {
    let nodes: Vec<Node<'_>> = items.iter().map(|item| item.node).collect();
    if items.len() < 2 || nodes.iter().any(|node| element::has_linked_heading(*node)) {
        return Vec::new();
    }
    let mut posts: Vec<Comment> = nodes
        .iter()
        .filter_map(|node| element::read(*node, &nodes, 0))
        .filter(|post| post.author.is_some() && post.published.is_some())
        .collect();
    if posts.len() < 2 {
        return Vec::new();
    }
    if items
        .first()
        .is_some_and(|item| !names::is_answer(item.node))
    {
        posts.remove(0);
    }
    posts
}

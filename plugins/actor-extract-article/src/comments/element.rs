//! Reads one comment's element: author, date and text, without nested comments.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::{self, Collapse};

use super::Comment;
use super::names;

/// Longest author name, in bytes.
const MAX_NAME: usize = 120;

/// Reads an element; `None` if it has no text. `items` are the elements of all comments in document
/// order: elements inside another item below this one are skipped.
pub fn read(node: Node<'_>, items: &[Node<'_>], depth: u32) -> Option<Comment> {
    let first = items.partition_point(|item| item.id() <= node.id());
    let last = items.partition_point(|item| item.id() < node.end());
    let inner = items.get(first..last).unwrap_or_default();
    let own = Own { node, inner };
    let author = author(&own);
    let date = date(&own);
    let text = body(
        &own,
        author.as_ref().map(|a| a.0),
        date.as_ref().map(|d| d.0),
    );
    if text.is_empty() || is_count(&text) {
        return None;
    }
    let author = author.map(|(_, name)| name).or_else(|| {
        let name = node
            .attr_named("author")
            .or_else(|| node.attr_named("data-author"));
        name.map(text::collapse).filter(|name| !name.is_empty())
    });
    let published = date.map(|(_, date)| date);
    let nobody = author.is_none() && published.is_none();
    // Probably a close button.
    if nobody && (names::is_doubtful(node) || text.chars().nth(1).is_none()) {
        return None;
    }
    Some(Comment {
        author,
        published,
        text,
        depth,
    })
}

/// Whether the text is a count such as "22 Comments".
fn is_count(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let number = words
        .next()
        .is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
    let word = words.next().unwrap_or("").to_lowercase();
    number && (word.starts_with("comment") || word.starts_with("repl")) && words.next().is_none()
}

/// Whether the element has a heading with a link, as listed articles have.
pub fn has_linked_heading(node: Node<'_>) -> bool {
    node.elements()
        .filter(|n| matches!(n.tag(), tag::H1 | tag::H2 | tag::H3))
        .any(|heading| {
            let mut around = heading.elements().chain(heading.ancestors());
            around.any(|n| n.tag() == tag::A && n.has_attr(attr::HREF))
        })
}

/// A comment's element without the elements of nested comments.
struct Own<'a, 'v> {
    node: Node<'v>,
    inner: &'a [Node<'v>],
}

impl<'v> Own<'_, 'v> {
    /// Its elements in document order.
    fn elements(&self) -> impl Iterator<Item = Node<'v>> {
        let mut next = self.node.id() + 1;
        let mut inner = self.inner.iter().peekable();
        let (view, end) = (self.node.view(), self.node.end());
        std::iter::from_fn(move || {
            while next < end {
                if let Some(item) = inner.next_if(|item| item.id() <= next) {
                    next = next.max(item.end());
                    continue;
                }
                let node = view.node(next)?;
                next += 1;
                if node.is_element() {
                    return Some(node);
                }
            }
            None
        })
    }

    /// The text below `root`, one line per block, without nested comments and the elements that
    /// `skip` selects.
    fn lines(&self, root: Node<'v>, skip: impl Fn(Node<'v>) -> bool) -> String {
        let mut out = String::new();
        let mut line = String::new();
        let mut collapse = Collapse::default();
        let mut closes: Vec<u32> = Vec::new();
        let mut next = root.id();
        let mut inner = self.inner.iter().peekable();
        let mut end_line = |line: &mut String, collapse: &mut Collapse| {
            if !line.is_empty() {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(line);
                line.clear();
            }
            *collapse = Collapse::default();
        };
        while next < root.end() {
            while closes.last().is_some_and(|close| *close <= next) {
                closes.pop();
                end_line(&mut line, &mut collapse);
            }
            if let Some(item) = inner.next_if(|item| item.id() <= next) {
                next = next.max(item.end());
                continue;
            }
            let Some(node) = root.view().node(next) else {
                break;
            };
            next += 1;
            if node.is_text() {
                collapse.push(node.text(), &mut line);
            } else if node.is_element() {
                if text::is_hidden(node.tag()) || node != root && skip(node) {
                    next = node.end();
                } else if node.tag() == tag::BR {
                    end_line(&mut line, &mut collapse);
                } else if text::is_block(node.tag()) {
                    end_line(&mut line, &mut collapse);
                    closes.push(node.end());
                }
            }
        }
        end_line(&mut line, &mut collapse);
        out
    }
}

fn author<'v>(own: &Own<'_, 'v>) -> Option<(Node<'v>, String)> {
    let named = own.elements().filter(|n| names::is_author(*n));
    let profiles = own.elements().filter(|n| names::is_profile(*n));
    named.chain(profiles).find_map(|node| {
        // Inside an item the name is a property, in a line about the author it is a link; counts
        // and badges are around it.
        let is_name = |n: &Node<'_>| {
            let property = n.attr(attr::ITEMPROP).unwrap_or("");
            property.split_ascii_whitespace().any(|p| p == "name")
                || names::classes(*n).any(|class| class == "fn")
        };
        let is_link = |n: &Node<'_>| n.tag() == tag::A && !text::line(*n).is_empty();
        let name = node
            .elements()
            .find(is_name)
            .or_else(|| node.elements().find(is_link));
        let name = name.unwrap_or(node);
        let text = name
            .attr(attr::CONTENT)
            .map_or_else(|| text::line(name), super::data::plain);
        // Some pages escape the tags around a name.
        let text = super::data::plain(&text);
        let text = clean_name(&text);
        (!text.is_empty() && text.len() <= MAX_NAME).then(|| (node, text.to_owned()))
    })
}

/// The name without words around it: "by Ann says:".
fn clean_name(text: &str) -> &str {
    const AFTER: &[&str] = &[
        "says:", "said:", "wrote:", "writes:", "says", "said", "wrote", ":",
    ];
    let text = AFTER.iter().fold(text.trim(), |text, end| {
        text.strip_suffix(end).unwrap_or(text).trim_end()
    });
    let by = text.strip_prefix("By ").or(text.strip_prefix("by "));
    by.unwrap_or(text)
}

fn date<'v>(own: &Own<'_, 'v>) -> Option<(Node<'v>, String)> {
    let of = |node: Node<'v>| {
        let stated = [attr::DATETIME, attr::CONTENT]
            .iter()
            .find_map(|id| node.attr(*id))
            .map(str::to_owned)
            .or_else(|| node.attr_named("ts").map(str::to_owned));
        // Hacker News has the exact time in a title attribute.
        let titled = || {
            let title = node.attr(attr::TITLE)?;
            title
                .get(..4)?
                .bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| title.to_owned())
        };
        let date = stated.or_else(titled).unwrap_or_else(|| text::line(node));
        let date = date.trim();
        (!date.is_empty() && date.len() <= MAX_NAME).then(|| (node, date.to_owned()))
    };
    let times = own.elements().filter(|n| n.tag() == tag::TIME);
    let named = own
        .elements()
        .filter(|n| n.tag() != tag::TIME && names::is_date(*n));
    times.chain(named).find_map(of)
}

fn body(own: &Own<'_, '_>, author: Option<Node<'_>>, date: Option<Node<'_>>) -> String {
    let named = own
        .elements()
        .filter(|n| names::is_text(*n))
        // Some pages give the whole comment a class for content.
        .filter(|n| !author.is_some_and(|a| n.contains(a)) && !date.is_some_and(|d| n.contains(d)))
        .map(|n| own.lines(n, names::is_aside))
        // Titles and badges have texts too: the longest is the comment's, and the first of equals.
        .fold(None, |best: Option<String>, text| match best {
            Some(best) if best.len() >= text.len() => Some(best),
            _ => Some(text).filter(|text| !text.is_empty()),
        });
    named.unwrap_or_else(|| {
        own.lines(own.node, |n| {
            let is = |other: Option<Node<'_>>| other.is_some_and(|o| o == n);
            is(author) || is(date) || names::is_author(n) || names::is_date(n) || names::is_aside(n)
        })
    })
}

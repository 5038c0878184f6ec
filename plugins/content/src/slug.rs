//! Ids that are made of headings.
//!
//! Generators of sites give each heading, or its section, its own text as an id. `<h2 id="comments">`
//! of a manual is no list of comments: its id says what its text says, which is judged by itself.

use std::cell::OnceCell;

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::text::letters;

use crate::measure::is_heading;
use crate::names;
use crate::words::{BOILERPLATE, COMMENT, REVIEW, SIGNATURE};

/// How many other ids a page must make of headings for that of a section to be taken for one: a single
/// list of comments may well be named as its heading is.
const HABIT: usize = 3;

/// Most nodes of a heading, and most bytes of its id.
const MAX_NODES: u32 = 64;
const MAX_ID: usize = 200;

/// How a page names its headings.
pub struct Slugs<'v> {
    view: &'v View<'v>,
    is_habit: OnceCell<bool>,
}

impl<'v> Slugs<'v> {
    /// Of a page.
    pub fn of(view: &'v View<'v>) -> Self {
        Self {
            view,
            is_habit: OnceCell::new(),
        }
    }

    /// Whether an element's id says no more than the heading that it is, or that it begins with.
    pub fn has(&self, node: Node<'_>) -> bool {
        if is_heading(node.tag()) {
            return is_of(node, node);
        }
        matches!(node.tag(), tag::SECTION | tag::DIV)
            && first_heading(node).is_some_and(|heading| is_of(node, heading))
            && *self.is_habit.get_or_init(|| self.is_habit())
    }

    fn is_habit(&self) -> bool {
        let made = |heading: &Node<'_>| {
            std::iter::once(*heading)
                .chain(heading.parent())
                .any(|node| is_of(node, *heading) && !is_boilerplate(node))
        };
        let headings = self.view.tagged(is_heading);
        headings.filter(made).take(HABIT).count() == HABIT
    }
}

fn is_boilerplate(node: Node<'_>) -> bool {
    let id = node.attr(attr::ID).unwrap_or("");
    names::marks(id, u32::MAX) & BOILERPLATE != 0
}

/// The heading that an element begins with; anchors of older addresses, and links to the parts before
/// and behind, may stand before it.
fn first_heading(node: Node<'_>) -> Option<Node<'_>> {
    const MOST: usize = 6;
    let mut children = node.child_elements().take(MOST);
    children.find(|child| is_heading(child.tag()))
}

/// Whether an element's id is made of a heading's text. What stands twice on a page has a number.
fn is_of(node: Node<'_>, heading: Node<'_>) -> bool {
    let Some(id) = node.attr(attr::ID).filter(|id| id.len() <= MAX_ID) else {
        return false;
    };
    if heading.end() - heading.id() > MAX_NODES {
        return false;
    }
    let text = heading.text_content();
    let id = letters(id.strip_prefix("user-content-").unwrap_or(id));
    says(&id, &letters(&text))
        || behind_number(&text, &id).is_some_and(|title| says(&id, &letters(title)))
}

fn says(id: &str, text: &str) -> bool {
    !text.is_empty()
        && id
            .strip_prefix(text)
            .is_some_and(|rest| rest.len() <= 2 && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// What a heading says behind its number: "5.8.5. Handling bugs", "A.2 Tools", "8 Tools". "3 comments"
/// has a count, as what is written about a page has.
fn behind_number<'t>(text: &'t str, id: &str) -> Option<&'t str> {
    let text = text.trim_start();
    let text = text.strip_prefix('§').unwrap_or(text).trim_start();
    let (number, title) = text.split_once(char::is_whitespace)?;
    let is_digit = |c: char| c.is_ascii_digit();
    let parts = number.strip_suffix(['.', ':', ')']).unwrap_or(number);
    let is_number = parts.split('.').all(|part| {
        !part.is_empty() && part.chars().all(is_digit)
            || part.len() == 1 && part.chars().all(|c| c.is_ascii_uppercase())
    });
    let counts = || names::marks(id, u32::MAX) & (COMMENT | REVIEW | SIGNATURE) != 0;
    let is_count = number.chars().all(is_digit) && counts();
    (is_number && !is_count).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids of the elements of a page whose ids are made of their headings.
    fn found(html: &str) -> Vec<String> {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let slugs = Slugs::of(&view);
        let made = view.elements().filter(|node| slugs.has(*node));
        made.filter_map(|node| node.attr(attr::ID))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn an_id_that_is_the_text_of_its_heading_says_nothing() {
        for (html, is_made) in [
            ("<h2 id=keys-and-tags>Keys and tags</h2>", true),
            ("<h2 id=tags-1>Tags <a href=#tags-1>¶</a></h2>", true),
            ("<h3 id=user-content-related-work>Related work</h3>", true),
            ("<h2 id=related-bugs>5.8.5. Related bugs¶</h2>", true),
            ("<h2 id=Tools>8 Tools</h2>", true),
            ("<h2 id=Widgets>A.2 Widgets</h2>", true),
            ("<h2 id=widgets>All widgets</h2>", false),
            ("<h2 id=comments>3 comments</h2>", false),
            ("<h2 id=comments-title>Comments</h2>", false),
            ("<h2 id=comments></h2>", false),
            ("<p id=comments>Comments</p>", false),
        ] {
            assert_eq!(!found(html).is_empty(), is_made, "{html}");
        }
    }

    #[test]
    fn a_section_s_heading_may_stand_below_links_to_its_neighbours() {
        let section = |id: &str| {
            format!(
                "<div id={id}><a name=x></a><table><tr><td><a href=#n>Next</a></table><hr>\
                 <h2>1 {id}</h2><p>Text</div>"
            )
        };
        let manual = ["Widgets", "Tools", "Values", "Keys", "Limits"];
        assert_eq!(
            found(&manual.iter().map(|id| section(id)).collect::<String>()),
            manual
        );
    }

    #[test]
    fn a_section_s_id_counts_by_the_habit_of_its_page() {
        let section = |id: &str| format!("<section id={id}><h2>{id}</h2><p>Text</p></section>");
        let page = |ids: &[&str]| found(&ids.iter().map(|id| section(id)).collect::<String>());
        let manual = ["keys", "popup", "values", "limits"];
        assert_eq!(page(&manual), manual);
        assert!(page(&["keys", "popup", "values"]).is_empty(), "too few");
        let boxes = ["popup", "comments", "newsletter", "related", "keys"];
        assert!(page(&boxes).is_empty(), "a page of boxes");
    }
}

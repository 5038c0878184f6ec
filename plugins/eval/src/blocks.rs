//! The blocks of a page, and which of them a text has.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::text::{collapse, is_block, is_hidden};

use crate::metric::tokens;

/// Share of a block's runs of tokens above which a text has the block.
const ENOUGH: f64 = 0.5;
/// Ancestors whose class names are read.
const CLASS_LEVELS: usize = 3;

/// One run of text of a page, between two borders of blocks.
#[derive(Clone, Debug)]
pub struct Block {
    /// The text, white space collapsed.
    pub text: String,
    /// Its tokens.
    pub words: usize,
    /// The innermost block element and the nearest landmark around it: `li in nav`.
    pub place: String,
    /// Words of the classes and ids of the element and of those around it.
    pub names: Vec<String>,
    /// Whether the true content has it.
    pub wanted: bool,
    /// Whether the answer has it.
    pub kept: bool,
}

/// Every block of a page that has a word, in document order, judged by the truth and by the
/// answer.
pub fn blocks(view: &View<'_>, truth: &str, answer: &str) -> Vec<Block> {
    let (truth, answer) = (Text::new(truth), Text::new(answer));
    let mut found = Vec::new();
    let Some(body) = view.body() else {
        return found;
    };
    let mut text = String::new();
    let mut open: Vec<Node<'_>> = vec![body];
    let mut flush = |text: &mut String, owner: Option<&Node<'_>>| {
        let line = collapse(text);
        text.clear();
        let lower = line.to_lowercase();
        let words = tokens(&lower);
        let (Some(owner), false) = (owner, words.is_empty()) else {
            return;
        };
        found.push(Block {
            words: words.len(),
            place: place(*owner),
            names: names(*owner),
            wanted: truth.has(&words),
            kept: answer.has(&words),
            text: line,
        });
    };
    let mut id = body.id() + 1;
    while let Some(node) = view.node(id).filter(|node| node.id() < body.end()) {
        while open.len() > 1 && open.last().is_some_and(|block| block.end() <= id) {
            flush(&mut text, open.last());
            open.pop();
        }
        id += 1;
        if node.is_text() {
            text.push_str(node.text());
        } else if is_hidden(node.tag()) {
            id = node.end();
        } else if node.tag() == tag::BR {
            flush(&mut text, open.last());
        } else if is_block(node.tag()) {
            flush(&mut text, open.last());
            open.push(node);
        }
    }
    while let Some(block) = open.pop() {
        flush(&mut text, Some(&block));
    }
    found
}

/// The runs of one to four tokens of a text, and its lines.
struct Text {
    runs: HashSet<u64>,
    lines: HashSet<u64>,
}

impl Text {
    fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words = tokens(&lower);
        let runs = (1..=4)
            .flat_map(|size| words.windows(size).map(digest))
            .collect();
        let lines = lower.lines().map(|line| digest(&tokens(line))).collect();
        Self { runs, lines }
    }

    fn has(&self, words: &[&str]) -> bool {
        // A single word is in many texts by chance.
        if words.len() == 1 {
            return self.lines.contains(&digest(words));
        }
        let runs = words.windows(words.len().min(4));
        let all = runs.len().max(1);
        let common = runs.filter(|run| self.runs.contains(&digest(run))).count();
        common as f64 >= all as f64 * ENOUGH
    }
}

fn digest(words: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// Where a block stands, in terms that mean the same on every site.
fn place(owner: Node<'_>) -> String {
    let landmark = std::iter::once(owner)
        .chain(owner.ancestors())
        .find(|node| {
            matches!(
                node.tag(),
                tag::NAV
                    | tag::HEADER
                    | tag::FOOTER
                    | tag::ASIDE
                    | tag::FORM
                    | tag::TABLE
                    | tag::DIALOG
                    | tag::FIGURE
                    | tag::DETAILS
                    | tag::ARTICLE
                    | tag::MAIN
            )
        });
    match landmark {
        Some(around) => format!("{} in {}", owner.name(), around.name()),
        None => format!("{} in body", owner.name()),
    }
}

/// Words of class names and ids: `postMeta-date` has `post`, `meta` and `date`.
fn names(owner: Node<'_>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for node in std::iter::once(owner)
        .chain(owner.ancestors())
        .take(CLASS_LEVELS + 1)
    {
        if matches!(node.tag(), tag::BODY | tag::HTML) {
            break;
        }
        for value in [attr::CLASS, attr::ID]
            .iter()
            .filter_map(|id| node.attr(*id))
        {
            for word in value.split(|c: char| !c.is_ascii_alphabetic()).take(64) {
                for part in camel_parts(word) {
                    let part = part.to_ascii_lowercase();
                    if (3..=20).contains(&part.len()) && !words.contains(&part) {
                        words.push(part);
                    }
                }
            }
        }
    }
    words
}

fn camel_parts(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut before_lower = false;
        let end = rest
            .bytes()
            .position(|b| {
                let cut = before_lower && b.is_ascii_uppercase();
                before_lower = b.is_ascii_lowercase();
                cut
            })
            .unwrap_or(rest.len());
        let (part, tail) = rest.split_at_checked(end)?;
        rest = tail;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_apart_and_judged_by_their_words() {
        let html = "<nav class='topNav'><ul><li>Home page link<li>About</ul></nav>
            <div id=main-text><p>The first real <b>sentence</b> stands here.<p>About
            <br>Second line of it all.<script>var x</script></div>";
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let truth = "The first real sentence stands here.\n\nSecond line of it all.";
        let answer = "Home page link\nThe first real sentence stands here.\nAbout";
        let found = blocks(&view, truth, answer);
        let seen: Vec<_> = found
            .iter()
            .map(|b| (b.text.as_str(), b.place.as_str(), b.wanted, b.kept))
            .collect();
        assert_eq!(
            seen,
            [
                ("Home page link", "li in nav", false, true),
                ("About", "li in nav", false, true),
                (
                    "The first real sentence stands here.",
                    "p in body",
                    true,
                    true
                ),
                ("About", "p in body", false, true),
                ("Second line of it all.", "p in body", true, false),
            ]
        );
        assert_eq!(found[0].names, ["top", "nav"]);
        assert_eq!(found[2].names, ["main", "text"]);
    }
}

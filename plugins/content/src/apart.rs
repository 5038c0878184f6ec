//! Which inline elements are apart on the screen though no white space is between them.

use orbweaver_sdk::dom::{Node, attr, tag};

/// Whether the words of an element and of the one directly before it are apart on the screen,
/// as style sheets make badges, tags, a number and its unit: links are as a rule, and spans of
/// different classes. Words are never cut: letters or digits must meet, and neither side may be
/// one of them alone. Two pieces of code or keys in a row are boxes, however short, and so are the
/// labels of fields and the cells, options and tabs that are told by their role.
pub fn are_apart(node: Node<'_>) -> bool {
    /// Nodes of each side that are looked at.
    const NEAR: usize = 4;
    /// Characters of each side that are looked at for a second letter.
    const FAR: usize = 16;
    let is_part = |tag| matches!(tag, tag::SPAN | tag::A);
    let is_box = |tag| matches!(tag, tag::CODE | tag::KBD | tag::SAMP | tag::TT);
    let Some(before) = node.prev_sibling() else {
        return false;
    };
    if node.tag() == tag::SUP {
        return is_footnote(node, before);
    }
    if is_box(node.tag()) {
        return is_box(before.tag());
    }
    if node.tag() == tag::LABEL && before.tag() == tag::LABEL {
        return true;
    }
    if has_own_place(node) && has_own_place(before) {
        return true;
    }
    if !is_part(node.tag()) || !is_part(before.tag()) {
        return false;
    }
    let both_spans = node.tag() == tag::SPAN && before.tag() == tag::SPAN;
    if both_spans && before.attr(attr::CLASS) == node.attr(attr::CLASS) && !is_one_of_many(node) {
        return false;
    }
    let meets = |chars: &mut dyn Iterator<Item = char>| {
        chars.next().is_some_and(char::is_alphanumeric)
            && chars.take(FAR).any(char::is_alphanumeric)
    };
    let after = node
        .descendants()
        .take(NEAR)
        .map(|n| n.text())
        .find(|t| !t.is_empty());
    let last = (before.id()..before.end())
        .rev()
        .take(NEAR)
        .filter_map(|id| node.view().node(id))
        .map(|n| n.text())
        .find(|t| !t.is_empty());
    after.is_some_and(|t| meets(&mut t.chars()))
        && last.is_some_and(|t| meets(&mut t.chars().rev()))
}

/// Whether an element's role gives it a place of its own.
fn has_own_place(node: Node<'_>) -> bool {
    node.attr(attr::ROLE).is_some_and(|role| {
        let places = [
            "cell",
            "columnheader",
            "gridcell",
            "option",
            "rowheader",
            "tab",
        ];
        places.iter().any(|place| role.eq_ignore_ascii_case(place))
    })
}

/// Whether a `<sup>` or `<sub>` is the frame of a link, as that of a footnote.
pub fn holds_link(node: Node<'_>) -> bool {
    node.first_child()
        .is_some_and(|child| child.tag() == tag::A)
}

/// Whether an element is the mark of a footnote that would be read as the end of the word before.
fn is_footnote(node: Node<'_>, before: Node<'_>) -> bool {
    let first = node
        .descendants()
        .take(4)
        .find_map(|n| n.text().chars().next());
    let last = before.text().chars().next_back();
    holds_link(node)
        && [first, last]
            .iter()
            .all(|c| c.is_some_and(char::is_alphanumeric))
}

/// Whether a `<cite>` is what a quotation begins with, as forums name whose words follow.
pub fn names_speaker(cite: Node<'_>) -> bool {
    /// Boxes between the quotation and the name.
    const MAX_BOXES: usize = 4;
    let mut at = cite;
    for _ in 0..MAX_BOXES {
        let mut before = std::iter::successors(at.prev_sibling(), |n| n.prev_sibling());
        if !before.all(|n| n.is_text() && n.text().trim().is_empty()) {
            return false;
        }
        match at.parent() {
            Some(around) if around.tag() == tag::BLOCKQUOTE => return true,
            Some(around) if matches!(around.tag(), tag::DIV | tag::P | tag::HEADER) => at = around,
            _ => return false,
        }
    }
    false
}

/// Whether a span is one of a row of spans of one class without text between them: badges.
/// Effects cut words into letters so, and parts of code are coloured so: those of a row have
/// more than one letter each, and no attribute `style`.
fn is_one_of_many(span: Node<'_>) -> bool {
    span.attr(attr::CLASS)
        .is_some_and(|c| !c.trim_ascii().is_empty())
        && !span.has_attr(attr::STYLE)
}

/// Whether a character is of a script that is written without spaces between words: a line end
/// between two of them is none (CSS Text 3, segment break transformation).
pub fn is_han(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fdf}' | '\u{3000}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff01}'..='\u{ff60}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn badges_are_apart_and_parts_of_words_are_not() {
        for (html, apart) in [
            ("<span class=n>47</span><span class=u>km</span>", true),
            (
                "<span class=tag>Action</span><span class=tag>Shooter</span>",
                true,
            ),
            ("<a href=/a>Action</a><a href=/b>Shooter</a>", true),
            ("<label for=a>C</label><label for=b>C++</label>", true),
            ("<span role=cell>1</span><span role=cell>2</span>", true),
            ("<span role=img>1</span><span role=img>2</span>", false),
            ("<a href=/a><span>Action</span></a><span>12</span>", true),
            ("<a href=/a>World War I</a><a href=/b>Shooter</a>", true),
            (
                "<a href=/a>Search jobs</a><a href=/b>R&amp;D jobs</a>",
                true,
            ),
            ("<a href=/a>P</a><a href=/b>acking</a>", false),
            ("<kbd>F</kbd><kbd>Tab</kbd>", true),
            ("<kbd>F</kbd><span class=k>Tab</span>", false),
            ("<span class=p>東京</span><span class=q>大阪</span>", true),
            // An effect that cuts a word into letters, or moves its parts one by one.
            ("<span class=c>W</span><span class=c>e</span>", false),
            (
                "<span class=c>We</span><span class=c style='--i: 2'>bs</span>",
                false,
            ),
            ("<span>We</span><span>bs</span>", false),
            ("<span class=cap>O</span><span>nce</span>", false),
            ("<b>We</b><span class=x>bs</span>", false),
            ("<span class=n>We </span><span class=u>bs</span>", false),
            ("<span class=n>We</span>b<span class=u>bs</span>", false),
        ] {
            let snapshot = orbweaver_sdk::dom::parse(html);
            let found = snapshot.view().ok().and_then(|view| {
                let body = view.body()?;
                body.child_elements().last().map(are_apart)
            });
            assert_eq!(found, Some(apart), "{html}");
        }
    }
}

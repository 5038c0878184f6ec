//! Finds the parts of a page that no reader sees.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::{self, Piece};

/// How an element's attributes change its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Visible as its tag says.
    Usual,
    /// No reader sees it.
    Hidden,
    /// An inline element that its style makes a block.
    Block,
    /// An element that is a heading of this level by its role.
    Heading(u8),
    /// A table that is none by its role.
    Presentation,
}

/// The text below `node` that readers see, or of `node` itself if it is a text: without elements that
/// are hidden by what they are or by their attributes, except `node` itself.
pub fn pieces<'a>(node: Node<'a>) -> impl Iterator<Item = Piece<'a>> {
    text::pieces_but(node, |element: Node<'a>| {
        look(element, element.tag()) == Look::Hidden
    })
}

/// Reads the attributes that hide an element or change what it is.
pub fn look(node: Node<'_>, tag: u16) -> Look {
    let mut look = Look::Usual;
    let mut hidden = false;
    for attribute in node.attrs() {
        match attribute.id() {
            attr::HIDDEN => {
                hidden |=
                    !attribute.value().eq_ignore_ascii_case("until-found") && !is_streamed(node);
            }
            attr::ARIA_HIDDEN => {
                hidden |= attribute.value() == "true" && is_hidden_from_readers(node, tag);
            }
            attr::STYLE => match of_style(attribute.value()) {
                Look::Hidden => hidden = true,
                Look::Block if look == Look::Usual => look = Look::Block,
                _ => {}
            },
            attr::ROLE => match attribute.value() {
                "presentation" | "none" => look = Look::Presentation,
                "heading" => {
                    let level = node
                        .attr(attr::ARIA_LEVEL)
                        .and_then(|l| l.trim().parse().ok());
                    look = Look::Heading(level.filter(|l| (1..=6).contains(l)).unwrap_or(2));
                }
                _ => {}
            },
            _ => {}
        }
    }
    // A page whose body is hidden until a script shows it is not empty; MediaWiki hides the
    // MathML behind each formula's picture.
    if hidden
        && !matches!(tag, tag::BODY | tag::HTML)
        && !wraps_math(node)
        && !can_be_opened(node)
        && !is_the_page(node)
    {
        return Look::Hidden;
    }
    look
}

/// `aria-hidden` marks icons and closed menus, but also text that everyone sees and a
/// screen reader would only say twice. Blocks are taken as hidden; inline elements only if
/// they have no words, or are the drawn half of a formula.
fn is_hidden_from_readers(node: Node<'_>, tag: u16) -> bool {
    if !matches!(
        tag,
        tag::SPAN | tag::A | tag::I | tag::B | tag::EM | tag::STRONG | tag::SMALL
    ) {
        // A picture may be meant for the eyes only and still be content.
        return tag != tag::IMG || has_class_with(node, "mwe-math");
    }
    if has_class_with(node, "katex") || has_class_with(node, "MathJax") {
        return true;
    }
    // Prices and the like stand beside a copy for screen readers.
    let own = first_text(node);
    let beside = [node.next_sibling(), node.prev_sibling()];
    if own.is_some() && beside.into_iter().flatten().any(|n| first_text(n) == own) {
        return true;
    }
    // More than a few nodes are no icon.
    !node
        .descendants()
        .take(64)
        .any(|n| n.tag() == tag::IMG || n.text().chars().any(char::is_alphanumeric))
}

fn first_text(node: Node<'_>) -> Option<&str> {
    let near = std::iter::once(node).chain(node.descendants()).take(8);
    near.map(|n| n.text().trim()).find(|text| !text.is_empty())
}

/// Whether an element that is hidden at first is a part of the page which a click shows: the
/// panel of a tab, an accordion or a list of questions (ARIA Authoring Practices).
fn can_be_opened(node: Node<'_>) -> bool {
    if matches!(node.attr(attr::ROLE), Some("tabpanel" | "region")) {
        return true;
    }
    let names = [
        "accordion",
        "collaps",
        "tab-pane",
        "tabpanel",
        "tab-content",
        "faq",
    ];
    node.attr(attr::CLASS)
        .is_some_and(|classes| names.iter().any(|name| classes.contains(name)))
}

/// Whether a hidden element is so much of the document that it is the page itself, which a
/// script is to show: behind a gate, a loading screen, a fade.
fn is_the_page(node: Node<'_>) -> bool {
    let nodes = node.end() - node.id();
    nodes > 200
        && u64::from(nodes) * 100 > u64::from(node.view().len()) * 40
        && matches!(
            node.tag(),
            tag::DIV | tag::MAIN | tag::ARTICLE | tag::SECTION
        )
}

/// React sends parts of a page hidden, for a script to put in their place.
fn is_streamed(node: Node<'_>) -> bool {
    node.attr(attr::ID).is_some_and(|id| id.starts_with("S:"))
}

fn has_class_with(node: Node<'_>, part: &str) -> bool {
    node.attr(attr::CLASS).is_some_and(|c| c.contains(part))
}

fn wraps_math(node: Node<'_>) -> bool {
    node.first_child().is_some_and(|n| n.tag() == tag::MATH)
}

/// What an inline style says of display and visibility.
pub fn of_style(style: &str) -> Look {
    let mut look = Look::Usual;
    if style.len() < 8 {
        return look;
    }
    for declaration in style.split(';') {
        let Some((name, value)) = declaration.split_once(':') else {
            continue;
        };
        let name = name.trim_ascii();
        let value = value.trim_ascii();
        let value = value
            .split(|c: char| c == '!' || c.is_ascii_whitespace())
            .next()
            .unwrap_or("");
        if name.eq_ignore_ascii_case("display") {
            if value.eq_ignore_ascii_case("none") {
                return Look::Hidden;
            }
            let block = ["block", "flex", "grid", "table", "list-item", "flow-root"];
            if block.iter().any(|b| value.eq_ignore_ascii_case(b)) {
                look = Look::Block;
            }
        } else if name.eq_ignore_ascii_case("visibility")
            && (value.eq_ignore_ascii_case("hidden") || value.eq_ignore_ascii_case("collapse"))
        {
            return Look::Hidden;
        }
    }
    look
}

/// Whether a `<b>` says of itself that it is not bold, as text pasted from word processors
/// is wrapped.
pub fn is_unstyled(node: Node<'_>) -> bool {
    let Some(style) = node.attr(attr::STYLE) else {
        return false;
    };
    style
        .split(';')
        .filter_map(|d| d.split_once(':'))
        .any(|(name, value)| {
            name.trim_ascii().eq_ignore_ascii_case("font-weight")
                && matches!(value.trim_ascii(), "normal" | "400")
        })
}

/// Whether an element is the number beside a line of code, or a column of them, by the class
/// names that highlighters give.
pub fn is_line_number(node: Node<'_>) -> bool {
    let may_be = matches!(
        node.tag(),
        tag::SPAN | tag::DIV | tag::TD | tag::A | tag::UL | tag::OL
    );
    may_be
        && node.attr(attr::CLASS).is_some_and(|classes| {
            classes.split_ascii_whitespace().any(|class| {
                matches!(
                    class,
                    "lineno"
                        | "linenos"
                        | "line-number"
                        | "line-numbers"
                        | "linenumber"
                        | "lnt"
                        | "gutter"
                        | "linenodiv"
                        | "rouge-gutter"
                        | "hljs-ln-numbers"
                        | "hljs-ln-n"
                        | "blob-num"
                        | "line-numbers-rows"
                        | "react-syntax-highlighter-line-number"
                        | "LineNumbers"
                        | "line_numbers"
                        | "crayon-num"
                        | "crayon-nums"
                        | "codehilite-lineno"
                        | "ln-num"
                ) || class == "ln" && is_number(node)
            })
        })
}

/// Whether a number is all the text of an element: Chroma calls a line's number `ln`, others the
/// line.
fn is_number(node: Node<'_>) -> bool {
    /// Nodes of a number that links to its line.
    const MAX_NODES: u32 = 4;
    let mut chars = node.descendants().flat_map(|n| n.text().trim().chars());
    node.end() - node.id() <= MAX_NODES && chars.all(|c| c.is_ascii_digit())
}

/// Whether an element is an icon whose text is the name of a picture in a font.
pub fn is_icon(node: Node<'_>) -> bool {
    let is_font = |class: &str| {
        class == "material-icons"
            || class.starts_with("material-icons-")
            || class.starts_with("material-symbols-")
    };
    matches!(node.tag(), tag::SPAN | tag::I)
        && node.attr(attr::CLASS).is_some_and(|classes| {
            classes.contains("material-") && classes.split_ascii_whitespace().any(is_font)
        })
}

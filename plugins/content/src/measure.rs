//! The first pass: what each node holds.

use orbweaver_sdk::dom::{Kind, Node, View, attr, tag};
use orbweaver_sdk::text::is_block;

use crate::control;
use crate::label::{self, Label};
use crate::names;
use crate::scan::scan;
use crate::slug::Slugs;
use crate::steps;
use crate::visible::{self, Look};
use crate::words::{self, Marks};

/// Not rendered: scripts, hidden elements, comments. Never part of any output.
pub const SKIP: u8 = 1;
/// Judged to be no part of the content.
pub const DROP: u8 = 2;
/// Starts a line of its own.
pub const BLOCK: u8 = 4;
/// A heading, `h1` to `h6`.
pub const HEADING: u8 = 8;

/// A picture with its caption: part of the HTML, not of the text.
pub const PICTURE: u8 = 16;

/// In a subtree that a style or attribute hides. The root of such a subtree is [`SKIP`] too.
pub const HIDE: u8 = 32;

/// Holds a heading.
pub const TITLED: u8 = 64;

/// The figures of one node. Characters are counted with runs of white space as one.
#[derive(Clone, Copy, Default)]
pub struct Info {
    /// Marks of class, id, role and the like.
    pub marks: Marks,
    /// Marks of the element and everything above it.
    pub above: Marks,
    /// [`SKIP`], [`DROP`], [`BLOCK`], [`HEADING`] and so on.
    pub state: u8,
    /// How much the subtree's links lead from page to page of a book or list; see
    /// `steps`.
    pub steps: u8,
    /// The element's tag id, 0 for other nodes.
    pub tag: u16,
    /// The nearest block at or above this node.
    pub owner: u32,
    /// Characters of the subtree.
    pub chars: u32,
    /// Those of them inside links.
    pub link: u32,
    /// Characters in this block itself and not in a block below.
    pub own: u32,
    /// Those of them inside links.
    pub own_link: u32,
    /// Punctuation of sentences in the block itself.
    pub punct: u32,
    /// Characters of running text in the subtree, dropped parts left out.
    pub prose: u32,
    /// Links in the subtree.
    pub links: u32,
    /// Characters of the subtree, dropped parts left out.
    pub left: u32,
}

/// What is known of the page's nodes, by id.
pub struct Measured {
    /// The nodes, by id.
    pub info: Vec<Info>,
    /// Running text of the whole page.
    pub prose: u32,
    /// Marks that mean nothing on this page.
    pub void: Marks,
}

/// Elements that never hold text to read.
fn is_skipped(tag: u16) -> bool {
    matches!(
        tag,
        tag::SCRIPT
            | tag::STYLE
            | tag::TEMPLATE
            | tag::NOSCRIPT
            | tag::HEAD
            | tag::SVG
            | tag::IFRAME
            | tag::OBJECT
            | tag::EMBED
            | tag::CANVAS
            | tag::AUDIO
            | tag::VIDEO
            | tag::SELECT
            | tag::TEXTAREA
            | tag::INPUT
            | tag::BUTTON
            | tag::DATALIST
            | tag::NOFRAMES
            | tag::NOEMBED
            | tag::MAP
            | tag::APPLET
            | tag::LINK
            | tag::META
            | tag::TITLE
            | tag::RP
            | tag::RT
            | tag::PROGRESS
            | tag::METER
            | tag::OPTION
            | tag::OPTGROUP
    )
}

/// Whether a `style` value hides the element.
fn hides(style: &str) -> bool {
    let mut squeezed = [0u8; 16];
    style.split(';').any(|declaration| {
        let mut len = 0;
        for byte in declaration.bytes().filter(|b| !b.is_ascii_whitespace()) {
            let Some(slot) = squeezed.get_mut(len) else {
                break;
            };
            *slot = byte.to_ascii_lowercase();
            len += 1;
        }
        let head = squeezed.get(..len).unwrap_or(&[]);
        head.starts_with(b"display:none") || head.starts_with(b"visibility:hidde")
    })
}

/// Whether an attribute of the element hides it at first, though a click may show it.
pub fn starts_hidden(node: Node<'_>) -> bool {
    node.attrs().any(|a| match a.id() {
        attr::HIDDEN => !a.value().eq_ignore_ascii_case("until-found"),
        attr::STYLE => hides(a.value()),
        attr::ARIA_HIDDEN => a.value() == "true",
        _ => false,
    })
}

/// Whether an element is a heading.
pub fn is_heading(tag: u16) -> bool {
    matches!(tag, tag::H1..=tag::H6)
}

/// What the element's role, microdata, class and id say.
fn marks_of(node: Node<'_>, max_words: u32, slugs: &Slugs<'_>) -> Marks {
    let mut marks = 0;
    for a in node.attrs() {
        marks |= match a.id() {
            attr::ID => match names::marks(a.value(), max_words) {
                0 => 0,
                marks => {
                    if slugs.has(node) {
                        0
                    } else {
                        marks
                    }
                }
            },
            attr::CLASS | attr::DATA_COMPONENT | attr::DATA_TESTID => {
                let marks = names::marks(a.value(), max_words);
                // Elementor, a site builder, calls each part of a page a widget.
                match a.value().contains("elementor-widget") {
                    true => marks & !words::SIDE,
                    false => marks,
                }
            }
            attr::ITEMPROP if a.value() == "articleBody" => words::STRONG,
            attr::ROLE => match a.value() {
                "navigation" | "menu" | "menubar" | "tablist" => words::NAV,
                "banner" => words::NAV,
                "contentinfo" => words::FOOT,
                "complementary" => words::SIDE,
                "dialog" | "alertdialog" | "tooltip" => words::POPUP,
                "search" | "toolbar" => words::TOOL,
                _ => 0,
            },
            _ => 0,
        };
    }
    marks
}

/// Counts every node of the page; with `show_hidden` also what a style hides. Class
/// names and ids of more than `max_words` words say nothing: they are headings made into
/// ids, or describe the layout.
pub fn measure(view: &View<'_>, show_hidden: bool, max_words: u32) -> Measured {
    let count = view.len();
    let mut info = vec![Info::default(); count as usize];
    let slugs = Slugs::of(view);
    let mut link_end = 0;
    // In a hidden subtree up to here.
    let mut hide_end = 0;
    // Up to here there may be code with numbers beside its lines: preformatted, or a table of two
    // columns.
    let mut code_end = 0;
    let mut id = 0;
    while id < count {
        let Some(node) = view.node(id) else { break };
        let parent = node.parent().map_or(0, |p| p.id());
        let Info { owner, above, .. } = get(&info, parent);
        let hide = if id < hide_end { HIDE } else { 0 };
        match node.kind() {
            Kind::Text => {
                let (chars, punct) = scan(node.text());
                let link = if id < link_end { chars } else { 0 };
                if let Some(block) = info.get_mut(owner as usize) {
                    block.own += chars;
                    block.own_link += link;
                    block.punct += punct;
                }
                if let Some(me) = info.get_mut(id as usize) {
                    *me = Info {
                        owner,
                        chars,
                        link,
                        above,
                        state: hide,
                        left: chars,
                        ..Info::default()
                    };
                }
            }
            Kind::Element => {
                let tag = node.tag();
                let label = (tag == tag::BUTTON).then(|| label::of(node)).flatten();
                let skip = is_skipped(tag) && label.is_none()
                    || id < code_end && visible::is_line_number(node)
                    || visible::is_icon(node)
                    || control::is_of_shop(node)
                    || control::is_of_manual(node);
                // What has no text to read stays so where it is hidden.
                let mut state = if skip { SKIP } else { hide };
                let mut owner = owner;
                if !skip && !show_hidden && visible::look(node, tag) == Look::Hidden {
                    state |= SKIP | HIDE;
                    hide_end = hide_end.max(node.end());
                    owner = id;
                }
                if is_block(tag) || label == Some(Label::Line) {
                    state |= BLOCK;
                    owner = id;
                    if matches!(tag, tag::PRE | tag::LISTING | tag::XMP | tag::TABLE) {
                        code_end = code_end.max(node.end());
                    }
                }
                if is_heading(tag) {
                    state |= HEADING | TITLED;
                }
                let marks = if skip || matches!(tag, tag::HTML | tag::BODY) {
                    0
                } else {
                    marks_of(node, max_words, &slugs)
                };
                let (mut links, mut steps) = (0, 0);
                if tag == tag::A && !skip && node.has_attr(attr::HREF) {
                    link_end = link_end.max(node.end());
                    links = 1;
                    steps = steps::weight(node);
                }
                if let Some(me) = info.get_mut(id as usize) {
                    *me = Info {
                        marks,
                        above: above | marks,
                        state,
                        steps,
                        tag,
                        owner,
                        links,
                        ..Info::default()
                    };
                }
                if skip {
                    id = node.end();
                    continue;
                }
            }
            Kind::Document => {}
            Kind::Comment | Kind::Doctype => {
                if let Some(me) = info.get_mut(id as usize) {
                    me.state = SKIP;
                    me.owner = owner;
                }
            }
        }
        id += 1;
    }
    let mut prose = 0;
    let mut under = [0u32; 32];
    for me in &mut info {
        if me.state & (BLOCK | HEADING | SKIP | HIDE) == BLOCK {
            me.prose = running_text(me);
            prose += me.prose;
            let mut bits = me.above;
            while bits != 0 && me.prose > 0 {
                if let Some(sum) = under.get_mut(bits.trailing_zeros() as usize) {
                    *sum += me.prose;
                }
                bits &= bits - 1;
            }
        }
    }
    // Ignore the mark of a class name that covers more than two thirds of the text: it cannot
    // separate boilerplate from content.
    let mut void = 0;
    for (bit, sum) in under.iter().enumerate() {
        if *sum > prose / 3 * 2 {
            void |= 1 << bit;
        }
    }
    void &= words::SIDE | words::TOOL | words::SHARE | words::POPUP | words::NAV;
    Measured { info, prose, void }
}

/// The figures of a node; empty for one that is not there.
pub fn get(info: &[Info], id: u32) -> Info {
    info.get(id as usize).copied().unwrap_or_default()
}

/// How much of a block is running text: whole sentences count fully, short or
/// unpunctuated blocks little, link lists not at all.
fn running_text(block: &Info) -> u32 {
    let text = block.own.saturating_sub(block.own_link);
    if block.own_link * 2 > block.own {
        0
    } else if text >= 80 && block.punct > 0 {
        text
    } else if text >= 40 && block.punct > 0 || text >= 120 {
        text / 2
    } else {
        text / 8
    }
}

//! The walk over the document: one loop over node ids, with a stack of what has to be done
//! where elements end.

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::text::is_block;
use orbweaver_sdk::urls::Base;

use crate::destinations::Destinations;
use crate::images::LastImage;
use crate::lists::List;
use crate::marks::Kind;
use crate::plan::{Hidden, Plan};
use crate::table::Table;
use crate::writer::{Container, DEFINITION, Gap, Mode, Space, Writer};
use orbweaver_content::apart;
use orbweaver_content::label::{self, Label};
use orbweaver_content::visible::{self, Look};

/// What is due where an element ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Block,
    Space,
    Mark(Kind),
    Link,
    Heading,
    Container,
    List,
    Item,
    Quotation,
    Parenthesis,
    Table,
    Row,
    Cell,
}

pub(crate) struct Frame {
    /// The first id after the element.
    pub end: u32,
    pub close: Close,
}

pub(crate) struct Walker<'a> {
    pub view: &'a View<'a>,
    pub w: Writer,
    pub to: Destinations<'a>,
    pub frames: Vec<Frame>,
    pub containers: Vec<Container>,
    pub lists: Vec<List>,
    /// The list closed last, and where the output stood then.
    pub last_list: (usize, List),
    pub table: Table,
    pub last_image: LastImage,
    /// The open link, and where the output stood when it began.
    pub open_link: (u32, usize),
    /// For text that is gathered before it is written.
    pub scratch: String,
    /// Ends of blocks inside of preformatted text.
    pub ends: Vec<u32>,
    /// No code element that begins before this id has text.
    pub no_code_before: u32,
    /// Containers around what a `<noscript>`'s source holds.
    pub source_depth: usize,
    pub plan: &'a Plan,
    /// The headline is being written: whatever its level in the page, it is the first of the text.
    in_headline: bool,
    /// The next of the plan's subtrees to leave out.
    skip: usize,
}

impl<'a> Walker<'a> {
    pub fn new(view: &'a View<'a>, base: Option<&'a Base>, plan: &'a Plan) -> Self {
        let mut w = Writer::with_capacity(view.len() as usize * 12);
        w.keeps_words = plan.hidden == Hidden::Planned;
        Self {
            view,
            w,
            to: Destinations::new(base),
            frames: Vec::with_capacity(64),
            containers: Vec::new(),
            lists: Vec::new(),
            last_list: (usize::MAX, List::default()),
            table: Table::default(),
            last_image: LastImage::default(),
            open_link: (0, 0),
            scratch: String::new(),
            ends: Vec::new(),
            no_code_before: 0,
            source_depth: 0,
            plan,
            in_headline: false,
            skip: 0,
        }
    }

    /// Converts what the plan keeps.
    pub fn run(mut self) -> String {
        if let Some(headline) = &self.plan.headline {
            // It may be among what is left out of the part.
            self.skip = self.plan.skips.len();
            self.in_headline = true;
            self.walk(headline.start, headline.end);
            self.in_headline = false;
            self.skip = 0;
        }
        self.walk(self.plan.part.start, self.plan.part.end);
        self.w.finish()
    }

    /// Converts whole subtrees.
    fn walk(&mut self, start: u32, end: u32) {
        let mut id = start;
        let mut next_close = u32::MAX;
        while id < end {
            while id >= next_close {
                next_close = self.leave();
            }
            let Some(node) = self.view.node(id) else {
                break;
            };
            if node.is_text() {
                if !self.skips(id) && (self.is_planned() || !is_data(node)) {
                    self.w.text(node.text());
                }
                id += 1;
            } else if node.is_element() {
                let open = self.frames.len();
                id = self.enter(node);
                if self.frames.len() != open {
                    next_close = self.frames.last().map_or(u32::MAX, |f| f.end);
                }
            } else {
                id += 1;
            }
        }
        while !self.frames.is_empty() {
            self.leave();
        }
    }

    /// Ends the innermost open element; returns where the next one ends.
    fn leave(&mut self) -> u32 {
        if let Some(frame) = self.frames.pop() {
            match frame.close {
                Close::Block => self.w.block(),
                Close::Space => self.w.soft_space(Space::Blank),
                Close::Mark(kind) => self.w.end_mark(kind),
                Close::Link => self.close_link(),
                Close::Heading => {
                    self.w.suspend();
                    self.w.mode = Mode::Flow;
                    self.leave_container();
                    self.w.block();
                }
                Close::Container => {
                    self.w.block();
                    self.leave_container();
                    self.w.block();
                }
                Close::List => self.close_list(),
                Close::Item => self.close_item(),
                Close::Quotation => self.w.raw("\""),
                Close::Parenthesis => self.w.raw(")"),
                Close::Table => self.close_table(),
                Close::Row => self.close_row(),
                Close::Cell => self.close_cell(),
            }
        }
        self.frames.last().map_or(u32::MAX, |f| f.end)
    }

    /// Whether only the main content is wanted, whose words are those of its plain text.
    pub fn is_planned(&self) -> bool {
        self.plan.hidden == Hidden::Planned
    }

    /// Whether hidden content is wanted, since there is no other.
    pub fn shows_hidden(&self) -> bool {
        self.plan.hidden == Hidden::Show
    }

    pub fn leave_container(&mut self) -> bool {
        self.containers
            .pop()
            .is_some_and(|container| self.w.leave(container))
    }

    pub fn push(&mut self, node: Node<'a>, close: Close) {
        self.frames.push(Frame {
            end: node.end(),
            close,
        });
    }

    /// Begins an element. Returns the id to go on at: its first child, or its end if it
    /// has been dealt with as a whole.
    fn enter(&mut self, node: Node<'a>) -> u32 {
        let id = node.id();
        let tag = node.tag();
        if self.skips(id) {
            self.pass_in_table(node);
            // The texts beside it stay apart.
            if self.is_planned() && is_block(tag) && !self.in_table() {
                self.w.block();
            }
            return self.pass(node);
        }
        let look = visible::look(node, tag);
        if look == Look::Hidden && self.plan.hidden == Hidden::Omit {
            return self.pass(node);
        }
        if let Look::Heading(level) = look {
            self.heading(node, level);
            return id + 1;
        }
        match tag {
            tag::P
            | tag::DIV
            | tag::SECTION
            | tag::ARTICLE
            | tag::MAIN
            | tag::HEADER
            | tag::FOOTER
            | tag::NAV
            | tag::ASIDE
            | tag::ADDRESS
            | tag::HGROUP
            | tag::SEARCH
            | tag::FIGURE
            | tag::FIGCAPTION
            | tag::FORM
            | tag::FIELDSET
            | tag::LEGEND
            | tag::DETAILS
            | tag::SUMMARY
            | tag::CENTER
            | tag::DL
            | tag::DT
            | tag::CAPTION
            | tag::BODY
            | tag::HTML
            | tag::FRAMESET
            | tag::MARQUEE => self.block(node),
            tag::H1 => self.heading(node, 1),
            tag::H2 => self.heading(node, 2),
            tag::H3 => self.heading(node, 3),
            tag::H4 => self.heading(node, 4),
            tag::H5 => self.heading(node, 5),
            tag::H6 => self.heading(node, 6),
            tag::A => {
                self.part(node);
                return self.link(node);
            }
            tag::STRONG => self.mark(node, Kind::Strong),
            tag::B if !visible::is_unstyled(node) => self.mark(node, Kind::Strong),
            tag::I | tag::SPAN if visible::is_icon(node) => return self.pass(node),
            tag::CITE if apart::names_speaker(node) => {
                self.push(node, Close::Block);
                self.mark(node, Kind::Emphasis);
            }
            tag::EM | tag::I | tag::VAR | tag::DFN | tag::CITE => self.mark(node, Kind::Emphasis),
            tag::DEL | tag::S | tag::STRIKE => self.mark(node, Kind::Strike),
            tag::SUP if !apart::holds_link(node) => self.mark(node, Kind::Superscript),
            tag::SUB if !apart::holds_link(node) => self.mark(node, Kind::Subscript),
            tag::SUP => self.part(node),
            tag::CODE | tag::KBD | tag::SAMP | tag::TT => {
                self.part(node);
                return self.inline_code(node);
            }
            tag::PRE | tag::LISTING | tag::XMP | tag::PLAINTEXT => return self.preformatted(node),
            tag::BR => self.w.line_break(),
            tag::HR => self.rule(),
            tag::UL | tag::OL | tag::MENU | tag::DIR => self.open_list(node, tag),
            tag::LI => self.open_item(node),
            tag::BLOCKQUOTE => self.container(node, "> ", "> "),
            tag::DD => self.container(node, DEFINITION, ""),
            tag::IMG | tag::IMAGE => {
                self.image(node);
                if self.is_planned() && !self.w.code {
                    self.w.soft_space(Space::Blank);
                }
            }
            tag::TABLE => return self.open_table(node, look == Look::Presentation),
            tag::TR => return self.open_row(node),
            tag::TD | tag::TH => return self.open_cell(node),
            tag::COLGROUP | tag::COL => return node.end(),
            tag::Q => {
                self.w.raw("\"");
                self.push(node, Close::Quotation);
            }
            tag::RT => {
                self.w.raw("(");
                self.push(node, Close::Parenthesis);
            }
            tag::RP => return self.pass(node),
            tag::MATH => return self.math(node),
            tag::SCRIPT => return self.script(node),
            tag::NOSCRIPT => return self.noscript(node),
            tag::IFRAME | tag::FRAME | tag::EMBED => return self.embedded(node),
            tag::VIDEO | tag::AUDIO | tag::OBJECT | tag::APPLET => return self.media(node),
            tag::AREA => return self.area(node),
            tag::INPUT => self.input(node),
            tag::BUTTON => match label::of(node) {
                Some(Label::Line) => self.block(node),
                Some(Label::OfLine) => {}
                None if self.drops_button(node) => return self.pass(node),
                None => {}
            },
            tag::DIALOG if !node.has_attr(attr::OPEN) && self.plan.hidden == Hidden::Omit => {
                return self.pass(node);
            }
            tag::DIALOG => self.block(node),
            // A `<noscript>` that comes first stands in the head.
            tag::HEAD if self.shows_hidden() => {}
            tag::HEAD
            | tag::TITLE
            | tag::STYLE
            | tag::TEMPLATE
            | tag::NOEMBED
            | tag::NOFRAMES
            | tag::SVG
            | tag::SELECT
            | tag::TEXTAREA
            | tag::DATALIST
            | tag::OPTGROUP
            | tag::OPTION
            | tag::METER
            | tag::PROGRESS
            | tag::LINK
            | tag::META
            | tag::BASE
            | tag::PARAM
            | tag::SOURCE
            | tag::TRACK
            | tag::KEYGEN => return self.pass(node),
            // The parts of a custom element are apart on the screen.
            tag::UNKNOWN if node.name().contains('-') => {
                self.w.soft_space(Space::Blank);
                self.push(node, Close::Space);
                self.player(node);
            }
            _ if look == Look::Block || is_block(tag) => self.block(node),
            tag::SPAN | tag::LABEL => self.part(node),
            _ => {}
        }
        id + 1
    }

    /// Whether the plan leaves this node out.
    pub fn skips(&mut self, id: u32) -> bool {
        self.pass_skips(id);
        self.plan.skips.get(self.skip) == Some(&id)
    }

    /// Leaves a subtree out, and what the plan would leave out in it.
    pub fn pass(&mut self, node: Node<'a>) -> u32 {
        self.pass_skips(node.end());
        node.end()
    }

    fn pass_skips(&mut self, end: u32) {
        while self.plan.skips.get(self.skip).is_some_and(|&id| id < end) {
            self.skip += 1;
        }
    }

    fn block(&mut self, node: Node<'a>) {
        self.w.block();
        self.push(node, Close::Block);
    }

    fn heading(&mut self, node: Node<'a>, level: u8) {
        self.w.block();
        if self.w.mode != Mode::Flow {
            return self.push(node, Close::Block);
        }
        let level = if self.in_headline { 1 } else { level };
        let marks = "###### ";
        let first = marks
            .get(6_usize.saturating_sub(level.into())..)
            .unwrap_or(marks);
        let container = self.w.enter(first, "");
        self.containers.push(container);
        self.w.mode = Mode::Line;
        self.push(node, Close::Heading);
    }

    fn container(&mut self, node: Node<'a>, first: &str, rest: &str) {
        self.w.block();
        if self.w.mode != Mode::Flow {
            return self.push(node, Close::Block);
        }
        let container = self.w.enter(first, rest);
        self.containers.push(container);
        self.push(node, Close::Container);
    }

    fn mark(&mut self, node: Node<'a>, kind: Kind) {
        if !self.w.code && self.w.begin_mark(kind) {
            self.push(node, Close::Mark(kind));
        }
    }

    /// Keeps the words of inline elements apart that are so on the screen.
    fn part(&mut self, node: Node<'a>) {
        if !self.w.code
            && self.w.gap == Gap::None
            && self.w.space == Space::None
            && apart::are_apart(node)
        {
            self.w.soft_space(Space::Blank);
        }
    }

    fn rule(&mut self) {
        self.w.block();
        if self.w.mode == Mode::Flow {
            // After the marks of lists, the same characters would be one rule with them.
            self.w.gap = self.w.gap.max(Gap::Line);
            let rule = if self.w.is_waiting() { "___" } else { "---" };
            self.w.start_block();
            self.w.out.push_str(rule);
            self.w.block();
        }
    }

    fn input(&mut self, node: Node<'a>) {
        let is_checkbox = node
            .attr(attr::TYPE)
            .is_some_and(|t| t.trim_ascii().eq_ignore_ascii_case("checkbox"));
        let begins_item = self.w.is_waiting()
            && self.w.mode == Mode::Flow
            && self.lists.last().is_some_and(|list| list.in_item);
        if is_checkbox && begins_item && precedes_text(node) {
            self.w.raw(if node.has_attr(attr::CHECKED) {
                "[x]"
            } else {
                "[ ]"
            });
            self.w.soft_space(Space::Blank);
        }
    }

    /// A button that is no line of the text is a control, unless it names a link or has more in it than
    /// a label.
    fn drops_button(&self, node: Node<'a>) -> bool {
        if self.w.has_mark(Kind::Link) {
            return false;
        }
        let mut text = 0;
        for below in node.descendants() {
            match below.tag() {
                tag::P | tag::H1 | tag::H2 | tag::H3 | tag::H4 | tag::H5 | tag::H6 => return false,
                _ => text += below.text().trim_ascii().len(),
            }
            if text > 80 {
                return false;
            }
        }
        true
    }
}

/// Whether an element stands before text of the same line: a check box that does is a task's, and
/// one before a block is a control that folds it.
fn precedes_text(node: Node<'_>) -> bool {
    /// Nodes behind it, and in each of them, that are looked at: each of many boxes in a row looks.
    const NEAR: usize = 16;
    let mut next = node.next_sibling();
    for _ in 0..NEAR {
        let Some(after) = next.filter(|n| !(n.is_element() && is_block(n.tag()))) else {
            return false;
        };
        let mut nodes = std::iter::once(after).chain(after.descendants()).take(NEAR);
        if nodes.any(|n| !n.text().trim().is_empty()) {
            return true;
        }
        next = after.next_sibling();
    }
    false
}

/// Whether a text node is data of a script that was left in the text: one long JSON object, or a
/// list of them. In code it is what readers came for.
fn is_data(text: Node<'_>) -> bool {
    /// A shorter one may be quoted in a sentence of its own.
    const SHORTEST: usize = 200;
    /// Keys that it has at least.
    const KEYS: usize = 3;
    let value = text.text();
    if value.len() < SHORTEST {
        return false;
    }
    let value = value.trim();
    let is_json = value.starts_with("{\"") && value.ends_with('}')
        || value.starts_with("[{") && value.ends_with("}]");
    is_json
        && value.matches("\":").nth(KEYS - 1).is_some()
        && !text.ancestors().take(8).any(|around| {
            matches!(
                around.tag(),
                tag::PRE | tag::CODE | tag::SAMP | tag::LISTING | tag::XMP
            )
        })
}

//! The tree builder: <https://html.spec.whatwg.org/multipage/parsing.html#tree-construction>.
//!
//! A module below has the rules of a group of insertion modes. As the standard says it, a rule is
//! either done with the token, or switches the mode and lets that process the token [again](Step).
//! Scripts are taken as enabled.

/// The elements whose start tags the modes "after head", "in body" and "in template" process as "in
/// head" does: a pattern of tag ids.
macro_rules! head_content {
    () => {
        tag::BASE
            | tag::BASEFONT
            | tag::BGSOUND
            | tag::LINK
            | tag::META
            | tag::NOFRAMES
            | tag::SCRIPT
            | tag::STYLE
            | tag::TEMPLATE
            | tag::TITLE
    };
}

mod body;
mod body_end;
mod class;
mod foreign;
mod foreign_names;
mod formatting;
mod frames;
mod head;
mod quirks;
mod stack;
mod table;
mod template;
mod text;

use super::arena::Arena;
use super::names::Name;
use super::token::{Attr, Content, Doctype, Raw, Tag};
use crate::format::{KIND_COMMENT, KIND_DOCTYPE, NONE, NS_HTML};
use crate::names::tag;
use formatting::Formatting;
pub(super) use stack::Open;
use stack::Stack;

/// The insertion modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    AfterHead,
    InBody,
    Text,
    InTable,
    InTableText,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    InTemplate,
    AfterBody,
    InFrameset,
    AfterFrameset,
    AfterAfterBody,
    AfterAfterFrameset,
}

/// What a rule has done with a token.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The token is processed; for a start tag, what comes after it.
    Done(Content),
    /// The mode has changed and processes the token again.
    Again,
}

impl Step {
    const DONE: Self = Self::Done(Content::Markup);
}

/// Where a node is inserted.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// As the last child.
    In(u32),
    /// Before a table, or as the last child of the element above it if the table has no parent.
    BeforeTable { table: u32, above: u32 },
}

/// The tree and the state of its construction.
pub(super) struct Builder {
    arena: Arena,
    mode: Mode,
    /// The mode to return to from [`Mode::Text`] and [`Mode::InTableText`].
    return_mode: Mode,
    template_modes: Vec<Mode>,
    open: Stack,
    formatting: Formatting,
    head: Option<Open>,
    form: Option<Open>,
    /// Text in a table, of which it is unknown yet whether it belongs there.
    table_text: String,
    frameset_ok: bool,
    /// Whether a line feed that comes next is left out.
    skip_line_feed: bool,
    /// Whether what is misplaced in a table goes before it.
    foster_parenting: bool,
}

impl Builder {
    /// A builder of an empty tree.
    pub(super) fn new(arena: Arena) -> Self {
        Self {
            arena,
            mode: Mode::Initial,
            return_mode: Mode::Initial,
            template_modes: Vec::new(),
            open: Stack::default(),
            formatting: Formatting::default(),
            head: None,
            form: None,
            table_text: String::new(),
            frameset_ok: true,
            skip_line_feed: false,
            foster_parenting: false,
        }
    }

    /// The tree as it is.
    pub(super) fn arena(&mut self) -> &mut Arena {
        &mut self.arena
    }

    /// How many elements the rules may look at: open ones, formatting ones, and those that are pointed to.
    pub(super) fn count(&self) -> u32 {
        let pointed = 1 + u32::from(self.head.is_some()) + u32::from(self.form.is_some());
        pointed + self.open.len() as u32 + self.formatting.elements()
    }

    /// Whether one of them has this name.
    pub(super) fn has_named(&self, name: Name) -> bool {
        let pointed = [self.head, self.form];
        self.open
            .iter()
            .chain(pointed.iter().flatten())
            .any(|open| open.name == name)
            || self.formatting.has_named(name)
    }

    /// Whether the current node is SVG or MathML.
    pub(super) fn is_in_foreign_content(&self) -> bool {
        self.open.current().is_foreign()
    }

    /// Processes a doctype.
    pub(super) fn doctype(&mut self, doctype: &Doctype<'_>) {
        self.skip_line_feed = false;
        if self.mode != Mode::Initial {
            return;
        }
        let name = doctype.name.as_deref().unwrap_or("");
        let node = self.arena.push_leaf(KIND_DOCTYPE, name);
        self.arena.append(0, node);
        self.arena.quirks = quirks::are_asked_for(doctype);
        self.mode = Mode::BeforeHtml;
    }

    /// Processes a comment.
    pub(super) fn comment(&mut self, text: &str) {
        let parent = self.comment_parent();
        let node = self.arena.push_leaf(KIND_COMMENT, text);
        self.arena.append(parent.node, node);
    }

    /// Where a comment goes that comes next.
    pub(super) fn comment_parent(&mut self) -> Open {
        self.skip_line_feed = false;
        if self.is_in_foreign_content() {
            return self.open.current();
        }
        if self.mode == Mode::InTableText {
            self.end_table_text();
        }
        match self.mode {
            Mode::Initial | Mode::BeforeHtml | Mode::AfterAfterBody | Mode::AfterAfterFrameset => {
                Open::DOCUMENT
            }
            Mode::AfterBody => self.open.html(),
            _ => self.open.current(),
        }
    }

    /// Processes a start tag. Returns what comes after it.
    pub(super) fn start_tag(&mut self, tag: &Tag<'_>) -> Content {
        self.skip_line_feed = false;
        loop {
            if self.is_foreign_start(tag.name)
                && let Some(content) = self.foreign_start(tag)
            {
                return content;
            }
            if let Step::Done(content) = self.start_in(self.mode, tag) {
                return content;
            }
        }
    }

    /// A start tag by the rules of a mode.
    fn start_in(&mut self, mode: Mode, tag: &Tag<'_>) -> Step {
        match mode {
            Mode::InBody => self.body_start(tag),
            Mode::InCell => self.cell_start(tag),
            Mode::InRow => self.row_start(tag),
            Mode::InTableBody => self.table_body_start(tag),
            Mode::InTable => self.table_start(tag),
            Mode::InTableText => self.leave_table_text(),
            Mode::InCaption => self.caption_start(tag),
            Mode::InColumnGroup => self.column_group_start(tag),
            Mode::InTemplate => self.template_start(tag),
            Mode::Initial => self.leave_initial(),
            Mode::BeforeHtml => self.before_html_start(tag),
            Mode::BeforeHead => self.before_head_start(tag),
            Mode::InHead => self.head_start(tag),
            Mode::AfterHead => self.after_head_start(tag),
            Mode::AfterBody | Mode::AfterAfterBody => self.after_body_start(tag),
            Mode::InFrameset => self.frameset_start(tag),
            Mode::AfterFrameset | Mode::AfterAfterFrameset => self.after_frameset_start(tag),
            // The tokenizer sends none before the element's end tag.
            Mode::Text => Step::DONE,
        }
    }

    /// Processes an end tag.
    pub(super) fn end_tag(&mut self, name: Name) {
        self.skip_line_feed = false;
        loop {
            if self.is_in_foreign_content() && self.foreign_end(name) {
                return;
            }
            if let Step::Done(_) = self.end_in(self.mode, name) {
                return;
            }
        }
    }

    /// An end tag by the rules of a mode.
    fn end_in(&mut self, mode: Mode, name: Name) -> Step {
        match mode {
            Mode::InBody => self.body_end(name),
            Mode::InCell => self.cell_end(name),
            Mode::InRow => self.row_end(name),
            Mode::InTableBody => self.table_body_end(name),
            Mode::InTable => self.table_end(name),
            Mode::InTableText => self.leave_table_text(),
            Mode::InCaption => self.caption_end(name),
            Mode::InColumnGroup => self.column_group_end(name),
            Mode::InTemplate => self.template_mode_end(name),
            Mode::Text => {
                self.open.pop();
                self.mode = self.return_mode;
                Step::DONE
            }
            Mode::Initial => self.leave_initial(),
            Mode::BeforeHtml => self.before_html_end(name),
            Mode::BeforeHead => self.before_head_end(name),
            Mode::InHead => self.head_end(name),
            Mode::AfterHead => self.after_head_end(name),
            Mode::AfterBody | Mode::AfterAfterBody => self.after_body_end(name),
            Mode::InFrameset => self.frameset_end(name),
            Mode::AfterFrameset => self.after_frameset_end(name),
            Mode::AfterAfterFrameset => Step::DONE,
        }
    }

    /// Processes the end of the page.
    pub(super) fn finish(mut self) -> Arena {
        self.skip_line_feed = false;
        while let Step::Again = self.end_of_page() {}
        self.arena
    }

    fn end_of_page(&mut self) -> Step {
        match self.mode {
            Mode::Initial => self.leave_initial(),
            Mode::BeforeHtml => self.leave_before_html(),
            Mode::BeforeHead => self.leave_before_head(),
            Mode::InHead => self.leave_head(),
            Mode::AfterHead => self.leave_after_head(),
            Mode::Text => {
                self.open.pop();
                self.mode = self.return_mode;
                Step::Again
            }
            Mode::InTableText => self.leave_table_text(),
            Mode::InBody
            | Mode::InTable
            | Mode::InCaption
            | Mode::InColumnGroup
            | Mode::InTableBody
            | Mode::InRow
            | Mode::InCell
            | Mode::InTemplate => self.end_of_templates(),
            Mode::AfterBody
            | Mode::InFrameset
            | Mode::AfterFrameset
            | Mode::AfterAfterBody
            | Mode::AfterAfterFrameset => Step::DONE,
        }
    }

    /// <https://html.spec.whatwg.org/multipage/parsing.html#appropriate-place-for-inserting-a-node>
    fn place_in(&self, target: Open) -> Place {
        if !(self.foster_parenting && target.is(class::FOSTERS)) {
            return Place::In(target.node);
        }
        let mut above = self.open.iter().rev().skip(1);
        for open in self.open.iter().rev() {
            let above = above.next().copied().unwrap_or(Open::DOCUMENT);
            if open.is_tag(tag::TEMPLATE) {
                return Place::In(open.node);
            }
            if open.is_tag(tag::TABLE) {
                return Place::BeforeTable {
                    table: open.node,
                    above: above.node,
                };
            }
        }
        Place::In(self.open.html().node)
    }

    fn insert_at(&mut self, place: Place, node: u32) {
        match place {
            Place::In(parent) => self.arena.append(parent, node),
            Place::BeforeTable { table, above } => match self.arena.parent(table) {
                NONE => self.arena.append(above, node),
                _ => self.arena.insert_before(table, node),
            },
        }
    }

    fn insert_text(&mut self, text: &str) {
        match self.place_in(self.open.current()) {
            Place::In(parent) => self.arena.append_text(parent, text),
            Place::BeforeTable { table, above } => match self.arena.parent(table) {
                NONE => self.arena.append_text(above, text),
                _ => self.arena.insert_text_before(table, text),
            },
        }
    }

    /// Makes an HTML element with the attributes of a tag, attached to nothing.
    #[inline]
    pub(super) fn create(&mut self, name: Name, tag: &Tag<'_>) -> Open {
        let attrs = tag.attrs.iter().map(Attr::parts);
        let node = self
            .arena
            .create_element(NS_HTML, name.tag(), &tag.spelled, attrs);
        Open {
            node,
            name,
            class: class::of(NS_HTML, name),
        }
    }

    /// Inserts an HTML element, which stays closed.
    fn insert_closed(&mut self, tag: &Tag<'_>) -> Open {
        self.insert_closed_as(tag.name, tag)
    }

    /// [`insert_closed`](Self::insert_closed) with another name than the tag's.
    fn insert_closed_as(&mut self, name: Name, tag: &Tag<'_>) -> Open {
        let element = self.create(name, tag);
        self.insert_at(self.place_in(self.open.current()), element.node);
        element
    }

    /// Inserts an HTML element and opens it.
    #[inline]
    fn insert(&mut self, tag: &Tag<'_>) -> Open {
        let element = self.insert_closed(tag);
        self.open.push(element);
        element
    }

    /// Inserts an HTML element that the page has no tag for.
    fn insert_implied(&mut self, name: u16) -> Open {
        self.insert(&Tag {
            name: Name::of(name),
            ..Tag::default()
        })
    }

    /// Inserts an element that holds only text.
    fn insert_raw(&mut self, tag: &Tag<'_>, raw: Raw) -> Step {
        self.insert(tag);
        self.return_mode = self.mode;
        self.mode = Mode::Text;
        Step::Done(Content::Raw(raw))
    }

    /// <https://html.spec.whatwg.org/multipage/parsing.html#reset-the-insertion-mode-appropriately>
    fn reset_mode(&mut self) {
        self.mode = self.mode_of_stack();
    }

    fn mode_of_stack(&self) -> Mode {
        for (index, open) in self.open.iter().enumerate().rev() {
            if !open.is(class::HTML) {
                continue;
            }
            match open.name.tag() {
                tag::TD | tag::TH if index > 0 => return Mode::InCell,
                tag::TR => return Mode::InRow,
                tag::TBODY | tag::THEAD | tag::TFOOT => return Mode::InTableBody,
                tag::CAPTION => return Mode::InCaption,
                tag::COLGROUP => return Mode::InColumnGroup,
                tag::TABLE => return Mode::InTable,
                tag::TEMPLATE => {
                    return self.template_modes.last().copied().unwrap_or(Mode::InBody);
                }
                tag::HEAD if index > 0 => return Mode::InHead,
                tag::BODY => return Mode::InBody,
                tag::FRAMESET => return Mode::InFrameset,
                tag::HTML if self.head.is_none() => return Mode::BeforeHead,
                tag::HTML => return Mode::AfterHead,
                _ => {}
            }
        }
        Mode::InBody
    }
}

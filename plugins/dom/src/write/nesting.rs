//! A bound on what the tree builder looks at per token.
//!
//! The standard has it search the open elements, and the list of formatting elements, at almost
//! every tag; a page of nothing but `<div>` then takes time by the square of its length. So
//! when [`MAX_OPEN`] elements are open, deeper ones are kept here instead, by simpler rules:
//! every element nests in the one before it, an end tag closes the last of its name, nothing is
//! moved out of tables or adopted. Pages that people read never get there.

use super::arena::Arena;
use super::builder::{Builder, Open};
use super::names::Name;
use super::token::{Content, Doctype, Raw, Tag};
use crate::format::KIND_COMMENT;
use crate::names::tag;

/// Open and formatting elements that the tree builder may have.
const MAX_OPEN: u32 = 512;
/// Looks at an element that the tree builder may take for one page, about: some seconds. Twenty
/// elements deep, that is six million tokens.
const MAX_LOOKS: u64 = 1 << 27;
/// Open elements that are few enough to go on with after that.
const FEW_OPEN: u32 = 64;

/// The tree builder, with deep nesting kept away from it.
pub(super) struct Nesting {
    builder: Builder,
    max_nodes: usize,
    /// Start tags that surely fit before the open elements are counted again.
    unchecked: u32,
    /// Elements that the tree builder had when they were counted last.
    counted: u32,
    /// At most that many for each token so far, summed up.
    looks: u64,
    /// Whether the tree builder waits for the end tag of an element that holds only text, and can
    /// make nothing of other tags.
    in_text: bool,
    deep: Deep,
}

/// The open elements below the tree builder's.
#[derive(Default)]
struct Deep {
    /// The tree builder's current node; none while everything goes to the tree builder.
    base: Option<Open>,
    open: Vec<Open>,
    /// How many of `open` have a name, by its index.
    named: Vec<u32>,
    skip_line_feed: bool,
}

impl Deep {
    fn push(&mut self, element: Open) {
        let index = element.name.index();
        if self.named.len() <= index {
            self.named.resize(index + 1, 0);
        }
        self.named[index] += 1;
        self.open.push(element);
    }

    fn pop(&mut self) -> Option<Open> {
        let element = self.open.pop()?;
        self.named[element.name.index()] -= 1;
        Some(element)
    }

    /// Closes everything, so that the tree builder gets the tokens again.
    fn leave(&mut self) {
        while self.pop().is_some() {}
        self.base = None;
        self.skip_line_feed = false;
    }

    fn has(&self, name: Name) -> bool {
        self.named.get(name.index()).is_some_and(|count| *count > 0)
    }

    fn ends_with(&self, name: Name) -> bool {
        self.open.last().is_some_and(|open| open.name == name)
    }

    /// Whether this is inside `<svg>` or `<math>`.
    fn is_foreign(&self) -> bool {
        self.has(Name::of(tag::SVG))
            || self.has(Name::of(tag::MATH))
            || self.base.is_some_and(|base| base.is_foreign())
    }
}

impl Nesting {
    pub(super) fn new(builder: Builder, max_nodes: u32) -> Self {
        Self {
            builder,
            max_nodes: max_nodes as usize,
            unchecked: 0,
            counted: 0,
            looks: 0,
            in_text: false,
            deep: Deep::default(),
        }
    }

    /// Whether the tree has more nodes than it may have, so that the rest of the page is to be left out.
    pub(super) fn is_full(&mut self) -> bool {
        self.builder.arena().nodes.len() > self.max_nodes
    }

    /// Whether a CDATA section may stand here.
    pub(super) fn is_in_foreign_content(&self) -> bool {
        match self.deep.base {
            Some(_) => self.deep.is_foreign(),
            None => self.builder.is_in_foreign_content(),
        }
    }

    /// Processes a start tag. Returns what comes after it.
    pub(super) fn start_tag(&mut self, tag: &Tag<'_>) -> Content {
        self.deep.skip_line_feed = false;
        if self.deep.base.is_some() || self.has_no_room() {
            return self.deep_start(tag);
        }
        self.note_looks();
        let content = self.builder.start_tag(tag);
        self.in_text = matches!(content, Content::Raw(_));
        content
    }

    /// Processes an end tag.
    pub(super) fn end_tag(&mut self, name: Name) {
        if self.deep.base.is_some() {
            return self.deep_end(name);
        }
        if !self.in_text && self.is_exhausted() {
            return;
        }
        // After these the current node could no longer be found out.
        let ends_page = matches!(name.tag(), tag::BODY | tag::HTML);
        if ends_page && self.builder.count() >= MAX_OPEN {
            return;
        }
        self.note_looks();
        self.builder.end_tag(name);
        self.in_text = false;
    }

    /// Processes text without NULs.
    pub(super) fn text(&mut self, text: &str) {
        let Some(parent) = self.deep_parent() else {
            self.note_looks();
            return self.builder.text(text);
        };
        let text = match std::mem::take(&mut self.deep.skip_line_feed) {
            true => text.strip_prefix('\n').unwrap_or(text),
            false => text,
        };
        if !text.is_empty() {
            self.builder.arena().append_text(parent, text);
        }
    }

    /// Processes a NUL in text.
    pub(super) fn null(&mut self) {
        self.deep.skip_line_feed = false;
        if self.deep.base.is_none() {
            self.note_looks();
            self.builder.null();
        }
    }

    /// Processes a comment.
    pub(super) fn comment(&mut self, text: &str) {
        self.deep.skip_line_feed = false;
        let Some(parent) = self.deep_parent() else {
            self.note_looks();
            return self.builder.comment(text);
        };
        let arena = self.builder.arena();
        let node = arena.push_leaf(KIND_COMMENT, text);
        arena.append(parent, node);
    }

    /// Processes a doctype.
    pub(super) fn doctype(&mut self, doctype: &Doctype<'_>) {
        self.deep.skip_line_feed = false;
        if self.deep.base.is_none() {
            self.note_looks();
            self.builder.doctype(doctype);
        }
    }

    /// Processes the end of the page and returns the tree.
    pub(super) fn finish(self) -> Arena {
        self.builder.finish()
    }

    fn note_looks(&mut self) {
        self.looks += u64::from(self.counted);
    }

    /// Whether the tree builder has done enough for this page. From then on it gets no more tags.
    fn is_exhausted(&mut self) -> bool {
        let is_exhausted = self.looks > MAX_LOOKS && self.counted > FEW_OPEN;
        if is_exhausted {
            self.builder.arena().truncated = true;
        }
        is_exhausted
    }

    /// Whether there is no room for one more element in the tree builder.
    fn has_no_room(&mut self) -> bool {
        if self.is_exhausted() {
            return true;
        }
        if let Some(left) = self.unchecked.checked_sub(1) {
            self.unchecked = left;
            return false;
        }
        self.counted = self.builder.count();
        let free = MAX_OPEN.saturating_sub(self.counted);
        // One `<td>` can open four elements.
        self.unchecked = free / 4;
        free == 0
    }

    /// The node that the next one goes into, if that is for `deep` to say.
    fn deep_parent(&self) -> Option<u32> {
        let base = self.deep.base?;
        Some(self.deep.open.last().unwrap_or(&base).node)
    }

    fn deep_start(&mut self, tag: &Tag<'_>) -> Content {
        let name = tag.name;
        if matches!(
            name.tag(),
            tag::HTML | tag::HEAD | tag::BODY | tag::FRAMESET
        ) {
            return Content::Markup;
        }
        if self.deep.base.is_none() {
            // An element goes where a comment would.
            self.note_looks();
            self.in_text = false;
            self.deep.base = Some(self.builder.comment_parent());
        }
        if ends_its_like(name) && self.deep.ends_with(name) {
            self.deep.pop();
        }
        let Some(parent) = self.deep_parent() else {
            return Content::Markup;
        };
        let element = self.builder.create(name, tag);
        self.builder.arena().append(parent, element.node);
        if is_void(name) || tag.self_closing && self.deep.is_foreign() {
            return Content::Markup;
        }
        self.deep.push(element);
        match name.tag() {
            tag::SCRIPT => Content::Raw(Raw::Script),
            tag::TITLE => Content::Raw(Raw::Rcdata),
            tag::TEXTAREA => {
                self.deep.skip_line_feed = true;
                Content::Raw(Raw::Rcdata)
            }
            tag::STYLE | tag::XMP | tag::IFRAME | tag::NOEMBED | tag::NOFRAMES | tag::NOSCRIPT => {
                Content::Raw(Raw::Rawtext)
            }
            tag::PLAINTEXT => Content::Plaintext,
            tag::PRE | tag::LISTING => {
                self.deep.skip_line_feed = true;
                Content::Markup
            }
            _ => Content::Markup,
        }
    }

    fn deep_end(&mut self, name: Name) {
        self.deep.skip_line_feed = false;
        if self.deep.has(name) {
            while self.deep.pop().is_some_and(|closed| closed.name != name) {}
            return;
        }
        if self.is_exhausted() || !self.builder.has_named(name) {
            return;
        }
        // It closes an element above those here, and so all of these.
        self.deep.leave();
        self.unchecked = 0;
        self.note_looks();
        self.builder.end_tag(name);
        self.in_text = false;
    }
}

/// Elements without contents: <https://html.spec.whatwg.org/multipage/syntax.html#void-elements>
/// and obsolete ones that the parser treats alike.
fn is_void(name: Name) -> bool {
    matches!(
        name.tag(),
        tag::AREA
            | tag::BASE
            | tag::BASEFONT
            | tag::BGSOUND
            | tag::BR
            | tag::COL
            | tag::EMBED
            | tag::FRAME
            | tag::HR
            | tag::IMG
            | tag::INPUT
            | tag::KEYGEN
            | tag::LINK
            | tag::META
            | tag::PARAM
            | tag::SOURCE
            | tag::TRACK
            | tag::WBR
    )
}

/// Elements that do not nest in one another: a second start tag ends the first.
fn ends_its_like(name: Name) -> bool {
    matches!(
        name.tag(),
        tag::A
            | tag::BUTTON
            | tag::DD
            | tag::DT
            | tag::LI
            | tag::NOBR
            | tag::OPTION
            | tag::P
            | tag::TD
            | tag::TH
            | tag::TR
    )
}

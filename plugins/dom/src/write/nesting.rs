//! A bound on what html5ever's tree builder looks at per token.
//!
//! The standard has it search the open elements, and the list of formatting elements, at almost
//! every tag; a page of nothing but `<div>` then takes time by the square of its length. So
//! when [`MAX_OPEN`] elements are open, deeper ones are kept here instead, by simpler rules:
//! every element nests in the one before it, an end tag closes the last of its name, nothing is
//! moved out of tables or adopted. Pages that people read never get there.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{
    NodeOrText, Tracer, TreeBuilder, TreeBuilderOpts, TreeSink, create_element_with_flags,
};
use html5ever::{LocalName, QualName, local_name, ns};

use super::sink::{Handle, Sink};
use super::tokenizer::Consumer;

/// Open and formatting elements that the tree builder may have.
const MAX_OPEN: u32 = 512;
/// Looks at an element that the tree builder may take for one page, about: some seconds. Twenty
/// elements deep, that is six million tokens.
const MAX_LOOKS: u64 = 1 << 27;
/// Open elements that are few enough to go on with after that.
const FEW_OPEN: u32 = 64;

/// The tree builder, with deep nesting kept away from it.
pub(super) struct Nesting {
    builder: TreeBuilder<Handle, Sink>,
    /// Start tags that surely fit before the open elements are counted again.
    unchecked: Cell<u32>,
    /// Elements that the tree builder had when they were counted last.
    counted: Cell<u32>,
    /// At most that many for each token so far, summed up.
    looks: Cell<u64>,
    /// Whether the tree builder waits for the end tag of an element that holds only text, and can
    /// make nothing of other tags.
    in_text: Cell<bool>,
    deep: RefCell<Deep>,
}

/// The open elements below the tree builder's.
#[derive(Default)]
struct Deep {
    /// The tree builder's current node; none while everything goes to the tree builder.
    base: Option<Handle>,
    open: Vec<Handle>,
    /// How many of `open` have a name.
    names: HashMap<LocalName, u32>,
    skip_newline: bool,
}

impl Deep {
    fn current(&self) -> Option<&Handle> {
        self.open.last().or(self.base.as_ref())
    }

    fn push(&mut self, element: Handle) {
        *self.names.entry(element.name().clone()).or_default() += 1;
        self.open.push(element);
    }

    fn pop(&mut self) -> Option<Handle> {
        let element = self.open.pop()?;
        if let Some(count) = self.names.get_mut(element.name()) {
            *count -= 1;
        }
        Some(element)
    }

    fn has(&self, name: &LocalName) -> bool {
        self.names.get(name).is_some_and(|count| *count > 0)
    }

    /// Whether this is inside `<svg>` or `<math>`.
    fn is_foreign(&self) -> bool {
        self.has(&local_name!("svg"))
            || self.has(&local_name!("math"))
            || self.base.as_ref().is_some_and(|base| !base.is_html())
    }
}

impl Nesting {
    pub(super) fn new(sink: Sink) -> Self {
        Self {
            builder: TreeBuilder::new(sink, TreeBuilderOpts::default()),
            unchecked: Cell::new(0),
            counted: Cell::new(0),
            looks: Cell::new(0),
            in_text: Cell::new(false),
            deep: RefCell::default(),
        }
    }

    pub(super) fn into_sink(self) -> Sink {
        self.builder.sink
    }

    fn sink(&self) -> &Sink {
        &self.builder.sink
    }

    fn pass(&self, token: Token) -> TokenSinkResult<Handle> {
        let looks = self.looks.get() + u64::from(self.counted.get());
        self.looks.set(looks);
        let is_text = matches!(token, Token::CharacterTokens(_));
        let result = self.builder.process_token(token, 1);
        if !is_text {
            self.in_text
                .set(matches!(result, TokenSinkResult::RawData(_)));
        }
        result
    }

    /// Whether the tree builder has done enough for this page. From then on it gets no more tags.
    fn is_exhausted(&self) -> bool {
        let is_exhausted = self.looks.get() > MAX_LOOKS && self.counted.get() > FEW_OPEN;
        if is_exhausted {
            self.sink().set_truncated();
        }
        is_exhausted
    }

    /// The elements that the tree builder looks at, counted, and how many have this name.
    fn count(&self, name: &LocalName) -> Count {
        let count = Count {
            name: name.clone(),
            all: Cell::new(0),
            named: Cell::new(0),
        };
        self.builder.trace_handles(&count);
        count
    }

    /// Whether there is no room for one more element in the tree builder.
    fn is_deep(&self) -> bool {
        if self.is_exhausted() {
            return true;
        }
        if let Some(left) = self.unchecked.get().checked_sub(1) {
            self.unchecked.set(left);
            return false;
        }
        self.counted.set(self.count(&local_name!("")).all.get());
        let free = MAX_OPEN.saturating_sub(self.counted.get());
        // One `<td>` can open four elements.
        self.unchecked.set(free / 4);
        free == 0
    }

    fn start_tag(&self, tag: Tag) -> TokenSinkResult<Handle> {
        if matches!(
            tag.name,
            local_name!("html")
                | local_name!("head")
                | local_name!("body")
                | local_name!("frameset")
        ) {
            return TokenSinkResult::Continue;
        }
        let mut deep = self.deep.borrow_mut();
        if deep.base.is_none() {
            // An empty comment is inserted where an element would be.
            deep.base = self.sink().probe(|| {
                let _ = self.pass(Token::CommentToken(StrTendril::new()));
            });
        }
        if ends_its_like(&tag.name) && deep.open.last().is_some_and(|e| *e.name() == tag.name) {
            deep.pop();
        }
        let Some(parent) = deep.current() else {
            return TokenSinkResult::Continue;
        };
        let name = QualName::new(None, ns!(html), tag.name.clone());
        let element =
            create_element_with_flags(self.sink(), name, tag.attrs, tag.had_duplicate_attributes);
        self.sink()
            .append(parent, NodeOrText::AppendNode(element.clone()));
        if is_void(&tag.name) || tag.self_closing && deep.is_foreign() {
            return TokenSinkResult::Continue;
        }
        deep.push(element);
        match tag.name {
            local_name!("script") => TokenSinkResult::RawData(RawKind::ScriptData),
            local_name!("title") => TokenSinkResult::RawData(RawKind::Rcdata),
            local_name!("textarea") => {
                deep.skip_newline = true;
                TokenSinkResult::RawData(RawKind::Rcdata)
            }
            local_name!("style")
            | local_name!("xmp")
            | local_name!("iframe")
            | local_name!("noembed")
            | local_name!("noframes")
            | local_name!("noscript") => TokenSinkResult::RawData(RawKind::Rawtext),
            local_name!("plaintext") => TokenSinkResult::Plaintext,
            local_name!("pre") | local_name!("listing") => {
                deep.skip_newline = true;
                TokenSinkResult::Continue
            }
            _ => TokenSinkResult::Continue,
        }
    }

    /// An end tag while elements are open here.
    fn end_tag(&self, tag: Tag) -> TokenSinkResult<Handle> {
        let mut deep = self.deep.borrow_mut();
        if deep.has(&tag.name) {
            while deep.pop().is_some_and(|closed| *closed.name() != tag.name) {}
            return TokenSinkResult::Continue;
        }
        if self.is_exhausted() || self.count(&tag.name).named.get() == 0 {
            return TokenSinkResult::Continue;
        }
        // It closes an element above those here, and so all of these.
        *deep = Deep::default();
        drop(deep);
        self.unchecked.set(0);
        self.pass(Token::TagToken(tag))
    }

    fn append(&self, child: NodeOrText<Handle>) -> TokenSinkResult<Handle> {
        if let Some(parent) = self.deep.borrow().current() {
            self.sink().append(parent, child);
        }
        TokenSinkResult::Continue
    }

    fn deep_token(&self, token: Token) -> TokenSinkResult<Handle> {
        let skip_newline = std::mem::take(&mut self.deep.borrow_mut().skip_newline);
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => self.start_tag(tag),
            Token::TagToken(tag) => self.end_tag(tag),
            Token::CommentToken(text) => {
                self.append(NodeOrText::AppendNode(self.sink().create_comment(text)))
            }
            Token::CharacterTokens(mut text) => {
                if skip_newline && text.starts_with('\n') {
                    text.pop_front(1);
                }
                self.append(NodeOrText::AppendText(text))
            }
            Token::EOFToken => {
                self.deep.take();
                self.pass(Token::EOFToken)
            }
            Token::DoctypeToken(_) | Token::NullCharacterToken | Token::ParseError(_) => {
                TokenSinkResult::Continue
            }
        }
    }
}

impl TokenSink for Nesting {
    type Handle = Handle;

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<Handle> {
        if self.deep.borrow().base.is_some() {
            return self.deep_token(token);
        }
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag && self.is_deep() => {
                self.start_tag(tag)
            }
            Token::TagToken(_) if !self.in_text.get() && self.is_exhausted() => {
                TokenSinkResult::Continue
            }
            // After these the current node could no longer be found out.
            Token::TagToken(Tag {
                kind: TagKind::EndTag,
                name: ref name @ (local_name!("body") | local_name!("html")),
                ..
            }) if self.count(name).all.get() >= MAX_OPEN => TokenSinkResult::Continue,
            token => self.pass(token),
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        let deep = self.deep.borrow();
        match deep.base {
            Some(_) => deep.is_foreign(),
            None => self
                .builder
                .adjusted_current_node_present_but_not_in_html_namespace(),
        }
    }
}

impl Consumer for Nesting {
    fn is_full(&self) -> bool {
        self.sink().is_full()
    }
}

/// Counts the tree builder's elements.
struct Count {
    name: LocalName,
    all: Cell<u32>,
    named: Cell<u32>,
}

impl Tracer for Count {
    type Handle = Handle;

    fn trace_handle(&self, node: &Handle) {
        self.all.set(self.all.get() + 1);
        if *node.name() == self.name {
            self.named.set(self.named.get() + 1);
        }
    }
}

/// Elements without contents: <https://html.spec.whatwg.org/multipage/syntax.html#void-elements>
/// and obsolete ones that the parser treats alike.
fn is_void(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("area")
            | local_name!("base")
            | local_name!("basefont")
            | local_name!("bgsound")
            | local_name!("br")
            | local_name!("col")
            | local_name!("embed")
            | local_name!("frame")
            | local_name!("hr")
            | local_name!("img")
            | local_name!("input")
            | local_name!("keygen")
            | local_name!("link")
            | local_name!("meta")
            | local_name!("param")
            | local_name!("source")
            | local_name!("track")
            | local_name!("wbr")
    )
}

/// Elements that do not nest in one another: a second start tag ends the first.
fn ends_its_like(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("a")
            | local_name!("button")
            | local_name!("dd")
            | local_name!("dt")
            | local_name!("li")
            | local_name!("nobr")
            | local_name!("option")
            | local_name!("p")
            | local_name!("td")
            | local_name!("th")
            | local_name!("tr")
    )
}

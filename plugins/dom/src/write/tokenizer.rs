//! The tokenizer: <https://html.spec.whatwg.org/multipage/parsing.html#tokenization>.
//!
//! The whole page is at hand, so where the standard describes a machine that eats one character
//! at a time, this looks for the next byte that matters and hands out slices of the page.

mod markup;
mod script;
mod tag;

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3};
use orbweaver_markup::references::{self, Place};

use super::arena::Arena;
use super::names::Names;
use super::nesting::Nesting;
use super::token::{Content, Raw, Tag};
use crate::names;

/// What the next characters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Data,
    /// The contents of the element whose start tag came last, up to its end tag.
    Raw(Raw),
    Plaintext,
    End,
}

impl From<Content> for State {
    fn from(content: Content) -> Self {
        match content {
            Content::Markup => Self::Data,
            Content::Raw(raw) => Self::Raw(raw),
            Content::Plaintext => Self::Plaintext,
        }
    }
}

/// Cuts a page into tokens.
pub(super) struct Tokenizer<'a> {
    html: &'a str,
    bytes: &'a [u8],
    at: usize,
    sink: Nesting,
    /// The last start tag. Kept, so that its attributes need no new memory each time.
    tag: Tag<'a>,
    names: Names,
    /// Text that differs from the page's.
    buffer: String,
    truncated: bool,
}

impl<'a> Tokenizer<'a> {
    /// A tokenizer of a page whose line ends are all `\n`.
    pub(super) fn new(html: &'a str, sink: Nesting) -> Self {
        Self {
            html,
            bytes: html.as_bytes(),
            at: if html.starts_with('\u{feff}') {
                '\u{feff}'.len_utf8()
            } else {
                0
            },
            sink,
            tag: Tag::default(),
            names: Names::default(),
            buffer: String::new(),
            truncated: false,
        }
    }

    /// Reads the page to its end, or until the tree is full, and returns the tree.
    pub(super) fn run(mut self) -> Arena {
        let mut state = State::Data;
        while state != State::End && !self.sink.is_full() {
            state = match state {
                State::Data => self.data(),
                State::Raw(raw) => self.raw(raw),
                State::Plaintext => self.plaintext(),
                State::End => State::End,
            };
        }
        let mut arena = self.sink.finish();
        let is_cut = state != State::End && self.at < self.bytes.len();
        arena.truncated |= self.truncated || is_cut;
        arena
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The bytes from `at` on; none if that is past the end.
    fn rest(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// Text up to the next tag, and that tag.
    fn data(&mut self) -> State {
        let end = self.text(true, |this, at| match this.byte(at + 1) {
            Some(b'/') => this.byte(at + 2).is_some(),
            Some(next) => next.is_ascii_alphabetic() || next == b'!' || next == b'?',
            None => false,
        });
        match end {
            Some(b'<') => self.markup(),
            Some(_) => {
                self.at += 1;
                self.sink.null();
                State::Data
            }
            None => State::End,
        }
    }

    /// Sends the text up to the end, to a NUL that `keep_nul` leaves to the caller, or to a `<`
    /// that `is_end` recognises. Decodes character references. Returns the byte it stopped at.
    fn text(&mut self, keep_nul: bool, is_end: impl Fn(&Self, usize) -> bool) -> Option<u8> {
        let mut copied = self.at;
        let mut at = self.at;
        self.buffer.clear();
        let stop = loop {
            let Some(found) = memchr3(b'<', b'&', 0, self.rest(at)) else {
                at = self.bytes.len();
                break None;
            };
            at += found;
            match self.byte(at) {
                Some(b'&') => match references::decode(self.html, at + 1, Place::Text) {
                    Some((chars, next)) => {
                        self.buffer.push_str(&self.html[copied..at]);
                        chars.push_to(&mut self.buffer);
                        (copied, at) = (next, next);
                    }
                    None => at += 1,
                },
                Some(b'<') if !is_end(self, at) => at += 1,
                Some(0) if !keep_nul => {
                    self.buffer.push_str(&self.html[copied..at]);
                    self.buffer.push('\u{fffd}');
                    at += 1;
                    copied = at;
                }
                stop => break stop,
            }
        };
        self.at = at;
        self.send_text(copied, at);
        stop
    }

    /// Sends the buffer and a slice of the page as one text, unless both are empty.
    fn send_text(&mut self, start: usize, end: usize) {
        let text = &self.html[start..end];
        if self.buffer.is_empty() {
            if !text.is_empty() {
                self.sink.text(text);
            }
            return;
        }
        self.buffer.push_str(text);
        self.sink.text(&self.buffer);
    }

    /// Sends a slice of the page as text, NULs replaced.
    fn send_raw_text(&mut self, start: usize, end: usize) {
        self.buffer.clear();
        let mut copied = start;
        while let Some(found) = memchr(0, &self.bytes[copied..end]) {
            self.buffer.push_str(&self.html[copied..copied + found]);
            self.buffer.push('\u{fffd}');
            copied += found + 1;
        }
        self.send_text(copied, end);
    }

    /// The contents of an element that holds only text, and its end tag.
    fn raw(&mut self, raw: Raw) -> State {
        // All elements of this kind are in the table.
        let name = names::tag::name(self.tag.name.tag()).as_bytes();
        match raw {
            Raw::Rcdata => {
                self.text(false, |this, at| this.end_tag_at(at, name).is_some());
            }
            Raw::Rawtext => {
                let start = self.at;
                self.at = self.rawtext_end(name);
                self.send_raw_text(start, self.at);
            }
            Raw::Script => {
                let start = self.at;
                self.at = self.script_end();
                self.send_raw_text(start, self.at);
            }
        }
        match self.end_tag_at(self.at, name) {
            Some(after_name) => {
                self.at = after_name;
                self.end_tag(self.tag.name)
            }
            None => State::End,
        }
    }

    fn rawtext_end(&self, name: &[u8]) -> usize {
        let mut at = self.at;
        while let Some(found) = memchr(b'<', self.rest(at)) {
            at += found;
            if self.end_tag_at(at, name).is_some() {
                return at;
            }
            at += 1;
        }
        self.bytes.len()
    }

    /// Whether the end tag of the element whose contents these are stands at `at`.
    /// Returns the position after its name.
    fn end_tag_at(&self, at: usize, name: &[u8]) -> Option<usize> {
        let rest = self.rest(at).strip_prefix(b"</")?;
        let after = rest.get(name.len())?;
        let is_it = matches!(after, b'\t' | b'\n' | b'\x0c' | b' ' | b'/' | b'>')
            && rest.get(..name.len())?.eq_ignore_ascii_case(name);
        is_it.then_some(at + 2 + name.len())
    }

    fn plaintext(&mut self) -> State {
        let start = std::mem::replace(&mut self.at, self.bytes.len());
        self.send_raw_text(start, self.at);
        State::End
    }

    /// A part of the page, NULs replaced.
    fn slice_without_nul(&self, start: usize, end: usize) -> Cow<'a, str> {
        without_nul(&self.html[start..end])
    }

    /// The position of the next of two bytes, or the end.
    fn find2(&self, a: u8, b: u8, from: usize) -> usize {
        memchr2(a, b, self.rest(from)).map_or(self.bytes.len(), |found| from + found)
    }
}

/// Whitespace inside a tag; `\r` is gone by now.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b' ')
}

/// NULs replaced by U+FFFD.
fn without_nul(text: &str) -> Cow<'_, str> {
    match memchr(0, text.as_bytes()) {
        Some(_) => Cow::Owned(text.replace('\0', "\u{fffd}")),
        None => Cow::Borrowed(text),
    }
}

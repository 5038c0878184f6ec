//! The tokenizer: <https://html.spec.whatwg.org/multipage/parsing.html#tokenization>.
//!
//! The whole page is at hand, so where the standard describes a machine that eats one character
//! at a time, this looks for the next byte that matters and hands out slices of the page. Tokens
//! go to html5ever's tree builder. Its own tokenizer, made for input that trickles in, takes
//! most of the time of a parse, and compares every attribute of a tag with every other; the tests
//! hold both against each other.

mod markup;
mod names;
mod script;
mod tag;

use html5ever::LocalName;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, Token, TokenSink, TokenSinkResult};
use memchr::{memchr, memchr2, memchr3};
use orbweaver_markup::references::{self, Place};

use names::NameCache;

/// What the next characters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Data,
    /// The contents of the element whose start tag came last, up to its end tag.
    Raw(RawKind),
    Plaintext,
    End,
}

/// A sink of tokens that may have had enough.
pub(super) trait Consumer: TokenSink {
    /// Whether the rest of the page is to be left out.
    fn is_full(&self) -> bool {
        false
    }
}

/// Cuts a page into tokens.
pub(super) struct Tokenizer<'a, S> {
    source: &'a StrTendril,
    html: &'a str,
    bytes: &'a [u8],
    at: usize,
    sink: &'a S,
    last_start_tag: LocalName,
    names: NameCache,
    /// Text that differs from the page's.
    buffer: String,
    truncated: bool,
}

impl<'a, S: Consumer> Tokenizer<'a, S> {
    /// A tokenizer of a page whose line ends are all `\n`.
    pub(super) fn new(source: &'a StrTendril, sink: &'a S) -> Self {
        let html: &str = source;
        Self {
            source,
            html,
            bytes: html.as_bytes(),
            at: if html.starts_with('\u{feff}') {
                '\u{feff}'.len_utf8()
            } else {
                0
            },
            sink,
            last_start_tag: LocalName::default(),
            names: NameCache::default(),
            buffer: String::new(),
            truncated: false,
        }
    }

    /// Sends every token up to and with the end of the file. Returns whether attributes
    /// were left out.
    pub(super) fn run(mut self) -> bool {
        let mut state = State::Data;
        while state != State::End && !self.sink.is_full() {
            state = match state {
                State::Data => self.data(),
                State::Raw(kind) => self.raw(kind),
                State::Plaintext => self.plaintext(),
                State::End => State::End,
            };
        }
        self.send(Token::EOFToken);
        self.sink.end();
        self.truncated
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
                self.send(Token::NullCharacterToken);
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

    /// Sends the buffer, if there is something in it, and a slice of the page as one text.
    fn send_text(&mut self, start: usize, end: usize) {
        let text = if self.buffer.is_empty() {
            self.slice(start, end)
        } else {
            self.buffer.push_str(&self.html[start..end]);
            StrTendril::from_slice(&self.buffer)
        };
        if !text.is_empty() {
            self.send(Token::CharacterTokens(text));
        }
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
    fn raw(&mut self, kind: RawKind) -> State {
        match kind {
            RawKind::Rcdata => {
                self.text(false, |this, at| this.end_tag_at(at).is_some());
            }
            RawKind::Rawtext => {
                let start = self.at;
                let mut end = start;
                loop {
                    match memchr(b'<', self.rest(end)) {
                        None => end = self.bytes.len(),
                        Some(found) => {
                            end += found;
                            if self.end_tag_at(end).is_none() {
                                end += 1;
                                continue;
                            }
                        }
                    }
                    break;
                }
                self.at = end;
                self.send_raw_text(start, end);
            }
            RawKind::ScriptData | RawKind::ScriptDataEscaped(_) => {
                let start = self.at;
                self.at = self.script_end();
                self.send_raw_text(start, self.at);
            }
        }
        match self.end_tag_at(self.at) {
            Some(after_name) => {
                self.at = after_name;
                let name = self.last_start_tag.clone();
                self.end_tag(name)
            }
            None => State::End,
        }
    }

    /// Whether the end tag of the element whose contents these are stands at `at`.
    /// Returns the position after its name.
    fn end_tag_at(&self, at: usize) -> Option<usize> {
        let name = self.last_start_tag.as_bytes();
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

    /// A part of the page, sharing its memory if it is longer than a few bytes.
    fn slice(&self, start: usize, end: usize) -> StrTendril {
        self.source.subtendril(start as u32, (end - start) as u32)
    }

    /// A part of the page, NULs replaced.
    fn slice_without_nul(&mut self, start: usize, end: usize) -> StrTendril {
        if memchr(0, &self.bytes[start..end]).is_none() {
            return self.slice(start, end);
        }
        StrTendril::from(self.html[start..end].replace('\0', "\u{fffd}"))
    }

    fn send(&self, token: Token) -> State {
        // Line numbers serve error messages that nobody reads.
        match self.sink.process_token(token, 1) {
            TokenSinkResult::Plaintext => State::Plaintext,
            TokenSinkResult::RawData(kind) => State::Raw(kind),
            TokenSinkResult::Continue
            | TokenSinkResult::Script(_)
            | TokenSinkResult::EncodingIndicator(_) => State::Data,
        }
    }

    fn send_tag(&mut self, tag: Tag) -> State {
        self.send(Token::TagToken(tag))
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

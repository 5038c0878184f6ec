//! Tags and their attributes.

use std::borrow::Cow;

use memchr::memchr3;
use orbweaver_markup::references::{self, Place};

use super::super::names::{self, Name, Names};
use super::super::token::Attr;
use super::{State, Tokenizer, is_space, without_nul};

/// Attributes of one tag; more are left out. Each is compared with those before it.
const MAX_ATTRS: usize = 512;

/// Ends the name of a tag.
const ENDS_TAG_NAME: u8 = 1;
/// Ends the name of an attribute.
const ENDS_ATTR_NAME: u8 = 2;
/// Is another character in the tree: a capital letter or a NUL.
const CHANGES: u8 = 4;

/// What bytes mean in names.
static BYTES: [u8; 256] = bytes();

const fn bytes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < classes.len() {
        classes[byte] = match byte as u8 {
            b'\t' | b'\n' | b'\x0c' | b' ' | b'/' | b'>' => ENDS_TAG_NAME | ENDS_ATTR_NAME,
            b'=' => ENDS_ATTR_NAME,
            b'A'..=b'Z' | 0 => CHANGES,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

impl<'a> Tokenizer<'a> {
    /// A start tag, whose name begins here.
    pub(super) fn start_tag(&mut self) -> State {
        (self.tag.name, self.tag.spelled) = self.start_tag_name();
        self.tag.attrs.clear();
        let Some(self_closing) = self.attributes(true) else {
            return State::End;
        };
        self.tag.self_closing = self_closing;
        self.sink.start_tag(&self.tag).into()
    }

    /// What follows the name of an end tag. Its attributes mean nothing.
    pub(super) fn end_tag(&mut self, name: Name) -> State {
        if self.attributes(false).is_none() {
            return State::End;
        }
        self.sink.end_tag(name);
        State::Data
    }

    /// The name of an end tag, [`Name::NONE`] if there was no such start tag.
    pub(super) fn end_tag_name(&mut self) -> Name {
        let (key, text) = self.name(ENDS_TAG_NAME);
        Names::known(key)
            .or_else(|| self.names.seen(&text))
            .unwrap_or(Name::NONE)
    }

    /// The name of a start tag, and its letters unless the snapshot's table has them.
    fn start_tag_name(&mut self) -> (Name, Cow<'a, str>) {
        let (key, text) = self.name(ENDS_TAG_NAME);
        match Names::known(key) {
            Some(name) if name.tag() != 0 => (name, Cow::Borrowed("")),
            Some(name) => (name, text),
            None => (self.names.unknown(&text), text),
        }
    }

    /// A name: everything up to a byte that `ends` it, lower-case, and its key. The first byte
    /// belongs to it in any case: `=` may begin an attribute's.
    fn name(&mut self, ends: u8) -> (u128, Cow<'a, str>) {
        let start = self.at;
        let mut seen = BYTES[usize::from(self.byte(start).unwrap_or_default())];
        let mut end = start + 1;
        for byte in self.rest(end) {
            let class = BYTES[usize::from(*byte)];
            if class & ends != 0 {
                break;
            }
            seen |= class;
            end += 1;
        }
        self.at = end;
        let name = &self.html[start..end];
        if seen & CHANGES == 0 {
            let key = names::key_at(self.bytes, start, end - start);
            return (key, Cow::Borrowed(name));
        }
        let name = without_nul(name).to_ascii_lowercase();
        (names::key(name.as_bytes()), Cow::Owned(name))
    }

    /// Attributes up to the end of the tag, which are kept as the last start tag's or not at all. Returns whether
    /// the tag closes itself; `None` if the page ends inside the tag, which then counts for nothing.
    fn attributes(&mut self, keep: bool) -> Option<bool> {
        loop {
            self.skip_space();
            match self.byte(self.at)? {
                b'>' => {
                    self.at += 1;
                    return Some(false);
                }
                b'/' => {
                    self.at += 1;
                    if self.byte(self.at)? == b'>' {
                        self.at += 1;
                        return Some(true);
                    }
                }
                _ => {
                    let (key, name) = self.name(ENDS_ATTR_NAME);
                    let mut attribute = Attr::new(key, name);
                    self.skip_space();
                    if self.byte(self.at)? == b'=' {
                        self.at += 1;
                        self.skip_space();
                        attribute.value = self.value()?;
                    }
                    if keep {
                        self.keep(attribute);
                    }
                }
            }
        }
    }

    fn keep(&mut self, attribute: Attr<'a>) {
        let attrs = &mut self.tag.attrs;
        if attrs.iter().any(|known| known.is_named_like(&attribute)) {
            return;
        }
        if attrs.len() == MAX_ATTRS {
            self.truncated = true;
        } else {
            attrs.push(attribute);
        }
    }

    pub(super) fn skip_space(&mut self) {
        while self.byte(self.at).is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// What follows the `=`. `None` if the page ends here.
    fn value(&mut self) -> Option<Cow<'a, str>> {
        let quote = self.byte(self.at)?;
        match quote {
            // No value: the tag's end is read by the caller.
            b'>' => Some(Cow::Borrowed("")),
            b'"' | b'\'' => {
                let start = self.at + 1;
                let found = start + memchr3(quote, b'&', 0, self.rest(start))?;
                let end = match self.byte(found) {
                    Some(byte) if byte == quote => found,
                    _ => found + memchr::memchr(quote, self.rest(found))?,
                };
                self.at = end + 1;
                Some(self.decoded(start, found, end))
            }
            _ => {
                let start = self.at;
                let is_end = |b: &u8| is_space(*b) || *b == b'>';
                let end = start + self.rest(start).iter().position(is_end)?;
                self.at = end;
                let odd = memchr::memchr2(b'&', 0, &self.bytes[start..end]);
                Some(self.decoded(start, odd.map_or(end, |at| start + at), end))
            }
        }
    }

    /// An attribute's value with its character references decoded and NULs replaced. There are
    /// none before `at`.
    fn decoded(&self, start: usize, mut at: usize, end: usize) -> Cow<'a, str> {
        if at == end {
            return Cow::Borrowed(&self.html[start..end]);
        }
        let mut value = String::with_capacity(end - start);
        let mut copied = start;
        while at < end {
            let decoded = match self.byte(at) {
                Some(b'&') => references::decode(self.html, at + 1, Place::Attribute),
                _ => Some((references::Characters::REPLACEMENT, at + 1)),
            };
            match decoded {
                Some((chars, next)) => {
                    value.push_str(&self.html[copied..at]);
                    chars.push_to(&mut value);
                    (copied, at) = (next, next);
                }
                None => at += 1,
            }
            at = self.find2(b'&', 0, at).min(end);
        }
        value.push_str(&self.html[copied..end]);
        Cow::Owned(value)
    }
}

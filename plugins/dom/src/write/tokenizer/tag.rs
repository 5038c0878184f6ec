//! Tags and their attributes.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind};
use html5ever::{Attribute, LocalName, QualName, ns};
use memchr::{memchr, memchr2};
use orbweaver_markup::references::{self, Place};

use super::{Consumer, State, Tokenizer, is_space};

/// Attributes of one tag; more are left out. Each is compared with those before it.
const MAX_ATTRS: usize = 512;

impl<S: Consumer> Tokenizer<'_, S> {
    /// A start tag, whose name begins here.
    pub(super) fn start_tag(&mut self) -> State {
        let name = self.tag_name();
        let mut attrs = Vec::new();
        let mut repeated = false;
        let Some(self_closing) = self.attributes(|this, name, value| {
            if attrs
                .iter()
                .any(|known: &Attribute| known.name.local == name)
            {
                repeated = true;
            } else if attrs.len() == MAX_ATTRS {
                this.truncated = true;
            } else {
                attrs.push(Attribute {
                    name: QualName::new(None, ns!(), name),
                    value,
                });
            }
        }) else {
            return State::End;
        };
        self.last_start_tag = name.clone();
        self.send_tag(Tag {
            kind: TagKind::StartTag,
            name,
            self_closing,
            attrs,
            had_duplicate_attributes: repeated,
        })
    }

    /// What follows the name of an end tag. Its attributes mean nothing.
    pub(super) fn end_tag(&mut self, name: LocalName) -> State {
        let Some(self_closing) = self.attributes(|_, _, _| {}) else {
            return State::End;
        };
        self.send_tag(Tag {
            kind: TagKind::EndTag,
            name,
            self_closing,
            attrs: Vec::new(),
            had_duplicate_attributes: false,
        })
    }

    pub(super) fn tag_name(&mut self) -> LocalName {
        self.name(|byte| is_space(byte) || matches!(byte, b'/' | b'>'))
    }

    /// A name: everything up to a byte that ends it, lower-case.
    fn name(&mut self, is_end: impl Fn(u8) -> bool) -> LocalName {
        let start = self.at;
        let mut plain = true;
        let mut end = start;
        for byte in self.rest(start) {
            // The first byte belongs to a name in any case: `=` may begin an attribute's.
            if end > start && is_end(*byte) {
                break;
            }
            plain &= !byte.is_ascii_uppercase() && *byte != 0;
            end += 1;
        }
        self.at = end;
        let name = &self.html[start..end];
        if plain {
            return self.names.intern(name);
        }
        let name: String = name
            .chars()
            .map(|c| {
                if c == '\0' {
                    '\u{fffd}'
                } else {
                    c.to_ascii_lowercase()
                }
            })
            .collect();
        self.names.intern(&name)
    }

    /// Attributes up to the end of the tag. Returns whether it closes itself; `None` if the
    /// page ends inside the tag, which then counts for nothing.
    fn attributes(
        &mut self,
        mut each: impl FnMut(&mut Self, LocalName, StrTendril),
    ) -> Option<bool> {
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
                    let name =
                        self.name(|byte| is_space(byte) || matches!(byte, b'/' | b'>' | b'='));
                    self.skip_space();
                    let value = match self.byte(self.at)? {
                        b'=' => {
                            self.at += 1;
                            self.skip_space();
                            self.value()?
                        }
                        _ => StrTendril::new(),
                    };
                    each(self, name, value);
                }
            }
        }
    }

    pub(super) fn skip_space(&mut self) {
        while self.byte(self.at).is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// What follows the `=`. `None` if the page ends here.
    fn value(&mut self) -> Option<StrTendril> {
        let (start, end) = match self.byte(self.at)? {
            // No value: the tag's end is read by the caller.
            b'>' => return Some(StrTendril::new()),
            quote @ (b'"' | b'\'') => {
                let start = self.at + 1;
                let end = start + memchr(quote, self.rest(start))?;
                self.at = end + 1;
                (start, end)
            }
            _ => {
                let start = self.at;
                let len = self
                    .rest(start)
                    .iter()
                    .position(|b| is_space(*b) || *b == b'>')?;
                self.at = start + len;
                (start, self.at)
            }
        };
        if memchr2(b'&', 0, &self.bytes[start..end]).is_none() {
            return Some(self.slice(start, end));
        }
        Some(self.decoded(start, end))
    }

    /// An attribute's value with its character references decoded and NULs replaced.
    fn decoded(&mut self, start: usize, end: usize) -> StrTendril {
        self.buffer.clear();
        let (mut copied, mut at) = (start, start);
        while at < end {
            at = self.find2(b'&', 0, at).min(end);
            let decoded = match self.byte(at) {
                Some(b'&') if at < end => references::decode(self.html, at + 1, Place::Attribute),
                Some(0) if at < end => Some((references::Characters::REPLACEMENT, at + 1)),
                _ => None,
            };
            match decoded {
                Some((chars, next)) => {
                    self.buffer.push_str(&self.html[copied..at]);
                    chars.push_to(&mut self.buffer);
                    (copied, at) = (next, next);
                }
                None => at += 1,
            }
        }
        self.buffer.push_str(&self.html[copied..end]);
        StrTendril::from_slice(&self.buffer)
    }
}

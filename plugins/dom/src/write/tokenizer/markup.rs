//! Tokens that begin with `<`, besides start tags: end tags, comments, doctypes, CDATA.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::super::token::Doctype;
use super::{State, Tokenizer, is_space, without_nul};

impl<'a> Tokenizer<'a> {
    /// The markup whose `<` is here.
    pub(super) fn markup(&mut self) -> State {
        let start = self.at + 1;
        match (self.byte(start), self.byte(start + 1)) {
            (Some(b'/'), Some(next)) => {
                self.at = start + 1;
                if next.is_ascii_alphabetic() {
                    let name = self.end_tag_name();
                    return self.end_tag(name);
                }
                if next == b'>' {
                    self.at += 1;
                    return State::Data;
                }
                self.bogus_comment(start + 1)
            }
            (Some(b'!'), _) => self.declaration(start + 1),
            (Some(b'?'), _) => self.bogus_comment(start),
            _ => {
                self.at = start;
                self.start_tag()
            }
        }
    }

    /// What follows a `<!`.
    fn declaration(&mut self, start: usize) -> State {
        const DOCTYPE: &[u8] = b"doctype";
        const CDATA: &[u8] = b"[CDATA[";
        let rest = self.rest(start);
        if rest.starts_with(b"--") {
            return self.comment(start + 2);
        }
        if rest
            .get(..DOCTYPE.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(DOCTYPE))
        {
            self.at = start + DOCTYPE.len();
            let doctype = self.doctype();
            self.sink.doctype(&doctype);
            return State::Data;
        }
        if rest.starts_with(CDATA) && self.sink.is_in_foreign_content() {
            self.cdata(start + CDATA.len());
            return State::Data;
        }
        self.bogus_comment(start)
    }

    /// A comment whose text begins at `start`.
    /// <https://html.spec.whatwg.org/multipage/parsing.html#comment-start-state>
    fn comment(&mut self, start: usize) -> State {
        let rest = self.rest(start);
        for (abrupt, len) in [(&b">"[..], 1), (b"->", 2)] {
            if rest.starts_with(abrupt) {
                self.at = start + len;
                self.sink.comment("");
                return State::Data;
            }
        }
        let mut end = start;
        let end = loop {
            let Some(found) = memmem::find(self.rest(end), b"--") else {
                break None;
            };
            end += found;
            match self.rest(end) {
                [_, _, b'>', ..] => {
                    self.at = end + 3;
                    break Some(end);
                }
                [_, _, b'!', b'>', ..] => {
                    self.at = end + 4;
                    break Some(end);
                }
                _ => end += 1,
            }
        };
        let end = end.unwrap_or_else(|| {
            // A beginning of the comment's end is not part of the comment.
            self.at = self.bytes.len();
            let tail = [&b"--!"[..], b"--", b"-"]
                .into_iter()
                .find(|tail| rest.ends_with(tail));
            self.at - tail.map_or(0, <[u8]>::len)
        });
        self.sink.comment(&self.slice_without_nul(start, end));
        State::Data
    }

    fn bogus_comment(&mut self, start: usize) -> State {
        let end = self.find_or_end(b'>', start);
        self.at = (end + 1).min(self.bytes.len());
        self.sink.comment(&self.slice_without_nul(start, end));
        State::Data
    }

    fn find_or_end(&self, byte: u8, from: usize) -> usize {
        memchr(byte, self.rest(from)).map_or(self.bytes.len(), |found| from + found)
    }

    /// The text of a CDATA section. The tree builder decides about its NULs.
    fn cdata(&mut self, start: usize) {
        let len = memmem::find(self.rest(start), b"]]>");
        let end = len.map_or(self.bytes.len(), |len| start + len);
        self.at = if len.is_some() { end + 3 } else { end };
        let mut from = start;
        while from <= end {
            let to = memchr(0, &self.bytes[from..end]).map_or(end, |found| from + found);
            self.buffer.clear();
            self.send_text(from, to);
            if to < end {
                self.sink.null();
            }
            from = to + 1;
        }
    }

    /// What follows the word "doctype".
    /// <https://html.spec.whatwg.org/multipage/parsing.html#before-doctype-name-state>
    fn doctype(&mut self) -> Doctype<'a> {
        let mut doctype = Doctype::default();
        // Every way out but the regular one leaves the document in quirks mode.
        doctype.force_quirks = self.doctype_parts(&mut doctype).is_none();
        self.at = (self.find_or_end(b'>', self.at) + 1).min(self.bytes.len());
        doctype
    }

    fn doctype_parts(&mut self, doctype: &mut Doctype<'a>) -> Option<()> {
        self.skip_space();
        let start = self.at;
        if self.byte(start)? == b'>' {
            return None;
        }
        let is_end = |b: &u8| is_space(*b) || *b == b'>';
        let len = self.rest(start).iter().position(is_end);
        let end = len.map_or(self.bytes.len(), |len| start + len);
        self.at = end;
        doctype.name = Some(without_nul(&self.html[start..end]).to_ascii_lowercase());
        self.skip_space();
        if self.byte(self.at)? == b'>' {
            return Some(());
        }
        let keyword = self.rest(self.at).get(..6)?.to_ascii_lowercase();
        match keyword.as_slice() {
            b"public" => {
                self.at += 6;
                self.skip_space();
                self.doctype_id(&mut doctype.public_id)?;
                self.skip_space();
                if self.byte(self.at)? == b'>' {
                    return Some(());
                }
            }
            b"system" => {
                self.at += 6;
                self.skip_space();
            }
            _ => return None,
        }
        self.doctype_id(&mut doctype.system_id)?;
        self.skip_space();
        // Something after the last id is ignored, but the end of the page counts.
        self.byte(self.at).map(|_| ())
    }

    /// An id in quotes. A `>` ends it, and the doctype.
    fn doctype_id(&mut self, id: &mut Option<Cow<'a, str>>) -> Option<()> {
        let quote = self.byte(self.at).filter(|b| matches!(b, b'"' | b'\''))?;
        let start = self.at + 1;
        let end = self.find2(quote, b'>', start);
        *id = Some(self.slice_without_nul(start, end));
        self.at = end;
        if self.byte(end)? != quote {
            return None;
        }
        self.at += 1;
        Some(())
    }
}

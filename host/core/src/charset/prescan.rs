//! The HTML standard's "prescan a byte stream to determine its encoding".

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// Bytes searched for a declaration. The standard says 1,024, but pages put scripts and
/// comments first, and browsers that still wait for bytes find a later one too.
const PRESCAN_BYTES: usize = 8 * 1024;

/// The encoding that a document declares.
pub(super) fn prescan(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..PRESCAN_BYTES).unwrap_or(bytes);
    xml_declaration(head).or_else(|| Scanner { bytes: head, at: 0 }.run())
}

fn xml_declaration(head: &[u8]) -> Option<&'static Encoding> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let end = declaration.iter().position(|&b| b == b'>')?;
    let declaration = declaration.get(..end)?;
    let at = find(declaration, b"encoding")?;
    let value = skip_blanks(declaration.get(at + b"encoding".len()..)?);
    let value = skip_blanks(value.strip_prefix(b"=")?);
    let (&quote, value) = value.split_first()?;
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let len = value.iter().position(|&b| b == quote)?;
    declared(value.get(..len)?)
}

/// The encoding of a label within the document. The label was read as ASCII, so UTF-16 is
/// impossible and means UTF-8.
fn declared(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label)?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn skip_blanks(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().take_while(|&&b| is_blank(b)).count();
    bytes.get(len..).unwrap_or_default()
}

/// Position of `needle` (lower-case), compared without case.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window.eq_ignore_ascii_case(needle))
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn run(mut self) -> Option<&'static Encoding> {
        while self.at < self.bytes.len() {
            let rest = self.rest();
            if rest.starts_with(b"<!--") {
                // `<!-->` is a complete comment: the dashes may overlap.
                let len = rest.get(2..)?.windows(3).position(|w| w == b"-->")?;
                self.at += 2 + len + 3;
            } else if is_meta(rest) {
                self.at += 5;
                if let Some(encoding) = self.meta() {
                    return Some(encoding);
                }
            } else if rest.first() == Some(&b'<') {
                self.skip_markup(rest)?;
            } else {
                self.at += rest.iter().position(|&b| b == b'<')?;
            }
        }
        None
    }

    /// Skips a tag with its attributes, or a declaration; otherwise a single `<`.
    fn skip_markup(&mut self, rest: &[u8]) -> Option<()> {
        let letter = |at: usize| rest.get(at).is_some_and(u8::is_ascii_alphabetic);
        if letter(1) || (rest.get(1) == Some(&b'/') && letter(2)) {
            self.at += rest.iter().position(|&b| is_blank(b) || b == b'>')?;
            while self.attribute().is_some() {}
            self.at += 1;
        } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
            self.at += rest.iter().position(|&b| b == b'>')? + 1;
        } else {
            self.at += 1;
        }
        Some(())
    }

    fn meta(&mut self) -> Option<&'static Encoding> {
        // Of attributes of one name, the first counts.
        let (mut pragma, mut content, mut charset) = (None, None, None);
        while let Some((name, value)) = self.attribute() {
            let first = match name.as_slice() {
                b"http-equiv" => &mut pragma,
                b"content" => &mut content,
                b"charset" => &mut charset,
                _ => continue,
            };
            first.get_or_insert(value);
        }
        let is_pragma = pragma.is_some_and(|value| value.eq_ignore_ascii_case(b"content-type"));
        let content = content.filter(|_| is_pragma);
        let charset = charset.and_then(|label| declared(&label));
        charset.or_else(|| content.and_then(|value| in_content(&value).and_then(declared)))
    }

    /// The standard's "get an attribute": lower-case name and value; `None` at the tag's end.
    fn attribute(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        while self.peek().is_some_and(|b| is_blank(b) || b == b'/') {
            self.at += 1;
        }
        let first = self.peek()?;
        if first == b'>' {
            return None;
        }
        let start = self.at;
        // A name may begin with `=`.
        self.at += 1;
        while self
            .peek()
            .is_some_and(|b| !is_blank(b) && !matches!(b, b'/' | b'>' | b'='))
        {
            self.at += 1;
        }
        let name = self.bytes.get(start..self.at)?.to_ascii_lowercase();
        self.blanks();
        if self.peek() != Some(b'=') {
            return Some((name, Vec::new()));
        }
        self.at += 1;
        self.blanks();
        let value = match self.peek()? {
            quote @ (b'"' | b'\'') => {
                self.at += 1;
                let len = self.rest().iter().position(|&b| b == quote)?;
                let value = self.rest().get(..len)?;
                self.at += len + 1;
                value
            }
            _ => {
                let len = self.rest().iter().position(|&b| is_blank(b) || b == b'>')?;
                let value = self.rest().get(..len)?;
                self.at += len;
                value
            }
        };
        Some((name, value.to_vec()))
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }
}

fn is_meta(rest: &[u8]) -> bool {
    rest.get(..5)
        .is_some_and(|tag| tag.eq_ignore_ascii_case(b"<meta"))
        && rest.get(5).is_some_and(|&b| is_blank(b) || b == b'/')
}

/// The standard's "extracting a character encoding from a meta element".
fn in_content(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        rest = rest.get(find(rest, b"charset")? + b"charset".len()..)?;
        let after = skip_blanks(rest);
        let Some(value) = after.strip_prefix(b"=") else {
            continue;
        };
        let value = skip_blanks(value);
        return match value.first()? {
            quote @ (b'"' | b'\'') => {
                let value = value.get(1..)?;
                value.get(..value.iter().position(|b| b == quote)?)
            }
            _ => value.get(
                ..value
                    .iter()
                    .position(|&b| is_blank(b) || b == b';')
                    .unwrap_or(value.len()),
            ),
        };
    }
}

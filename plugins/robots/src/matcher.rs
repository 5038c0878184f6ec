//! Paths, patterns, and whether one matches the other, in linear time.

use std::borrow::Cow;
use std::sync::Arc;

use super::string_bytes;
use url::{Position, Url};

/// Bytes of a beginning that are compared in one step.
const COMPARED_PER_STEP: usize = 16;

/// A rule's path pattern, normalised. Copies share its text: a file can have 20,000 rules, and the
/// rules of an agent are copies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    /// Parts with stars between them; what stands in a part is escaped where it is no pattern.
    text: Arc<str>,
    /// It ends in `$`.
    anchored: bool,
    len: usize,
}

impl Pattern {
    pub fn new(text: &str) -> Self {
        let len = text.len();
        let (text, anchored) = text
            .strip_suffix('$')
            .map_or((text, false), |text| (text, true));
        Self {
            // Stars stay as they are, and no escape reaches across one.
            text: Arc::from(normalise(text, Meaning::Pattern)),
            anchored,
            len,
        }
    }

    /// The rule's weight: its length in octets, wildcards included.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Bytes of its text, allocation included.
    pub fn held_bytes(&self) -> usize {
        string_bytes(&self.text)
    }

    /// Its parts.
    pub fn parts(&self) -> Parts<'_> {
        let (first, rest) = match self.text.split_once('*') {
            Some((first, rest)) => (first, Some(rest)),
            None => (&*self.text, None),
        };
        let (middle, end) = match (rest, self.anchored) {
            (None, false) => ("", End::Open),
            (None, true) => ("", End::Here),
            (Some(rest), false) => (rest, End::Open),
            (Some(rest), true) => match rest.rsplit_once('*') {
                Some((middle, last)) => (middle, End::With(last)),
                None => ("", End::With(rest)),
            },
        };
        Parts { first, middle, end }
    }

    /// Whether the pattern matches `path` from its start. Each part is taken where it first
    /// occurs: with no other wildcard than `*`, an earlier occurrence is never worse. Adds the work to
    /// `steps`.
    pub fn matches(&self, path: &str, steps: &mut u64) -> bool {
        let mut parts = self.text.split('*');
        let first = parts.next().unwrap_or("");
        *steps += 1 + (first.len().min(path.len()) / COMPARED_PER_STEP) as u64;
        let Some(mut left) = path.strip_prefix(first) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return !self.anchored || left.is_empty();
        };
        // The parts are looked for one behind the other, so that a byte is read once.
        *steps += left.len() as u64;
        for part in parts {
            let Some(at) = left.find(part) else {
                return false;
            };
            left = left.get(at + part.len()..).unwrap_or("");
        }
        if self.anchored {
            left.ends_with(last)
        } else {
            left.contains(last)
        }
    }
}

/// A pattern, by its stars.
pub(super) struct Parts<'p> {
    /// What a path begins with.
    pub first: &'p str,
    /// What it has behind that, with stars between.
    middle: &'p str,
    end: End<'p>,
}

/// How a path that matches goes on behind the parts that were found.
enum End<'p> {
    /// In any way.
    Open,
    /// Not at all.
    Here,
    /// In any way, and it ends with this.
    With(&'p str),
}

impl<'p> Parts<'p> {
    /// What is looked for one after the other, behind the first part.
    pub fn wanted(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        self.middle.split('*').filter(|part| !part.is_empty())
    }

    /// Whether `path` may go on as it does behind `at`.
    pub fn ends(&self, path: &str, at: usize) -> bool {
        match self.end {
            End::Open => true,
            End::Here => at == path.len(),
            End::With(last) => path.get(at..).is_some_and(|rest| rest.ends_with(last)),
        }
    }
}

/// Path and query of a URL, normalised; what is no URL is taken for a path.
pub(super) fn path_of(url: &str) -> Cow<'_, str> {
    if url.starts_with('/') && !url.starts_with("//") {
        let end = url.find('#').unwrap_or(url.len());
        return normalise(url.get(..end).unwrap_or(url), Meaning::Path);
    }
    match Url::parse(url) {
        Ok(parsed) if parsed.has_host() => {
            let path = &parsed[Position::BeforePath..Position::AfterQuery];
            let path = if path.is_empty() { "/" } else { path };
            Cow::Owned(normalise(path, Meaning::Path).into_owned())
        }
        _ => Cow::Borrowed("/"),
    }
}

/// What a text is, which decides what `*` and `$` in it mean.
#[derive(Clone, Copy)]
enum Meaning {
    /// A rule's pattern without its last `$`: stars are wildcards.
    Pattern,
    /// Path and query of a URL: both are characters as others, which a rule writes escaped
    /// (RFC 9309, 2.2.3).
    Path,
}

impl Meaning {
    const fn escapes(self, byte: u8) -> bool {
        byte == b'$' || (byte == b'*' && matches!(self, Self::Path))
    }
}

/// One spelling for all that RFC 9309 (2.2.2) holds equal: escapes of unreserved
/// characters decoded, the others' hex in upper case, and what is not ASCII escaped, as are
/// special characters that are meant as characters.
fn normalise(text: &str, meaning: Meaning) -> Cow<'_, str> {
    let is_plain = |b: u8| b.is_ascii_graphic() && b != b'%' && !meaning.escapes(b);
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len() + 16);
    let escape = |out: &mut String, byte: u8| {
        let digit = |nibble: u8| HEX.get(usize::from(nibble)).map_or('0', |&b| char::from(b));
        out.push('%');
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
    };
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut ahead = bytes.clone();
            let decoded = ahead
                .next()
                .and_then(hex_digit)
                .zip(ahead.next().and_then(hex_digit));
            match decoded {
                Some((high, low)) => {
                    bytes = ahead;
                    let byte = high << 4 | low;
                    if is_unreserved(byte) {
                        out.push(char::from(byte))
                    } else {
                        escape(&mut out, byte)
                    }
                }
                None => out.push('%'),
            }
        } else if byte.is_ascii_graphic() && !meaning.escapes(byte) {
            out.push(char::from(byte));
        } else {
            escape(&mut out, byte);
        }
    }
    Cow::Owned(out)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

//! Destinations: what stands between the parentheses of a link or an image.

use orbweaver_sdk::text::ByteSet;
use orbweaver_sdk::urls::{Base, Resolved};

/// Resolves references of one document.
pub(crate) struct Destinations<'a> {
    base: Option<&'a Base>,
    resolved: Resolved,
}

/// Schemes that name no place a reader could go to.
const NOT_PLACES: &[&str] = &[
    "javascript",
    "vbscript",
    "data",
    "about",
    "blob",
    "view-source",
    "chrome",
    "livescript",
];

impl<'a> Destinations<'a> {
    pub fn new(base: Option<&'a Base>) -> Self {
        Self {
            base,
            resolved: Resolved::default(),
        }
    }

    /// Appends the destination that `href` stands for, ready to be written in parentheses.
    /// False, and nothing appended, where it is none.
    ///
    /// References are resolved against the document's base; a fragment of the page itself
    /// stays one, and what cannot be resolved is written as it stands.
    pub fn push(&mut self, href: &str, in_cell: bool, out: &mut String) -> bool {
        let href = href.trim_matches(|c: char| c <= ' ');
        if href.is_empty() {
            return false;
        }
        if has_any(&BREAKS, href) {
            // No part of a URL (WHATWG URL, "basic URL parser"), so of no scheme either.
            let href: String = href
                .chars()
                .filter(|c| !matches!(c, '\n' | '\r' | '\t'))
                .collect();
            return self.push(&href, in_cell, out);
        }
        if href.starts_with('#') {
            push_escaped(href, in_cell, out);
            return true;
        }
        let url = match scheme(href) {
            Some(scheme) if NOT_PLACES.iter().any(|no| scheme.eq_ignore_ascii_case(no)) => {
                return false;
            }
            Some(scheme) => {
                let web =
                    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
                if web && !is_clean(href) {
                    self.resolve(href)
                } else {
                    href
                }
            }
            None => self.resolve(href),
        };
        push_escaped(url, in_cell, out);
        true
    }

    fn resolve<'s>(&'s mut self, href: &'s str) -> &'s str {
        match self.base {
            Some(base) if base.join_into(href, &mut self.resolved) => self.resolved.as_str(),
            Some(_) => href,
            None => match Base::new(href) {
                Some(absolute) => {
                    self.resolved = absolute.url().clone();
                    self.resolved.as_str()
                }
                None => href,
            },
        }
    }
}

/// The scheme of an absolute reference (RFC 3986, section 3.1).
fn scheme(href: &str) -> Option<&str> {
    let colon = href
        .bytes()
        .position(|b| !(b.is_ascii_alphanumeric() || b"+-.".contains(&b)))?;
    let scheme = href
        .get(..colon)
        .filter(|s| s.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    href.get(colon..)?.starts_with(':').then_some(scheme)
}

/// What no part of a URL is.
static BREAKS: ByteSet = ByteSet::of(b"\n\r\t");

/// What an absolute URL is not written with.
static UNCLEAN: ByteSet = ByteSet::of(b" \x7f<>\\\"`").with_controls();

/// What may be written otherwise in a destination, and parentheses.
static ODD: ByteSet = ByteSet::of(b" <>\\|&()\x7f").with_controls();

/// Whether a text has a byte of a set.
fn has_any(set: &ByteSet, text: &str) -> bool {
    let bytes = text.as_bytes();
    if cfg!(target_family = "wasm") {
        set.first_in(bytes) < bytes.len()
    } else {
        bytes.iter().any(|byte| set.contains(*byte))
    }
}

/// Whether an absolute URL can be written as it stands.
fn is_clean(href: &str) -> bool {
    // Where it stands in nearly all of them.
    let is_usual = ["http://", "https://"].iter().any(|s| href.starts_with(s));
    (is_usual || href.contains("://")) && !has_any(&UNCLEAN, href)
}

/// Appends a URL so that CommonMark reads it back unchanged as a destination.
fn push_escaped(url: &str, in_cell: bool, out: &mut String) {
    if !has_any(&ODD, url) {
        return out.push_str(url);
    }
    let bytes = url.as_bytes();
    let bracketed = !balanced(bytes);
    if bracketed {
        out.push('<');
    }
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let instead = match byte {
            b' ' => "%20",
            b'<' => "%3C",
            b'>' => "%3E",
            b'\\' => "%5C",
            b'|' if in_cell => "%7C",
            b'&' if is_entity(bytes, at) => "&amp;",
            0..0x20 | 0x7f => "",
            _ => continue,
        };
        out.push_str(url.get(from..at).unwrap_or(""));
        out.push_str(instead);
        from = at + 1;
    }
    out.push_str(url.get(from..).unwrap_or(""));
    if bracketed {
        out.push('>');
    }
}

fn balanced(bytes: &[u8]) -> bool {
    let mut depth = 0_u32;
    for &byte in bytes {
        match byte {
            // CommonMark's implementations give up at 32 levels.
            b'(' if depth == 30 => return false,
            b'(' => depth += 1,
            b')' if depth == 0 => return false,
            b')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

fn is_entity(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at + 1..).unwrap_or_default();
    let len = rest
        .iter()
        .take(32)
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'#')
        .count();
    len > 0 && rest.get(len) == Some(&b';')
}

/// Appends ` "title"`, quotes escaped and white space collapsed; nothing for an empty one.
pub(crate) fn push_title(title: &str, in_cell: bool, out: &mut String) {
    let mut words = title.split_whitespace();
    let Some(first) = words.next() else { return };
    out.push_str(" \"");
    for (index, word) in std::iter::once(first).chain(words).enumerate() {
        if index > 0 {
            out.push(' ');
        }
        for c in word.chars() {
            if matches!(c, '"' | '\\') || (c == '|' && in_cell) {
                out.push('\\');
            }
            if !c.is_control() {
                out.push(c);
            }
        }
    }
    out.push('"');
}

//! Character references: `&amp;`, `&#8364;`, `&#x20ac`, as the HTML standard's tokeniser
//! reads them (section 13.2.5.72).

use markup5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::{memchr, memchr2};

/// Longest name of a reference: `CounterClockwiseContourIntegral` has 31 letters.
const MAX_NAME: usize = 32;

/// Position of a reference: in attributes, `&copy=` is not a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In text between tags.
    Text,
    /// In the value of an attribute.
    Attribute,
}

/// Whether [`decode_into`] changes this text.
pub fn is_encoded(text: &str, place: Place) -> bool {
    next(text.as_bytes(), place).is_some()
}

/// Index of the next `&`, or in an attribute of the next NUL.
fn next(text: &[u8], place: Place) -> Option<usize> {
    match place {
        Place::Text => memchr(b'&', text),
        Place::Attribute => memchr2(b'&', b'\0', text),
    }
}

/// Appends `text` to `out` with its references decoded, and in attributes with NULs replaced. What a NUL
/// in text is depends on the tree.
pub fn decode_into(text: &str, place: Place, out: &mut String) {
    let (mut copied, mut at) = (0, 0);
    let rest = |at: usize| text.as_bytes().get(at..).unwrap_or_default();
    while let Some(found) = next(rest(at), place) {
        at += found;
        let decoded = match rest(at).first() {
            Some(0) => Some((Characters::REPLACEMENT, at + 1)),
            _ => decode(text, at + 1, place),
        };
        match decoded {
            Some((characters, end)) => {
                out.push_str(text.get(copied..at).unwrap_or_default());
                characters.push_to(out);
                (copied, at) = (end, end);
            }
            None => at += 1,
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
}

/// One or two characters of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Characters(char, Option<char>);

impl Characters {
    /// U+FFFD, which replaces a NUL.
    pub const REPLACEMENT: Self = Self('\u{fffd}', None);

    /// Appends the characters.
    #[inline]
    pub fn push_to(self, out: &mut String) {
        out.push(self.0);
        out.extend(self.1);
    }
}

/// Decodes the reference whose `&` is right before `at`. Returns its characters and the position
/// after it; `None` if it is not a reference.
pub fn decode(html: &str, at: usize, place: Place) -> Option<(Characters, usize)> {
    let rest = html.as_bytes().get(at..)?;
    match rest.first()? {
        b'#' => {
            let (char, len) = numeric(rest.get(1..)?)?;
            Some((Characters(char, None), at + 1 + len))
        }
        first if first.is_ascii_alphanumeric() => {
            let (chars, len) = named(html.get(at..)?, place)?;
            Some((chars, at + len))
        }
        _ => None,
    }
}

/// <https://html.spec.whatwg.org/multipage/parsing.html#numeric-character-reference-state>
fn numeric(rest: &[u8]) -> Option<(char, usize)> {
    let (digits, base, mark) = match rest.first()? {
        b'x' | b'X' => (rest.get(1..)?, 16, 1),
        _ => (rest, 10, 0),
    };
    let mut number = 0_u32;
    let mut len = 0;
    while let Some(digit) = digits.get(len).and_then(|b| char::from(*b).to_digit(base)) {
        number = number.saturating_mul(base).saturating_add(digit);
        len += 1;
    }
    if len == 0 {
        return None;
    }
    let semicolon = usize::from(digits.get(len) == Some(&b';'));
    let replaced = number
        .checked_sub(0x80)
        .and_then(|n| *C1_REPLACEMENTS.get(n as usize)?);
    let char = match (number, replaced) {
        (0, _) => '\u{fffd}',
        (_, Some(char)) => char,
        _ => char::from_u32(number).unwrap_or('\u{fffd}'),
    };
    Some((char, mark + len + semicolon))
}

/// Finds the longest name at the start of the text.
/// <https://html.spec.whatwg.org/multipage/parsing.html#named-character-reference-state>
fn named(rest: &str, place: Place) -> Option<(Characters, usize)> {
    for (name, char) in [
        ("amp;", '&'),
        ("nbsp;", '\u{a0}'),
        ("quot;", '"'),
        ("lt;", '<'),
        ("gt;", '>'),
    ] {
        if rest.starts_with(name) {
            return Some((Characters(char, None), name.len()));
        }
    }
    // The usual case takes one look-up: a complete name with its semicolon is the longest.
    let letters = rest
        .bytes()
        .take(MAX_NAME)
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    if rest.as_bytes().get(letters) == Some(&b';')
        && let Some(&(first, second)) = rest.get(..=letters).and_then(|n| NAMED_ENTITIES.get(n))
        && let Some(first) = char::from_u32(first).filter(|c| *c != '\0')
    {
        let second = char::from_u32(second).filter(|c| *c != '\0');
        return Some((Characters(first, second), letters + 1));
    }
    let mut longest = None;
    // The table has every prefix of a name, without a value if it is not a name itself.
    for len in 1..=rest.len() {
        match rest.get(..len).and_then(|name| NAMED_ENTITIES.get(name)) {
            Some((0, _)) => {}
            Some(chars) => longest = Some((*chars, len)),
            None => break,
        }
    }
    let ((first, second), len) = longest?;
    // For old links: in `?a=1&copy=2` the author did not mean a sign.
    let bytes = rest.as_bytes();
    if place == Place::Attribute
        && bytes.get(len - 1) != Some(&b';')
        && bytes
            .get(len)
            .is_some_and(|next| *next == b'=' || next.is_ascii_alphanumeric())
    {
        return None;
    }
    let second = if second == 0 {
        None
    } else {
        char::from_u32(second)
    };
    Some((Characters(char::from_u32(first)?, second), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str, place: Place) -> String {
        let mut out = String::new();
        decode_into(text, place, &mut out);
        out
    }

    #[test]
    fn references_decode_as_in_a_browser() {
        for (source, text) in [
            ("a &amp; b &lt;c&gt; &quot;d&quot;", "a & b <c> \"d\""),
            ("&ampx &copy2026 &notit; &notin;", "&x ©2026 ¬it; ∉"),
            (
                "&#65;&#x42;&#67 &#128; &#0; &#xD800; &#99999999999;",
                "ABC € \u{fffd} \u{fffd} \u{fffd}",
            ),
            ("&NotEqualTilde; &fjlig;", "≂\u{338} fj"),
            (
                "& &; &# &#; &#x; &nosuch; &Amp;",
                "& &; &# &#; &#x; &nosuch; &Amp;",
            ),
            ("&nbsp;&CounterClockwiseContourIntegral;", "\u{a0}∳"),
            ("é&eacute;&", "éé&"),
        ] {
            assert_eq!(decoded(source, Place::Text), text, "{source}");
        }
    }

    #[test]
    fn attributes_keep_query_parameters() {
        assert_eq!(
            decoded("?a=1&copy=2&lt=3&reg;=4", Place::Attribute),
            "?a=1&copy=2&lt=3®=4"
        );
        assert_eq!(decoded("?a=1&amp;b&amp", Place::Attribute), "?a=1&b&");
        assert_eq!(decoded("?a=1&ampb", Place::Attribute), "?a=1&ampb");
    }

    #[test]
    fn a_nul_is_replaced_in_attributes_alone() {
        let source = "\0a\0&amp;\0";
        let replaced = "\u{fffd}a\u{fffd}&\u{fffd}";
        assert_eq!(decoded(source, Place::Attribute), replaced);
        assert_eq!(decoded(source, Place::Text), "\0a\0&\0");
        assert!(is_encoded("\0", Place::Attribute) && !is_encoded("\0", Place::Text));
    }

    fn reference(html: &str, place: Place) -> Option<(String, usize)> {
        decode(html, 0, place).map(|(characters, end)| {
            let mut out = String::new();
            characters.push_to(&mut out);
            (out, end)
        })
    }

    #[test]
    fn numeric_references_are_read() {
        for (html, expected) in [
            ("#65;b", Some(("A", 4))),
            ("#65b", Some(("A", 3))),
            ("#x41;", Some(("A", 5))),
            ("#X1F600", Some(("😀", 7))),
            ("#x80;", Some(("€", 5))),
            ("#x81;", Some(("\u{81}", 5))),
            ("#0;", Some(("\u{fffd}", 3))),
            ("#xD800;", Some(("\u{fffd}", 7))),
            ("#99999999999999;", Some(("\u{fffd}", 16))),
            ("#13;", Some(("\r", 4))),
            ("#;", None),
            ("#x;", None),
            ("#xg", None),
            ("#", None),
        ] {
            let expected = expected.map(|(s, n)| (s.to_owned(), n));
            assert_eq!(reference(html, Place::Text), expected, "{html}");
        }
    }

    #[test]
    fn named_references_are_read() {
        for (html, in_attribute, expected) in [
            ("amp;", false, Some(("&", 4))),
            ("ampx", false, Some(("&", 3))),
            ("ampx", true, None),
            ("amp=", true, None),
            ("amp ", true, Some(("&", 3))),
            ("amp;x", true, Some(("&", 4))),
            ("notit;", false, Some(("¬", 3))),
            ("notin;", false, Some(("∉", 6))),
            ("nGt;", false, Some(("≫\u{20d2}", 4))),
            ("eacute", false, Some(("é", 6))),
            ("Zzzz;", false, None),
            ("euro", false, None),
            (" ", false, None),
            ("", false, None),
            ("é", false, None),
        ] {
            let expected = expected.map(|(s, n)| (s.to_owned(), n));
            assert_eq!(
                reference(
                    html,
                    if in_attribute {
                        Place::Attribute
                    } else {
                        Place::Text
                    }
                ),
                expected,
                "{html}"
            );
        }
    }
}

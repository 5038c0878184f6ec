//! Character references: `&amp;`, `&#8364;`, `&#x20ac`.

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

/// One or two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chars(char, Option<char>);

impl Chars {
    pub(super) const REPLACEMENT: Self = Self('\u{fffd}', None);

    pub(super) fn push_to(self, out: &mut String) {
        out.push(self.0);
        out.extend(self.1);
    }
}

/// Decodes the reference that follows the `&` before `at`. Returns its characters and the
/// position after it; `None` if this is no reference, but text.
pub(super) fn decode(html: &str, at: usize, in_attribute: bool) -> Option<(Chars, usize)> {
    let rest = html.as_bytes().get(at..)?;
    match rest.first()? {
        b'#' => {
            let (char, len) = numeric(rest.get(1..)?)?;
            Some((Chars(char, None), at + 1 + len))
        }
        first if first.is_ascii_alphanumeric() => {
            let (chars, len) = named(html.get(at..)?, in_attribute)?;
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

/// The longest name that the text begins with.
/// <https://html.spec.whatwg.org/multipage/parsing.html#named-character-reference-state>
fn named(rest: &str, in_attribute: bool) -> Option<(Chars, usize)> {
    for (name, char) in [
        ("amp;", '&'),
        ("nbsp;", '\u{a0}'),
        ("quot;", '"'),
        ("lt;", '<'),
        ("gt;", '>'),
    ] {
        if rest.starts_with(name) {
            return Some((Chars(char, None), name.len()));
        }
    }
    let mut longest = None;
    // The table has every beginning of a name, with nothing for those that are no name.
    for len in 1..=rest.len() {
        match rest.get(..len).and_then(|name| NAMED_ENTITIES.get(name)) {
            Some((0, _)) => {}
            Some(chars) => longest = Some((*chars, len)),
            None => break,
        }
    }
    let ((first, second), len) = longest?;
    // For the sake of old links: in `?a=1&copy=2` the author meant no sign.
    let bytes = rest.as_bytes();
    if in_attribute
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
    Some((Chars(char::from_u32(first)?, second), len))
}

#[cfg(test)]
mod tests {
    use super::decode;

    fn text(html: &str, in_attribute: bool) -> Option<(String, usize)> {
        decode(html, 0, in_attribute).map(|(chars, end)| {
            let mut out = String::new();
            chars.push_to(&mut out);
            (out, end)
        })
    }

    #[test]
    fn numbers() {
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
            assert_eq!(text(html, false), expected, "{html}");
        }
    }

    #[test]
    fn names() {
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
            assert_eq!(text(html, in_attribute), expected, "{html}");
        }
    }
}

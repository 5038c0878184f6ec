//! Character references, decoded as the HTML standard's tokeniser does.

use markup5ever::data::NAMED_ENTITIES;
use memchr::memchr;

/// The longest name, `CounterClockwiseContourIntegral;`.
const MAX_NAME: usize = 32;

/// Where a reference stands: within attributes, `&copy=` is no reference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Text,
    Attribute,
}

/// Appends `text` to `out`, its references decoded.
pub(super) fn decode_into(text: &str, place: Place, out: &mut String) {
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        let (before, reference) = rest.split_at(at);
        out.push_str(before);
        let used = reference_into(reference, place, out);
        rest = reference.get(used..).unwrap_or("");
    }
    out.push_str(rest);
}

/// Decodes the reference at the start of `text`, which begins with `&`; gives the bytes
/// that it takes, at least one.
fn reference_into(text: &str, place: Place, out: &mut String) -> usize {
    let body = text.get(1..).unwrap_or("");
    let used = match body.as_bytes().first() {
        Some(b'#') => numeric(body, out),
        Some(b) if b.is_ascii_alphanumeric() => named(body, place, out),
        _ => None,
    };
    match used {
        Some(used) => used + 1,
        None => {
            out.push('&');
            1
        }
    }
}

/// `#123;` or `#x7b;`, the semicolon optional.
fn numeric(body: &str, out: &mut String) -> Option<usize> {
    let digits = body.get(1..)?;
    let (radix, skipped, digits) = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => (16, 2, hex),
        None => (10, 1, digits),
    };
    let len = digits
        .bytes()
        .take_while(|b| char::from(*b).is_digit(radix))
        .count();
    if len == 0 {
        return None;
    }
    let significant = digits.get(..len)?.trim_start_matches('0');
    // More digits than any code point has: out of range, without overflow.
    let code = if significant.len() > 7 {
        u32::MAX
    } else {
        u32::from_str_radix(significant, radix).unwrap_or(0)
    };
    out.push(code_point(code));
    let semicolon = digits.as_bytes().get(len) == Some(&b';');
    Some(skipped + len + usize::from(semicolon))
}

/// The standard's "numeric character reference end state".
fn code_point(code: u32) -> char {
    const WINDOWS_1252: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    match code {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => WINDOWS_1252
            .get(code as usize - 0x80)
            .copied()
            .unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// The longest name that `body` begins with.
fn named(body: &str, place: Place, out: &mut String) -> Option<usize> {
    let name_len = body
        .bytes()
        .take(MAX_NAME)
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    let with_semicolon = name_len + usize::from(body.as_bytes().get(name_len) == Some(&b';'));
    // Without a semicolon any prefix may be a name (`&notit;` is `¬it;`): the longest wins.
    for len in (2..=with_semicolon).rev() {
        let name = body.get(..len)?;
        let Some(&(first, second)) = NAMED_ENTITIES.get(name) else {
            continue;
        };
        // Keys that only begin a name map to nothing.
        let Some(first) = char::from_u32(first).filter(|&c| c != '\0') else {
            continue;
        };
        if !name.ends_with(';') && place == Place::Attribute {
            let next = body.as_bytes().get(len);
            if next.is_some_and(|&b| b == b'=' || b.is_ascii_alphanumeric()) {
                return None;
            }
        }
        out.push(first);
        out.extend(char::from_u32(second).filter(|&c| c != '\0'));
        return Some(len);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str, place: Place) -> String {
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
            assert_eq!(decode(source, Place::Text), text, "{source}");
        }
    }

    #[test]
    fn attributes_keep_what_looks_like_a_query() {
        assert_eq!(
            decode("?a=1&copy=2&lt=3&reg;=4", Place::Attribute),
            "?a=1&copy=2&lt=3®=4"
        );
        assert_eq!(decode("?a=1&amp;b&amp", Place::Attribute), "?a=1&b&");
        assert_eq!(decode("?a=1&ampb", Place::Attribute), "?a=1&ampb");
    }
}

//! Characters that no output of the content has: controls and marks without width. Plain text,
//! HTML and Markdown leave out the same ones, so that their words are the same.

use std::borrow::Cow;

/// What a character is that begins with one of the bytes `C2`, `E2` and `EF`, and its length in
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// It is written.
    Text(usize),
    /// White space. Controls from U+0080 on are taken as such: they stand where a dash or a
    /// quotation mark was lost to a wrong charset.
    Space(usize),
    /// Zero-width: a byte order mark, a soft hyphen, a zero-width space.
    Nothing(usize),
}

/// Reads the character at `at`.
pub fn wide(bytes: &[u8], at: usize) -> Wide {
    let rest = bytes.get(at..).unwrap_or_default();
    match *rest {
        [0xc2, 0xad, ..] => Wide::Nothing(2),
        [0xc2, 0x80..=0xa0, ..] => Wide::Space(2),
        [0xc2, ..] => Wide::Text(2),
        // Between letters of scripts that have no other mark between words it stays.
        [0xe2, 0x80, 0x8b, next, ..]
            if next >= 0xe0
                && at
                    .checked_sub(1)
                    .and_then(|i| bytes.get(i))
                    .is_some_and(|&b| b >= 0x80) =>
        {
            Wide::Text(3)
        }
        // Joiners are between letters that they join, or keep apart.
        [0xe2, 0x80, 0x8c | 0x8d, next, ..]
            if next >= 0x80
                && at
                    .checked_sub(1)
                    .and_then(|i| bytes.get(i))
                    .is_some_and(|&b| b >= 0x80) =>
        {
            Wide::Text(3)
        }
        [0xe2, 0x80, 0x8b..=0x8d, ..] | [0xe2, 0x81, 0xa0, ..] | [0xef, 0xbb, 0xbf, ..] => {
            Wide::Nothing(3)
        }
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => Wide::Space(3),
        [0xe2 | 0xef, ..] => Wide::Text(3),
        _ => Wide::Text(1),
    }
}

/// A stretch of running text as it is written.
pub fn of_text(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let Some(mut at) = first_odd(bytes) else {
        return Cow::Borrowed(text);
    };
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let (len, instead) = match byte {
            b'\t' | b'\n' | b'\x0c' | b'\r' => (1, None),
            0..0x20 | 0x7f => (1, Some("")),
            0xc2 | 0xe2 | 0xef => match wide(bytes, at) {
                Wide::Text(len) => (len, None),
                Wide::Space(len) => (len, Some(" ")),
                Wide::Nothing(len) => (len, Some("")),
            },
            _ => (1, None),
        };
        if let Some(instead) = instead {
            out.push_str(text.get(from..at).unwrap_or(""));
            out.push_str(instead);
            from = at + len;
        }
        at += len;
    }
    out.push_str(text.get(from..).unwrap_or(""));
    Cow::Owned(out)
}

/// Bytes that are looked at together.
const CHUNK: usize = 64;

/// The first byte of a control character, or of one that [`wide`] reads.
fn first_odd(bytes: &[u8]) -> Option<usize> {
    let mut chunks = bytes.chunks(CHUNK).enumerate();
    let (chunk, _) = chunks.find(|(_, chunk)| has_odd(chunk))?;
    let rest = bytes.get(chunk * CHUNK..)?;
    Some(chunk * CHUNK + rest.iter().position(|byte| is_odd(*byte))?)
}

/// Whether any of the bytes is odd. Plain steps on all of them, for the compiler to take many at
/// once; the sandbox has such instructions, which plugins do not use by themselves.
#[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
fn has_odd(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |odd, byte| odd | is_odd(*byte))
}

#[inline(always)]
fn is_odd(byte: u8) -> bool {
    (byte < 0x20) | (byte == 0x7f) | (byte == 0xc2) | (byte == 0xe2) | (byte == 0xef)
}

/// Text of code as it is written: no-break spaces as spaces, line ends and tabs stay.
pub fn of_code(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| {
        matches!(c, '\u{a0}' | '\u{200b}' | '\u{feff}' | '\r' | '\x7f')
            || c < ' ' && !matches!(c, '\t' | '\n')
    };
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter_map(|c| match c {
        '\u{a0}' => Some(' '),
        c if is_odd(c) => None,
        c => Some(c),
    });
    Cow::Owned(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_width_is_left_out_of_text() {
        for (text, written) in [
            ("plain text, ñ and ☂", "plain text, ñ and ☂"),
            (
                "hy\u{ad}phen, z\u{200b}ero\u{feff}, j\u{2060}oin",
                "hyphen, zero, join",
            ),
            ("a\x01b\x7fc", "abc"),
            ("York\u{97}Union", "York Union"),
            ("a\u{a0}b\u{2028}c", "a b c"),
            ("ไทย\u{200b}ไทย", "ไทย\u{200b}ไทย"),
            ("\u{200d}", ""),
            (" \u{200c} a\u{200d}b", "  ab"),
            (
                "👩\u{200d}💻 می\u{200c}خواهم",
                "👩\u{200d}💻 می\u{200c}خواهم",
            ),
            ("", ""),
            ("\u{ad}", ""),
        ] {
            assert_eq!(of_text(text), written, "{text:?}");
        }
    }

    #[test]
    fn what_has_no_width_is_found_wherever_it_stands() {
        for before in 0..200 {
            let plain = "xé".repeat(before / 3) + &"x".repeat(before % 3);
            assert!(matches!(of_text(&plain), Cow::Borrowed(_)));
            let odd = format!("{plain}\u{ad}{plain}\x7f\u{feff}");
            assert_eq!(of_text(&odd), plain.repeat(2));
            for alone in ["\x01", "\x7f", "\u{ad}", "\u{200b}", "\u{feff}"] {
                assert_eq!(of_text(&format!("{plain}{alone}")), plain, "{alone:?}");
            }
        }
    }

    #[test]
    fn code_keeps_its_lines() {
        assert_eq!(of_code("a\tb\r\n\u{a0}c\x01\u{200b}"), "a\tb\n c");
        assert_eq!(of_code("a\n\tb"), "a\n\tb");
    }
}

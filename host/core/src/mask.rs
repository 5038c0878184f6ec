//! Takes known values out of what a server has answered, in every form in which servers usually repeat them.
//!
//! A value is found as it is, in UTF-16, and in each of these writings, also where only some of its characters
//! are written that way: percent-encoding with digits of either case, with or without `+` for a space;
//! escapes of JSON and JavaScript; references of HTML, numbers or names. A search reads the text once for each,
//! whatever the text and the value are. A value is found in base64, too, of both alphabets, also within longer data.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::{memchr, memchr2, memmem};

/// What stands in place of each byte of a value.
const MASK: u8 = b'*';

/// Shortest value that is searched in base64, in bytes: of a shorter one, words of any text may be the base64.
const LEAST_IN_BASE64: usize = 8;

/// Most digits of a reference of HTML that are read, among them zeros at its front.
const MAX_REFERENCE: usize = 32;

/// The bytes with every value replaced by asterisks, of the same length; `None` if they have none. CPU-bound.
pub fn bytes(bytes: &[u8], values: &[String]) -> Option<Vec<u8>> {
    let mut masked: Option<Vec<u8>> = None;
    for value in values.iter().filter(|value| !value.is_empty()) {
        each_place(bytes, value, |place| {
            let masked = masked.get_or_insert_with(|| bytes.to_vec());
            if let Some(part) = masked.get_mut(place) {
                part.fill(MASK);
            }
        });
    }
    masked
}

/// Same as [`bytes`], of a text.
pub fn text(text: &str, values: &[String]) -> Option<String> {
    let masked = bytes(text.as_bytes(), values)?;
    Some(String::from_utf8_lossy(&masked).into_owned())
}

/// One step of a text: what the first bytes of it mean, and how many these are.
struct Unit {
    taken: usize,
    meant: [u8; 4],
    len: usize,
}

impl Unit {
    const fn byte(byte: u8, taken: usize) -> Self {
        Self {
            taken,
            meant: [byte, 0, 0, 0],
            len: 1,
        }
    }

    fn of_char(meant: char, taken: usize) -> Self {
        let mut bytes = [0; 4];
        let len = meant.encode_utf8(&mut bytes).len();
        Self {
            taken,
            meant: bytes,
            len,
        }
    }

    fn meant(&self) -> &[u8] {
        self.meant.get(..self.len).unwrap_or_default()
    }
}

/// Reads an escape at the start of a text; `None`: the first byte means itself.
type Escape = fn(&[u8]) -> Option<Unit>;

/// The places where a text has a value; they may overlap only with those of another writing.
fn each_place(text: &[u8], value: &str, mut found: impl FnMut(Range<usize>)) {
    let in_utf16 =
        |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> { value.encode_utf16().flat_map(bytes).collect() };
    for plain in [
        value.as_bytes(),
        &in_utf16(u16::to_le_bytes),
        &in_utf16(u16::to_be_bytes),
    ] {
        if memmem::find(text, plain).is_some() {
            each_escaped(text, plain, |_| None, &mut found);
        }
    }
    let escaped: [(bool, Escape); 4] = [
        (memchr(b'%', text).is_some(), percent),
        (memchr2(b'%', b'+', text).is_some(), percent_or_plus),
        (memchr(b'\\', text).is_some(), backslash),
        (memchr(b'&', text).is_some(), reference),
    ];
    for (_, escape) in escaped.into_iter().filter(|(has_escapes, _)| *has_escapes) {
        each_escaped(text, value.as_bytes(), escape, &mut found);
    }
    for form in in_base64(value.as_bytes()) {
        if memmem::find(text, &form.letters).is_some() {
            each_escaped(
                text,
                &form.letters,
                |_| None,
                |place| found(form.widened(text, place)),
            );
        }
    }
}

/// A value as base64 writes it within longer data.
struct Base64 {
    /// The letters of which the value alone decides.
    letters: Vec<u8>,
    /// Whether the letter before them, and the one after them, have bits of the value.
    is_in_first: bool,
    is_in_last: bool,
}

impl Base64 {
    /// A place of the letters with those beside them that have bits of the value.
    fn widened(&self, text: &[u8], place: Range<usize>) -> Range<usize> {
        let is_letter = |at: usize| {
            text.get(at)
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte))
        };
        let start = match place.start.checked_sub(1) {
            Some(before) if self.is_in_first && is_letter(before) => before,
            _ => place.start,
        };
        let end = place.end + usize::from(self.is_in_last && is_letter(place.end));
        start..end
    }
}

/// The forms of a value that begins at each of the three places in a group of bytes.
fn in_base64(value: &[u8]) -> Vec<Base64> {
    if value.len() < LEAST_IN_BASE64 {
        return Vec::new();
    }
    let mut forms: Vec<Base64> = Vec::with_capacity(6);
    for before in 0..3 {
        let data = [vec![0; before], value.to_vec()].concat();
        let (first, bits) = ((before * 8).div_ceil(6), data.len() * 8);
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let letters = engine.encode(&data).into_bytes();
            let letters = letters.get(first..bits / 6).unwrap_or_default().to_vec();
            if forms.iter().all(|form| form.letters != letters) {
                forms.push(Base64 {
                    letters,
                    is_in_first: before > 0,
                    is_in_last: bits % 6 != 0,
                });
            }
        }
    }
    forms
}

/// Searches what a text means for a value, by the algorithm of Knuth, Morris and Pratt: no answer of a server
/// makes it slow.
fn each_escaped(text: &[u8], value: &[u8], escape: Escape, mut found: impl FnMut(Range<usize>)) {
    let borders = borders(value);
    let shorter = |matched: usize| borders.get(matched.wrapping_sub(1)).copied();
    // The place in the text where the last bytes begin.
    let mut begins = vec![0; value.len()];
    let (mut at, mut count, mut matched, mut told) = (0, 0, 0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.first().copied().unwrap_or_default();
        let unit = escape(rest).unwrap_or(Unit::byte(first, 1));
        for byte in unit.meant() {
            if let Some(begin) = begins.get_mut(count % value.len()) {
                *begin = at;
            }
            count += 1;
            while value.get(matched) != Some(byte) {
                let Some(next) = shorter(matched) else { break };
                matched = next;
            }
            if value.get(matched) == Some(byte) {
                matched += 1;
            }
            if matched == value.len() {
                let begin = begins.get(count % value.len()).copied();
                let end = at + unit.taken;
                // Each byte is told once, or a text of one letter would take the square of its length.
                found(begin.unwrap_or(at).max(told)..end);
                told = end;
                matched = shorter(matched).unwrap_or_default();
            }
        }
        at += unit.taken;
    }
}

/// For each beginning of a value the length of the longest shorter one that it ends with.
fn borders(value: &[u8]) -> Vec<usize> {
    let mut borders: Vec<usize> = Vec::with_capacity(value.len());
    for (at, byte) in value.iter().enumerate() {
        let mut border = match at {
            0 => {
                borders.push(0);
                continue;
            }
            at => borders.get(at - 1).copied().unwrap_or_default(),
        };
        while border > 0 && value.get(border) != Some(byte) {
            border = borders.get(border - 1).copied().unwrap_or_default();
        }
        if value.get(border) == Some(byte) {
            border += 1;
        }
        borders.push(border);
    }
    borders
}

fn percent(text: &[u8]) -> Option<Unit> {
    let digits = text.strip_prefix(b"%")?.get(..2)?;
    let code = u8::try_from(number(digits, 16)?).ok()?;
    Some(Unit::byte(code, 3))
}

fn percent_or_plus(text: &[u8]) -> Option<Unit> {
    match text.first() {
        Some(b'+') => Some(Unit::byte(b' ', 1)),
        _ => percent(text),
    }
}

/// An escape of JSON or JavaScript.
fn backslash(text: &[u8]) -> Option<Unit> {
    let rest = text.strip_prefix(b"\\")?;
    let meant = match rest.first()? {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'x' => {
            let code = number(rest.get(1..3)?, 16)?;
            return Some(Unit::of_char(char::from_u32(code)?, 4));
        }
        b'u' => return unicode(rest),
        byte if byte.is_ascii() => *byte,
        _ => return None,
    };
    Some(Unit::byte(meant, 2))
}

/// What stands behind a backslash: `u` and four hexadecimal digits, or two such escapes for the halves of
/// one character in UTF-16.
fn unicode(rest: &[u8]) -> Option<Unit> {
    let code = number(rest.get(1..5)?, 16)?;
    if let Some(meant) = char::from_u32(code) {
        return Some(Unit::of_char(meant, 6));
    }
    let second = rest.get(5..11)?.strip_prefix(b"\\u")?;
    let units = [
        u16::try_from(code).ok()?,
        u16::try_from(number(second, 16)?).ok()?,
    ];
    let meant = char::decode_utf16(units).next()?.ok()?;
    Some(Unit::of_char(meant, 12))
}

/// A reference of HTML; as browsers read them, numbers and some names may do without the semicolon.
fn reference(text: &[u8]) -> Option<Unit> {
    let rest = text.strip_prefix(b"&")?;
    if let Some(digits) = rest.strip_prefix(b"#") {
        let (digits, head, radix) = match digits {
            [b'x' | b'X', digits @ ..] => (digits, 3, 16),
            digits => (digits, 2, 10),
        };
        let within = digits.get(..MAX_REFERENCE).unwrap_or(digits);
        let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
        let count = within.iter().take_while(is_digit).count();
        let meant = char::from_u32(number(within.get(..count)?, radix)?)?;
        return Some(Unit::of_char(meant, ended(text, head + count)));
    }
    for (name, meant, may_be_open) in NAMES {
        if rest.starts_with(name.as_bytes()) {
            let behind = name.len() + 1;
            let end = ended(text, behind);
            return (end > behind || *may_be_open).then_some(Unit::of_char(*meant, end));
        }
    }
    None
}

/// The end of a reference whose name or number ends at `at`: with its semicolon, if there is one.
fn ended(text: &[u8], at: usize) -> usize {
    at + usize::from(text.get(at) == Some(&b';'))
}

/// Names that libraries write for characters, and whether the name may stand without a semicolon. None
/// begins with another.
const NAMES: &[(&str, char, bool)] = &[
    ("amp", '&', true),
    ("AMP", '&', true),
    ("lt", '<', true),
    ("LT", '<', true),
    ("gt", '>', true),
    ("GT", '>', true),
    ("quot", '"', true),
    ("QUOT", '"', true),
    ("apos", '\'', false),
    ("sol", '/', false),
    ("equals", '=', false),
    ("plus", '+', false),
    ("grave", '`', false),
    ("lowbar", '_', false),
    ("colon", ':', false),
    ("period", '.', false),
    ("excl", '!', false),
    ("num", '#', false),
    ("dollar", '$', false),
    ("percnt", '%', false),
    ("ast", '*', false),
    ("comma", ',', false),
    ("quest", '?', false),
    ("commat", '@', false),
];

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let is_number = digits.iter().all(u8::is_ascii_alphanumeric);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    u32::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "k<&>+\"1'/ =ä\u{1f600}";

    fn masked(within: &str) -> Option<String> {
        text(within, &[VALUE.to_owned()])
    }

    #[test]
    fn a_value_is_found_in_every_usual_writing() {
        for form in [
            VALUE,
            // Percent-encoding: forms, URLs, digits of both cases, and of what need not be encoded.
            "k%3C%26%3E%2B%221%27%2F+%3D%C3%A4%F0%9F%98%80",
            "k%3C%26%3E%2B%221'%2F%20%3D%C3%A4%F0%9F%98%80",
            "k%3c%26%3e%2b%221%27%2f%20%3d%c3%a4%f0%9f%98%80",
            "%6B<%26%3E+%221'/%20=ä\u{1f600}",
            // JSON and JavaScript.
            "k<&>+\\\"1'/ =ä\u{1f600}",
            "k\\u003c\\u0026\\u003e+\\\"1'\\/ =\\u00e4\\uD83D\\uDE00",
            "k\\x3C&\\x3e+\\\"1\\'/ =ä\u{1f600}",
            // HTML: text, attributes, and the ways of several libraries.
            "k&lt;&amp;&gt;+\"1'/ =ä\u{1f600}",
            "k<&amp;>+&quot;1'/ =ä\u{1f600}",
            "k&lt;&amp;&gt;+&#34;1&#39;/ =ä\u{1f600}",
            "k&lt;&amp;&gt;+&quot;1&#x27;&#x2F; &#x3D;&#xe4;&#x1F600;",
            "k&lt;&amp;&gt;+&quot;1&apos;/ =&#228;&#128512;",
            "&#107&lt&amp&gt&plus;&quot&#0000000049&#x27&sol; &#61&#228&#x1F600",
        ] {
            let within = format!("before \\ %2 &c {form} & after");
            let masked = masked(&within).unwrap_or_else(|| panic!("{form}"));
            let stars = "*".repeat(form.len());
            assert_eq!(masked, format!("before \\ %2 &c {stars} & after"), "{form}");
        }
    }

    #[test]
    fn a_value_is_found_in_utf_16() {
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let within: Vec<u8> = format!("a {VALUE} b")
                .encode_utf16()
                .flat_map(order)
                .collect();
            let masked = bytes(&within, &[VALUE.to_owned()]).unwrap();
            assert_eq!(masked.len(), within.len());
            assert_eq!(masked[..4], within[..4]);
            let inside = masked.get(4..masked.len() - 4).unwrap();
            assert!(inside.iter().all(|byte| *byte == MASK));
        }
    }

    #[test]
    fn a_value_is_found_in_base64_wherever_it_begins() {
        // Of several lengths, and with letters of which the alphabets differ.
        for value in [
            "12345678",
            "\u{3fb}\u{3ff}\u{3ef}>>>???",
            "s3cret+Value/0451==",
        ] {
            for (before, after) in [("", ""), ("a", "bc"), ("ab", "c"), ("abc", "")] {
                let data = format!("{before}{value}{after}");
                for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
                    let within = format!("x {}= y", engine.encode(&data));
                    let masked = text(&within, &[value.to_owned()]).expect("the value");
                    assert_eq!(masked.len(), within.len());
                    assert!(
                        masked.starts_with("x ") && masked.ends_with("= y"),
                        "{masked}"
                    );
                    // What is left of the data has no bit of the value.
                    let left = |text: &str| text.bytes().filter(|byte| *byte != MASK).count() - 5;
                    let own = before.len() * 8 / 6 + (after.len() * 8).div_ceil(6);
                    assert!(left(&masked) <= own, "{within}: {masked}");
                }
            }
        }
        assert_eq!(text("c2hvcnQx", &["short1".to_owned()]), None);
    }

    #[test]
    fn what_is_no_value_stays() {
        for text in [
            "",
            "k",
            "k<&>",
            "k%3C%26%3E%2B%221%27%2F+%3D%C3%A4%F0%9F%98",
            "k&lt&amp;&gt;+\"1'/ =ä",
            "%",
            "%4",
            "%4g",
            "\\",
            "\\u12",
            "\\ud800\\u0041",
            "&",
            "&#;",
            "&#x110000;",
            "&#xd800;",
        ] {
            assert_eq!(masked(text), None, "{text}");
        }
        assert_eq!(text("anything", &[String::new()]), None);
    }

    #[test]
    fn several_and_overlapping_places_are_all_found() {
        let values = ["abab".to_owned(), "b&".to_owned()];
        assert_eq!(text("xababab&amp;", &values).unwrap(), "x***********");
        assert_eq!(text("xababab", &values).unwrap(), "x******");
        assert_eq!(text("%61bababx", &values).unwrap(), "********x");
        // Of one letter only: what is found grows with the text.
        let letters = format!("&{}", "a".repeat(1 << 16));
        let masked = text(&letters, &["a".repeat(1 << 12)]).unwrap();
        assert_eq!(masked, format!("&{}", "*".repeat(1 << 16)));
    }
}

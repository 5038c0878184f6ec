//! Reads parts of strict JSON text without building a value tree.

use std::borrow::Cow;

use crate::text::ByteSet;

/// The members of an object as (key with its quotes, value), both JSON text. Empty if it is not an
/// object. The text must be strict JSON.
pub fn members(object: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut parts = Parts::of(object, b'{');
    std::iter::from_fn(move || {
        let key = parts.next_value()?;
        let value = parts.next_value()?;
        Some((key, value))
    })
}

/// The elements of an array as JSON text; for any other value, the value itself.
pub fn elements(json: &str) -> impl Iterator<Item = &str> {
    let array = json.starts_with('[');
    let mut parts = Parts::of(json, b'[');
    let mut alone = (!array && !json.is_empty()).then_some(json);
    std::iter::from_fn(move || {
        if array {
            parts.next_value()
        } else {
            alone.take()
        }
    })
}

/// The value of a key of an object, as JSON text. Keys written with escapes do not match.
pub fn get<'j>(object: &'j str, key: &str) -> Option<&'j str> {
    let unquoted = |k: &'j str| k.strip_prefix('"').and_then(|k| k.strip_suffix('"'));
    members(object)
        .find(|(k, _)| unquoted(k) == Some(key))
        .map(|(_, value)| value)
}

/// The text of a JSON string; `None` for any other value.
pub fn string(json: &str) -> Option<Cow<'_, str>> {
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    Some(if inside.contains('\\') {
        Cow::Owned(unescape(inside))
    } else {
        Cow::Borrowed(inside)
    })
}

/// The value of hexadecimal digits. Rust's own reader accepts a sign before them, too.
pub(super) fn hex(digits: &str) -> Option<u32> {
    let is_plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_plain.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Decodes the inside of a JSON string.
fn unescape(inside: &str) -> String {
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = |at: usize| hex(escape.get(at..at + 6)?.strip_prefix("\\u")?);
        let (c, used) = match escape.as_bytes().get(1) {
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'u') => match (unit(0), unit(6)) {
                (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                    let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(code).unwrap_or('\u{fffd}'), 12)
                }
                (code, _) => (code.and_then(char::from_u32).unwrap_or('\u{fffd}'), 6),
            },
            other => (other.map_or('\\', |b| char::from(*b)), 2),
        };
        out.push(c);
        rest = escape.get(used..).unwrap_or("");
    }
    out.push_str(rest);
    out
}

/// The strings of an array, or a single string.
pub fn strings(json: &str) -> impl Iterator<Item = Cow<'_, str>> {
    elements(json).filter_map(string)
}

/// The value as a tree; null if the text is not JSON.
pub fn decode(json: &str) -> serde_json::Value {
    serde_json::from_str(json).unwrap_or_default()
}

/// The place behind a string whose inside begins at `at`.
fn behind_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    static ENDS: ByteSet = ByteSet::of(b"\"\\");
    loop {
        if cfg!(target_family = "wasm") {
            at += ENDS.first_in(bytes.get(at..)?);
        }
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Consecutive values inside a container.
struct Parts<'j> {
    rest: &'j str,
}

impl<'j> Parts<'j> {
    fn of(json: &'j str, bracket: u8) -> Self {
        let inside = json.as_bytes().first() == Some(&bracket);
        Self {
            rest: if inside {
                json.get(1..).unwrap_or("")
            } else {
                ""
            },
        }
    }

    /// The next value; keys count as values. `None` at the end of the container.
    fn next_value(&mut self) -> Option<&'j str> {
        let rest = self
            .rest
            .trim_start_matches([',', ':', ' ', '\t', '\n', '\r']);
        let bytes = rest.as_bytes();
        let mut depth = 0_usize;
        let mut at = 0;
        loop {
            match bytes.get(at)? {
                b'"' => {
                    at = behind_string(bytes, at + 1)?;
                    if depth == 0 {
                        break;
                    }
                }
                b'{' | b'[' => {
                    depth += 1;
                    at += 1;
                }
                b'}' | b']' if depth == 0 => {
                    if at == 0 {
                        self.rest = "";
                        return None;
                    }
                    break;
                }
                b'}' | b']' => {
                    depth -= 1;
                    at += 1;
                    if depth == 0 {
                        break;
                    }
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => break,
                _ => at += 1,
            }
        }
        let value = rest.get(..at)?;
        self.rest = rest.get(at..)?;
        Some(value)
    }
}

//! Writes JSON into one buffer, without a value tree and without an allocation per string.
//!
//! ```
//! use orbweaver_sdk::json::Writer;
//! let mut w = Writer::new();
//! w.object(|w| {
//!     w.key("title").string("A \"page\"");
//!     w.key("links").array(|w| {
//!         w.int(1);
//!         w.null();
//!     });
//! });
//! assert_eq!(w.finish(), r#"{"title":"A \"page\"","links":[1,null]}"#);
//! ```

use crate::text::{ByteSet, Sink};

/// A JSON text being written. The writer adds commas and colons; the caller must write keys in
/// objects only, and a value after each key.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    out: String,
    /// Whether a value has ended here, so that the next key or value needs a comma.
    after_value: bool,
}

impl Writer {
    /// Creates an empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a writer with a capacity of `bytes`, so that a large answer needs no reallocation.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            out: String::with_capacity(bytes),
            after_value: false,
        }
    }

    /// Returns the JSON text.
    pub fn finish(self) -> String {
        self.out
    }

    /// The text written so far.
    pub fn as_str(&self) -> &str {
        &self.out
    }

    /// Writes `{`, the output of `fill`, and `}`.
    pub fn object(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.begin_object();
        fill(self);
        self.end_object()
    }

    /// Writes `[`, the output of `fill`, and `]`.
    pub fn array(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.begin_array();
        fill(self);
        self.end_array()
    }

    /// Writes `{`.
    pub fn begin_object(&mut self) -> &mut Self {
        self.open('{')
    }

    /// Writes `}`.
    pub fn end_object(&mut self) -> &mut Self {
        self.close('}')
    }

    /// Writes `[`.
    pub fn begin_array(&mut self) -> &mut Self {
        self.open('[')
    }

    /// Writes `]`.
    pub fn end_array(&mut self) -> &mut Self {
        self.close(']')
    }

    /// Writes a key of an object; its value must follow.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.string(key);
        self.out.push(':');
        self.after_value = false;
        self
    }

    /// Writes an escaped string.
    pub fn string(&mut self, value: &str) -> &mut Self {
        self.separate();
        self.out.push('"');
        escape_into(value, &mut self.out);
        self.out.push('"');
        self
    }

    /// Writes a string, or null for `None`.
    pub fn string_or_null(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.string(value),
            None => self.null(),
        }
    }

    /// Writes a string in pieces: `fill` pushes to the sink, which escapes.
    pub fn string_with<R>(&mut self, fill: impl FnOnce(&mut Escaped<'_>) -> R) -> R {
        self.separate();
        self.out.push('"');
        let result = fill(&mut Escaped { out: &mut self.out });
        self.out.push('"');
        result
    }

    /// Writes an integer of any size.
    pub fn int(&mut self, value: impl Into<i128>) -> &mut Self {
        use std::fmt::Write;
        self.separate();
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{}", value.into());
        self
    }

    /// Writes `true` or `false`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.raw(if value { "true" } else { "false" })
    }

    /// Writes `null`.
    pub fn null(&mut self) -> &mut Self {
        self.raw("null")
    }

    /// Writes a value that is already JSON text.
    pub fn raw(&mut self, json: &str) -> &mut Self {
        self.separate();
        self.out.push_str(json);
        self
    }

    /// Writes a value that is already JSON text, in pieces.
    pub(crate) fn raw_parts(&mut self, parts: &[&str]) -> &mut Self {
        self.separate();
        parts.iter().for_each(|part| self.out.push_str(part));
        self
    }

    /// Writes a value tree.
    pub fn value(&mut self, value: &serde_json::Value) -> &mut Self {
        self.raw(&value.to_string())
    }

    fn open(&mut self, bracket: char) -> &mut Self {
        self.separate();
        self.out.push(bracket);
        self.after_value = false;
        self
    }

    fn close(&mut self, bracket: char) -> &mut Self {
        self.out.push(bracket);
        self.after_value = true;
        self
    }

    fn separate(&mut self) {
        if self.after_value {
            self.out.push(',');
        }
        self.after_value = true;
    }
}

/// The inside of a JSON string: pushed text is escaped.
pub struct Escaped<'w> {
    out: &'w mut String,
}

impl Sink for Escaped<'_> {
    fn push_str(&mut self, text: &str) {
        escape_into(text, self.out);
    }

    fn push_space(&mut self) {
        self.out.push(' ');
    }
}

/// Appends `text` escaped for a JSON string (RFC 8259, section 7).
pub fn escape_into(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let at = first_to_escape(rest.as_bytes());
        let (plain, tail) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = tail.chars();
        let Some(c) = chars.next() else { return };
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let code = control as usize;
                out.push_str("\\u00");
                for digit in [code >> 4 & 15, code & 15] {
                    out.push(HEX.get(digit).map_or('0', |&b| char::from(b)));
                }
            }
        }
        rest = chars.as_str();
    }
}

/// Index of the first byte that must be escaped in a JSON string, or the length.
fn first_to_escape(bytes: &[u8]) -> usize {
    static SET: ByteSet = ByteSet::of(b"\"\\").with_controls();
    if cfg!(target_family = "wasm") {
        return SET.first_in(bytes);
    }
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // Eight bytes at a time: after the XOR a byte is zero if it equals the mark, and the
    // subtraction carries into its high bit if it is smaller than the bound.
    let zero = |v: u64| v.wrapping_sub(ONES) & !v & HIGHS;
    let (chunks, _) = bytes.as_chunks::<8>();
    let mut at = 0;
    for chunk in chunks {
        let v = u64::from_le_bytes(*chunk);
        let control = v.wrapping_sub(ONES * 0x20) & !v & HIGHS;
        if control | zero(v ^ (ONES * 0x22)) | zero(v ^ (ONES * 0x5c)) != 0 {
            break;
        }
        at += 8;
    }
    let tail = bytes.get(at..).unwrap_or_default();
    at + tail
        .iter()
        .position(|&b| b < 0x20 || b == b'"' || b == b'\\')
        .unwrap_or(tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_reads_back_unchanged_at_every_position() {
        let odd = [
            "\"", "\\", "\n", "\r", "\t", "\0", "\u{1f}", "\u{7f}", "é", "日本", "\u{2028}", "😀",
            "!", "#", "[",
        ];
        for before in 0..20 {
            for piece in odd {
                let text = format!("{}{piece}{}", "x".repeat(before), "yz".repeat(before % 5));
                let mut w = Writer::new();
                w.string(&text);
                let read: String = serde_json::from_str(w.as_str()).expect("JSON");
                assert_eq!(read, text);
            }
        }
    }

    #[test]
    fn commas_and_colons_are_written_in_the_right_places() {
        let mut w = Writer::new();
        w.array(|w| {
            w.object(|_| {});
            w.array(|_| {});
            w.object(|w| {
                w.key("a").int(-1).key("b").bool(true).key("c").null();
                w.key("d").array(|w| {
                    w.string("x").raw("2.5").int(u64::MAX);
                });
            });
        });
        let expected = r#"[{},[],{"a":-1,"b":true,"c":null,"d":["x",2.5,18446744073709551615]}]"#;
        assert_eq!(w.finish(), expected);
    }
}

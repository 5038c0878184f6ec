//! Writing JSON into one buffer, with no value tree and no allocation per string.
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

use crate::text::Sink;

/// A JSON text in the making. The writer puts commas and colons; that keys stand in
/// objects and values do not is the caller's part.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    out: String,
    /// A value has ended here: the next key or value needs a comma.
    after_value: bool,
}

impl Writer {
    /// An empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer with room for `bytes`, so that a large answer is not copied as it grows.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            out: String::with_capacity(bytes),
            after_value: false,
        }
    }

    /// The JSON text.
    pub fn finish(self) -> String {
        self.out
    }

    /// What is written so far.
    pub fn as_str(&self) -> &str {
        &self.out
    }

    /// Writes `{`, what `fill` writes, and `}`.
    pub fn object(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.begin_object();
        fill(self);
        self.end_object()
    }

    /// Writes `[`, what `fill` writes, and `]`.
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

    /// An object's key; its value comes next.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.string(key);
        self.out.push(':');
        self.after_value = false;
        self
    }

    /// A string, escaped.
    pub fn string(&mut self, value: &str) -> &mut Self {
        self.separate();
        self.out.push('"');
        escape_into(value, &mut self.out);
        self.out.push('"');
        self
    }

    /// A string, or null for `None`.
    pub fn string_or_null(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.string(value),
            None => self.null(),
        }
    }

    /// A string in pieces: `fill` pushes to the sink, which escapes.
    pub fn string_with<R>(&mut self, fill: impl FnOnce(&mut Escaped<'_>) -> R) -> R {
        self.separate();
        self.out.push('"');
        let result = fill(&mut Escaped { out: &mut self.out });
        self.out.push('"');
        result
    }

    /// An integer of any size.
    pub fn int(&mut self, value: impl Into<i128>) -> &mut Self {
        use std::fmt::Write;
        self.separate();
        // Writing to a String does not fail.
        let _ = write!(self.out, "{}", value.into());
        self
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.raw(if value { "true" } else { "false" })
    }

    /// `null`.
    pub fn null(&mut self) -> &mut Self {
        self.raw("null")
    }

    /// A value that is JSON text already.
    pub fn raw(&mut self, json: &str) -> &mut Self {
        self.separate();
        self.out.push_str(json);
        self
    }

    /// A value that is JSON text already, in pieces.
    pub(crate) fn raw_parts(&mut self, parts: &[&str]) -> &mut Self {
        self.separate();
        parts.iter().for_each(|part| self.out.push_str(part));
        self
    }

    /// A value of a tree.
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

/// The inside of a JSON string: what is pushed is escaped.
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

/// Appends `text` as the inside of a JSON string (RFC 8259, section 7).
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

/// The index of the first byte that may not stand in a JSON string, or the length.
fn first_to_escape(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // Eight bytes at a time: a byte is zero after the XOR where it equals the mark, and
    // subtracting carries into its high bit where it is smaller than the bound.
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
    fn a_string_reads_back_as_it_was_whatever_is_in_it_and_wherever_it_stands() {
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
    fn commas_and_colons_stand_where_they_belong() {
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

//! Converts lenient JSON to strict JSON.

use super::cursor::hex;
use crate::json::escape_into;

/// Most nested values: JSON parsers recurse, and many stop at 128.
const MAX_DEPTH: usize = 100;

/// Converts lenient JSON to a strict JSON array of the values found. `None` if the text cannot be
/// parsed, or has no value.
pub fn clean(text: &str) -> Option<String> {
    let mut cleaner = Cleaner {
        text,
        at: 0,
        out: String::with_capacity(text.len() + 2),
    };
    cleaner.out.push('[');
    loop {
        cleaner.skip_blank(true);
        if cleaner.at >= text.len() {
            break;
        }
        if cleaner.out.len() > 1 {
            cleaner.out.push(',');
        }
        cleaner.value()?;
    }
    cleaner.out.push(']');
    (cleaner.out.len() > 2).then_some(cleaner.out)
}

struct Cleaner<'t> {
    text: &'t str,
    at: usize,
    out: String,
}

/// Length of an HTML comment at the start of the text that is a real comment. One that contains the
/// JSON itself only hides it from old parsers.
fn comment(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("<!--")?;
    let end = inner.find("-->")?;
    let said = inner.get(..end)?.trim_start();
    (!said.starts_with(['{', '[', '/'])).then_some("<!--".len() + end + "-->".len())
}

/// The expected next token inside a container.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

impl Cleaner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Skips white space, comments and the marks that hide scripts from old parsers. Also skips
    /// commas (and, outside of all values, semicolons), because the writer adds its own.
    fn skip_blank(&mut self, outside: bool) {
        loop {
            match self.peek() {
                Some(b',' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b';') if outside => self.at += 1,
                Some(b'/') if self.rest().starts_with("//") => {
                    // A line comment often contains one of these marks.
                    self.at += self.rest().find(['\n', '\r']).unwrap_or(self.rest().len());
                }
                Some(b'/') if self.rest().starts_with("/*") => {
                    self.at += self
                        .rest()
                        .find("*/")
                        .map_or(self.rest().len(), |end| end + 2);
                }
                Some(b'<' | b'-' | b']') => {
                    const MARKS: &[&str] = &["<!--", "-->", "<![CDATA[", "]]>"];
                    let rest = self.rest();
                    if let Some(length) = comment(rest) {
                        self.at += length;
                        continue;
                    }
                    let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) else {
                        return;
                    };
                    self.at += mark.len();
                }
                Some(0xc2 | 0xe2 | 0xef) => {
                    // No-break space, line separators, byte order mark.
                    match self.rest().chars().next() {
                        Some(c @ ('\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}')) => {
                            self.at += c.len_utf8();
                        }
                        _ => return,
                    }
                }
                _ => return,
            }
        }
    }

    /// Converts one value with everything in it.
    fn value(&mut self) -> Option<()> {
        let mut open: Vec<Container> = Vec::new();
        loop {
            // A value starts here.
            match self.peek()? {
                b'{' => {
                    self.at += 1;
                    self.out.push('{');
                    open.push(Container::Object);
                }
                b'[' => {
                    self.at += 1;
                    self.out.push('[');
                    open.push(Container::Array);
                }
                b'"' | b'\'' => self.string()?,
                _ => self.word()?,
            }
            if open.len() > MAX_DEPTH {
                return None;
            }
            // Before the next value: close ended containers, write comma and key.
            loop {
                let Some(container) = open.last() else {
                    return Some(());
                };
                self.skip_blank(false);
                match (self.peek()?, container) {
                    (b'}', Container::Object) => self.out.push('}'),
                    (b']', Container::Array) => self.out.push(']'),
                    (b'}' | b']', _) => return None,
                    (_, container) => {
                        let first = matches!(self.out.as_bytes().last(), Some(b'{' | b'['));
                        if !first {
                            self.out.push(',');
                        }
                        if *container == Container::Object {
                            self.key()?;
                        }
                        break;
                    }
                }
                self.at += 1;
                open.pop();
            }
        }
    }

    fn key(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' | b'\'' => self.string()?,
            _ => {
                let rest = self.rest();
                let end =
                    rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_$@-".contains(c)))?;
                let name = rest.get(..end).filter(|name| !name.is_empty())?.to_owned();
                self.out.push('"');
                self.out.push_str(&name);
                self.out.push('"');
                self.at += end;
            }
        }
        self.skip_blank(false);
        if self.peek()? != b':' {
            return None;
        }
        self.at += 1;
        self.out.push(':');
        self.skip_blank(false);
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        let quote = self.peek()?;
        self.at += 1;
        self.out.push('"');
        loop {
            let rest = self.text.get(self.at..)?;
            let plain = rest
                .bytes()
                .position(|b| b == quote || b == b'\\' || b < 0x20 || b == b'"')?;
            self.out.push_str(rest.get(..plain)?);
            self.at += plain;
            match self.peek()? {
                b if b == quote => {
                    self.at += 1;
                    self.out.push('"');
                    return Some(());
                }
                b'\\' => self.escape()?,
                _ => {
                    escape_into(self.text.get(self.at..=self.at)?, &mut self.out);
                    self.at += 1;
                }
            }
        }
    }

    /// Converts an escape sequence; a sequence that JSON does not know becomes the character
    /// itself.
    fn escape(&mut self) -> Option<()> {
        let after = self.text.get(self.at + 1..)?;
        let c = after.chars().next()?;
        let mut used = 1 + c.len_utf8();
        match c {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'u' => {
                let unit = |at: usize| hex(after.get(at..at + 4)?);
                match unit(1) {
                    Some(0xd800..=0xdbff) => {
                        let low = after
                            .get(5..7)
                            .filter(|m| *m == "\\u")
                            .and_then(|_| unit(7));
                        if let Some(0xdc00..=0xdfff) = low {
                            self.out.push('\\');
                            self.out.push_str(after.get(..11)?);
                            used += 10;
                        } else {
                            self.out.push('\u{fffd}');
                            used += 4;
                        }
                    }
                    Some(0xdc00..=0xdfff) => {
                        self.out.push('\u{fffd}');
                        used += 4;
                    }
                    Some(_) => {
                        self.out.push('\\');
                        self.out.push_str(after.get(..5)?);
                        used += 4;
                    }
                    None => self.out.push('u'),
                }
            }
            // A line continued on the next line.
            '\n' | '\r' => {}
            c => escape_into(c.encode_utf8(&mut [0; 4]), &mut self.out),
        }
        self.at += used;
        Some(())
    }

    /// Converts a number, `true`, `false`, `null`, or a JavaScript equivalent.
    fn word(&mut self) -> Option<()> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
            .unwrap_or(rest.len());
        let word = rest.get(..end).filter(|word| !word.is_empty())?;
        let json = match word {
            "true" | "false" | "null" => word.to_owned(),
            "True" | "TRUE" => "true".to_owned(),
            "False" | "FALSE" => "false".to_owned(),
            "undefined" | "NaN" | "None" | "NULL" | "Null" => "null".to_owned(),
            number if is_number(number) => number.to_owned(),
            // `007`, `+1`, `1.`, `1e999`: kept as strings.
            other if other.bytes().all(|b| b"0123456789+-.eE".contains(&b)) => {
                format!("\"{other}\"")
            }
            _ => return None,
        };
        self.out.push_str(&json);
        self.at += end;
        Some(())
    }
}

/// Whether this is a number by RFC 8259, section 6, that a float can hold: parsers refuse
/// others.
fn is_number(word: &str) -> bool {
    const MAX_LENGTH: usize = 100;
    let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = word.strip_prefix('-').unwrap_or(word);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with('0')) || word.len() > MAX_LENGTH {
        return false;
    }
    let mut rest = rest.get(whole..).unwrap_or("");
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or("");
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(exponent);
        return (1..=2).contains(&count) && count == exponent.len();
    }
    rest.is_empty()
}

/// Decodes numeric character references, and named ones of marks that systems escape: those of
/// attributes, spaces, quotes, dashes and signs. Others stay as they are.
pub fn decode_entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, entity) = rest.split_at(at);
        out.push_str(before);
        let end = entity.bytes().take(12).position(|b| b == b';');
        let decoded = end.and_then(|end| {
            let c = match entity.get(1..end)? {
                "quot" => '"',
                "amp" => '&',
                "apos" => '\'',
                "lt" => '<',
                "gt" => '>',
                "nbsp" => '\u{a0}',
                "hellip" => '…',
                "ndash" => '–',
                "mdash" => '—',
                "lsquo" => '‘',
                "rsquo" => '’',
                "ldquo" => '“',
                "rdquo" => '”',
                "laquo" => '«',
                "raquo" => '»',
                "reg" => '®',
                "trade" => '™',
                "copy" => '©',
                name => {
                    let code = name.strip_prefix('#')?;
                    let code = match code.strip_prefix(['x', 'X']) {
                        Some(digits) => hex(digits)?,
                        None if code.starts_with('+') => return None,
                        None => code.parse().ok()?,
                    };
                    char::from_u32(code)?
                }
            };
            Some((c, end + 1))
        });
        let (c, used) = decoded.unwrap_or(('&', 1));
        out.push(c);
        rest = entity.get(used..).unwrap_or("");
    }
    out.push_str(rest);
    out
}

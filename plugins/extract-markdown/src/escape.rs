//! Text into Markdown: white space collapsed, and a backslash before what would read as
//! markup otherwise, only there. Rules by CommonMark 0.31 and GFM's extensions.

use orbweaver_content::invisible::{Wide, wide};
use orbweaver_sdk::text::ByteSet;

use crate::marks::Kind;
use crate::writer::{Mode, Space, Writer};

const PLAIN: u8 = 0;
const SPACE: u8 = 1;
/// May need a backslash.
const MARKUP: u8 = 2;
/// First byte of characters some of which are white space or invisible.
const WIDE: u8 = 3;
/// Never written.
const CONTROL: u8 = 4;

/// ASCII characters that may need a backslash.
const MARKS: &[u8] = b"\\*_`[]<&~|#";

/// ASCII characters that are not plain; the space is left to the search.
static NOT_PLAIN: ByteSet = ByteSet::of(b"\\*_`[]<&~|#\x7f").with_controls();

static CLASS: [u8; 256] = {
    let mut class = [PLAIN; 256];
    let mut i = 0;
    while i < 0x20 {
        class[i] = CONTROL;
        i += 1;
    }
    class[0x7f] = CONTROL;
    let spaces = b" \t\n\x0b\x0c\r";
    i = 0;
    while i < spaces.len() {
        class[spaces[i] as usize] = SPACE;
        i += 1;
    }
    i = 0;
    while i < MARKS.len() {
        class[MARKS[i] as usize] = MARKUP;
        i += 1;
    }
    class[0xc2] = WIDE;
    class[0xe2] = WIDE;
    class[0xef] = WIDE;
    class
};

/// Bytes that a search for what is not plain looks at together. Only the sandbox has instructions
/// for it.
const SEARCHED: usize = 16;

fn class(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

/// The text from `from` to `to`; both are ASCII boundaries found by scanning.
fn slice(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or("")
}

/// What a text node's scan remembers.
#[derive(Default)]
struct Ahead {
    /// Where the next `](` stands at or after the place it was asked for; the length of
    /// the text if there is none.
    destination: Option<usize>,
}

impl Writer {
    /// Writes a text node.
    pub fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut ahead = Ahead::default();
        let mut at = self.skip_space(bytes, 0);
        while at < bytes.len() {
            if self.dirty {
                self.ready(text.get(at..).and_then(|t| t.chars().next()).unwrap_or(' '));
            }
            if self.at_line_start() && self.mode == Mode::Flow && !self.code {
                at = self.line_start_escape(text, at);
            }
            at = self.words(text, at, &mut ahead);
            at = self.skip_space(bytes, at);
        }
    }

    /// Passes over white space and what is never written. Returns the index of the first
    /// byte that is neither.
    fn skip_space(&mut self, bytes: &[u8], from: usize) -> usize {
        let mut at = from;
        let mut seen = Space::None;
        while let Some(&byte) = bytes.get(at) {
            at += match class(byte) {
                SPACE => {
                    if byte == b'\n' {
                        seen = Space::LineEnd;
                    } else if seen == Space::None {
                        seen = Space::Blank;
                    }
                    1
                }
                CONTROL => 1,
                WIDE => match wide(bytes, at) {
                    Wide::Space(len) => {
                        seen = Space::Blank;
                        len
                    }
                    Wide::Nothing(len) => len,
                    Wide::Text(_) => break,
                },
                _ => break,
            };
        }
        if seen != Space::None {
            self.soft_space(seen);
        }
        at
    }

    /// Copies text up to white space (a single space between two plain characters is part
    /// of the run) and returns where it ends.
    fn words(&mut self, text: &str, start: usize, ahead: &mut Ahead) -> usize {
        let bytes = text.as_bytes();
        let mut from = start;
        let mut at = start;
        while let Some(&byte) = bytes.get(at) {
            match class(byte) {
                PLAIN => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let plain = if cfg!(target_family = "wasm") && rest.len() >= SEARCHED {
                        NOT_PLAIN.plain_words(rest)
                    } else {
                        0
                    };
                    at += plain.max(1);
                }
                SPACE => {
                    let joins =
                        byte == b' ' && bytes.get(at + 1).is_some_and(|&next| class(next) == PLAIN);
                    if !joins {
                        break;
                    }
                    at += 2;
                }
                MARKUP => {
                    let run = if byte == b'_' || byte == b'~' {
                        run_of(bytes, at, byte)
                    } else {
                        1
                    };
                    if self.must_escape(text, at, run, ahead) {
                        for _ in 0..run {
                            self.out.push_str(slice(text, from, at));
                            self.out.push('\\');
                            from = at;
                            at += 1;
                        }
                    } else {
                        at += run;
                    }
                }
                WIDE => match wide(bytes, at) {
                    Wide::Text(len) => at += len,
                    Wide::Space(_) => break,
                    Wide::Nothing(len) => {
                        self.out.push_str(slice(text, from, at));
                        at += len;
                        from = at;
                    }
                },
                _ => {
                    self.out.push_str(slice(text, from, at));
                    at += 1;
                    from = at;
                }
            }
        }
        self.out.push_str(slice(text, from, at));
        at
    }

    /// Whether the character at `at` (a run of them, for `_` and `~`) needs a backslash.
    fn must_escape(&self, text: &str, at: usize, run: usize, ahead: &mut Ahead) -> bool {
        let bytes = text.as_bytes();
        let byte = bytes.get(at).copied().unwrap_or(0);
        if self.code {
            return byte == b'|' && self.mode == Mode::Cell;
        }
        let next = bytes.get(at + run).copied();
        match byte {
            b'\\' => next.is_none_or(|b| b.is_ascii_punctuation()),
            b'`' => true,
            // Between white space it is no delimiter.
            b'*' => {
                let apart = at > 0 && bytes.get(at - 1) == Some(&b' ');
                !(apart && next.is_some_and(|b| class(b) == SPACE))
            }
            b'_' => {
                // Inside of a word it is no delimiter.
                let before = self.before(text, at);
                let after = text.get(at + run..).and_then(|t| t.chars().next());
                !(before.is_alphanumeric() && after.is_some_and(char::is_alphanumeric))
            }
            b'~' => run > 1 || self.is_open(Kind::Strike) || self.may_close_strike(text, at),
            b'[' => {
                self.brackets || {
                    let known = ahead.destination.filter(|&d| d >= at);
                    let destination = known.unwrap_or_else(|| {
                        text.get(at..)
                            .and_then(|t| t.find("]("))
                            .map_or(text.len(), |d| at + d)
                    });
                    ahead.destination = Some(destination);
                    destination < text.len()
                }
            }
            b']' => self.brackets || matches!(next, Some(b'(' | b':')),
            b'<' => next.is_none_or(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'!' | b'?')),
            b'&' => is_entity(bytes.get(at + 1..).unwrap_or_default()),
            b'|' => self.mode == Mode::Cell,
            // A run of them at the end of a heading is dropped by readers.
            b'#' => {
                self.mode == Mode::Line
                    && bytes
                        .get(at..)
                        .unwrap_or_default()
                        .iter()
                        .all(|&b| b == b'#' || class(b) == SPACE)
                    && matches!(self.before(text, at), ' ' | '#')
            }
            _ => false,
        }
    }

    /// The character before `at`: of the text, or of what is written already.
    fn before(&self, text: &str, at: usize) -> char {
        match text.get(..at).and_then(|t| t.chars().next_back()) {
            Some(c) if c.is_whitespace() => ' ',
            Some(c) => c,
            None => self.last_char(),
        }
    }

    /// A single `~` closes a strikethrough only after a character and not inside of one of
    /// the shapes `/~x`, ` ~5`.
    fn may_close_strike(&self, text: &str, at: usize) -> bool {
        let before = self.before(text, at);
        let after = text
            .get(at + 1..)
            .and_then(|t| t.chars().next())
            .unwrap_or(' ');
        !before.is_whitespace()
            && (!crate::marks::is_punctuation(before) || !after.is_alphanumeric())
    }

    /// Escapes what begins a block at the start of a line. Returns where the text goes on.
    fn line_start_escape(&mut self, text: &str, at: usize) -> usize {
        let bytes = text.as_bytes();
        let rest = bytes.get(at..).unwrap_or_default();
        let Some((&byte, tail)) = rest.split_first() else {
            return at;
        };
        // A no-break space is written as a space, and what is never written may come before one.
        let ends = |b: Option<&u8>| b.is_none_or(|&b| matches!(class(b), SPACE | WIDE | CONTROL));
        let escape = match byte {
            b'#' => {
                let run = run_of(bytes, at, b'#');
                run <= 6 && ends(rest.get(run))
            }
            b'>' => true,
            b'+' | b'*' => ends(tail.first()),
            // Also a rule, the underline of a heading, the second row of a table.
            b'-' => {
                ends(tail.first()) || only(rest, b"-") || (self.continued && only(rest, b"-|:"))
            }
            b'=' => self.continued && only(rest, b"="),
            b'|' | b':' => self.continued && only(rest, b"-|:"),
            b'[' => matches!(tail, [b' ' | b'x' | b'X', b']', after @ ..] if ends(after.first())),
            b'0'..=b'9' => {
                let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
                let mark = rest.get(digits);
                if digits <= 9 && matches!(mark, Some(b'.' | b')')) && ends(rest.get(digits + 1)) {
                    self.out.push_str(slice(text, at, at + digits));
                    self.out.push('\\');
                    self.out.push_str(slice(text, at + digits, at + digits + 1));
                    return at + digits + 1;
                }
                false
            }
            _ => false,
        };
        if escape {
            self.out.push('\\');
            self.out.push(char::from(byte));
            return at + 1;
        }
        at
    }
}

/// How many times `byte` stands in a row from `at`.
fn run_of(bytes: &[u8], at: usize, byte: u8) -> usize {
    bytes
        .get(at..)
        .unwrap_or_default()
        .iter()
        .take_while(|&&b| b == byte)
        .count()
}

/// Whether there is nothing but these characters and white space.
fn only(bytes: &[u8], these: &[u8]) -> bool {
    bytes
        .iter()
        .all(|b| these.contains(b) || class(*b) == SPACE)
}

/// Whether `&` before this text would be read as an entity.
fn is_entity(rest: &[u8]) -> bool {
    let name = rest.strip_prefix(b"#").unwrap_or(rest);
    let len = name
        .iter()
        .take(32)
        .take_while(|b| b.is_ascii_alphanumeric())
        .count();
    len > 0 && name.get(len) == Some(&b';')
}

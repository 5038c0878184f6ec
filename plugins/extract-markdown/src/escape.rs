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
    /// Where the signs begin that may close a heading.
    closing: Option<usize>,
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
            if !self.code {
                at = if !self.at_line_start() {
                    self.border_escape(text, at)
                } else if self.mode == Mode::Flow {
                    self.line_start_escape(text, at)
                } else {
                    at
                };
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
    /// of the run) or what is never written, and returns where it ends.
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
                    // White space before it may have gone before the mark that begins here.
                    let joins =
                        byte == b'*' && !self.code && at == start && self.last_char() == '*';
                    if joins || self.must_escape(text, at, run, ahead) {
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
                    Wide::Space(_) | Wide::Nothing(_) => break,
                },
                _ => break,
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
        // What comes after it is unknown at the end of a text, and before what is never written.
        let next = bytes.get(at + run).copied();
        let next = next.filter(|_| !is_unwritten(bytes, at + run));
        match byte {
            // White space at the end of a text may come behind the mark that ends there.
            b'\\' => {
                next.is_none_or(|b| b.is_ascii_punctuation())
                    || only(bytes.get(at + 1..).unwrap_or_default(), b"")
            }
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
            b'~' => {
                run > 1
                    || self.is_open(Kind::Strike)
                    || self.before(text, at) == '~'
                    || self.may_close_strike(text, at)
            }
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
                    && at >= *ahead.closing.get_or_insert_with(|| closing(text))
                    && matches!(self.before(text, at), ' ' | '#')
            }
            _ => false,
        }
    }

    /// The character before `at`: of the text, or of what is written already.
    fn before(&self, text: &str, at: usize) -> char {
        match text.get(..at).and_then(|t| t.chars().next_back()) {
            Some(c) if c.is_whitespace() => ' ',
            Some(c) if is_unwritten(text.as_bytes(), at - c.len_utf8()) => self.last_char(),
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
            b'[' => is_task(rest),
            b'0'..=b'9' => return self.number_escape(text, at, 0),
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

impl Writer {
    /// Escapes the mark behind a number that begins a line, of which `written` digits are there.
    fn number_escape(&mut self, text: &str, at: usize, written: usize) -> usize {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if written + digits <= 9
            && matches!(rest.get(digits), Some(b'.' | b')'))
            && ends(rest.get(digits + 1))
        {
            self.out.push_str(slice(text, at, at + digits));
            self.out.push('\\');
            self.out.push_str(slice(text, at + digits, at + digits + 1));
            return at + digits + 1;
        }
        at
    }

    /// Escapes what would read as markup together with the text before it, which a comment, an
    /// element without a mark or an invisible character divides from this one. Returns where the
    /// text goes on.
    fn border_escape(&mut self, text: &str, at: usize) -> usize {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        match rest.first() {
            Some(b'(' | b':') => self.part_brackets(),
            Some(b'0'..=b'9' | b'.' | b')') if self.mode == Mode::Flow => {
                let line = self.out.get(self.line_start..).unwrap_or("");
                if line.len() <= 9 && line.bytes().all(|b| b.is_ascii_digit()) {
                    let written = line.len();
                    let next = self.number_escape(text, at, written);
                    if next > at {
                        return next;
                    }
                }
            }
            _ if self.mode == Mode::Flow => self.part_task(rest),
            _ => {}
        }
        self.part_entity(rest);
        at
    }

    /// A bracket that was closed last is none of a link, whose destination would come now.
    pub fn part_brackets(&mut self) {
        let Some(before) = self.out.strip_suffix(']') else {
            return;
        };
        let escapes = before.len() - before.trim_end_matches('\\').len();
        if escapes.is_multiple_of(2) && self.out.len() > self.line_start {
            self.out.pop();
            self.out.push_str("\\]");
        }
    }

    /// A bracket that begins the line is none of a task, which ends in `rest`.
    fn part_task(&mut self, rest: &[u8]) {
        let line = self.out.as_bytes().get(self.line_start..);
        let line = line.unwrap_or_default();
        if line.len() < 3 && line.starts_with(b"[") {
            let start: Vec<u8> = line.iter().chain(rest).take(4).copied().collect();
            if is_task(&start) {
                self.out.insert(self.line_start, '\\');
            }
        }
    }

    /// An ampersand that was written is none of an entity which ends in `rest`.
    fn part_entity(&mut self, rest: &[u8]) {
        /// No entity is longer.
        const LONGEST: usize = 33;
        let is_part = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'#';
        let is_end = |out: &[u8]| out.last().is_some_and(|b| is_part(&b) || *b == b'&');
        if !is_end(self.out.as_bytes()) {
            return;
        }
        let more = rest.iter().take(LONGEST).take_while(is_part).count();
        if rest.get(more) != Some(&b';') {
            return;
        }
        let line = self.out.as_bytes().get(self.line_start..);
        let line = line.unwrap_or_default();
        let part = line.iter().rev().take(LONGEST).take_while(is_part).count();
        let Some(at) = line.len().checked_sub(part + 1) else {
            return;
        };
        // None that is escaped gets here: there is a semicolon behind it.
        if line.get(at) == Some(&b'&') {
            self.out.insert(self.line_start + at, '\\');
        }
    }
}

/// Whether a text is that of a task's box.
fn is_task(text: &[u8]) -> bool {
    matches!(text, [b'[', b' ' | b'x' | b'X', b']', after @ ..] if ends(after.first()))
}

/// Whether a mark that begins a line ends before this byte. A no-break space is written as a space,
/// and what is never written may come before one.
fn ends(next: Option<&u8>) -> bool {
    next.is_none_or(|&b| class(b) == SPACE || is_unknown(b))
}

/// Whether a byte is, or may begin, a character that is never written.
fn is_unknown(byte: u8) -> bool {
    matches!(class(byte), WIDE | CONTROL)
}

/// Whether a character that is never written stands at `at`.
fn is_unwritten(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at).map(|&byte| class(byte)) {
        Some(CONTROL) => true,
        Some(WIDE) => matches!(wide(bytes, at), Wide::Nothing(_)),
        _ => false,
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

/// Whether there is nothing but these characters, white space and what is never written.
fn only(bytes: &[u8], these: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += match class(byte) {
            SPACE | CONTROL => 1,
            WIDE => match wide(bytes, at) {
                Wide::Space(len) | Wide::Nothing(len) => len,
                Wide::Text(_) => return false,
            },
            _ if these.contains(&byte) => 1,
            _ => return false,
        };
    }
    true
}

/// Where nothing but `#`, white space and what is never written follows to the text's end.
fn closing(text: &str) -> usize {
    let mut end = text.len();
    for (at, c) in text.char_indices().rev() {
        let is_nothing = || is_unwritten(text.as_bytes(), at);
        if !(c == '#' || c.is_whitespace() || is_nothing()) {
            break;
        }
        end = at;
    }
    end
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

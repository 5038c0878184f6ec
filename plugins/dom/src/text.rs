//! The visible text of a page: without hidden elements, white space collapsed, blocks separated.

mod by_first_byte;
mod escape;
mod letters;
mod pieces;
mod scan;
mod set;

use crate::{Node, tag};

pub use by_first_byte::ByFirstByte;
pub use escape::push_escaped_html;
pub use letters::letters;
pub use pieces::{ByTag, Hides, Piece, Pieces, pieces, pieces_but};
pub use set::ByteSet;

/// Output of text: a string, or the inside of a JSON string.
pub trait Sink {
    /// Appends text.
    fn push_str(&mut self, text: &str);
    /// Appends one ASCII space.
    fn push_space(&mut self);
}

impl Sink for String {
    fn push_str(&mut self, text: &str) {
        Self::push_str(self, text);
    }

    fn push_space(&mut self) {
        self.push(' ');
    }
}

/// Elements whose text is invisible: scripts, style sheets, templates, and fallbacks for features
/// that every browser has.
pub fn is_hidden(tag: u16) -> bool {
    matches!(
        tag,
        tag::SCRIPT
            | tag::STYLE
            | tag::TEMPLATE
            | tag::NOSCRIPT
            | tag::NOEMBED
            | tag::NOFRAMES
            | tag::IFRAME
            | tag::HEAD
            | tag::TITLE
            | tag::TEXTAREA
            | tag::SELECT
            | tag::DATALIST
            | tag::OBJECT
            | tag::CANVAS
            | tag::AUDIO
            | tag::VIDEO
            | tag::DEFS
            | tag::DESC
    )
}

/// Elements that start and end a line: `display: block`, list items, table parts and similar ones
/// in the HTML standard's style sheet.
pub fn is_block(tag: u16) -> bool {
    matches!(
        tag,
        tag::HTML
            | tag::BODY
            | tag::ADDRESS
            | tag::ARTICLE
            | tag::ASIDE
            | tag::FOOTER
            | tag::HEADER
            | tag::H1
            | tag::H2
            | tag::H3
            | tag::H4
            | tag::H5
            | tag::H6
            | tag::HGROUP
            | tag::MAIN
            | tag::NAV
            | tag::SECTION
            | tag::SEARCH
            | tag::BLOCKQUOTE
            | tag::DD
            | tag::DIV
            | tag::DL
            | tag::DT
            | tag::FIGCAPTION
            | tag::FIGURE
            | tag::HR
            | tag::LI
            | tag::MENU
            | tag::OL
            | tag::P
            | tag::PRE
            | tag::UL
            | tag::CAPTION
            | tag::TABLE
            | tag::TBODY
            | tag::TD
            | tag::TFOOT
            | tag::TH
            | tag::THEAD
            | tag::TR
            | tag::FIELDSET
            | tag::FORM
            | tag::LEGEND
            | tag::OPTION
            | tag::OPTGROUP
            | tag::DETAILS
            | tag::DIALOG
            | tag::SUMMARY
            | tag::CENTER
            | tag::DIR
            | tag::FRAMESET
            | tag::LISTING
            | tag::PLAINTEXT
            | tag::XMP
    )
}

/// Collapses white space: each run becomes one space, none at the ends. The text may arrive in any
/// number of pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collapse {
    /// Whether text was written.
    begun: bool,
    /// Whether white space was seen since.
    space: bool,
}

impl Collapse {
    /// Appends a piece. Runs of white space (Unicode's `White_Space`, including the no-break space)
    /// that span pieces count as one.
    pub fn push(&mut self, text: &str, out: &mut impl Sink) {
        let mut stretches = stretches(text);
        loop {
            let before = stretches.rest.len();
            let Some(stretch) = stretches.next() else {
                self.space |= before > 0;
                return;
            };
            self.space |= before > stretches.rest.len() + stretch.len();
            self.word(stretch, out);
        }
    }

    /// A boundary between blocks; counts as white space.
    pub fn gap(&mut self) {
        self.space = true;
    }

    /// Whether only white space was pushed so far.
    pub fn is_empty(&self) -> bool {
        !self.begun
    }

    fn word(&mut self, word: &str, out: &mut impl Sink) {
        if word.is_empty() {
            return;
        }
        if self.space && self.begun {
            out.push_space();
        }
        self.begun = true;
        self.space = false;
        out.push_str(word);
    }
}

/// Splits a text at white space, but not at a single ASCII space between two words. The parts,
/// joined by spaces, are the [collapsed](collapse) text. Most texts are one part, which is why
/// this is faster than word by word.
pub fn stretches(text: &str) -> Stretches<'_> {
    Stretches { rest: text }
}

static CONTROLS: ByteSet = ByteSet::of(b"").with_controls();

/// See [`stretches`].
#[derive(Clone, Debug)]
pub struct Stretches<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Stretches<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start();
        let bytes = text.as_bytes();
        // A space is part of the stretch once something else follows it.
        let mut at = 0;
        let end = loop {
            if cfg!(target_family = "wasm") {
                at += CONTROLS.plain_words(bytes.get(at..).unwrap_or_default());
            }
            while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
                let chunk = scan::load(*chunk);
                let (starts, ends) = scan::edges(chunk);
                // The byte before `at` is no white space.
                if !scan::is_ascii(chunk) || !scan::is_even(chunk) || starts && at == 0 {
                    break;
                }
                at += if ends { 7 } else { 8 };
            }
            match bytes.get(at) {
                None => break at,
                Some(b' ') => match bytes.get(at + 1) {
                    Some(next) if *next > b' ' && *next < 0x80 => at += 2,
                    _ => break at,
                },
                Some(b'\t'..=b'\r') => break at,
                // First bytes of characters that are white space.
                Some(0xc2 | 0xe1..=0xe3) => {
                    let c = text.get(at..).and_then(|rest| rest.chars().next());
                    match c.filter(|c| !c.is_whitespace()) {
                        Some(c) => at += c.len_utf8(),
                        None => break at,
                    }
                }
                Some(_) => at += 1,
            }
        };
        let (stretch, rest) = text.split_at_checked(end)?;
        self.rest = rest;
        (!stretch.is_empty()).then_some(stretch)
    }
}

/// The text with white space collapsed.
pub fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Collapse::default().push(text, &mut out);
    out
}

/// Appends the visible text below `node` in one line. True if there was any.
pub fn push_line(node: Node<'_>, out: &mut impl Sink) -> bool {
    let mut collapse = Collapse::default();
    for piece in pieces(node) {
        match piece {
            Piece::Text(text) => collapse.push(text, out),
            Piece::Break => collapse.gap(),
        }
    }
    !collapse.is_empty()
}

/// Same as [`push_line`], as a new string.
pub fn line(node: Node<'_>) -> String {
    let mut out = String::new();
    push_line(node, &mut out);
    out
}

/// The visible text below `node`, with each block and each `<br>` on its own line, without
/// empty lines.
pub fn lines(node: Node<'_>) -> String {
    let mut out = String::new();
    let mut collapse = Collapse::default();
    for piece in pieces(node) {
        match piece {
            Piece::Break => collapse = Collapse::default(),
            Piece::Text(text) if collapse.is_empty() => {
                let before = out.len();
                if before > 0 {
                    out.push('\n');
                }
                collapse.push(text, &mut out);
                if collapse.is_empty() {
                    out.truncate(before);
                }
            }
            Piece::Text(text) => collapse.push(text, &mut out),
        }
    }
    out
}

/// Counts words and characters of text that arrives in pieces.
///
/// A word is a run without white space that has a letter or a digit. In scripts written without
/// spaces (Han, Hiragana, Katakana), each character counts as one word, as in word processors.
/// Runs of Thai, Lao, Khmer and Burmese count by the mean length of a word: finding the words
/// takes a dictionary (Unicode Standard Annex 29, section 4).
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    /// Words that have ended.
    words: u64,
    chars: u64,
    /// Parts of words, [`PARTS`] to a word, of the current run in a script whose words take a
    /// dictionary.
    parts: u64,
    /// Whether the current run without white space already has a letter or a digit.
    in_word: bool,
    /// Whether the last character was not white space.
    in_run: bool,
    /// Whether a character other than white space was seen.
    begun: bool,
}

impl Counter {
    /// Counts a piece; a word may continue in the next.
    pub fn push(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if cfg!(target_family = "wasm") {
                let counted = self.wide_chunks(rest.as_bytes());
                rest = rest.get(counted..).unwrap_or_default();
            }
            let (chunks, _) = rest.as_bytes().as_chunks::<8>();
            let chunks = chunks.iter().map(|chunk| scan::load(*chunk));
            let mut at = 0;
            for chunk in chunks.take_while(|chunk| scan::is_ascii(*chunk)) {
                self.chunk(chunk);
                at += 8;
            }
            let mut chars = rest.get(at..).unwrap_or_default().chars();
            let end = chars.as_str().len().saturating_sub(8);
            while chars.as_str().len() > end {
                let Some(c) = chars.next() else { return };
                self.character(c);
            }
            rest = chars.as_str();
        }
    }

    /// Counts ASCII characters, sixteen at a time, and returns how many.
    #[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
    fn wide_chunks(&mut self, bytes: &[u8]) -> usize {
        let mut counted = 0;
        for chunk in bytes.as_chunks().0 {
            let Some(words) = set::words(chunk) else {
                break;
            };
            self.end_parts();
            let runs = u32::from(!words.spaces);
            // As in `chunk`, with one bit a character.
            let letters = u32::from(words.alphanumerics) | u32::from(self.in_word);
            let ends = runs + letters;
            self.words += u64::from((ends & !runs & 0xffff).count_ones());
            self.in_word = ends >> 16 != 0;
            let starts = runs & !(runs << 1 | u32::from(self.in_run));
            self.in_run = runs >> 15 != 0;
            self.chars += u64::from(runs.count_ones() + starts.count_ones());
            if !self.begun && starts != 0 {
                self.begun = true;
                self.chars -= 1;
            }
            counted += chunk.len();
        }
        counted
    }

    /// Counts eight ASCII characters.
    #[inline]
    fn chunk(&mut self, chunk: u64) {
        self.end_parts();
        let runs = scan::others(scan::spaces(chunk));
        // Added to bytes of ones, a letter carries through the rest of its run, to the first
        // byte after it or out of the chunk; a second letter of the run adds nothing there.
        let letters = scan::alphanumerics(chunk) | u64::from(self.in_word);
        let (ends, in_word) = scan::widen(runs).overflowing_add(letters);
        self.words += scan::count(scan::others(runs) & ends);
        self.in_word = in_word;
        let starts = runs & !(runs << 8 | u64::from(self.in_run));
        self.in_run = runs >> 56 != 0;
        // The space before a run counts, but for the first run.
        self.chars += scan::count(runs) + scan::count(starts);
        if !self.begun && starts != 0 {
            self.begun = true;
            self.chars -= 1;
        }
    }

    fn character(&mut self, c: char) {
        if c.is_whitespace() {
            return self.gap();
        }
        self.chars += 1 + u64::from(self.begun && !self.in_run);
        self.begun = true;
        self.in_run = true;
        let parts = parts_of_word(c);
        if parts > 0 {
            self.words += u64::from(std::mem::take(&mut self.in_word));
            self.parts += parts;
            return;
        }
        self.end_parts();
        if is_wordless(c) {
            self.end_word();
            self.words += 1;
        } else {
            // Inside a word it makes no difference, and the look-up is dear.
            self.in_word = self.in_word || c.is_alphanumeric();
        }
    }

    fn end_word(&mut self) {
        self.words += u64::from(std::mem::take(&mut self.in_word));
        self.end_parts();
    }

    /// Ends a run in a script whose words take a dictionary.
    #[inline]
    fn end_parts(&mut self) {
        if self.parts > 0 {
            self.words += words_of_parts(std::mem::take(&mut self.parts));
        }
    }

    /// A boundary between blocks; ends a word.
    pub fn gap(&mut self) {
        self.end_word();
        self.in_run = false;
    }

    /// Number of words so far.
    pub fn words(&self) -> u64 {
        let parts = if self.parts > 0 {
            words_of_parts(self.parts)
        } else {
            0
        };
        self.words + u64::from(self.in_word) + parts
    }

    /// Number of characters (Unicode scalar values); each run of white space counts as one.
    pub fn chars(&self) -> u64 {
        self.chars
    }
}

/// Characters of scripts that put no spaces between words.
fn is_wordless(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{20000}'..='\u{323af}')
}

/// Parts of a word: what the mean lengths of [`parts_of_word`] divide.
const PARTS: u64 = 60;

/// Which part of a word a character is, in scripts that set no spaces between words: the mean
/// lengths, with vowel signs and tone marks, are those of the dictionaries of ICU (Thai 3.9,
/// Lao 4.7, Khmer 5.7, Burmese 5.8 characters). 0 in other scripts.
fn parts_of_word(c: char) -> u64 {
    match c {
        '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}' => PARTS / 4, // Thai
        '\u{0e81}'..='\u{0ece}' => PARTS / 5,                           // Lao
        '\u{1780}'..='\u{17d3}' => PARTS / 6,                           // Khmer
        '\u{1000}'..='\u{103f}' => PARTS / 6,                           // Burmese
        _ => 0,
    }
}

/// The words of a run, at least one.
fn words_of_parts(parts: u64) -> u64 {
    ((parts + PARTS / 2) / PARTS).max(1)
}

/// Number of words of a text; see [`Counter`].
pub fn word_count(text: &str) -> u64 {
    let mut counter = Counter::default();
    counter.push(text);
    counter.words()
}

#[cfg(test)]
mod tests;

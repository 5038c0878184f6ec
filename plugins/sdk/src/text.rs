//! The visible text of a page: without hidden elements, white space collapsed, blocks separated.

use orbweaver_dom::{Node, tag};

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

/// A piece of the visible text, in document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The text of one text node, white space as in the source.
    Text(&'a str),
    /// A block starts or ends, or a `<br>`: the texts around it are on different lines.
    Break,
}

/// The visible text below `node`, or of `node` itself if it is a text. One pass without recursion.
/// Hidden elements are left out, except `node` itself.
pub fn pieces<'a>(node: Node<'a>) -> Pieces<'a> {
    Pieces {
        view_end: node.end(),
        start: node,
        next: node.id(),
        closes: Vec::new(),
    }
}

/// See [`pieces`].
pub struct Pieces<'a> {
    start: Node<'a>,
    next: u32,
    view_end: u32,
    /// Ends of the open blocks, innermost last.
    closes: Vec<u32>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while self.next < self.view_end {
            if self.closes.last().is_some_and(|&end| end <= self.next) {
                self.closes.pop();
                return Some(Piece::Break);
            }
            let node = self.start.view().node(self.next)?;
            self.next += 1;
            if node.is_text() {
                return Some(Piece::Text(node.text()));
            }
            let tag = node.tag();
            if tag == tag::BR {
                return Some(Piece::Break);
            }
            if is_hidden(tag) && node != self.start {
                self.next = node.end();
            } else if is_block(tag) {
                self.closes.push(node.end());
                return Some(Piece::Break);
            }
        }
        None
    }
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
        let bytes = text.as_bytes();
        let mut at = 0;
        // Stretches without white space are copied at once; a single space between two words
        // belongs to the stretch.
        let mut from = 0;
        while let Some(&byte) = bytes.get(at) {
            let width = match byte {
                b' ' if at > from
                    && bytes
                        .get(at + 1)
                        .is_some_and(|&b| b > b' ' && b < 0x80 && b != 0x7f) =>
                {
                    at += 2;
                    continue;
                }
                b' ' | b'\t'..=b'\r' => 1,
                0xc2 | 0xe1..=0xe3 => {
                    let c = text.get(at..).and_then(|rest| rest.chars().next());
                    match c {
                        Some(c) if c.is_whitespace() => c.len_utf8(),
                        Some(c) => {
                            at += c.len_utf8();
                            continue;
                        }
                        None => 1,
                    }
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            self.word(text.get(from..at).unwrap_or(""), out);
            self.space = true;
            at += width;
            from = at;
        }
        self.word(text.get(from..).unwrap_or(""), out);
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    words: u64,
    chars: u64,
    /// Whether the current run without white space already has a letter or a digit.
    in_word: bool,
    /// Whether a character other than white space was seen.
    begun: bool,
    /// Whether white space was seen since.
    space: bool,
}

impl Counter {
    /// Counts a piece; a word may continue in the next.
    pub fn push(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            if is_ascii_space(byte) {
                while bytes.get(at).is_some_and(|b| is_ascii_space(*b)) {
                    at += 1;
                }
                self.gap();
            } else if byte < 0x80 {
                let mut alphanumeric = false;
                while let Some(b) = bytes.get(at).filter(|b| **b < 0x80 && !is_ascii_space(**b)) {
                    alphanumeric |= b.is_ascii_alphanumeric();
                    at += 1;
                }
                self.run(at - start, alphanumeric);
            } else {
                let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                    return;
                };
                at += c.len_utf8();
                if c.is_whitespace() {
                    self.gap();
                } else if is_wordless(c) {
                    self.in_word = false;
                    self.run(1, true);
                    self.in_word = false;
                } else {
                    // Inside a word the result does not matter, and the look-up is slow.
                    self.run(1, self.in_word || c.is_alphanumeric());
                }
            }
        }
    }

    /// Counts characters without white space, one of which may be a letter or a digit.
    #[inline]
    fn run(&mut self, chars: usize, alphanumeric: bool) {
        self.chars += chars as u64 + u64::from(self.space);
        self.space = false;
        self.begun = true;
        self.words += u64::from(alphanumeric && !self.in_word);
        self.in_word |= alphanumeric;
    }

    /// A boundary between blocks; ends a word.
    pub fn gap(&mut self) {
        self.in_word = false;
        self.space = self.begun;
    }

    /// Number of words so far.
    pub fn words(&self) -> u64 {
        self.words
    }

    /// Number of characters (Unicode scalar values); each run of white space counts as one.
    pub fn chars(&self) -> u64 {
        self.chars
    }
}

fn is_ascii_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Characters of scripts without spaces between words.
fn is_wordless(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{20000}'..='\u{323af}')
}

/// Number of words of a text; see [`Counter`].
pub fn word_count(text: &str) -> u64 {
    let mut counter = Counter::default();
    counter.push(text);
    counter.words()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collapsing_does_not_depend_on_how_the_text_is_cut() {
        let cases = [
            ("  a  b\n\tc ", "a b c"),
            ("", ""),
            (" \u{a0} ", ""),
            ("a\u{a0}b\u{3000}c\u{2003}\u{2009}d", "a b c d"),
            ("é ü – “x”", "é ü – “x”"),
            ("a b c  d e\u{85}f", "a b c d e f"),
            ("日本 語\u{feff}", "日本 語\u{feff}"),
        ];
        for (text, expected) in cases {
            assert_eq!(collapse(text), expected, "{text:?}");
            assert_eq!(
                text.split_whitespace().collect::<Vec<_>>().join(" "),
                expected
            );
            for cut in (0..text.len()).filter(|&i| text.is_char_boundary(i)) {
                let (mut out, mut c) = (String::new(), Collapse::default());
                let (head, tail) = text.split_at(cut);
                c.push(head, &mut out);
                c.push(tail, &mut out);
                assert_eq!(out, expected, "{text:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn words_are_counted_in_any_script() {
        let cases = [
            ("", 0),
            ("one", 1),
            (" one  two\nthree ", 3),
            ("don't re-count and/or 3.14", 4),
            ("a — b & c * …", 3),
            ("東京タワー 2", 6),
            ("한국어 문서", 2),
            ("Hello世界", 3),
            ("привет мир", 2),
        ];
        for (text, expected) in cases {
            assert_eq!(word_count(text), expected, "{text:?}");
        }
    }

    #[test]
    fn characters_are_counted_as_if_collapsed() {
        for text in ["", " a b ", "  日本  語 ", "a\n\n\tb"] {
            let mut counter = Counter::default();
            counter.push(text);
            assert_eq!(
                counter.chars(),
                collapse(text).chars().count() as u64,
                "{text:?}"
            );
        }
    }
}

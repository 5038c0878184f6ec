//! Words for full-text search. Pages and queries are split in the same way, so that results
//! do not depend on the database or its locale.
//!
//! A word is a run of letters and digits, folded: compatibility forms and case are unified
//! (NFKC, lower case), and accents of Latin, Greek and Cyrillic letters are removed, as are strokes of
//! Latin ones. Marks that only say where a word may be divided do not divide it. Scripts
//! without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), and Korean with
//! its particles, are cut into overlapping pairs of characters, as Lucene's CJK analyser does.
//! Words are ASCII: other characters are spelled as their code points, which every database's
//! tokenizer keeps in one piece.

use std::fmt::Write as _;
use std::iter::Peekable;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Most characters of a word that are indexed.
const MAX_WORD: usize = 64;
/// Most words of a text that are indexed. With [`MAX_BYTES`] this stays below the limit of
/// PostgreSQL's tsvector, a mebibyte of words and positions.
const MAX_WORDS: usize = 50_000;
const MAX_BYTES: usize = 512 << 10;

/// A search term: one word, or the pairs of a run without spaces, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// ASCII letters and digits only.
    pub words: Vec<String>,
    /// A single character of a script that is indexed in pairs: matches words that start with it.
    pub prefix: bool,
}

/// A text's words as they are indexed, separated by spaces.
pub fn index_words(text: &str) -> String {
    let mut out = Index {
        words: Vec::with_capacity(text.len().min(MAX_BYTES)),
        count: 0,
    };
    let is_blank = |char: char| char.is_ascii_whitespace();
    let mut rest = text;
    // Words never span white space, and most pieces between white space are ASCII, which needs
    // no folding except case.
    while let Some(other) = first_other(rest.as_bytes()) {
        let (before, after) = (rest.get(..other), rest.get(other..));
        let start = before.and_then(|before| before.rfind(is_blank));
        let start = start.map_or(0, |at| at + 1);
        let end = after.and_then(|after| after.find(is_blank));
        let end = end.map_or(rest.len(), |len| other + len);
        let mut runs = Runs::of_text(rest.get(start..end).unwrap_or_default());
        if !out.take_ascii(rest.get(..start).unwrap_or_default())
            || !runs.all(|run| run.words(|word| out.take(word)))
        {
            rest = "";
            break;
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    out.take_ascii(rest);
    out.finish()
}

/// The place of the first byte that is not ASCII.
fn first_other(text: &[u8]) -> Option<usize> {
    const PIECE: usize = 64;
    let piece = text.chunks(PIECE).position(|piece| !piece.is_ascii())? * PIECE;
    let after = text.get(piece..)?;
    Some(piece + after.iter().position(|byte| !byte.is_ascii())?)
}

/// Lower case of each letter and digit of ASCII; 0 for every other byte.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            folded[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    folded
};

/// Collects words up to the limits.
struct Index {
    /// Each word is followed by a space.
    words: Vec<u8>,
    count: usize,
}

impl Index {
    /// Adds the words of a text that is ASCII; `false` if there is no room left.
    fn take_ascii(&mut self, text: &str) -> bool {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (span, later) = rest.split_at(span(rest));
            let most_words = self.count + span.len() / 2 + 1;
            let has_room = most_words <= MAX_WORDS && self.words.len() + span.len() < MAX_BYTES;
            if has_room {
                self.take_span(span);
            } else if !self.take_each(span) {
                return false;
            }
            rest = later;
        }
        true
    }

    /// Adds the words of a span, for all of which there is room.
    ///
    /// Where a word ends is a matter of chance to the processor, and a wrong guess costs more than ten
    /// bytes do. So each byte is written, and the next one overwrites it if it does not count.
    fn take_span(&mut self, span: &[u8]) {
        const PIECE: usize = 64;
        // Bytes of the word so far; 0 between words.
        let mut length = 0_usize;
        for bytes in span.chunks(PIECE) {
            let mut piece = [0; PIECE];
            let mut kept = 0;
            for &byte in bytes {
                let folded = FOLDED[usize::from(byte)];
                let is_in = folded != 0;
                let ends = !is_in & (length > 0);
                length = if is_in { length + 1 } else { 0 };
                piece[kept % PIECE] = if is_in { folded } else { b' ' };
                kept += usize::from(ends | (is_in & (length <= MAX_WORD)));
                self.count += usize::from(ends);
            }
            self.words
                .extend_from_slice(piece.get(..kept).unwrap_or_default());
        }
        if length > 0 {
            self.words.push(b' ');
            self.count += 1;
        }
    }

    /// Adds the words of a span as long as there is room; `false` if there is none left.
    fn take_each(&mut self, span: &[u8]) -> bool {
        let mut words = span.split(|byte| !byte.is_ascii_alphanumeric());
        words.all(|word| self.take(word.get(..MAX_WORD).unwrap_or(word)))
    }

    /// Adds a word; `false` if there is no room left.
    fn take(&mut self, word: impl AsRef<[u8]>) -> bool {
        let word = word.as_ref();
        if word.is_empty() {
            return true;
        }
        if self.count >= MAX_WORDS || self.words.len() + word.len() > MAX_BYTES {
            return false;
        }
        self.words.extend(word.iter().map(u8::to_ascii_lowercase));
        self.words.push(b' ');
        self.count += 1;
        true
    }

    /// The words, with a space between two.
    fn finish(mut self) -> String {
        self.words.pop();
        // Words are ASCII.
        String::from_utf8(self.words).unwrap_or_default()
    }
}

/// Length of the first span of a text: of some KiB, and it ends where a word does.
fn span(text: &[u8]) -> usize {
    const LONG: usize = 16 << 10;
    let is_between = |byte: &u8| !byte.is_ascii_alphanumeric();
    let Some((first, later)) = text.split_at_checked(LONG) else {
        return text.len();
    };
    match first.iter().rposition(is_between) {
        Some(last) => last + 1,
        None => LONG + later.iter().position(is_between).unwrap_or(later.len()),
    }
}

/// The terms of a query, at most `most`.
pub fn query_terms(query: &str, most: usize) -> Vec<Term> {
    let mut terms = Vec::new();
    for run in Runs::of_text(query).take(most) {
        let single = run.paired && run.chars.len() == 1;
        let mut words = Vec::new();
        run.words(|word| {
            words.push(word.to_owned());
            true
        });
        // The last single character is indexed only for queries of one character.
        if run.paired && !single {
            words.pop();
        }
        terms.push(Term {
            words,
            prefix: single,
        });
    }
    terms
}

/// A run of letters and digits of one kind.
struct Run {
    chars: Vec<char>,
    paired: bool,
}

impl Run {
    /// Passes the run's words to `take` until it returns false. Returns whether it took all.
    fn words(&self, mut take: impl FnMut(&str) -> bool) -> bool {
        let mut word = String::new();
        if !self.paired {
            spell(&self.chars, &mut word);
            return take(&word);
        }
        // The pairs, and the last character alone.
        (0..self.chars.len()).all(|at| {
            word.clear();
            let end = (at + 2).min(self.chars.len());
            spell(self.chars.get(at..end).unwrap_or_default(), &mut word);
            take(&word)
        })
    }
}

/// Keeps ASCII; spells a word with other characters as its code points.
fn spell(chars: &[char], out: &mut String) {
    if chars.iter().all(char::is_ascii) {
        out.extend(chars);
        return;
    }
    out.push('x');
    for &char in chars {
        let code = u32::from(char);
        // Writing to a string cannot fail. The lengths differ, so that no spelling is a prefix of
        // another.
        let _ = if code > 0xffff {
            write!(out, "v{code:06x}")
        } else {
            write!(out, "{code:04x}")
        };
    }
}

/// The runs of a text.
struct Runs<I: Iterator<Item = char>> {
    chars: Peekable<I>,
}

impl Runs<std::iter::Empty<char>> {
    fn of_text(text: &str) -> Runs<impl Iterator<Item = char>> {
        let seen = text.nfkc().filter(|char| !is_unseen(*char));
        let lower = seen.flat_map(char::to_lowercase);
        Runs {
            chars: lower.flat_map(plain).peekable(),
        }
    }
}

impl<I: Iterator<Item = char>> Iterator for Runs<I> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let mut run = Run {
            paired: false,
            chars: Vec::new(),
        };
        while let Some(&char) = self.chars.peek() {
            let paired = is_paired(char);
            if !paired && !char.is_alphanumeric() && !is_combining_mark(char) {
                self.chars.next();
                if run.chars.is_empty() {
                    continue;
                }
                break;
            }
            if run.chars.is_empty() {
                run.paired = paired;
            } else if run.paired != paired {
                break;
            }
            self.chars.next();
            if run.paired {
                run.chars.push(char);
            } else if run.chars.len() < MAX_WORD {
                fold(char, &mut run.chars);
            }
        }
        (!run.chars.is_empty()).then_some(run)
    }
}

/// Whether it shows nothing within a word: a soft hyphen, which long German words have for narrow
/// screens, a word joiner, or a zero-width space that does not divide.
const fn is_unseen(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{2060}' | '\u{feff}')
}

/// A small letter in its plain form. Lower case keeps some of them apart from the small letter of their
/// capital, so that ΟΔΟΣ, STRASSE and IŞIK in a heading were not οδος, Straße and ışık in a query; and
/// some Latin letters have a stroke or are joined where others have an accent.
fn plain(char: char) -> impl Iterator<Item = char> {
    let (first, second) = match char {
        'ς' => ('σ', None),
        'ß' => ('s', Some('s')),
        'ı' => ('i', None),
        'æ' => ('a', Some('e')),
        'œ' => ('o', Some('e')),
        'ø' => ('o', None),
        'ł' => ('l', None),
        'đ' => ('d', None),
        other => (other, None),
    };
    std::iter::once(first).chain(second)
}

/// Removes a letter's accents; marks of other scripts are part of their letters.
fn fold(char: char, out: &mut Vec<char>) {
    if char.is_ascii() {
        out.push(char);
        return;
    }
    let accent = |char: char| matches!(char, '\u{300}'..='\u{36f}');
    let letters = std::iter::once(char).nfd().filter(|&part| !accent(part));
    out.extend(letters);
}

/// Scripts without spaces between words, or (Hangul) with particles joined to words.
const fn is_paired(char: char) -> bool {
    matches!(char,
        '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}'   // Thai
        | '\u{0e81}'..='\u{0ece}' | '\u{0edc}'..='\u{0edf}' // Lao
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' // Burmese
        | '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17dc}' | '\u{17dd}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' // kana
        | '\u{3105}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{ac00}'..='\u{d7a3}'                           // Hangul
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(query: &str) -> Vec<String> {
        let terms = query_terms(query, 32);
        let shown = terms.iter().map(|term| {
            let star = if term.prefix { "*" } else { "" };
            format!("{}{star}", term.words.join(" "))
        });
        shown.collect()
    }

    #[test]
    fn words_are_letters_and_digits_folded() {
        for (text, words) in [
            (
                "Orb-weavers' \"radii\" AND NOT (x) * :",
                "orb weavers radii and not x",
            ),
            ("Café ZÜRICH cafe\u{301}", "cafe zurich cafe"),
            ("\u{ff21}\u{ff22}\u{ff23}\u{ff11} \u{fb01}ne", "abc1 fine"),
            ("Ёж", "x04350436"),
            ("\"'() ; --\0", ""),
            ("a\0b", "a b"),
            ("One-two\u{b}three\nfour", "one two three four"),
        ] {
            assert_eq!(index_words(text), words, "{text}");
            assert_eq!(terms(text).join(" "), words, "{text}");
            // ASCII is read in one piece, and in many if something else is there.
            assert_eq!(
                index_words(&format!("{text} \u{fc}")),
                format!("{words} u").trim_start()
            );
        }
    }

    #[test]
    fn letters_are_searched_for_in_their_plain_form() {
        for (one, other) in [
            ("ΟΔΥΣΣΕΥΣ", "Οδυσσεύς"),
            ("GROSSE STRASSE", "große Straße"),
            ("IŞIK", "ışık"),
            ("İzmir", "izmir"),
            ("Łódź, Tromsø, Đà Nẵng", "lodz tromso da nang"),
            ("Œuvre, Cæsar", "oeuvre caesar"),
        ] {
            assert_eq!(index_words(one), index_words(other), "{one}");
            assert_eq!(terms(one), terms(other), "{one}");
        }
    }

    #[test]
    fn a_place_where_a_word_may_be_divided_does_not_divide_it() {
        let word = index_words("Donaudampfschiff");
        for written in [
            "Donau\u{ad}dampf\u{ad}schiff",
            "Donau\u{2060}dampf\u{feff}schiff",
        ] {
            assert_eq!(index_words(written), word);
            assert_eq!(terms(written), [word.as_str()]);
        }
        assert_eq!(index_words("東\u{ad}京"), index_words("東京"));
        assert_eq!(index_words("\u{ad} \u{ad}"), "");
    }

    /// The words of a text that is ASCII, taken one by one.
    fn one_by_one(text: &str) -> String {
        let mut out = Index {
            words: Vec::new(),
            count: 0,
        };
        out.take_each(text.as_bytes());
        out.finish()
    }

    #[test]
    fn words_of_a_span_are_those_that_are_taken_one_by_one() {
        let mut random = 1_u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % below
        };
        let mut text = |words: u32, longest: u32| {
            let mut text = String::new();
            for _ in 0..words {
                (0..=next(longest)).for_each(|_| text.push(char::from(b'A' + next(26) as u8)));
                (0..next(3)).for_each(|_| text.push(char::from(next(48) as u8)));
                (0..next(3)).for_each(|_| text.push(char::from(b'0' + next(80) as u8)));
                text.push([' ', '-', '\n', '\u{7f}'][next(4) as usize]);
            }
            text
        };
        for (words, longest) in [(0, 1), (1, 3), (40, 9), (400, 90), (9_000, 12), (60_000, 1)] {
            for cut in 0..4 {
                let text = text(words, longest);
                let text = text.get(..text.len().saturating_sub(cut)).unwrap_or(&text);
                assert!(index_words(text) == one_by_one(text), "{words} words");
            }
        }
        let long = "a".repeat(40_000);
        for text in [
            long.clone(),
            format!("{long} b {long}"),
            format!("b {long}"),
        ] {
            assert_eq!(index_words(&text), one_by_one(&text));
        }
        // The limit of bytes, with words of the longest kind.
        let most = "x".repeat(MAX_WORD) + " ";
        let most = most.repeat(MAX_BYTES / MAX_WORD + 100);
        assert!(index_words(&most) == one_by_one(&most));
        assert!(index_words(&most).len() <= MAX_BYTES);
    }

    #[test]
    fn runs_without_spaces_are_pairs() {
        assert_eq!(
            index_words("東京都のiPhone"),
            "x67714eac x4eac90fd x90fd306e x306e iphone"
        );
        assert_eq!(terms("東京都"), ["x67714eac x4eac90fd"]);
        assert_eq!(terms("京 tower"), ["x4eac*", "tower"]);
        // Half-width and voiced kana equal their standard forms.
        assert_eq!(terms("\u{ff76}\u{ff9e}\u{ff76}"), terms("ガカ"));
        assert_eq!(terms("แมงมุม")[0].split(' ').count(), 5);
        assert_eq!(terms("𠮷野"), ["xv020bb791ce"]);
    }

    #[test]
    fn every_piece_of_a_run_is_in_its_index() {
        let text = "全文検索は単語の境界がない文章でも見つける";
        let index = format!(" {} ", index_words(text));
        let chars: Vec<char> = text.chars().collect();
        for from in 0..chars.len() {
            for to in from + 1..=chars.len() {
                let piece: String = chars[from..to].iter().collect();
                let found = &terms(&piece)[0];
                match found.strip_suffix('*') {
                    Some(start) => assert!(index.contains(&format!(" {start}")), "{piece}"),
                    None => assert!(index.contains(&format!(" {found} ")), "{piece}"),
                }
            }
        }
    }

    #[test]
    fn any_text_stays_within_the_limits() {
        let han: String = (0..90_000_u32)
            .filter_map(|n| char::from_u32(0x4e00 + n * 7919 % 20_000))
            .collect();
        let words = index_words(&han);
        assert!(words.len() < MAX_BYTES && words.split(' ').count() <= MAX_WORDS);
        let words = index_words(&"ab-".repeat(MAX_WORDS + 10));
        assert_eq!(words.split(' ').count(), MAX_WORDS);
        assert!(index_words(&format!("{} ", "x".repeat(60)).repeat(20_000)).len() < MAX_BYTES);
        assert_eq!(index_words(&"X".repeat(1_000)), "x".repeat(MAX_WORD));
        let long = "я".repeat(100_000);
        assert!(index_words(&long).len() < 600);
        assert_eq!(query_terms(&"word ".repeat(100), 32).len(), 32);
    }
}

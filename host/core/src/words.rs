//! Words for full-text search. Pages and queries are split in the same way, so that results
//! do not depend on the database or its locale.
//!
//! A word is a run of letters and digits, folded: compatibility forms and case are unified
//! (NFKC, lower case), and accents of Latin, Greek and Cyrillic letters are removed. Scripts
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
    while let Some(other) = rest.bytes().position(|byte| !byte.is_ascii()) {
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
    out.words.make_ascii_lowercase();
    // Words are ASCII.
    String::from_utf8(out.words).unwrap_or_default()
}

/// Collects words up to the limits.
struct Index {
    words: Vec<u8>,
    count: usize,
}

impl Index {
    /// Adds the words of a text that is ASCII; `false` if there is no room left.
    fn take_ascii(&mut self, text: &str) -> bool {
        let mut words = text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
        words.all(|word| self.take(word.get(..MAX_WORD).unwrap_or(word)))
    }

    /// Adds a word; `false` if there is no room left.
    fn take(&mut self, word: impl AsRef<[u8]>) -> bool {
        let word = word.as_ref();
        if word.is_empty() {
            return true;
        }
        if self.count >= MAX_WORDS || self.words.len() + word.len() >= MAX_BYTES {
            return false;
        }
        if self.count > 0 {
            self.words.push(b' ');
        }
        self.words.extend_from_slice(word);
        self.count += 1;
        true
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
        Runs {
            chars: text.nfkc().flat_map(char::to_lowercase).peekable(),
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

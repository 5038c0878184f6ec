//! Comparing short texts.

/// Longest text that is compared, in bytes. What is longer is no title and no name.
pub const MAX_BYTES: usize = 1_000;

/// A text without differences that nobody sees: case, white space, forms of quotes and dashes.
pub fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            '‘' | '’' | 'ʼ' | '`' | '´' => out.push('\''),
            '“' | '”' | '„' | '«' | '»' => out.push('"'),
            '‐'..='―' | '−' => out.push('-'),
            '…' => out.push_str("..."),
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}' => {}
            c if c.is_whitespace() => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(c),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Letters and digits alone, in lower case: what is left of a name in a domain.
pub fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Longest word of a class name that is told.
pub const CLASS_WORD_BYTES: usize = 24;

/// The words of a class name, an id and the like, as written: `postMeta-date` has `post`, `Meta`
/// and `date`. At most 16 of at most [`CLASS_WORD_BYTES`], of ASCII letters alone.
pub fn class_words(value: &str) -> impl Iterator<Item = &str> {
    const MOST: usize = 16;
    value
        .split(|c: char| !c.is_ascii_alphabetic())
        .flat_map(camel)
        .filter(|word| (2..=CLASS_WORD_BYTES).contains(&word.len()))
        .take(MOST)
}

/// Cuts `postMeta` before the capital.
fn camel(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let pairs = bytes.iter().zip(bytes.iter().skip(1));
        let end = pairs
            .take_while(|(a, b)| !(a.is_ascii_lowercase() && b.is_ascii_uppercase()))
            .count()
            + 1;
        let (part, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = tail;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_makes_no_difference() {
        let same = |a: &str, b: &str| normal(a) == normal(b);
        assert!(same("What’s  New — “today”…", "what's new - \"today\"... "));
        assert!(same("a\u{ad}b\u{a0}c", "ab c"));
        assert!(!same("ab", "a b"));
        assert_eq!(
            letters("The Podcast-Host.com №1 日本"),
            "thepodcasthostcom1日本"
        );
    }

    #[test]
    fn class_names_are_cut_into_words() {
        let words: Vec<&str> = class_words("entry-date postMeta__time a2z XYZ").collect();
        assert_eq!(words, ["entry", "date", "post", "Meta", "time", "XYZ"]);
    }
}

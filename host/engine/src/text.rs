//! Makes untrusted text safe to log and to show.

/// Longest message of an error or a listing, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 2_000;

/// The text cut to `max` bytes, with control characters (including line ends and ANSI escapes) and
/// direction overrides escaped.
pub(crate) fn clean(text: &str, max: usize) -> String {
    let kept = cut(text, max);
    let mut out = String::with_capacity(kept.len());
    for c in kept.chars() {
        if is_hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if kept.len() < text.len() {
        out.push('…');
    }
    out
}

/// Whether a character is a control character, or one that changes the direction of the text around it.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// The longest prefix of the text with at most `max` bytes.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let got = clean("\u{1b}[2J\u{202e}a\nb", 100);
        assert_eq!(got, "\\u{1b}[2J\\u{202e}a\\u{a}b");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        assert_eq!(clean("aéb", 2), "a…");
        assert_eq!(clean("aéb", 4), "aéb");
    }
}

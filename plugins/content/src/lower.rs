//! Text in small letters.

use orbweaver_sdk::text::stretches;

/// Appends the words of a text in lower case, each with a space before it unless it is the first
/// of the line.
pub fn push_words(text: &str, line: &mut String) {
    for stretch in stretches(text) {
        push_word(stretch, line);
    }
}

/// As [`push_words`], but ends behind the word with which the line is longer than `most` bytes.
/// Returns whether it is.
pub fn push_words_up_to(most: usize, text: &str, line: &mut String) -> bool {
    for stretch in stretches(text) {
        if stretch.is_ascii() && line.len() + stretch.len() < most {
            push_word(stretch, line);
            continue;
        }
        for word in stretch.split_whitespace() {
            push_word(word, line);
            if line.len() > most {
                return true;
            }
        }
    }
    false
}

fn push_word(word: &str, line: &mut String) {
    if !line.is_empty() {
        line.push(' ');
    }
    if !word.is_ascii() {
        line.extend(word.chars().flat_map(char::to_lowercase));
        return;
    }
    let at = line.len();
    line.push_str(word);
    if let Some(word) = line.get_mut(at..) {
        word.make_ascii_lowercase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One character at a time.
    fn slowly(texts: &[&str], most: usize) -> String {
        let mut line = String::new();
        for word in texts.iter().flat_map(|text| text.split_whitespace()) {
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word.chars().flat_map(char::to_lowercase));
            if line.len() > most {
                break;
            }
        }
        line
    }

    #[test]
    fn words_are_in_lower_case_and_apart_by_one_space() {
        let texts = [
            "  Two\n\tWords ",
            "ONE",
            "",
            " ",
            "\u{a0}ÄRGER im İstanbul\u{3000}ΣΑΣ",
            "a b c d e f g h i j k l m n o p q r s t u v w x y z",
        ];
        for from in 0..texts.len() {
            for most in 0..100 {
                let texts = texts.get(from..).unwrap_or_default();
                let mut line = String::new();
                let over = texts
                    .iter()
                    .any(|text| push_words_up_to(most, text, &mut line));
                assert_eq!(line, slowly(texts, most), "{texts:?} up to {most}");
                assert_eq!(over, line.len() > most);
            }
            let mut line = String::new();
            texts
                .iter()
                .skip(from)
                .for_each(|text| push_words(text, &mut line));
            assert_eq!(
                line,
                slowly(texts.get(from..).unwrap_or_default(), usize::MAX)
            );
        }
    }
}

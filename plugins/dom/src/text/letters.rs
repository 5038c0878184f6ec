//! The letters of a text.

/// Letters and digits alone, in lower case: to compare names and titles, and to find them in domains.
pub fn letters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| c.is_alphanumeric()) {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_are_left_in_lower_case() {
        assert_eq!(letters("The Daily-Mail, Nr. 7 ÄÖ!"), "thedailymailnr7äö");
        assert_eq!(
            letters("The Podcast-Host.com №1 日本"),
            "thepodcasthostcom1日本"
        );
        assert_eq!(letters(" – "), "");
    }
}

//! Text as HTML source.

use super::{ByteSet, scan};

/// Appends a text so that it is the same text inside an element or a quoted attribute.
pub fn push_escaped_html(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let at = first_to_escape(rest.as_bytes());
        let (plain, tail) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = tail.chars();
        out.push_str(match chars.next() {
            None => return,
            Some('&') => "&amp;",
            Some('<') => "&lt;",
            Some('>') => "&gt;",
            Some(_) => "&quot;",
        });
        rest = chars.as_str();
    }
}

/// The index of the first byte with a meaning in HTML, or the length.
fn first_to_escape(bytes: &[u8]) -> usize {
    const ESCAPED: &[u8; 4] = b"&<>\"";
    static SET: ByteSet = ByteSet::of(ESCAPED);
    if cfg!(target_family = "wasm") {
        return SET.first_in(bytes);
    }
    let (chunks, _) = bytes.as_chunks::<8>();
    let plain = chunks
        .iter()
        .take_while(|chunk| !scan::has_any(scan::load(**chunk), ESCAPED));
    let at = plain.count() * 8;
    let tail = bytes.get(at..).unwrap_or_default();
    let found = tail.iter().position(|b| ESCAPED.contains(b));
    at + found.unwrap_or(tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_with_a_meaning_is_escaped_wherever_it_stands() {
        for before in 0..20 {
            let plain = "é".repeat(before / 2) + &"x".repeat(before % 2);
            for (c, entity) in [
                ("&", "&amp;"),
                ("<", "&lt;"),
                (">", "&gt;"),
                ("\"", "&quot;"),
            ] {
                let mut out = String::new();
                push_escaped_html(&format!("{plain}{c}{plain}{c}{c}"), &mut out);
                assert_eq!(out, format!("{plain}{entity}{plain}{entity}{entity}"));
            }
        }
    }
}

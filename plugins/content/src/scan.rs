//! Counting in a text without reading it character by character.

/// Bytes whose sums fit a byte.
const CHUNK: usize = 128;

/// Characters and sentence punctuation of a text. A run of ASCII white space counts as one
/// character, but not at the beginning.
pub fn scan(text: &str) -> (u32, u32) {
    let bytes = text.as_bytes();
    let Some((first, rest)) = bytes.split_first() else {
        return (0, 0);
    };
    let mut chars = u32::from(is_text(*first));
    let mut punct = u32::from(is_mark(*first));
    // Each byte with the one before it.
    for (here, before) in rest.chunks(CHUNK).zip(bytes.chunks(CHUNK)) {
        let (more_chars, more_punct) = count(here, before);
        chars += u32::from(more_chars);
        punct += u32::from(more_punct);
    }
    (chars, punct)
}

/// Both counts of at most [`CHUNK`] bytes. Plain sums, for the compiler to make one of many
/// bytes at once; the sandbox has such instructions, which plugins do not use by themselves.
#[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
fn count(here: &[u8], before: &[u8]) -> (u8, u8) {
    let (mut chars, mut punct) = (0_u8, 0_u8);
    for (&byte, &before) in here.iter().zip(before) {
        let ends_run = is_space(byte) & !is_space(before);
        chars += u8::from(is_text(byte) | ends_run);
        punct += u8::from(is_mark(byte));
    }
    (chars, punct)
}

#[inline(always)]
fn is_space(byte: u8) -> bool {
    (byte == b' ') | (byte == b'\n') | (byte == b'\t') | (byte == b'\r') | (byte == 0x0c)
}

/// Whether a byte begins a character that is no white space.
#[inline(always)]
fn is_text(byte: u8) -> bool {
    let continues = (0x80..=0xbf).contains(&byte);
    !continues & !is_space(byte)
}

#[inline(always)]
fn is_mark(byte: u8) -> bool {
    (byte == b',') | (byte == b'.') | (byte == b'!') | (byte == b'?') | (byte == b';')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte.
    fn slowly(text: &str) -> (u32, u32) {
        let (mut chars, mut punct) = (0, 0);
        let mut space = true;
        for c in text.chars() {
            if matches!(c, ' ' | '\n' | '\t' | '\r' | '\x0c') {
                chars += u32::from(!space);
                space = true;
            } else {
                chars += 1;
                space = false;
                punct += u32::from(matches!(c, ',' | '.' | '!' | '?' | ';'));
            }
        }
        (chars, punct)
    }

    #[test]
    fn counts_are_those_of_one_character_at_a_time() {
        let pieces = [
            "",
            " ",
            "\n \t",
            "\x0b",
            "a",
            "b, c.",
            "é!",
            "日本；",
            "\u{a0}",
            "x  y;",
        ];
        for before in [0, 1, 126, 127, 128, 129, 255, 256, 400] {
            for one in pieces {
                for two in pieces {
                    for filler in ["w", " ", "ü", ". "] {
                        let text = format!("{one}{}{two} {one}", filler.repeat(before));
                        assert_eq!(scan(&text), slowly(&text), "{text:?}");
                    }
                }
            }
        }
    }
}

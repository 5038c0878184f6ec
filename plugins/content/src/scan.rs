//! Counting in a text without reading it character by character.

/// Bytes whose sums fit a byte.
const CHUNK: usize = 128;

/// Characters and sentence punctuation of a text. A run of ASCII white space counts as one
/// character, but not at the beginning; a character of Chinese, Japanese and Korean counts as
/// the letters that other scripts need for as much, so that lengths mean the same everywhere.
pub fn scan(text: &str) -> (u32, u32) {
    let (chars, punct) = narrow(text.as_bytes());
    if text.is_ascii() {
        return (chars, punct);
    }
    let (letters, marks) = wide(text.as_bytes());
    (chars + letters, punct + marks)
}

/// Characters, each as one, and ASCII punctuation.
fn narrow(bytes: &[u8]) -> (u32, u32) {
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

/// By how much characters beyond ASCII count more than one, and their punctuation.
fn wide(bytes: &[u8]) -> (u32, u32) {
    let tail = |from: usize| bytes.get(from..).unwrap_or_default();
    let letters = bytes.chunks(CHUNK);
    let letters = letters.map(|chunk| u32::from(letters_of(chunk))).sum();
    let pairs = bytes.chunks(CHUNK).zip(tail(1).chunks(CHUNK));
    let short: u32 = pairs.map(|(a, b)| u32::from(short_marks(a, b))).sum();
    let threes = bytes.chunks(CHUNK).zip(tail(1).chunks(CHUNK));
    let threes = threes.zip(tail(2).chunks(CHUNK));
    let long: u32 = threes
        .map(|((a, b), c)| u32::from(long_marks(a, b, c)))
        .sum();
    (letters, short + long)
}

/// Chinese characters and kana say as much as three letters, Korean syllables as two.
#[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
fn letters_of(bytes: &[u8]) -> u8 {
    let more = |byte: u8| {
        2 * u8::from((0xe3..=0xe9).contains(&byte)) + u8::from((0xea..=0xed).contains(&byte))
    };
    bytes.iter().map(|&byte| more(byte)).sum()
}

/// Arabic punctuation, of two bytes.
#[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
fn short_marks(first: &[u8], second: &[u8]) -> u8 {
    let mark = |a: u8, b: u8| {
        (a == 0xd8) & ((b == 0x8c) | (b == 0x9b) | (b == 0x9f)) | (a == 0xdb) & (b == 0x94)
    };
    first
        .iter()
        .zip(second)
        .map(|(&a, &b)| u8::from(mark(a, b)))
        .sum()
}

/// Punctuation of East Asia and of the Indic scripts, of three bytes.
#[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
fn long_marks(first: &[u8], second: &[u8], third: &[u8]) -> u8 {
    let mark = |a: u8, b: u8, c: u8| {
        (a == 0xe3) & (b == 0x80) & ((c == 0x81) | (c == 0x82))
            | (a == 0xef) & (b == 0xbc) & ((c == 0x81) | (c == 0x8c) | (c == 0x9b) | (c == 0x9f))
            | (a == 0xe0) & (b == 0xa5) & ((c == 0xa4) | (c == 0xa5))
    };
    let all = first.iter().zip(second).zip(third);
    all.map(|((&a, &b), &c)| u8::from(mark(a, b, c))).sum()
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

    /// Character by character.
    fn slowly(text: &str) -> (u32, u32) {
        let (mut chars, mut punct) = (0, 0);
        let mut space = true;
        for c in text.chars() {
            if matches!(c, ' ' | '\n' | '\t' | '\r' | '\x0c') {
                chars += u32::from(!space);
                space = true;
            } else {
                chars += match c as u32 {
                    0x3000..=0x9fff => 3,
                    0xa000..=0xd7ff => 2,
                    _ => 1,
                };
                space = false;
                punct += u32::from(",.!?;،؛؟۔、。！，；？।॥".contains(c));
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
            "、。！，？",
            "한국어",
            "كم؟",
            "۔،؛",
            "है।॥",
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

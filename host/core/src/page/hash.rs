//! Hashes visible text, with white space collapsed.

use sha2::{Digest, Sha256};

/// Bytes collected before they are hashed: a multiple of SHA-256's block size.
const BUFFER: usize = 16 * 1024;

/// Hashes text that arrives in pieces. Runs of white space become one space, and none at the
/// ends, so reformatted or differently split markup has the same hash.
pub(super) struct TextHasher {
    sha: Sha256,
    buffer: String,
    chars: u64,
    bytes: u64,
    begun: bool,
    space: bool,
    /// The text itself, if requested, and the most bytes of it to keep.
    kept: Option<(String, usize)>,
}

impl TextHasher {
    pub fn new(keep: Option<usize>) -> Self {
        Self {
            kept: keep.map(|most| (String::new(), most)),
            sha: Sha256::new(),
            buffer: String::with_capacity(BUFFER * 2),
            chars: 0,
            bytes: 0,
            begun: false,
            space: false,
        }
    }

    /// Separates the following text from the text so far.
    pub const fn gap(&mut self) {
        self.space = true;
    }

    pub fn push(&mut self, text: &str) {
        collapse(text, &mut self.begun, &mut self.space, &mut self.buffer);
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    /// Whether there are fewer bytes of text so far.
    pub const fn is_shorter(&self, bytes: u64) -> bool {
        self.bytes + (self.buffer.len() as u64) < bytes
    }

    fn flush(&mut self) {
        self.sha.update(&self.buffer);
        self.chars += self.buffer.chars().count() as u64;
        self.bytes += self.buffer.len() as u64;
        if let Some((text, most)) = &mut self.kept {
            let room = most.saturating_sub(text.len());
            let cut = self.buffer.floor_char_boundary(room);
            text.push_str(self.buffer.get(..cut).unwrap_or_default());
            // The text ends before a character that does not fit.
            if cut < self.buffer.len() {
                *most = text.len();
            }
        }
        self.buffer.clear();
    }

    /// The kept text. To be called before [`finish`](Self::finish).
    pub fn take_text(&mut self) -> String {
        self.flush();
        self.kept.take().map(|(text, _)| text).unwrap_or_default()
    }

    /// Number of characters, and the hash of text, title and canonical URL, separated by a byte
    /// that never occurs in text.
    pub fn finish(mut self, title: &str, canonical: &str) -> (u64, String) {
        self.flush();
        for part in [title, canonical] {
            self.sha.update([0xff]);
            self.sha.update(part.as_bytes());
        }
        (self.chars, hex::encode(self.sha.finalize()))
    }
}

/// Appends `text` with its white space collapsed. `begun`: there is text before it; `space`:
/// white space was seen since.
///
/// Words separated by single spaces are copied together.
pub(super) fn collapse(text: &str, begun: &mut bool, space: &mut bool, out: &mut String) {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        while let Some(&byte) = bytes.get(at) {
            let width = blank_width(byte, bytes.get(at..).unwrap_or_default());
            if width == 0 {
                break;
            }
            *space = true;
            at += width;
        }
        if at >= bytes.len() {
            return;
        }
        let end = at + words_len(bytes.get(at..).unwrap_or_default());
        let run = text.get(at..end).unwrap_or("");
        let words = run.strip_suffix(' ').unwrap_or(run);
        if *space && *begun {
            out.push(' ');
        }
        out.push_str(words);
        *begun = true;
        *space = words.len() < run.len();
        at = end;
    }
}

/// Length of the text that starts with a word and can be copied unchanged, including one space
/// at its end.
fn words_len(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += plain_len(text.get(at..).unwrap_or_default());
        let Some(&byte) = text.get(at) else {
            return text.len();
        };
        let rest = text.get(at..).unwrap_or_default();
        let blank = blank_width(byte, rest);
        if blank == 0 {
            at += 1;
        } else if byte == b' ' {
            // One space belongs to the preceding words.
            return at + 1;
        } else {
            return at;
        }
    }
}

/// Number of bytes that neither are nor start white space, except single spaces between two of
/// them. The compiler makes the loop over blocks process one at a time; what is left is read eight
/// bytes at a time.
fn plain_len(text: &[u8]) -> usize {
    const BLOCK: usize = 16;
    let odd = |byte: u8, next: u8| {
        (byte < b' ')
            | ((byte == b' ') & (next == b' '))
            | (byte == 0xc2)
            | (byte & 0xfc == 0xe0)
            | (byte == 0xef)
    };
    let nexts = text.get(1..).unwrap_or_default();
    let mut at = 0;
    for (block, nexts) in text.chunks_exact(BLOCK).zip(nexts.chunks_exact(BLOCK)) {
        let found = block
            .iter()
            .zip(nexts)
            .fold(false, |found, (&byte, &next)| found | odd(byte, next));
        if found {
            break;
        }
        at += BLOCK;
    }
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let chunk = u64::from_le_bytes(*chunk);
        let next = text.get(at + 8).copied().unwrap_or(b'x');
        let odd = odd_bytes(chunk, next);
        if odd != 0 {
            return at + odd.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    let fill = [b'x'; 8];
    let bytes = rest.iter().chain(fill.iter().skip(rest.len()));
    let chunk = bytes
        .rev()
        .fold(0, |chunk, &byte| chunk << 8 | u64::from(byte));
    let odd = odd_bytes(chunk, b'x').trailing_zeros() as usize / 8;
    at + odd.min(rest.len())
}

/// Of eight bytes, the first lowest, the highest bit of each that may be white space or its first
/// byte, but for a space before anything other than a space.
const fn odd_bytes(chunk: u64, next: u8) -> u64 {
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    /// Bytes equal to one byte.
    const fn equal(chunk: u64, byte: u8) -> u64 {
        let difference = chunk ^ u64::from_ne_bytes([byte; 8]);
        !(((difference & !HIGHS) + !HIGHS) | difference) & HIGHS
    }
    let nexts = chunk >> 8 | (next as u64) << 56;
    let control = !((chunk & !HIGHS) + u64::from_ne_bytes([0x60; 8])) & !chunk & HIGHS;
    let spaces = equal(chunk, b' ') & equal(nexts, b' ');
    let ascii = control | spaces;
    if chunk & HIGHS == 0 {
        return ascii;
    }
    // Of 0xe0 to 0xe3 the first starts no white space, which costs one more look at it.
    let wide = equal(chunk & u64::from_ne_bytes([0xfc; 8]), 0xe0);
    ascii | equal(chunk, 0xc2) | wide | equal(chunk, 0xef)
}

/// Number of bytes of the white space here (Unicode's `White_Space`, and zero-width space and
/// BOM, which templates leave behind); 0 if there is none.
fn blank_width(byte: u8, rest: &[u8]) -> usize {
    match byte {
        b' ' | b'\t'..=b'\r' => 1,
        0xc2 if matches!(rest.get(1), Some(0x85 | 0xa0)) => 2,
        0xe1 if rest.starts_with(&[0xe1, 0x9a, 0x80]) => 3,
        0xe2 => match (rest.get(1), rest.get(2)) {
            (Some(0x80), Some(0x80..=0x8b | 0xa8 | 0xa9 | 0xaf)) | (Some(0x81), Some(0x9f)) => 3,
            _ => 0,
        },
        0xe3 if rest.starts_with(&[0xe3, 0x80, 0x80]) => 3,
        0xef if rest.starts_with(&[0xef, 0xbb, 0xbf]) => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collapsed(pieces: &[&str]) -> String {
        let (mut begun, mut space, mut out) = (false, false, String::new());
        for piece in pieces {
            collapse(piece, &mut begun, &mut space, &mut out);
        }
        out
    }

    #[test]
    fn white_space_of_any_kind_collapses_across_pieces() {
        assert_eq!(
            collapsed(&["  a\t\n b", "c ", " \u{a0}d\u{3000}\u{2003}e\u{200b} "]),
            "a bc d e"
        );
        assert_eq!(collapsed(&["\u{feff}", " ", ""]), "");
        assert_eq!(collapsed(&["é\u{85}ü中文\u{2028}x"]), "é ü中文 x");
        assert_eq!(
            collapsed(&["a \u{a0}“b”", " ", "c\u{1}  d "]),
            "a “b” c\u{1} d"
        );
    }

    #[test]
    fn white_space_is_found_at_any_position_in_a_block() {
        for blank in [" ", "  ", "\n", "\u{a0}", "\u{3000} ", " \u{2003}"] {
            for at in 0..40 {
                let (before, after) = ("x".repeat(at), "yü".repeat(20));
                let text = format!("{before}{blank}{after}");
                let expected = format!("{before} {after}");
                assert_eq!(collapsed(&[&text]), expected.trim_start(), "{blank:?} {at}");
            }
        }
    }

    #[test]
    fn every_byte_is_judged_alike_at_any_position() {
        let odd = |text: &[u8], at: usize| {
            let spaces = text[at] == b' ' && text.get(at + 1) == Some(&b' ');
            text[at] < b' ' || spaces || matches!(text[at], 0xc2 | 0xe0..=0xe3 | 0xef)
        };
        for neighbour in [b'a', b' ', b'~', 0x80, 0xff] {
            for byte in 0..=u8::MAX {
                for len in 1..20 {
                    for at in 0..len {
                        let mut text = [b'y'; 20];
                        text[at] = byte;
                        text[(at + 1) % len] = neighbour;
                        let text = &text[..len];
                        let first = (0..len).find(|at| odd(text, *at));
                        assert_eq!(plain_len(text), first.unwrap_or(len), "{text:x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_hash_is_of_text_title_and_canonical() {
        let hash = |pieces: &[&str], title: &str, canonical: &str| {
            let mut hasher = TextHasher::new(None);
            for piece in pieces {
                hasher.push(piece);
            }
            hasher.finish(title, canonical)
        };
        assert_eq!(
            hash(&["a ", " b"], "t", "c"),
            hash(&["a", "\n", "b "], "t", "c")
        );
        assert_eq!(hash(&["a b é"], "t", "c").0, 5);
        assert_ne!(hash(&["a"], "t", "c").1, hash(&["a"], "tc", "").1);
        assert_ne!(hash(&["a"], "", "").1, hash(&[""], "a", "").1);
    }
}

//! Visible text into a hash, white space collapsed on the way.

use sha2::{Digest, Sha256};

/// Bytes gathered before they are hashed: a multiple of SHA-256's block.
const BUFFER: usize = 16 * 1024;

/// Hashes text that comes in pieces. Runs of white space become one space, none at the
/// ends; so markup that is reformatted or split does not change the hash.
pub(super) struct TextHasher {
    sha: Sha256,
    buffer: String,
    chars: u64,
    begun: bool,
    space: bool,
    /// The text itself, up to so many bytes, where it is wanted.
    kept: Option<(String, usize)>,
}

impl TextHasher {
    pub fn new(keep: Option<usize>) -> Self {
        Self {
            kept: keep.map(|most| (String::new(), most)),
            sha: Sha256::new(),
            buffer: String::with_capacity(BUFFER * 2),
            chars: 0,
            begun: false,
            space: false,
        }
    }

    /// What follows is apart from what came before.
    pub const fn gap(&mut self) {
        self.space = true;
    }

    pub fn push(&mut self, text: &str) {
        collapse(text, &mut self.begun, &mut self.space, &mut self.buffer);
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.sha.update(&self.buffer);
        self.chars += self.buffer.chars().count() as u64;
        if let Some((text, most)) = &mut self.kept {
            let room = most.saturating_sub(text.len());
            let cut = self.buffer.floor_char_boundary(room);
            text.push_str(self.buffer.get(..cut).unwrap_or_default());
            // A character that did not fit ends the text.
            if cut < self.buffer.len() {
                *most = text.len();
            }
        }
        self.buffer.clear();
    }

    /// What was kept of the text. Before [`finish`](Self::finish).
    pub fn take_text(&mut self) -> String {
        self.flush();
        self.kept.take().map(|(text, _)| text).unwrap_or_default()
    }

    /// Characters so far, and the hash with what belongs to it besides the text. A byte
    /// that no text has stands between the parts.
    pub fn finish(mut self, title: &str, canonical: &str) -> (u64, String) {
        self.flush();
        for part in [title, canonical] {
            self.sha.update([0xff]);
            self.sha.update(part.as_bytes());
        }
        (self.chars, hex::encode(self.sha.finalize()))
    }
}

/// Appends `text` with its white space collapsed. `begun`: something is there already;
/// `space`: white space has come since.
///
/// Words that single spaces part are copied together.
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

/// How long the text is that begins with a word and needs no change but for a space at
/// its end.
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
            // One space belongs to the words before it.
            return at + 1;
        } else {
            return at;
        }
    }
}

/// How many bytes are neither white space nor may begin it, but for single spaces between
/// two of them. Written so that the compiler looks at a block at a time.
fn plain_len(text: &[u8]) -> usize {
    const BLOCK: usize = 16;
    let odd = |byte: u8, next: u8| {
        (byte < b' ')
            | ((byte == b' ') & (next <= b' '))
            | (byte == 0xc2)
            | (byte.wrapping_sub(0xe1) < 3)
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
    let rest = text.get(at..).unwrap_or_default();
    let nexts = rest.iter().skip(1).copied().chain([b' ']);
    let odd = rest
        .iter()
        .zip(nexts)
        .position(|(&byte, next)| odd(byte, next));
    at + odd.unwrap_or(rest.len())
}

/// How many bytes of white space (Unicode's `White_Space`, with zero-width space and BOM,
/// which templates leave behind) are here; 0 for none.
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
    fn white_space_is_found_wherever_it_stands_in_a_block() {
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

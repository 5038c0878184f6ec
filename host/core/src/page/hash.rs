//! Visible text into a hash, white space collapsed on the way.

use sha2::{Digest, Sha256};

/// Bytes gathered before they are hashed: a multiple of SHA-256's block.
const BUFFER: usize = 16 * 1024;

/// Hashes text that comes in pieces. Runs of white space become one space, none at the
/// ends; so markup that is reformatted or split does not change the hash.
pub(super) struct TextHasher {
    sha: Sha256,
    buffer: Vec<u8>,
    chars: u64,
    begun: bool,
    space: bool,
    /// The text itself, up to so many bytes, where it is wanted.
    kept: Option<(Vec<u8>, usize)>,
}

impl TextHasher {
    pub fn new(keep: Option<usize>) -> Self {
        Self {
            kept: keep.map(|most| (Vec::new(), most)),
            sha: Sha256::new(),
            buffer: Vec::with_capacity(BUFFER * 2),
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
        // Characters are bytes that continue none.
        let chars = self.buffer.iter().filter(|&&b| b & 0xc0 != 0x80).count();
        self.chars += chars as u64;
        if let Some((text, most)) = &mut self.kept {
            let room = most.saturating_sub(text.len()).min(self.buffer.len());
            text.extend_from_slice(self.buffer.get(..room).unwrap_or_default());
        }
        self.buffer.clear();
    }

    /// What was kept of the text. Before [`finish`](Self::finish).
    pub fn take_text(&mut self) -> String {
        self.flush();
        let text = self.kept.take().map(|(text, _)| text).unwrap_or_default();
        // The limit may have cut a character.
        String::from_utf8_lossy(&text)
            .trim_end_matches('\u{fffd}')
            .to_owned()
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
pub(super) fn collapse(text: &str, begun: &mut bool, space: &mut bool, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut from = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let width = if byte > b' ' && byte < 0x80 {
            0
        } else {
            blank_width(byte, bytes.get(at..).unwrap_or_default())
        };
        if width == 0 {
            at += 1;
            continue;
        }
        push_word(bytes.get(from..at).unwrap_or_default(), begun, space, out);
        *space = true;
        at += width;
        from = at;
    }
    push_word(bytes.get(from..).unwrap_or_default(), begun, space, out);
}

fn push_word(word: &[u8], begun: &mut bool, space: &mut bool, out: &mut Vec<u8>) {
    if word.is_empty() {
        return;
    }
    if *space && *begun {
        out.push(b' ');
    }
    *space = false;
    *begun = true;
    out.extend_from_slice(word);
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
        let (mut begun, mut space, mut out) = (false, false, Vec::new());
        for piece in pieces {
            collapse(piece, &mut begun, &mut space, &mut out);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn white_space_of_any_kind_collapses_across_pieces() {
        assert_eq!(
            collapsed(&["  a\t\n b", "c ", " \u{a0}d\u{3000}\u{2003}e\u{200b} "]),
            "a bc d e"
        );
        assert_eq!(collapsed(&["\u{feff}", " ", ""]), "");
        assert_eq!(collapsed(&["é\u{85}ü中文\u{2028}x"]), "é ü中文 x");
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

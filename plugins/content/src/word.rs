//! Words of a text, eight bytes at a time.

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Hash of a word in small letters, of which the bytes arrive in any pieces.
#[derive(Clone, Copy)]
pub struct Hash {
    sum: u64,
    /// The bytes behind the last eight that are in the sum, and how many they are.
    part: u64,
    filled: u32,
}

impl Hash {
    /// The hash of no bytes.
    pub const NEW: Self = Self {
        sum: 0,
        part: 0,
        filled: 0,
    };

    /// Adds the lowest `count` bytes of a number, 1 to 8; the others are zero.
    #[inline]
    pub const fn push(&mut self, bytes: u64, count: u32) {
        self.part |= bytes << (8 * self.filled);
        let filled = self.filled + count;
        if filled < 8 {
            self.filled = filled;
            return;
        }
        self.sum = mix(self.sum ^ self.part);
        self.part = match self.filled {
            0 => 0,
            before => bytes >> (8 * (8 - before)),
        };
        self.filled = filled - 8;
    }

    /// Adds a character.
    pub fn push_char(&mut self, c: char) {
        let mut buffer = [0; 8];
        let count = c.encode_utf8(&mut buffer).len();
        self.push(u64::from_le_bytes(buffer), count as u32);
    }

    /// The hash, never 0.
    #[inline]
    pub const fn finish(&self) -> u32 {
        let hash = (mix(self.sum ^ self.part) >> 32) as u32;
        if hash == 0 { 1 } else { hash }
    }

    /// The hash of a whole word in lower case.
    pub const fn of(word: &[u8]) -> u32 {
        let mut hash = Self::NEW;
        let mut rest = word;
        while let [byte, behind @ ..] = rest {
            hash.push(*byte as u64, 1);
            rest = behind;
        }
        hash.finish()
    }
}

const fn mix(bytes: u64) -> u64 {
    let product = (bytes ^ 0x2545_f491_4f6c_dd1d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 29
}

/// The letters and digits at the beginning of a text.
pub struct Run {
    /// How many they are: all of ASCII, and no more than eight.
    pub len: u32,
    /// Those of them that are digits.
    pub digits: u32,
    /// Their bytes with small letters, the first lowest.
    pub bytes: u64,
}

impl Run {
    /// Reads at most eight bytes of a text.
    #[inline]
    pub fn of(text: &[u8]) -> Self {
        let chunk = match text.first_chunk() {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => text
                .iter()
                .rev()
                .fold(0, |chunk, byte| chunk << 8 | u64::from(*byte)),
        };
        // A small letter with this bit stays what it is, and so does a digit.
        let small = chunk | (ONES * 0x20);
        let ascii = !(chunk >> 7) & ONES;
        let digits = within(chunk, b'0', b'9') & ascii;
        let others = !(within(small, b'a', b'z') & ascii | digits) & ONES;
        let len = others.trailing_zeros() / 8;
        let inside = if len < 8 { (1 << (8 * len)) - 1 } else { !0 };
        Self {
            len,
            digits: (digits & inside).count_ones(),
            bytes: small & inside,
        }
    }
}

/// The lowest bit of each byte from `first` to `last`; bytes beyond ASCII are taken for others.
fn within(chunk: u64, first: u8, last: u8) -> u64 {
    let at_least = |bound: u8| ((chunk | HIGHS) - ONES * u64::from(bound)) >> 7 & ONES;
    at_least(first) & !at_least(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_the_letters_and_digits_before_anything_else() {
        for byte in 0..=u8::MAX {
            for len in 0..12 {
                for at in 0..len {
                    let mut text = b"aB3zZ90x7Q1k"[..len].to_vec();
                    text[at] = byte;
                    let run = Run::of(&text);
                    let word = text
                        .iter()
                        .take(8)
                        .take_while(|b| b.is_ascii_alphanumeric());
                    let word: Vec<u8> = word.map(u8::to_ascii_lowercase).collect();
                    let digits = word.iter().filter(|b| b.is_ascii_digit()).count();
                    assert_eq!(run.len as usize, word.len(), "{text:?}");
                    assert_eq!(run.digits as usize, digits, "{text:?}");
                    assert_eq!(&run.bytes.to_le_bytes()[..word.len()], word, "{text:?}");
                    assert!(
                        run.bytes.to_le_bytes()[word.len()..]
                            .iter()
                            .all(|b| *b == 0)
                    );
                }
            }
        }
    }

    #[test]
    fn a_hash_is_the_same_in_whatever_pieces_its_bytes_arrive() {
        let word = "weberknechtsgewebe-über-日本".as_bytes();
        for len in 0..word.len() {
            let word = &word[..len];
            for piece in 1..=8 {
                let mut hash = Hash::NEW;
                for bytes in word.chunks(piece) {
                    let number = bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
                    hash.push(number, bytes.len() as u32);
                }
                assert_eq!(hash.finish(), Hash::of(word), "{len} bytes by {piece}");
            }
        }
        let mut hash = Hash::NEW;
        "straße日".chars().for_each(|c| hash.push_char(c));
        assert_eq!(hash.finish(), Hash::of("straße日".as_bytes()));
    }
}

//! A number for a text, whatever its case and white space.

/// FNV-1a with 128 bits. A site that makes two of its texts collide loses one of its own pages.
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// The digest of a text.
pub struct Digest {
    /// Number of characters besides white space.
    pub chars: usize,
    hash: u128,
}

impl Digest {
    /// The digest of a text in lower case without its white space.
    pub fn of(text: &str) -> Self {
        let mut digest = Self {
            chars: 0,
            hash: BASIS,
        };
        let mut buffer = [0; 4];
        for c in text.chars().filter(|c| !c.is_whitespace()) {
            digest.chars += 1;
            for lower in c.to_lowercase() {
                digest.add(lower.encode_utf8(&mut buffer).as_bytes());
            }
        }
        digest
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// One of 1,024 groups of texts.
    pub fn group(&self) -> u16 {
        (self.hash & 0x3ff) as u16
    }

    /// Tells the texts of a group apart: 16 hexadecimal digits.
    pub fn tag(&self) -> String {
        format!("{:016x}", (self.hash >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_white_space_do_not_count() {
        let one = Digest::of("Größe is\n\tone thing");
        let same = Digest::of("  GRÖßE is one  THING ");
        assert_eq!((one.tag(), one.group()), (same.tag(), same.group()));
        assert_eq!(one.chars, 15);
        let other = Digest::of("Größe is one thinf");
        assert_ne!(one.tag(), other.tag());
    }
}

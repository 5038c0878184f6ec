//! SHA-256 of a result's inputs: the keys of caches. Their size does not depend on what callers
//! send, so the weight of an entry is known.

use std::hash::{Hash, Hasher};

use sha2::{Digest as _, Sha256};

/// SHA-256 of what values hash. The bytes of no value start with another's (`Hash`, "prefix
/// collisions"), so two lists of different values never have the same input. A type whose `Hash`
/// leaves out a part of what it compares must not be hashed with it.
#[derive(Clone, Default)]
pub(crate) struct InputHash(Sha256);

impl InputHash {
    /// The digest of one value.
    pub(crate) fn of(value: &impl Hash) -> [u8; 32] {
        let mut hash = Self::default();
        value.hash(&mut hash);
        hash.digest()
    }

    /// The digest of all values.
    pub(crate) fn digest(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

impl Hasher for InputHash {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest's first eight bytes.
    fn finish(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.clone().digest();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

#[cfg(test)]
mod tests {
    use super::InputHash;

    #[test]
    fn lists_of_different_values_have_different_digests() {
        let lists = [
            InputHash::of(&("ab", "c")),
            InputHash::of(&("a", "bc")),
            InputHash::of(&("abc", "")),
            InputHash::of(&(vec!["a"], vec!["b"])),
            InputHash::of(&(vec!["a", "b"], Vec::<&str>::new())),
            InputHash::of(&Some("")),
            InputHash::of(&None::<&str>),
        ];
        for (at, digest) in lists.iter().enumerate() {
            assert!(!lists[..at].contains(digest), "list {at}");
        }
        assert_eq!(InputHash::of(&("ab", "c")), InputHash::of(&("ab", "c")));
    }
}

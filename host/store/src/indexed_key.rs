//! Normalised URLs as they are kept in rows, and looked up.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

/// Bytes of the longest key that is kept as it is. An index of PostgreSQL takes rows of up to 2,704 bytes,
/// and those with a key have some numbers besides.
const MAX_BYTES: usize = 1_024;

/// A normalised URL as rows have it: a long one as its hash, because indexes of PostgreSQL do not take rows
/// of any length. Of a key that is kept it makes no other one. The 64-bit hashes of crawls are those of the
/// whole URL.
pub fn indexed_key(url_key: &str) -> Cow<'_, str> {
    if url_key.len() <= MAX_BYTES {
        return Cow::Borrowed(url_key);
    }
    let digest = Sha256::digest(url_key.as_bytes());
    Cow::Owned(format!("sha256:{}", hex::encode(digest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_is_kept_as_its_hash() {
        let short = "x".repeat(MAX_BYTES);
        assert_eq!(indexed_key(&short), short);
        let [one, other] = ["a", "b"].map(|end| format!("{short}{end}"));
        let kept = indexed_key(&one);
        assert!(kept.len() < MAX_BYTES, "{kept}");
        assert_ne!(kept, indexed_key(&other));
        assert_eq!(indexed_key(&kept), kept);
    }
}

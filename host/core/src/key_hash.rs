//! The 64-bit hash of a page's key, by which crawls know their URLs.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

/// SipHash-1-3 with a zero key. It is stored, so it never changes; sites that aim for
/// collisions hide pages of their own.
pub fn key_hash(key: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(key.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_hashes_stay_valid() {
        assert_eq!(key_hash(""), 0xd1fb_a762_150c_532c);
        assert_ne!(key_hash("https://e.org/a"), key_hash("https://e.org/b"));
    }
}

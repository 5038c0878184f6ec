//! Keys of URLs and their 64-bit hashes, by which crawls identify pages.

use std::hash::{BuildHasherDefault, Hasher};

use orbweaver_urls::KeyRules;
use siphasher::sip::SipHasher13;
use url::Url;

/// The key of an absolute URL ([`orbweaver_urls::key`]); other text is its own key.
pub fn url_key(url: &str, rules: KeyRules) -> String {
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| orbweaver_urls::key(&url, rules))
}

/// SipHash-1-3 of a key, with a zero seed. Hashes are stored, so the function must never change.
/// A site that constructs collisions only hides its own pages.
pub fn key_hash(key: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(key.as_bytes());
    hasher.finish()
}

/// Hasher for maps whose keys are already hashes: the hash of a `u64` is the number itself.
pub type BuildKeyHasher = BuildHasherDefault<KeyHasher>;

/// See [`BuildKeyHasher`].
#[derive(Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_hashes_stay_valid() {
        assert_eq!(key_hash(""), 0xd1fb_a762_150c_532c);
        assert_ne!(key_hash("https://e.org/a"), key_hash("https://e.org/b"));
    }

    #[test]
    fn a_key_is_the_normalised_url_or_the_text_itself() {
        let rules = KeyRules::default();
        assert_eq!(url_key("HTTP://E.org:80/a#b", rules), "http://e.org/a");
        assert_eq!(url_key("not a URL", rules), "not a URL");
    }
}

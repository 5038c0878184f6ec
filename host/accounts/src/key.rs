//! API keys: `orb_` and 24 random bytes in base64url without padding.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::random;

/// Prefix of every key.
pub const PREFIX: &str = "orb_";
/// Number of characters of a key that listings show.
pub const SHOWN: usize = 12;
const LENGTH: usize = 36;

/// Generates a key.
///
/// # Errors
/// When the system has no random source.
pub fn generate() -> Result<String, getrandom::Error> {
    let bytes: [u8; 24] = random::bytes()?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// Whether the text has the form of a key.
pub fn is_well_formed(key: &str) -> bool {
    key.len() == LENGTH
        && key.strip_prefix(PREFIX).is_some_and(|rest| {
            URL_SAFE_NO_PAD
                .decode(rest)
                .is_ok_and(|bytes| bytes.len() == 24)
        })
}

/// Whether the text has the form of a key's visible prefix.
pub fn is_prefix(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.len() == SHOWN
        && text
            .strip_prefix(PREFIX)
            .is_some_and(|rest| rest.bytes().all(is_digit))
}

/// The visible prefix of a well-formed key.
pub fn shown(key: &str) -> &str {
    key.get(..SHOWN).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_keys_are_well_formed_and_differ() {
        let (a, b) = (generate().unwrap(), generate().unwrap());
        assert!(is_well_formed(&a) && is_well_formed(&b));
        assert_ne!(a, b);
        assert_eq!(shown(&a).len(), 12);
        assert!(is_prefix(shown(&a)) && is_prefix("orb_-_09azAZ"));
    }

    #[test]
    fn other_strings_are_not_a_prefix() {
        for bad in ["", "orb_", "orb_1234567", "orb_123456789", "key_12345678"] {
            assert!(!is_prefix(bad), "{bad}");
        }
        for bad in [
            "orb_1234567\0",
            "orb_123456é",
            "orb_1234567=",
            "orb_1234 678",
        ] {
            assert!(!is_prefix(bad), "{bad:?}");
        }
    }

    #[test]
    fn other_strings_are_not_well_formed() {
        for bad in [
            "",
            "orb_",
            "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+/",
            "key_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "orb_ÄAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert!(!is_well_formed(bad), "{bad}");
        }
    }
}

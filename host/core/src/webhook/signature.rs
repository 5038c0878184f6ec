//! Signatures, by which a receiver verifies sender and age of a delivery.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The header of the signature over the body alone.
pub const SIGNATURE_HEADER: &str = "X-Crawler-Signature";

/// The signature headers of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signatures {
    /// `X-Crawler-Signature`: `sha256=` and the HMAC-SHA256 of the body in hexadecimal.
    pub crawler: String,
    /// `webhook-id`: the same for all attempts of one delivery.
    pub id: String,
    /// `webhook-timestamp`: time of this attempt, in seconds since 1970. A receiver rejects old
    /// ones, so that a recorded delivery cannot be replayed.
    pub timestamp: String,
    /// `webhook-signature`: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, as
    /// specified by [Standard Webhooks](https://www.standardwebhooks.com/).
    pub standard: String,
}

/// Signs a body with the project's secret (its bytes, not their hexadecimal form).
pub fn sign(secret: &[u8], id: &str, at: DateTime<Utc>, body: &[u8]) -> Signatures {
    let timestamp = at.timestamp().to_string();
    let dated = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
    Signatures {
        crawler: format!("sha256={}", hex::encode(mac(secret, &[body]))),
        standard: format!("v1,{}", STANDARD.encode(mac(secret, &dated))),
        id: id.to_owned(),
        timestamp,
    }
}

fn mac(secret: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
        // HMAC accepts keys of any length, RFC 2104, section 2.
        return [0; 32];
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2.
    #[test]
    fn the_body_is_signed_as_the_standard_says() {
        let signed = sign(
            b"Jefe",
            "msg_1",
            DateTime::UNIX_EPOCH,
            b"what do ya want for nothing?",
        );
        assert_eq!(
            signed.crawler,
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            (signed.id.as_str(), signed.timestamp.as_str()),
            ("msg_1", "0")
        );
    }

    /// The example of the Standard Webhooks specification's libraries.
    #[test]
    fn id_and_time_are_signed_with_the_body() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let at = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        let signed = sign(
            &secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            at,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(
            signed.standard,
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
        let later = sign(
            &secret,
            &signed.id,
            at + chrono::TimeDelta::seconds(1),
            br#"{"test": 2432232314}"#,
        );
        assert_ne!(later.standard, signed.standard);
    }
}

//! Checks that a delivery is authentic, complete and recent.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::request::Request;

const TOLERANCE_SECONDS: u64 = 300;

/// The error says what is wrong. `verify_slice` compares in constant time.
pub fn verify(request: &Request, secret: &[u8]) -> Result<(), &'static str> {
    let given = request
        .header("x-crawler-signature")
        .strip_prefix("sha256=")
        .and_then(|given| hex::decode(given).ok())
        .ok_or("X-Crawler-Signature is missing")?;
    mac(secret, &[&request.body])?
        .verify_slice(&given)
        .map_err(|_| "X-Crawler-Signature does not match")?;

    let (id, timestamp) = (
        request.header("webhook-id"),
        request.header("webhook-timestamp"),
    );
    let sent: u64 = timestamp
        .parse()
        .map_err(|_| "webhook-timestamp is not a number")?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| now.as_secs());
    if now.abs_diff(sent) > TOLERANCE_SECONDS {
        return Err("webhook-timestamp is too old or in the future");
    }
    let dated = [
        id.as_bytes(),
        b".",
        timestamp.as_bytes(),
        b".",
        &request.body,
    ];
    // There may be several signatures, one per secret while the secret is being replaced.
    for given in request.header("webhook-signature").split(' ') {
        let given = given
            .strip_prefix("v1,")
            .and_then(|given| STANDARD.decode(given).ok());
        if let Some(given) = given
            && mac(secret, &dated)?.verify_slice(&given).is_ok()
        {
            return Ok(());
        }
    }
    Err("webhook-signature does not match")
}

fn mac(secret: &[u8], parts: &[&[u8]]) -> Result<Hmac<Sha256>, &'static str> {
    let mut mac = Hmac::new_from_slice(secret).map_err(|_| "the secret is not a valid key")?;
    for part in parts {
        mac.update(part);
    }
    Ok(mac)
}

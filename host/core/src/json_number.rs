//! Whole numbers in JSON bodies.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

/// Parses a whole number or null. `3.0` is a whole number too (JSON Schema 2020-12, 4.2.3); a
/// number above `u64::MAX` counts as `u64::MAX`.
///
/// # Errors
/// When the value is not a whole number, or is negative.
pub fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let whole = number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        let whole = float >= 0.0 && float.fract() == 0.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, whole, and a cast saturates"
        )]
        whole.then_some(float as u64)
    });
    whole
        .map(Some)
        .ok_or_else(|| D::Error::custom("must be a whole number, 0 or more"))
}

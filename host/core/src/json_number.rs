//! Whole numbers in JSON bodies.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};
use serde_json::{Number, Value};

/// Largest whole number below which `f64` has every whole number: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Parses a whole number or null. `3.0` is a whole number too (JSON Schema 2020-12, 4.2.3); a
/// number above `u64::MAX` counts as `u64::MAX`.
///
/// # Errors
/// When the value is not a whole number, or is negative.
pub fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_option(WholeNumber)
}

struct WholeNumber;

impl<'de> Visitor<'de> for WholeNumber {
    type Value = Option<u64>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number, 0 or more")
    }

    fn visit_none<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Option<u64>, D::Error> {
        // Any kind of number: serde tells integers from fractions when it has read a value to choose a variant.
        inner.deserialize_any(self)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<u64>, E> {
        Ok(Some(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<u64>, E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(number), &self);
        u64::try_from(number).map(Some).map_err(wrong)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Option<u64>, E> {
        if number >= 0.0 && number.fract() == 0.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative, whole, and a cast saturates"
            )]
            let whole = number as u64;
            return Ok(Some(whole));
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }
}

/// Writes every whole number of a value as an integer: `3.0` and `3e0` as `3`. A schema takes both for
/// integers; a reader in Rust takes only the latter. Numbers beyond 2^53 stay as they are.
pub fn write_integers(value: &mut Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) => {
                if let Some(integer) = integer(number) {
                    *number = integer;
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values_mut()),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
}

/// The integer that a number with a fraction or an exponent stands for.
fn integer(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    if float.fract() != 0.0 || float.abs() > EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within 2^53")]
    let integer = float as i64;
    Some(integer.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: &str) -> Result<Option<u64>, String> {
        whole(&mut serde_json::Deserializer::from_str(json)).map_err(|error| error.to_string())
    }

    #[test]
    fn whole_numbers_are_read_in_any_notation_and_others_are_named() {
        for (json, number) in [
            ("null", None),
            ("0", Some(0)),
            ("45.0", Some(45)),
            ("-0.0", Some(0)),
            ("1e3", Some(1_000)),
            ("1e300", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
        ] {
            assert_eq!(read(json), Ok(number), "{json}");
        }
        for json in ["-1", "1.5", "\"5\"", "true", "[]", "{}"] {
            let why = read(json).expect_err(json);
            assert!(why.contains("expected a whole number, 0 or more"), "{why}");
        }
    }

    #[test]
    fn whole_numbers_of_a_value_become_integers() {
        let mut value =
            json!({"a": 3.0, "b": [1.5, -2.0, {"c": 1e2}], "d": 1e300, "e": "1.0", "f": 7});
        write_integers(&mut value);
        let expected = json!({"a": 3, "b": [1.5, -2, {"c": 100}], "d": 1e300, "e": "1.0", "f": 7});
        assert_eq!(value.to_string(), expected.to_string());
    }
}

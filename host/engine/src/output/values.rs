//! Strings and numbers that the syntax of JSON allows but that have no value: half of a surrogate pair, and
//! a number beyond the largest double. Readers refuse the whole text because of them.
//!
//! Few texts have what could be one, and they are found at the speed of a search for bytes. Only those are read.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{behind_string, is_string};
use crate::text::clean;

/// Digits that a double can always hold.
const SAFE_DIGITS: usize = 308;
/// Bytes that are looked at in one go: every run of more than [`SAFE_DIGITS`] digits covers such a part.
const PART: usize = 128;

/// Whether each string and number of a text of valid syntax has a value; else where one has none.
pub(super) fn check(json: &str) -> Result<(), String> {
    let bytes = json.as_bytes();
    let is_plain = is_string(json) || !may_have_large_number(bytes) || !has_large_number(bytes);
    if is_plain && !has_surrogate(bytes) {
        return Ok(());
    }
    let Err(error) = serde_json::from_str::<Values>(json) else {
        return Ok(());
    };
    let why = error.to_string();
    if why.contains("hex escape") {
        let (line, column) = (error.line(), error.column());
        return Err(format!(
            "a string has half of a surrogate pair at line {line} column {column}"
        ));
    }
    Err(clean(&why, 500))
}

/// Whether there is an escape that begins as those of surrogates do.
fn has_surrogate(json: &[u8]) -> bool {
    let is_one = |at: usize| matches!(json.get(at + 2), Some(b'd' | b'D'));
    memchr::memmem::find_iter(json, b"\\u").any(is_one)
}

/// Whether there may be a number with an exponent, or with very many digits. Looks at strings too, and stops only
/// after a part of the text: both are faster.
fn may_have_large_number(json: &[u8]) -> bool {
    let next = json.get(1..).unwrap_or_default();
    let may_have = |(part, next): (&[u8], &[u8])| {
        let (mut has_exponent, mut has_digits_only) = (false, true);
        for (byte, next) in part.iter().zip(next) {
            let is_digit = byte.is_ascii_digit();
            has_exponent |= is_digit & ((*next | 0x20) == b'e');
            has_digits_only &= is_digit;
        }
        has_exponent || has_digits_only
    };
    json.chunks(PART).zip(next.chunks(PART)).any(may_have)
}

/// Whether a number has an exponent or very many digits.
fn has_large_number(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'"' => rest = behind_string(behind),
            b'0'..=b'9' => {
                let of_number = |b: &u8| b.is_ascii_digit() || b".eE+-".contains(b);
                let end = behind.iter().position(|b| !of_number(b));
                let (number, after) = behind.split_at(end.unwrap_or(behind.len()));
                if number.len() >= SAFE_DIGITS || number.iter().any(|b| b"eE".contains(b)) {
                    return true;
                }
                rest = after;
            }
            _ => {}
        }
    }
    false
}

/// Every value of a text, read and dropped.
struct Values;

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Values {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while let Some(Self) = items.next_element()? {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while let Some((Self, Self)) = members.next_entry()? {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_surrogate_pairs_and_numbers_out_of_range_are_refused() {
        let long = format!("[{}]", "9".repeat(400));
        for (json, why) in [
            (r#"{"s":"\ud800"}"#, "surrogate"),
            (r#"["\uD83D!"]"#, "surrogate"),
            (r#"["\udc00"]"#, "surrogate"),
            (r#"{"\ud800":1}"#, "surrogate"),
            ("1e999", "number out of range"),
            (r#"{"a":["x",-1.5E+400]}"#, "number out of range"),
            (long.as_str(), "number out of range"),
        ] {
            let error = check(json).unwrap_err();
            assert!(error.contains(why), "{json}: {error}");
            assert!(error.contains(" at line 1 column "), "{json}: {error}");
        }
    }

    #[test]
    fn large_numbers_are_found_wherever_they_stand() {
        for number in ["1e999".to_owned(), "9".repeat(SAFE_DIGITS + 2)] {
            for before in 0..2 * PART {
                let json = format!("[\"{}\",{number},0]", "x".repeat(before));
                assert!(check(&json).is_err(), "{before} bytes before {number}");
            }
        }
    }

    #[test]
    fn everything_else_is_as_it_is() {
        let digits = format!("[{}, 0.{}]", "9".repeat(300), "1".repeat(600));
        for json in [
            r#"{"s":"\ud83d\ude00 \u00e9 \\ud800 1e999"}"#,
            r#""\\\\ud800""#,
            "[1e10, -2.5E-400, 0, true, null]",
            r#"{"hash": "0e99999", "1e999": 1}"#,
            digits.as_str(),
        ] {
            assert_eq!(check(json), Ok(()), "{json}");
            serde_json::from_str::<serde_json::Value>(json).expect("it is read");
        }
    }
}

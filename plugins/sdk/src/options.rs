//! Parses an extractor's options.

use serde_json::{Map, Value};

use crate::Error;

/// The options of an extractor call: a JSON object; unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    fields: Map<String, Value>,
}

impl Options {
    /// Parses JSON text; empty text and `null` mean no options.
    pub fn parse(json: &str) -> Result<Self, Error> {
        // Most calls have none, so the parser is skipped.
        if matches!(json.trim_ascii(), "" | "{}" | "null") {
            return Ok(Self::default());
        }
        match serde_json::from_str(json) {
            Ok(fields) => Ok(Self { fields }),
            Err(error) => Err(Error::field("options", error)),
        }
    }

    /// A boolean option; false if it is absent.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(Error::field(name, "must be true or false")),
        }
    }

    /// A text option; `None` if it is absent.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Error> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(value)) => Ok(Some(value)),
            Some(_) => Err(Error::field(name, "must be a string")),
        }
    }

    /// A whole number of at least zero, `2.0` too, as for a schema's `integer`; `None` if it is absent.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Error> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => whole(value)
                .map(Some)
                .ok_or_else(|| Error::field(name, "must be a whole number of zero or more")),
        }
    }
}

/// A whole number of at least zero in any notation.
fn whole(value: &Value) -> Option<u64> {
    /// Largest whole number below which `f64` has every whole number: 2^53.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let of_float = |number: f64| {
        let is_whole = number.fract() == 0.0 && (0.0..=EXACT).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, not negative, and within 2^53"
        )]
        is_whole.then_some(number as u64)
    };
    value.as_u64().or_else(|| value.as_f64().and_then(of_float))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_options_have_defaults_and_errors_name_the_field() {
        for none in ["", " ", "{}", "null", r#"{"other":1}"#] {
            assert_eq!(
                Options::parse(none).and_then(|o| o.flag("x")),
                Ok(false),
                "{none:?}"
            );
        }
        let options = Options::parse(r#"{"x":true,"n":3,"t":"a"}"#).expect("options");
        assert_eq!(options.flag("x"), Ok(true));
        assert_eq!(options.number("n"), Ok(Some(3)));
        assert_eq!(options.text("t"), Ok(Some("a")));
        assert_eq!(
            options.flag("n"),
            Err(Error::invalid("n: must be true or false"))
        );
        for (n, number) in [("2.0", 2), ("1e3", 1_000), ("-0.0", 0)] {
            let options = Options::parse(&format!("{{\"n\":{n}}}")).expect("options");
            assert_eq!(options.number("n"), Ok(Some(number)), "{n}");
        }
        for n in ["2.5", "-1.0", "1e300", "\"2\""] {
            let options = Options::parse(&format!("{{\"n\":{n}}}")).expect("options");
            assert!(
                options.number("n").is_err_and(|error| error.is_invalid()),
                "{n}"
            );
        }
        assert!(Options::parse("[1]").is_err_and(|error| error.is_invalid()));
    }
}

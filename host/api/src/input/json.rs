//! A JSON body: 400 for what is not JSON, 422 with the field and the rule for what is not the right
//! JSON.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_path_to_error::Segment;

use super::strict::Strict;
use crate::error::ApiError;
use crate::warnings::{Described, Step, UnknownNames};

/// Parses an object. Fields that the type does not have are noted in `unknown`; `described` is what
/// the document says of the body.
pub(super) fn parse<T: DeserializeOwned>(
    raw: &[u8],
    unknown: &mut UnknownNames,
    described: &Described,
) -> Result<T, ApiError> {
    let text = text(raw)?;
    // serde would accept an array as a struct, field by field.
    if !text.trim_ascii_start().starts_with('{') {
        check_json(raw)?;
        return Err(ApiError::invalid("body", "must be a JSON object"));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let strict = Strict(&mut deserializer);
    let tracked = serde_path_to_error::Deserializer::new(strict, &mut track);
    let note = |path: serde_ignored::Path<'_>| match unknown.is_full() {
        true => unknown.count(),
        false => unknown.push(ignored(&path), None),
    };
    let value = serde_ignored::deserialize(tracked, note).map_err(|cause| {
        let path = track.path();
        // Syntax errors count first, and a value of the wrong kind may look like one.
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => {
                let number = described.number(&steps(&path));
                wrong_field(&path.to_string(), &cause.to_string(), number)
            }
            Err(error) => not_json(&error),
        }
    })?;
    deserializer.end().map_err(|error| not_json(&error))?;
    Ok(value)
}

/// The steps to a field that was ignored.
fn ignored(mut path: &serde_ignored::Path<'_>) -> Vec<Step> {
    use serde_ignored::Path;

    let mut steps = Vec::new();
    loop {
        path = match path {
            Path::Root => break,
            Path::Seq { parent, index } => {
                steps.push(Step::Index(*index));
                parent
            }
            Path::Map { parent, key } => {
                steps.push(Step::Member(key.clone()));
                parent
            }
            Path::Some { parent }
            | Path::NewtypeStruct { parent }
            | Path::NewtypeVariant { parent } => parent,
        };
    }
    steps.reverse();
    steps
}

/// The steps to the field at which reading ended.
fn steps(path: &serde_path_to_error::Path) -> Vec<Step> {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Member(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

/// 400 for what is not JSON.
pub(crate) fn check_json(raw: &[u8]) -> Result<(), ApiError> {
    let parsed = serde_json::from_str::<IgnoredAny>(text(raw)?);
    parsed.map(|_| ()).map_err(|error| not_json(&error))
}

/// The body as text: JSON is UTF-8 (RFC 8259, section 8.1).
fn text(raw: &[u8]) -> Result<&str, ApiError> {
    std::str::from_utf8(raw).map_err(|error| {
        let good = error.valid_up_to();
        ApiError::bad_request(format!(
            "the body is not JSON: it is not UTF-8 after its first {good} bytes"
        ))
    })
}

fn not_json(error: &serde_json::Error) -> ApiError {
    ApiError::bad_request(format!("the body is not JSON: {error}"))
}

fn wrong_field(path: &str, message: &str, number: Option<String>) -> ApiError {
    // A name that could not be read is no step.
    let path = match path {
        "?" => ".",
        path => path.strip_suffix(".?").unwrap_or(path),
    };
    // The sender of a field has no use for serde_json's position.
    let message = message
        .rsplit_once(" at line ")
        .map_or(message, |(front, _)| front);
    let about = |rule: &str| {
        let rest = message.strip_prefix(rule)?;
        let name = rest.strip_prefix(" field `")?.strip_suffix('`')?;
        // A missing or second member is not a step yet.
        let holder = match path {
            "." => String::new(),
            path => format!("{path}."),
        };
        Some(format!("{holder}{}", shown(name)))
    };
    if let Some(field) = about("missing") {
        return ApiError::invalid(&field, "is required");
    }
    if let Some(field) = about("duplicate") {
        return ApiError::invalid(&field, "is given twice");
    }
    let field = if path == "." { "body" } else { path };
    ApiError::invalid(field, in_words(message, number))
}

/// A name of the body, for a message.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

/// serde's "invalid type: string "x", expected u32" as a rule; `number` is the document's rule for a
/// whole number in this place.
fn in_words(message: &str, number: Option<String>) -> String {
    // JSON allows half of a pair, and no text has one (RFC 8259, section 8.2).
    if message.starts_with("lone leading surrogate")
        || message.starts_with("unexpected end of hex escape")
    {
        return "must not have a lone surrogate: `\\ud800` to `\\udfff` stand in pairs".to_owned();
    }
    let Some((got, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let plain = "a whole number, 0 or more";
    let number = number.as_deref();
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => number.unwrap_or(plain),
        expected if expected == plain => number.unwrap_or(plain),
        "i8" | "i16" | "i32" | "i64" => number.unwrap_or("a whole number"),
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "an object",
        "a borrowed string" => "a string",
        "string or map" => "a string or an object",
        // A type of Rust is an object in JSON.
        expected if expected.starts_with("struct ") || expected.contains("tagged enum ") => {
            "an object"
        }
        other => other,
    };
    let got = got
        .strip_prefix("invalid type: ")
        .or_else(|| got.strip_prefix("invalid value: "))
        .or_else(|| got.strip_prefix("unknown variant "))
        .unwrap_or(got);
    let got = match got {
        "sequence" => "an array",
        "map" => "an object",
        other => other,
    };
    format!("must be {expected}, not {got}")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Sample {
        url: String,
        #[serde(default)]
        depth: Option<u32>,
        #[serde(default)]
        urls: Vec<String>,
        #[serde(default)]
        kind: Option<Kind>,
        #[serde(default)]
        inner: Option<Inner>,
        #[serde(default)]
        free: serde_json::Value,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Url,
        Sitemap,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[serde(default)]
        size: Option<u8>,
    }

    fn read(raw: &[u8], unknown: &mut UnknownNames) -> Result<Sample, ApiError> {
        let number = json!({"type": ["integer", "null"], "minimum": 1, "maximum": 50});
        let described = Described::body(json!({"properties": {
            "depth": number,
            "inner": {"oneOf": [{"type": "null"}, {"properties": {"size": number}}]},
        }}));
        parse(raw, unknown, &described)
    }

    fn refused(raw: impl AsRef<[u8]>) -> (u16, String) {
        let error = read(raw.as_ref(), &mut UnknownNames::default()).unwrap_err();
        (error.status().as_u16(), error.message().to_owned())
    }

    #[test]
    fn what_is_not_json_is_a_bad_request() {
        for raw in [
            b"".as_slice(),
            b"{",
            b"{\"url\":\"x\"} x",
            b"nul",
            b"[1,",
            b"{\"url\":1,",
            "\u{feff}{}".as_bytes(),
            b"{\"url\":\"\xff\"}",
            b"{\"url\":\"x\",\"other\":\"\xff\"}",
            b"[\"\xc3\"]",
        ] {
            let (status, message) = refused(raw);
            let raw = String::from_utf8_lossy(raw);
            assert_eq!(status, 400, "{raw}: {message}");
            assert!(message.starts_with("the body is not JSON"), "{message}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(refused(deep).0, 400);
    }

    #[test]
    fn a_wrong_field_is_named_with_its_rule() {
        for (raw, expected) in [
            ("{}", "url: is required"),
            ("[\"http://x\"]", "body: must be a JSON object"),
            ("null", "body: must be a JSON object"),
            ("{\"url\":1}", "url: must be a string, not integer `1`"),
            (
                "{\"url\":\"x\",\"depth\":-1}",
                "depth: must be a whole number between 1 and 50, not integer `-1`",
            ),
            (
                "{\"url\":\"x\",\"inner\":{\"size\":\"3\"}}",
                "inner.size: must be a whole number between 1 and 50, not string \"3\"",
            ),
            (
                "{\"url\":\"x\",\"inner\":5}",
                "inner: must be an object, not integer `5`",
            ),
            (
                "{\"url\":\"x\",\"kind\":5}",
                "kind: must be `url` or `sitemap`, not integer `5`",
            ),
            (
                "{\"url\":\"x\",\"kind\":{\"url\":null}}",
                "kind: must be `url` or `sitemap`, not an object",
            ),
            (
                "{\"url\":\"x\",\"kind\":\"site\"}",
                "kind: must be `url` or `sitemap`, not `site`",
            ),
            (
                "{\"url\":\"x\",\"urls\":[\"a\",2]}",
                "urls[1]: must be a string, not integer `2`",
            ),
            ("{\"url\":\"x\",\"url\":\"x\"}", "url: is given twice"),
            (
                "{\"url\":\"x\",\"free\":{\"a\":1,\"a\":1}}",
                "free.a: is given twice",
            ),
            (
                "{\"url\":\"x\",\"free\":{\"\\udc00\":1}}",
                "free: must not have a lone surrogate: `\\ud800` to `\\udfff` stand in pairs",
            ),
            (
                "{\"url\":\"\\ud800\"}",
                "url: must not have a lone surrogate: `\\ud800` to `\\udfff` stand in pairs",
            ),
        ] {
            assert_eq!(refused(raw), (422, expected.to_owned()), "{raw}");
        }
    }

    #[test]
    fn unknown_fields_are_noted_and_nulls_are_nothing() {
        let mut unknown = UnknownNames::default();
        let raw = br#" {"url":"x","depth":null,"params":{"a":1},"zzz":[[]]} "#;
        let sample = read(raw, &mut unknown).unwrap();
        assert!(!unknown.is_empty());
        assert_eq!(
            (sample.url.as_str(), sample.depth, sample.urls.len()),
            ("x", None, 0)
        );
        assert!(sample.kind.is_none() && sample.free.is_null());
        assert!(sample.inner.is_none_or(|inner| inner.size.is_none()));
    }
}

//! Checks a plugin's answer: size, syntax, nesting, what syntax allows but readers of JSON refuse, and the
//! shape of a built-in role.

pub(crate) mod shape;
mod values;

use crate::error::{Limit, PluginError};
use crate::json::Json;
use crate::limits::Limits;
use crate::text::clean;

/// Levels of what holds a plugin's answer: a batch of scans, or the result of a tool of MCP.
const LEVELS_AROUND: u32 = 7;
/// Deepest nesting accepted: what serde_json, here and in clients, parses again with what holds it.
const MAX_DEPTH: u32 = 127 - LEVELS_AROUND;

/// Returns the text if it is JSON, within the output limit, and at most [`MAX_DEPTH`] deep.
pub(crate) fn checked(text: String, limits: &Limits) -> Result<Json, PluginError> {
    if text.len() as u64 > limits.output_bytes() {
        return Err(PluginError::Limit(Limit::Output(limits.output_bytes())));
    }
    Json::checked(text).map_err(PluginError::BadOutput)
}

/// As [`checked`], for the answer of a role: one that is built in must have its shape.
pub(crate) fn of_role(role: &str, text: String, limits: &Limits) -> Result<Json, PluginError> {
    let json = checked(text, limits)?;
    shape::check(role, &json).map_err(PluginError::BadOutput)?;
    Ok(json)
}

/// Whether the text is JSON, at most [`MAX_DEPTH`] deep, whose strings and numbers every reader can take;
/// else why not.
pub(crate) fn valid(text: &str) -> Result<(), String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|e| clean(&e.to_string(), 500))?;
    readable(text)
}

/// Whether text of valid syntax is at most [`MAX_DEPTH`] deep, and its strings and numbers have values.
pub(crate) fn readable(json: &str) -> Result<(), String> {
    depth_allowed(json)?;
    values::check(json)
}

fn depth_allowed(json: &str) -> Result<(), String> {
    if is_string(json) {
        return Ok(());
    }
    // Most other answers have fewer brackets than that, in strings or not, and counting is faster than
    // reading.
    let most = count(json.as_bytes(), |byte| matches!(byte, b'[' | b'{'));
    match most > MAX_DEPTH as usize && depth(json.as_bytes()) > MAX_DEPTH {
        true => Err(format!("nested deeper than {MAX_DEPTH} levels")),
        false => Ok(()),
    }
}

/// Whether valid JSON is one string.
fn is_string(json: &str) -> bool {
    json.starts_with('"')
}

/// Depth of valid JSON. serde_json has no limit of its own when it skips values.
fn depth(json: &[u8]) -> u32 {
    let (mut depth, mut deepest) = (0_u32, 0_u32);
    let mut rest = json;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => rest = behind_string(behind),
            _ => {}
        }
    }
    deepest
}

/// What follows a string whose opening quotation mark has been read.
fn behind_string(json: &[u8]) -> &[u8] {
    let mut rest = json;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        let ends = rest.get(at) == Some(&b'"');
        // An escaped character may be a quotation mark.
        let behind = if ends { at + 1 } else { at + 2 };
        rest = rest.get(behind..).unwrap_or_default();
        if ends {
            return rest;
        }
    }
    &[]
}

/// Number of bytes that `is` takes. Each 255 of them are counted in a byte, so that the compiler takes vector
/// instructions, which count ten times as fast.
fn count(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let of_part = |part: &[u8]| {
        let found = part.iter().map(|byte| u8::from(is(*byte)));
        usize::from(found.fold(0_u8, u8::wrapping_add))
    };
    bytes.chunks(255).map(of_part).sum()
}

/// Checks JSON texts one by one; all together must fit the limit.
pub(crate) fn check_all(items: &[String], limits: &Limits) -> Result<(), PluginError> {
    let size: usize = items.iter().map(String::len).sum();
    if size as u64 > limits.output_bytes() {
        return Err(PluginError::Limit(Limit::Output(limits.output_bytes())));
    }
    for (i, item) in items.iter().enumerate() {
        valid(item).map_err(|e| PluginError::BadOutput(format!("item {i}: {e}")))?;
    }
    Ok(())
}

/// Joins JSON texts to one JSON array; each is checked, and all must fit the limit.
pub(crate) fn checked_list(items: &[String], limits: &Limits) -> Result<Json, PluginError> {
    check_all(items, limits)?;
    let size: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut out = String::with_capacity(size + 1);
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(item);
    }
    out.push(']');
    Json::joined(out).map_err(PluginError::BadOutput)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LimitsConfig;

    fn limits() -> Limits {
        Limits {
            output_kib: 1,
            ..LimitsConfig::default().extractor.default
        }
    }

    #[test]
    fn json_is_returned_unchanged() {
        let text = r#"{"a": [1, 2.5, "x\u0000[\"["], "b": null}"#;
        assert_eq!(checked(text.to_owned(), &limits()).unwrap(), text);
        assert_eq!(
            checked_list(&["1".into(), "{}".into()], &limits()).unwrap(),
            "[1,{}]"
        );
        assert_eq!(checked_list(&[], &limits()).unwrap(), "[]");
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        let deep = "[".repeat(400) + &"]".repeat(400);
        for bad in [
            "",
            "{",
            "NaN",
            "{\"score\": NaN}",
            "\"a\nb\"",
            "1 2",
            "'x'",
            r#"{"s": "\ud800"}"#,
            "[1e999]",
            &deep,
        ] {
            let got = checked(bad.to_owned(), &limits());
            assert!(
                matches!(got, Err(PluginError::BadOutput(_))),
                "{bad}: {got:?}"
            );
        }
        assert!(matches!(
            checked_list(&["1".into(), "2]".into()], &limits()),
            Err(PluginError::BadOutput(text)) if text.starts_with("item 1")
        ));
        assert!(matches!(
            checked_list(&["1".into(), "-1E400".into()], &limits()),
            Err(PluginError::BadOutput(text)) if text.starts_with("item 1: number out of range")
        ));
    }

    #[test]
    fn brackets_in_strings_are_no_nesting() {
        for (json, expected) in [
            (r#""[[[""#, 0),
            (r#"["[", "\"[", "\\", {"[": "\\\"[[["}]"#, 2),
            (r#"{"a\u005b": ["\\\\", []], "b": "\""}"#, 3),
            ("7", 0),
        ] {
            assert!(valid(json).is_ok(), "{json}");
            assert_eq!(depth(json.as_bytes()), expected, "{json}");
        }
        let strings = r#""[","#.repeat(200);
        let nested = |levels| format!("{}{strings}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(valid(&nested(120)).is_ok());
        assert!(valid(&nested(121)).is_err());
    }

    #[test]
    fn the_deepest_answer_is_read_with_what_holds_it() {
        let levels = MAX_DEPTH as usize;
        let answer = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(valid(&answer).is_ok());
        let batch = format!(r#"{{"items":[{{"result":{{"extensions":{{"tree":{answer}}}}}}}]}}"#);
        let tool = format!(
            r#"{{"result":{{"structuredContent":{{"data":{{"extensions":{{"tree":{answer}}}}}}}}}}}"#
        );
        for whole in [batch, tool] {
            let read = serde_json::from_str::<serde_json::Value>(&whole);
            assert!(read.is_ok(), "{read:?}");
        }
    }

    #[test]
    fn an_answer_above_the_limit_is_an_error() {
        let long = format!("\"{}\"", "x".repeat(2_000));
        let expected = PluginError::Limit(Limit::Output(1_024));
        assert_eq!(checked(long.clone(), &limits()).unwrap_err(), expected);
        assert_eq!(checked_list(&[long], &limits()).unwrap_err(), expected);
    }
}

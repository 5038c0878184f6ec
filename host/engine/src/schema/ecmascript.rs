//! Regular expressions as JSON Schema has them, in the syntax of ECMAScript.
//!
//! The validator translates them to this host's syntax by one pass over the whole expression for each
//! escape, such as `\d`: a thousand of them in one pattern take a second, and ten thousand minutes.

use regex_syntax::ast::ErrorKind;
use regex_syntax::ast::parse::Parser;
use serde_json::Value;

use super::patterns::MAX_BYTES;

/// Escapes of one pattern that are translated.
const MAX_ESCAPES: usize = 64;
/// Bytes that one of them becomes at most.
const LONGEST: usize = 20;
/// Bytes that all passes over a schema's patterns may read together: some tenths of a second.
const MAX_READ: usize = 1 << 20;
/// What the format `regex` costs for each byte of text, in units of
/// [`patterns`](super::patterns).
pub(super) const UNITS_OF_FORMAT: u64 = 64;

/// Bounds the translation of all patterns of a schema. Those that nothing refers to count, too: they are
/// translated when the schema itself is checked.
///
/// # Errors
/// Why the schema is refused.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let (mut read, mut open) = (0, vec![schema]);
    while let Some(value) = open.pop() {
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(members) => {
                if let Some(Value::String(pattern)) = members.get("pattern") {
                    read += bytes_read(pattern)?;
                }
                if let Some(Value::Object(named)) = members.get("patternProperties") {
                    for pattern in named.keys() {
                        read += bytes_read(pattern)?;
                    }
                }
                open.extend(members.values());
            }
            _ => {}
        }
    }
    if read > MAX_READ {
        return Err(
            "its patterns have too many of the escapes \\d, \\w, \\s and \\c for their length: name the \
             characters, as [0-9]"
                .to_owned(),
        );
    }
    Ok(())
}

/// Bytes that the passes over a pattern read.
fn bytes_read(pattern: &str) -> Result<usize, String> {
    if pattern.len() > MAX_BYTES {
        return Err(format!("a pattern has more than {MAX_BYTES} bytes"));
    }
    let mut escapes = 0;
    let mut letters = pattern.bytes();
    while let Some(letter) = letters.next() {
        if letter == b'\\'
            && matches!(
                letters.next(),
                Some(b'd' | b'D' | b'w' | b'W' | b's' | b'S' | b'c')
            )
        {
            escapes += 1;
        }
    }
    if escapes > MAX_ESCAPES {
        return Err(format!(
            "a pattern has more than {MAX_ESCAPES} of the escapes \\d, \\w, \\s and \\c: name the characters, \
             as [0-9]"
        ));
    }
    Ok((escapes + 1) * (pattern.len() + escapes * LONGEST))
}

/// Whether a text of a caller is a regular expression, as far as this host's syntax can tell. In one pass, and
/// only of a length that a pattern may have.
pub(super) fn is_regex(text: &str) -> bool {
    if text.len() > MAX_BYTES {
        return false;
    }
    let mut known = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            known.push(letter);
            continue;
        }
        match (letters.next(), letters.clone().next()) {
            // Control characters, which this host's syntax does not name so.
            (Some('c'), Some(name)) if name.is_ascii_alphabetic() => {
                known.extend(u8::try_from(name).map(|code| char::from(code % 32)));
                letters.next();
            }
            // Which ECMAScript does not have.
            (Some('a'), _) => return false,
            (Some(other), _) => known.extend(['\\', other]),
            (None, _) => return false,
        }
    }
    match Parser::new().parse(&known) {
        Ok(_) => true,
        Err(error) => matches!(
            error.kind(),
            ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_with_few_escapes_pass() {
        let hex = r"\x21-\x5a\x53-\x7f\\w".repeat(80);
        let schema = json!({
            "properties": {
                "day": {"pattern": r"^\d{4}-\d{2}-\d{2}$"},
                "mail": {"pattern": hex},
                "pattern": {"type": "string"},
            },
            "patternProperties": {r"^\w+$": {"pattern": r"\S".repeat(64)}},
        });
        assert_eq!(check(&schema), Ok(()));
    }

    #[test]
    fn patterns_that_take_long_to_translate_are_refused_wherever_they_are() {
        let many = r"\w".repeat(65);
        for schema in [
            json!({"items": [{"pattern": many}]}),
            json!({"definitions": {"a": {"b": {"pattern": many}}}}),
            json!({"not": {"patternProperties": {many: true}}}),
        ] {
            let error = check(&schema).unwrap_err();
            assert!(error.contains("more than 64 of the escapes"), "{error}");
        }
        let long = json!({"definitions": {"a": {"pattern": "a".repeat(2_001)}}});
        assert!(check(&long).unwrap_err().contains("2000 bytes"));
        let wide = r"\d".repeat(60) + &"a".repeat(1_800);
        let each: Vec<Value> = (0..6)
            .map(|n| json!({"pattern": format!("{wide}{n}")}))
            .collect();
        assert!(
            check(&json!({"anyOf": each}))
                .unwrap_err()
                .contains("for their length")
        );
        assert_eq!(check(&json!({"anyOf": each[..4]})), Ok(()));
    }

    #[test]
    fn texts_are_told_from_regular_expressions() {
        for (text, is_valid) in [
            ("", true),
            (r"^\d{4}[\w.-]*\cA\u00e9\x41$", true),
            ("(?=a)b", true),
            (r"(a)\1", true),
            ("(?<name>a)", true),
            ("(", false),
            ("a{3,2}", false),
            (r"[a-\w]", false),
            (r"\a", false),
            (r"\c", false),
            (r"\c?", false),
            (r"\m", false),
            ("\\", false),
        ] {
            assert_eq!(is_regex(text), is_valid, "{text}");
        }
        assert!(is_regex(&r"\w".repeat(1_000)));
        assert!(!is_regex(&r"\w".repeat(1_001)));
    }
}

//! Reads the JSON of a call, and names the field that is wrong.

use serde::de::DeserializeOwned;

use crate::Error;

/// Longest path of a field that an error names, in bytes.
const MAX_PATH: usize = 200;

/// Reads an input, which is JSON text. `within` is the field of the caller's body that it is; `None`
/// where it is the body itself.
pub fn read<I: DeserializeOwned>(json: &str, within: Option<&str>) -> Result<I, Error> {
    serde_json::from_str(json).map_err(|error| {
        let message = error.to_string();
        // The caller has no use for a position in text that the host has written.
        let message = message
            .rsplit_once(" at line ")
            .map_or(&*message, |(rule, _)| rule);
        let place = offset(json, error.line(), error.column());
        let path = path_at(json, place, within.unwrap_or_default());
        let missing = message
            .strip_prefix("missing field `")
            .and_then(|rest| rest.strip_suffix('`'));
        match missing {
            Some(name) if path.is_empty() => Error::field(name, "is required"),
            Some(name) => Error::field(&format!("{path}.{name}"), "is required"),
            None if path.is_empty() => Error::field("body", in_words(message)),
            None => Error::field(&path, in_words(message)),
        }
    })
}

/// Number of bytes before a position that serde_json tells: a line, and a column in bytes.
fn offset(json: &str, line: usize, column: usize) -> usize {
    let before = json.split_inclusive('\n').take(line.saturating_sub(1));
    before.map(str::len).sum::<usize>() + column
}

/// serde's "invalid type: string "x", expected u32" as a rule.
fn in_words(message: &str) -> String {
    let Some((got, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "an object",
        other => other,
    };
    let got = ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .find_map(|start| got.strip_prefix(start))
        .unwrap_or(got);
    format!("must be {expected}, not {got}")
}

/// An object or array that is open at a place in JSON text.
enum Open<'j> {
    /// With the name of the member, once it is read.
    Object(Option<&'j str>),
    /// With the item's index.
    Array(usize),
}

/// The path of the value at, or just before, a place in JSON text: `items[2].name`, below `within`.
fn path_at(json: &str, end: usize, within: &str) -> String {
    let bytes = json.as_bytes();
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at).filter(|_| at < end) {
        match byte {
            b'{' => open.push(Open::Object(None)),
            b'[' => open.push(Open::Array(0)),
            b'}' | b']' => drop(open.pop()),
            b',' => match open.last_mut() {
                Some(Open::Object(name)) => *name = None,
                Some(Open::Array(index)) => *index += 1,
                None => {}
            },
            b'"' => {
                let close = end_of_string(bytes, at + 1);
                if let Some(Open::Object(name @ None)) = open.last_mut() {
                    *name = json.get(at + 1..close);
                }
                at = close;
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = within.to_owned();
    for one in open {
        match one {
            Open::Object(Some(name)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Open::Object(None) => {}
            Open::Array(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path.truncate(path.floor_char_boundary(MAX_PATH));
    path
}

/// Index of the quote that ends a string, or of the end.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read from JSON")]
    struct Input {
        id: i64,
        #[serde(default)]
        count: Option<u32>,
        #[serde(default)]
        share: Option<f64>,
        #[serde(default)]
        items: Vec<Item>,
        #[serde(default)]
        mode: Option<Mode>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read from JSON")]
    struct Item {
        name: String,
        #[serde(default)]
        deep: Vec<Vec<bool>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Fast,
        Slow,
    }

    #[test]
    fn errors_name_the_field_and_the_rule() {
        for (json, expected) in [
            ("{}", "id: is required"),
            ("7", "body: must be struct Input, not integer `7`"),
            (
                r#"{"id":6.5}"#,
                "id: must be a whole number, not floating point `6.5`",
            ),
            (
                r#"{"id":1e30,"count":1}"#,
                "id: must be a whole number, not floating point `1e+30`",
            ),
            (
                r#"{"a":{"b":[1,"}",2]},"id":"x"}"#,
                r#"id: must be a whole number, not string "x""#,
            ),
            (
                "{\n  \"id\": 1,\n  \"count\": -3\n}",
                "count: must be a whole number, 0 or more, not integer `-3`",
            ),
            (
                r#"{"id":1,"share":true}"#,
                "share: must be a number, not boolean `true`",
            ),
            (
                r#"{"id":1,"items":[{"name":"\"a\\"},{}]}"#,
                "items[1].name: is required",
            ),
            (
                r#"{"id":1,"items":[{"name":"a","deep":[[],[true,0]]}]}"#,
                "items[0].deep[1][1]: must be true or false, not integer `0`",
            ),
            (
                r#"{"id":1,"mode":"late","count":2}"#,
                "mode: must be `fast` or `slow`, not `late`",
            ),
        ] {
            let error = read::<Input>(json, None).expect_err(json);
            assert!(error.is_invalid(), "{json}");
            assert_eq!(error.message(), expected, "{json}");
            let field = expected.split(": ").next();
            assert_eq!(error.wrong_field(), field, "{json}");
        }
        let all = r#"{"id":1,"share":2,"mode":"fast","items":[{"name":""}]}"#;
        assert!(read::<Input>(all, None).is_ok());
        let inner = |json| read::<Input>(json, Some("config")).expect_err(json);
        let shown = |json| inner(json).message().to_owned();
        assert_eq!(shown("{}"), "config.id: is required");
        assert_eq!(
            shown(r#"{"id":null}"#),
            "config.id: must be a whole number, not null"
        );
    }
}

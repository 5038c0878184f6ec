//! JSON Schemas of plugins: compiled once, applied to every input.

mod cost;
mod ecmascript;
mod patterns;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::text::{MAX_MESSAGE_BYTES, clean};

/// Applications of a subschema to a value that a check may take: some seconds.
const MAX_APPLICATIONS: u64 = 200_000_000;
/// Bytes of text times units of patterns that a check may take: seconds, or minutes where the text
/// takes every pattern off its fast path.
const MAX_SEARCHED: u64 = 1 << 30;

/// A compiled schema. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Schema {
    validator: jsonschema::Validator,
    cost: cost::Cost,
}

/// Compiles a schema. References outside it are not resolved, patterns are linear-time and bounded,
/// and references must not multiply: the schema is untrusted. CPU-bound: up to a second.
pub(crate) fn compile(schema: &Value) -> Result<Schema, String> {
    ecmascript::check(schema)?;
    let cost = cost::of(schema)?;
    let patterns = jsonschema::PatternOptions::regex()
        .size_limit(patterns::MAX_COMPILED)
        .dfa_size_limit(patterns::MAX_CACHE);
    let validator = jsonschema::options()
        .with_pattern_options(patterns)
        .should_validate_formats(true)
        .with_format("regex", ecmascript::is_regex)
        .build(schema)
        .map_err(|error| broken_rule(&error))?;
    Ok(Schema { validator, cost })
}

/// Where a schema breaks the rules of JSON Schema, and how: `#/properties/limit/type: must be one of …`.
fn broken_rule(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    let rule = match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            // The list of what is allowed says most.
            let choices = context
                .iter()
                .flatten()
                .find_map(|choice| match choice.kind() {
                    ValidationErrorKind::Enum { options } => {
                        Some(format!("must be one of {options}"))
                    }
                    _ => None,
                });
            choices.unwrap_or_else(|| error.masked().to_string())
        }
        ValidationErrorKind::Enum { options } => format!("must be one of {options}"),
        ValidationErrorKind::Type { .. } => type_rule(error),
        _ => error.to_string(),
    };
    clean(&format!("#{place}: {rule}"), MAX_MESSAGE_BYTES)
}

/// The first violation as `field: rule`.
pub(crate) fn check(schema: &Schema, input: &Value) -> Result<(), String> {
    let size = cost::size(input);
    if size.values.saturating_mul(schema.cost.subschemas) > MAX_APPLICATIONS {
        return Err("body: has too many values for the plugin's schema".to_owned());
    }
    if size.text.saturating_mul(schema.cost.units) > MAX_SEARCHED {
        return Err("body: has too much text for the patterns of the plugin's schema".to_owned());
    }
    // Stops at the first one: the list of all could be much larger than the input.
    let Err(error) = schema.validator.validate(input) else {
        return Ok(());
    };
    let parent = dotted(error.instance_path().as_str(), input);
    let inside = |name: &str| {
        if parent.is_empty() {
            name.to_owned()
        } else {
            format!("{parent}.{name}")
        }
    };
    let (field, rule) = match error.kind() {
        ValidationErrorKind::Required { property } => (
            inside(property.as_str().unwrap_or_default()),
            "is required".to_owned(),
        ),
        ValidationErrorKind::AdditionalProperties { unexpected } => (
            inside(unexpected.first().map_or("", String::as_str)),
            "is unknown".to_owned(),
        ),
        ValidationErrorKind::Type { .. } => (parent, type_rule(&error)),
        ValidationErrorKind::Format { format } if format == "regex" => (parent, regex_rule()),
        ValidationErrorKind::Format { format } => (parent, format!("must be a valid {format}")),
        ValidationErrorKind::Minimum { limit } => (parent, format!("must be at least {limit}")),
        ValidationErrorKind::Maximum { limit } => (parent, format!("must be at most {limit}")),
        ValidationErrorKind::Enum { options } => (parent, format!("must be one of {options}")),
        ValidationErrorKind::Pattern { pattern } => (parent, pattern_rule(pattern)),
        ValidationErrorKind::MinLength { limit } => {
            (parent, format!("must have at least {limit} characters"))
        }
        ValidationErrorKind::MaxLength { limit } => {
            (parent, format!("must have at most {limit} characters"))
        }
        ValidationErrorKind::MinItems { limit } => {
            (parent, format!("must have at least {limit} items"))
        }
        ValidationErrorKind::MaxItems { limit } => {
            (parent, format!("must have at most {limit} items"))
        }
        _ => (parent, error.masked().to_string()),
    };
    let field = if field.is_empty() {
        "body".to_owned()
    } else {
        field
    };
    // Both may contain text from the schema or the caller, of any length.
    Err(clean(&format!("{field}: {rule}"), MAX_MESSAGE_BYTES))
}

/// The rule of a pattern; that of http URLs in the words of all other endpoints.
fn pattern_rule(pattern: &str) -> String {
    const OF_URLS: [&str; 3] = ["^[hH][tT][tT][pP][sS]?://", "^(?i)https?://", "^https?://"];
    if OF_URLS.contains(&pattern) {
        return "must start with http:// or https://".to_owned();
    }
    format!("must match the pattern {pattern}")
}

/// The rule of the format `regex`.
fn regex_rule() -> String {
    format!(
        "must be a regular expression of at most {} bytes",
        patterns::MAX_BYTES
    )
}

fn type_rule(error: &jsonschema::ValidationError<'_>) -> String {
    use jsonschema::error::TypeKind;
    match error.kind() {
        ValidationErrorKind::Type {
            kind: TypeKind::Single(kind),
        } => format!("must be of type {kind}"),
        _ => "is of the wrong type".to_owned(),
    }
}

/// A pointer into a value as the fields of requests are named: `/items/3/url` is `items[3].url`.
fn dotted(pointer: &str, root: &Value) -> String {
    let mut path = String::new();
    let mut value = Some(root);
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        if let Some(Value::Array(items)) = value {
            path.extend(["[", &name, "]"]);
            value = name.parse().ok().and_then(|place: usize| items.get(place));
        } else {
            let dot = if path.is_empty() { "" } else { "." };
            path.extend([dot, &name]);
            value = value.and_then(|members| members.get(&name));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violation(input: &Value) -> Result<(), String> {
        let validator = compile(&json!({
            "type": "object",
            "required": ["url"],
            "additionalProperties": false,
            "properties": {
                "url": {"type": "string", "minLength": 1, "pattern": "^https?://"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                "mode": {"enum": ["a", "b"]},
                "deep": {"type": "object", "required": ["key"]},
                "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
                "list": {"type": "array", "minItems": 1, "maxItems": 2},
                "parts": {"type": "array", "items": {
                    "required": ["id"], "properties": {"id": {"type": "string"}}}},
                "by/name": {"additionalProperties": {"type": "array", "items": {"type": "string"}}},
            },
        }))
        .unwrap();
        check(&validator, input)
    }

    #[test]
    fn violations_name_the_field_and_the_rule() {
        let cases = [
            (json!({}), "url: is required"),
            (json!({"url": 7}), "url: must be of type string"),
            (
                json!({"url": "http://x", "limit": 0}),
                "limit: must be at least 1",
            ),
            (
                json!({"url": "http://x", "limit": 51}),
                "limit: must be at most 50",
            ),
            (
                json!({"url": "http://x", "mode": "c"}),
                "mode: must be one of [\"a\",\"b\"]",
            ),
            (
                json!({"url": "http://x", "deep": {}}),
                "deep.key: is required",
            ),
            (json!({"url": "http://x", "odd": 1}), "odd: is unknown"),
            (json!([]), "body: must be of type object"),
            (
                json!({"url": "foo"}),
                "url: must start with http:// or https://",
            ),
            (
                json!({"url": "http://x", "code": "7"}),
                "code: must match the pattern ^[a-z]+$",
            ),
            (
                json!({"url": "http://x", "code": "abcd"}),
                "code: must have at most 3 characters",
            ),
            (
                json!({"url": "http://x", "list": []}),
                "list: must have at least 1 items",
            ),
            (
                json!({"url": "http://x", "list": [1, 2, 3]}),
                "list: must have at most 2 items",
            ),
        ];
        for (input, expected) in cases {
            assert_eq!(violation(&input).unwrap_err(), expected);
        }
        for (field, value, expected) in [
            (
                "parts",
                json!([{"id": "a"}, {}]),
                "parts[1].id: is required",
            ),
            (
                "parts",
                json!([{"id": 7}]),
                "parts[0].id: must be of type string",
            ),
            // A number may be the name of a member.
            (
                "by/name",
                json!({"0": ["a", 1]}),
                "by/name.0[1]: must be of type string",
            ),
        ] {
            let mut input = json!({"url": "http://x"});
            input[field] = value;
            assert_eq!(violation(&input).unwrap_err(), expected);
        }
        assert_eq!(violation(&json!({"url": "http://x", "limit": 3})), Ok(()));
    }

    #[test]
    fn text_is_bounded_by_the_patterns_that_it_is_searched_for() {
        let schema = |patterns: usize| {
            let patterns: Vec<Value> = (0..patterns)
                .map(|number| json!({"pattern": format!("^[a-z]*({number})?$")}))
                .collect();
            compile(&json!({"properties": {"a": {"allOf": patterns}}})).unwrap()
        };
        let long = json!({"a": "x".repeat(12 << 20)});
        assert_eq!(check(&schema(2), &long), Ok(()));
        let error = check(&schema(100), &long).unwrap_err();
        assert!(error.contains("too much text"), "{error}");
        assert_eq!(check(&schema(100), &json!({"a": "x"})), Ok(()));
    }

    #[test]
    fn regular_expressions_of_callers_are_bounded() {
        let schema = compile(&json!({"properties": {"a": {"format": "regex"}}})).unwrap();
        let checked = |text: String| check(&schema, &json!({"a": text}));
        assert_eq!(checked(r"\w".repeat(1_000)), Ok(()));
        for wrong in [r"\w".repeat(30_000), "(".to_owned()] {
            let error = checked(wrong).unwrap_err();
            assert_eq!(
                error,
                "a: must be a regular expression of at most 2000 bytes"
            );
        }
        let texts = json!({"a": "b", "c": "x".repeat(32 << 20)});
        assert!(
            check(&schema, &texts)
                .unwrap_err()
                .contains("too much text")
        );
    }

    #[test]
    fn patterns_that_take_long_to_translate_are_refused() {
        for draft in [
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2020-12/schema",
        ] {
            let unused = json!({"pattern": r"\w".repeat(120_000)});
            let schema = json!({"$schema": draft, "definitions": {"a": unused}});
            let error = compile(&schema).err().unwrap();
            assert_eq!(error, "a pattern has more than 2000 bytes");
        }
        let error = compile(&json!({"pattern": r"\cA".repeat(600)}))
            .err()
            .unwrap();
        assert!(error.contains("escapes"), "{error}");
    }

    #[test]
    fn patterns_that_are_bombs_are_refused() {
        let bombs: Vec<Value> = (0..8_000)
            .map(|number| json!({"pattern": format!("\\p{{L}}{{90}}{number}")}))
            .collect();
        let error = compile(&json!({"anyOf": bombs})).err().unwrap();
        assert!(error.contains("MiB"), "{error}");
        assert!(compile(&json!({"patternProperties": {"(a{1000}){1000}": true}})).is_err());
    }

    #[test]
    fn an_error_of_a_schema_says_where_it_is_and_what_is_allowed() {
        for (schema, expected) in [
            (
                json!({"type": "strin"}),
                "#/type: must be one of [\"array\"",
            ),
            (
                json!({"properties": {"a": {"items": {"type": "int"}}}}),
                "#/properties/a/items/type: must be one of [\"array\"",
            ),
            (
                json!({"properties": {"a": {"minLength": "3"}}}),
                "#/properties/a/minLength: must be of type ",
            ),
        ] {
            let error = compile(&schema).err().unwrap();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn references_to_the_network_are_refused() {
        assert!(compile(&json!({"$ref": "http://127.0.0.1:1/schema.json"})).is_err());
    }
}

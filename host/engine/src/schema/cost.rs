//! How much work a schema makes of an input, told before any input is checked.
//!
//! References multiply: twenty definitions that each name the next one twice apply the last
//! one a million times. And a schema that names itself beside itself does so for each level
//! of an input. A check that has begun cannot be stopped, so such schemas are refused.

use std::collections::HashMap;

use serde_json::Value;

/// Subschemas of a schema, each counted as often as it is referred to.
const MAX_SUBSCHEMAS: u64 = 10_000;
/// References and subschemas within each other.
const MAX_DEPTH: usize = 64;

/// Keywords whose value is a schema.
const SCHEMA: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
const LISTS: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value is an object of schemas.
const OBJECTS: [&str; 4] = [
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Keywords whose target depends on what refers to them.
const DYNAMIC: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// Subschemas that are applied at most to each value of an input.
///
/// # Errors
/// Why the schema is refused.
pub(super) fn subschemas(schema: &Value) -> Result<u64, String> {
    let mut counter = Counter {
        root: schema,
        known: HashMap::new(),
    };
    counter.count(schema, 0)
}

/// A subschema by its place in memory.
type Place = *const Value;

struct Counter<'a> {
    root: &'a Value,
    /// None while it is being counted.
    known: HashMap<Place, Option<u64>>,
}

impl<'a> Counter<'a> {
    fn count(&mut self, schema: &'a Value, depth: usize) -> Result<u64, String> {
        let Value::Object(keywords) = schema else {
            return Ok(1);
        };
        if depth > MAX_DEPTH {
            return Err(format!(
                "its references and subschemas are nested more than {MAX_DEPTH} deep"
            ));
        }
        let place: Place = schema;
        match self.known.insert(place, None) {
            Some(Some(known)) => {
                self.known.insert(place, Some(known));
                return Ok(known);
            }
            Some(None) => return Err("it refers to itself".to_owned()),
            None => {}
        }
        let mut parts: Vec<&'a Value> = Vec::new();
        for (keyword, value) in keywords {
            let keyword = keyword.as_str();
            match value {
                Value::String(target) if keyword == "$ref" => parts.push(self.target(target)?),
                _ if DYNAMIC.contains(&keyword) => return Err(format!("{keyword} is not allowed")),
                Value::Object(_) if SCHEMA.contains(&keyword) => parts.push(value),
                Value::Object(named) if OBJECTS.contains(&keyword) => parts.extend(named.values()),
                Value::Array(list) if LISTS.contains(&keyword) => parts.extend(list),
                _ => {}
            }
        }
        let mut all = 1_u64;
        for part in parts {
            all = all.saturating_add(self.count(part, depth + 1)?);
            if all > MAX_SUBSCHEMAS {
                return Err(format!(
                    "it has more than {MAX_SUBSCHEMAS} subschemas, each counted as often as it \
                     is referred to"
                ));
            }
        }
        self.known.insert(place, Some(all));
        Ok(all)
    }

    /// What a reference means: a place in this schema.
    fn target(&self, reference: &str) -> Result<&'a Value, String> {
        let pointer = reference.strip_prefix('#').and_then(percent_decoded);
        pointer
            .filter(|pointer| pointer.is_empty() || pointer.starts_with('/'))
            .and_then(|pointer| self.root.pointer(&pointer))
            .ok_or_else(|| {
                format!("`$ref: {reference}` must name a place in this schema, as #/$defs/name")
            })
    }
}

/// A URL's fragment with its escapes undone; none where it is not UTF-8.
fn percent_decoded(fragment: &str) -> Option<String> {
    let decoded = percent_encoding::percent_decode_str(fragment).decode_utf8();
    decoded.ok().map(std::borrow::Cow::into_owned)
}

/// The values in an input: lists and objects, and all that is in them.
pub(super) fn values(input: &Value) -> u64 {
    let (mut all, mut open) = (0, vec![input]);
    while let Some(value) = open.pop() {
        all += 1;
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `levels` definitions, each of which is what `step` makes of a reference to the next.
    fn chain(levels: usize, step: impl Fn(Value) -> Value) -> Value {
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(format!("d{level}"), step(next));
        }
        definitions.insert(format!("d{levels}"), json!({"type": "integer"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    #[test]
    fn references_that_multiply_are_refused() {
        let twice = |next: Value| json!({"allOf": [next, next]});
        assert!(subschemas(&chain(8, twice)).is_ok());
        let error = subschemas(&chain(30, twice)).unwrap_err();
        assert!(error.contains("more than 10000 subschemas"), "{error}");
        let deep = subschemas(&chain(1_000, |next| json!({"not": next})));
        assert!(deep.unwrap_err().contains("nested"));
    }

    #[test]
    fn schemas_that_refer_to_themselves_are_refused() {
        for schema in [
            json!({"$ref": "#"}),
            json!({"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}),
            json!({"properties": {"a": {"$ref": "#/properties/a"}}}),
            json!({"$dynamicRef": "#x"}),
            json!({"$ref": "other.json"}),
            json!({"$ref": "#nowhere"}),
        ] {
            assert!(subschemas(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn usual_schemas_are_counted() {
        let schema = json!({
            "$defs": {"a b": {"type": "string"}, "x/y=z": true},
            "properties": {
                "one": {"$ref": "#/$defs/a%20b"},
                "two": {"items": {"$ref": "#/$defs/x~1y=z"}},
            },
            "required": ["one"],
            "additionalProperties": false,
        });
        assert_eq!(subschemas(&schema), Ok(6));
        assert_eq!(values(&json!({"a": [1, 2, {"b": null}]})), 6);
    }
}

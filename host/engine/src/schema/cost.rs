//! Upper bound of the work that a schema needs for an input, computed before any input is checked.
//!
//! References multiply: twenty definitions that each name the next one twice apply the last
//! one a million times. And a schema that names itself beside itself does so for each level
//! of an input. A check that has begun cannot be stopped, so such schemas are refused. Patterns
//! take their time by each byte of text ([`patterns`](super::patterns)).

use std::collections::HashMap;

use serde_json::Value;

use super::ecmascript::UNITS_OF_FORMAT;
use super::patterns::Patterns;

/// Subschemas of a schema and values of its `enum`s, each counted as often as it is referred to.
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
/// Keywords that name a schema within the schema; the second one in draft 4.
const IDS: [&str; 2] = ["$id", "id"];

/// What a schema costs at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// Subschemas that are applied to each value of an input, and values that it is compared with.
    pub(super) subschemas: u64,
    /// Units of patterns ([`patterns`](super::patterns)) and formats that each text of an input is
    /// searched for.
    pub(super) units: u64,
}

impl Cost {
    fn plus(self, other: Self) -> Self {
        Self {
            subschemas: self.subschemas.saturating_add(other.subschemas),
            units: self.units.saturating_add(other.units),
        }
    }
}

/// What a schema costs at most. CPU-bound: compiles its patterns.
///
/// # Errors
/// Why the schema is refused.
pub(super) fn of(schema: &Value) -> Result<Cost, String> {
    let mut counter = Counter {
        root: schema,
        known: HashMap::new(),
        patterns: Patterns::default(),
    };
    counter.count(schema, 0)
}

/// A subschema by its place in memory.
type Place = *const Value;

struct Counter<'a> {
    root: &'a Value,
    /// None while it is being counted.
    known: HashMap<Place, Option<Cost>>,
    patterns: Patterns<'a>,
}

impl<'a> Counter<'a> {
    fn count(&mut self, schema: &'a Value, depth: usize) -> Result<Cost, String> {
        let mut all = Cost {
            subschemas: 1,
            units: 0,
        };
        let Value::Object(keywords) = schema else {
            return Ok(all);
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
                // References below it would mean places in it, and not in the whole schema.
                Value::String(_) if IDS.contains(&keyword) && !std::ptr::eq(schema, self.root) => {
                    return Err(format!("{keyword} is allowed at the top only"));
                }
                Value::String(pattern) if keyword == "pattern" => {
                    all.units += self.patterns.units(pattern)?;
                }
                Value::String(format) if keyword == "format" => {
                    all.units += match format.as_str() {
                        "regex" => UNITS_OF_FORMAT,
                        _ => 1,
                    };
                }
                Value::Array(values) if keyword == "enum" => {
                    all.subschemas += values.len() as u64;
                }
                _ if DYNAMIC.contains(&keyword) => return Err(format!("{keyword} is not allowed")),
                Value::Object(_) if SCHEMA.contains(&keyword) => parts.push(value),
                Value::Object(named) if OBJECTS.contains(&keyword) => {
                    if keyword == "patternProperties" {
                        for pattern in named.keys() {
                            all.units += self.patterns.units(pattern)?;
                        }
                    }
                    parts.extend(named.values());
                }
                Value::Array(list) if LISTS.contains(&keyword) => parts.extend(list),
                _ => {}
            }
        }
        for part in parts {
            all = all.plus(self.count(part, depth + 1)?);
            if all.subschemas > MAX_SUBSCHEMAS {
                break;
            }
        }
        if all.subschemas > MAX_SUBSCHEMAS {
            return Err(format!(
                "it has more than {MAX_SUBSCHEMAS} subschemas and values of `enum`, each counted \
                 as often as it is referred to"
            ));
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

/// How large an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Lists and objects, and all that is in them.
    pub(super) values: u64,
    /// Bytes of its texts and names.
    pub(super) text: u64,
}

/// How large an input is.
pub(super) fn size(input: &Value) -> Size {
    let (mut size, mut open) = (Size { values: 0, text: 0 }, vec![input]);
    while let Some(value) = open.pop() {
        size.values += 1;
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(fields) => {
                size.text += fields.keys().map(|name| name.len() as u64).sum::<u64>();
                open.extend(fields.values());
            }
            Value::String(text) => size.text += text.len() as u64,
            _ => {}
        }
    }
    size
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
        assert!(of(&chain(8, twice)).is_ok());
        let error = of(&chain(30, twice)).unwrap_err();
        assert!(error.contains("more than 10000 subschemas"), "{error}");
        let deep = of(&chain(1_000, |next| json!({"not": next})));
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
            // What `#/$defs/b` means is not what stands there in the whole schema.
            json!({
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$id": "x", "$ref": "#/$defs/b"}, "b": true},
            }),
        ] {
            assert!(of(&schema).is_err(), "{schema}");
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
        let cost = |subschemas, units| Ok(Cost { subschemas, units });
        assert_eq!(of(&schema), cost(6, 0));
        let texts = json!({
            "$id": "https://example.org/schema",
            "$defs": {"short": {"pattern": "^[a-z]+$"}},
            "properties": {
                "one": {"$ref": "#/$defs/short"},
                "two": {"$ref": "#/$defs/short"},
                "three": {"format": "uri", "enum": ["a", "b"]},
            },
            "patternProperties": {"^x-": {}},
        });
        assert_eq!(of(&texts), cost(9, 4));
        let (values, text) = (6, 5);
        let input = json!({"a": [1, 2, {"b": null}, "abc"]});
        assert_eq!(
            size(&input),
            Size {
                values: values + 1,
                text
            }
        );
    }
}

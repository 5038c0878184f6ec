//! Forms from JSON Schemas, and what was entered as JSON.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Longest list of choices that is shown.
const MAX_CHOICES: usize = 100;

/// A field of a form.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Field {
    name: String,
    /// `text`, `url`, `number`, `flag`, `choice`, `lines` or `json`.
    kind: &'static str,
    description: String,
    required: bool,
    /// What stands in it.
    value: String,
    /// What holds where nothing is entered.
    default: String,
    choices: Vec<String>,
    min: Option<f64>,
    max: Option<f64>,
    /// Whether any number will do, or whole ones only.
    whole: bool,
}

impl Field {
    /// Its name in the schema.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes it required, whatever the schema says.
    pub(super) fn require(&mut self) {
        self.required = true;
    }
}

/// The fields of an object's schema: first those named, then the required ones, then the others.
/// `values` is what was entered before.
pub(super) fn fields(schema: &Value, first: &[&str], values: &Value) -> Vec<Field> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut names = required.into_iter().flatten().filter_map(Value::as_str);
        names.any(|known| known == name)
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut fields: Vec<Field> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| field(name, property, is_required(name), values.get(name)))
        .collect();
    let place = |field: &Field| {
        let named = first.iter().position(|name| *name == field.name);
        (named.unwrap_or(first.len()), !field.required)
    };
    fields.sort_by_key(place);
    fields
}

fn field(name: &str, property: &Value, required: bool, value: Option<&Value>) -> Field {
    let choices = choices(property);
    let kind = kind(name, property, !choices.is_empty());
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if kind == "lines" => {
            let lines: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            lines.join("\n")
        }
        other => other.to_string(),
    };
    let bound = |name: &str| property.get(name).and_then(Value::as_f64);
    Field {
        name: name.to_owned(),
        kind,
        description: property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        required,
        value: value.map(text).unwrap_or_default(),
        default: property.get("default").map(text).unwrap_or_default(),
        choices,
        min: bound("minimum"),
        max: bound("maximum"),
        whole: types(property).contains(&"integer"),
    }
}

/// Types of a property, those of its variants included.
fn types(property: &Value) -> Vec<&str> {
    let variants = ["oneOf", "anyOf"]
        .iter()
        .filter_map(|name| property.get(name)?.as_array())
        .flatten();
    std::iter::once(property)
        .chain(variants)
        .filter_map(|property| property.get("type"))
        .flat_map(|types| match types {
            Value::String(word) => vec![word.as_str()],
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        })
        .filter(|word| *word != "null")
        .collect()
}

fn choices(property: &Value) -> Vec<String> {
    let variants = ["oneOf", "anyOf"]
        .iter()
        .filter_map(|name| property.get(name)?.as_array())
        .flatten();
    std::iter::once(property)
        .chain(variants)
        .flat_map(|property| {
            let words = property.get("enum").and_then(Value::as_array);
            let constant = property.get("const");
            words.into_iter().flatten().chain(constant)
        })
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .take(MAX_CHOICES)
        .collect()
}

fn kind(name: &str, property: &Value, has_choices: bool) -> &'static str {
    let items_are_text = property
        .get("items")
        .is_some_and(|items| types(items) == ["string"]);
    match types(property).as_slice() {
        ["boolean"] => "flag",
        ["integer" | "number"] => "number",
        ["array"] if items_are_text => "lines",
        _ if has_choices => "choice",
        ["string"] if property.get("format") == Some(&json!("uri")) => "url",
        ["string"] if name == "url" => "url",
        ["string"] => "text",
        _ => "json",
    }
}

/// What was entered, as JSON. Fields that are empty are left out; one that can't be read as its
/// type is passed on as a text, so that the API names the rule that it breaks.
pub(super) fn entered<'a>(schema: &Value, get: impl Fn(&str) -> Option<&'a str>) -> Value {
    let mut input = Map::new();
    for field in fields(schema, &[], &Value::Null) {
        let given = get(&field.name).map(str::trim).unwrap_or_default();
        if given.is_empty() {
            continue;
        }
        let value = match field.kind {
            "flag" => match given {
                "true" => json!(true),
                "false" => json!(false),
                other => json!(other),
            },
            "number" | "json" => serde_json::from_str(given).unwrap_or_else(|_| json!(given)),
            "lines" => given
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(Value::from)
                .collect(),
            _ => json!(given),
        };
        input.insert(field.name, value);
    }
    Value::Object(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "required": ["url"], "properties": {
            "depth": {"type": ["integer", "null"], "minimum": 1, "maximum": 50, "default": 5},
            "url": {"type": "string", "format": "uri", "description": "Where"},
            "mode": {"oneOf": [{"type": "null"}, {"type": "string", "enum": ["a", "b"]}]},
            "paths": {"type": ["array", "null"], "items": {"type": "string"}},
            "robots": {"type": ["boolean", "null"], "default": true},
            "headers": {"type": "object"},
        }})
    }

    #[test]
    fn a_schema_becomes_fields_in_a_useful_order() {
        let fields = fields(
            &schema(),
            &["mode"],
            &json!({"depth": 7, "paths": ["x", "y"]}),
        );
        let seen: Vec<_> = fields
            .iter()
            .map(|field| (field.name.as_str(), field.kind, field.value.as_str()))
            .collect();
        assert_eq!(seen[0], ("mode", "choice", ""));
        assert_eq!(seen[1], ("url", "url", ""));
        assert!(seen.contains(&("depth", "number", "7")), "{seen:?}");
        assert!(seen.contains(&("paths", "lines", "x\ny")), "{seen:?}");
        assert!(seen.contains(&("robots", "flag", "")), "{seen:?}");
        assert!(seen.contains(&("headers", "json", "")), "{seen:?}");
        let depth = fields.iter().find(|field| field.name == "depth").unwrap();
        assert_eq!(
            (depth.min, depth.max, depth.whole),
            (Some(1.0), Some(50.0), true)
        );
        assert_eq!(depth.default, "5");
        assert_eq!(fields[0].choices, ["a", "b"]);
    }

    #[test]
    fn what_is_entered_becomes_json_of_the_schemas_types() {
        let form = [
            ("url", " https://a.example/ "),
            ("depth", "3"),
            ("mode", ""),
            ("paths", "^/a\r\n\r\n^/b "),
            ("robots", "false"),
            ("headers", "{\"x\":\"y\"}"),
            ("stranger", "1"),
        ];
        let get = |name: &str| {
            form.iter()
                .find(|(known, _)| *known == name)
                .map(|pair| pair.1)
        };
        assert_eq!(
            entered(&schema(), get),
            json!({"url": "https://a.example/", "depth": 3, "paths": ["^/a", "^/b"],
                   "robots": false, "headers": {"x": "y"}})
        );
        let wrong = |name: &str| (name == "depth").then_some("many");
        assert_eq!(entered(&schema(), wrong), json!({"depth": "many"}));
    }
}

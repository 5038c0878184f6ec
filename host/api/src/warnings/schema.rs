//! Members of objects by their JSON Schema.

use serde_json::Value;

use super::{Step, UnknownNames};

/// Schemas looked at for one place: references may form a circle.
const MAX_SCHEMAS: usize = 64;
/// Values of an input that are looked at.
const MAX_VALUES: usize = 10_000;
const COMPONENTS: &str = "#/components/schemas/";

/// A schema's alternatives and references, all of them together.
fn alternatives<'a>(schemas: &[&'a Value], components: &'a Value) -> Vec<&'a Value> {
    let mut all: Vec<&Value> = Vec::new();
    let mut open: Vec<&Value> = schemas.to_vec();
    while let Some(schema) = open.pop() {
        if all.len() == MAX_SCHEMAS {
            break;
        }
        if all.iter().any(|seen| std::ptr::eq(*seen, schema)) {
            continue;
        }
        all.push(schema);
        let reference = schema.get("$ref").and_then(Value::as_str);
        let name = reference.and_then(|reference| reference.strip_prefix(COMPONENTS));
        open.extend(name.and_then(|name| components.get(name)));
        for word in ["allOf", "anyOf", "oneOf"] {
            open.extend(
                schema
                    .get(word)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten(),
            );
        }
    }
    all
}

/// Names of the members that an object by any of these schemas may have.
pub(super) fn members(schemas: &[&Value], components: &Value) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for schema in alternatives(schemas, components) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flatten().map(|(name, _)| name) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// The schemas of what is one step below.
pub(super) fn below<'a>(
    schemas: &[&'a Value],
    step: &Step,
    components: &'a Value,
) -> Vec<&'a Value> {
    let all = alternatives(schemas, components);
    all.into_iter()
        .filter_map(|schema| match step {
            Step::Index(_) => schema.get("items"),
            Step::Member(name) => schema
                .get("properties")
                .and_then(|properties| properties.get(name))
                .or_else(|| schema.get("additionalProperties")),
        })
        .collect()
}

/// The rule of the first whole number among these schemas, such as `a whole number between 1 and 50`.
pub(super) fn whole_number(schemas: &[&Value], components: &Value) -> Option<String> {
    let is_whole = |kind: &Value| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "integer"),
        kind => kind == "integer",
    };
    let all = alternatives(schemas, components);
    let schema = all
        .into_iter()
        .find(|schema| schema.get("type").is_some_and(is_whole))?;
    Some(match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!("a whole number between {least} and {most}"),
        (Some(least), None) => format!("a whole number, {least} or more"),
        (None, Some(most)) => format!("a whole number, {most} or less"),
        (None, None) => "a whole number".to_owned(),
    })
}

/// Whether objects by any of these schemas may have members of any name.
fn is_free(schemas: &[&Value]) -> bool {
    let is_open = |schema: &&Value| match schema.get("additionalProperties") {
        None | Some(Value::Bool(false)) => false,
        Some(_) => true,
    };
    schemas.iter().any(|schema| {
        is_open(schema) || schema.get("patternProperties").is_some() || schema.get("$ref").is_some()
    })
}

/// Members of an input that its schema does not name. An object whose schema names none may
/// have any.
pub(crate) fn unknown_members(schema: &Value, input: &Value) -> UnknownNames {
    let none = Value::Null;
    let mut unknown = UnknownNames::default();
    let mut open: Vec<(Vec<Step>, Vec<&Value>, &Value)> = vec![(Vec::new(), vec![schema], input)];
    let mut looked_at = 0;
    while let Some((path, schemas, value)) = open.pop() {
        let all = alternatives(&schemas, &none);
        let mut inner: Vec<(Step, &Value)> = Vec::new();
        match value {
            Value::Object(given) => {
                let names = members(&all, &none);
                let judged = !names.is_empty() && !is_free(&all);
                for (name, value) in given {
                    looked_at += 1;
                    if looked_at > MAX_VALUES {
                        return unknown;
                    }
                    if judged && !names.contains(name) {
                        let mut path = path.clone();
                        path.push(Step::Member(name.clone()));
                        unknown.push(path, Some(names.clone()));
                    } else {
                        inner.push((Step::Member(name.clone()), value));
                    }
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    looked_at += 1;
                    if looked_at > MAX_VALUES {
                        return unknown;
                    }
                    inner.push((Step::Index(index), value));
                }
            }
            _ => {}
        }
        for (step, value) in inner {
            let next = below(&all, &step, &none);
            if !next.is_empty() && (value.is_object() || value.is_array()) {
                let mut path = path.clone();
                path.push(step);
                open.push((path, next, value));
            }
        }
    }
    unknown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_found_through_references_and_alternatives() {
        let components = json!({
            "Rotate": {"type": "object", "properties": {"label": {}, "steps": {"type": "array",
                "items": {"$ref": "#/components/schemas/Step"}}}},
            "Step": {"oneOf": [
                {"properties": {"click": {}}},
                {"properties": {"wait": {}}},
                {"$ref": "#/components/schemas/Step"},
            ]},
        });
        let body = json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Rotate"}]});
        assert_eq!(members(&[&body], &components), ["label", "steps"]);
        let steps = below(&[&body], &Step::Member("steps".to_owned()), &components);
        let step = below(&steps, &Step::Index(3), &components);
        let mut names = members(&step, &components);
        names.sort();
        assert_eq!(names, ["click", "wait"]);
    }

    #[test]
    fn an_input_is_held_to_its_schema() {
        let schema = json!({"properties": {
            "url": {"type": "string"},
            "free": {"type": "object"},
            "map": {"additionalProperties": {"properties": {"a": {}}}},
            "list": {"type": "array", "items": {"properties": {"a": {}}}},
        }});
        let input = json!({
            "url": "x", "ulr": 1, "free": {"z": 1}, "map": {"any": {"a": 1, "b": 2}},
            "list": [{"a": 1}, {"c": 2}],
        });
        let unknown = unknown_members(&schema, &input);
        let mut paths: Vec<String> = unknown
            .names
            .iter()
            .map(|name| super::super::shown_path(&name.path))
            .collect();
        paths.sort();
        assert_eq!(paths, ["list[1].c", "map.any.b", "ulr"]);
        assert!(unknown_members(&json!({}), &input).is_empty());
    }
}

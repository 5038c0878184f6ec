//! The input of operations, from the OpenAPI document: schemas of tools, fields of forms.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// The input of an operation as one object: parameters of path and query, or members of the body.
/// `None` where the document has no such operation.
pub(crate) fn of_operation(document: &Value, method: &str, path: &str) -> Option<JsonObject> {
    let operation = document.get("paths")?.get(path)?.get(method)?;
    let body = operation.pointer("/requestBody/content/application~1json/schema");
    let mut schema = match body {
        Some(body) => inlined(body, document, &mut Vec::new()),
        None => json!({"type": "object", "properties": {}}),
    };
    let parameters = operation.get("parameters").and_then(Value::as_array);
    for parameter in parameters.into_iter().flatten() {
        let place = parameter.get("in").and_then(Value::as_str);
        let Some(name) = parameter.get("name").and_then(Value::as_str) else {
            continue;
        };
        if !matches!(place, Some("path" | "query")) {
            continue;
        }
        let given = parameter.get("schema").unwrap_or(&Value::Null);
        let mut property = inlined(given, document, &mut Vec::new());
        if let (Some(property), Some(description)) =
            (property.as_object_mut(), parameter.get("description"))
        {
            property.insert("description".to_owned(), description.clone());
        }
        insert(&mut schema, name, property);
        if parameter.get("required") == Some(&Value::Bool(true)) {
            require(&mut schema, name);
        }
    }
    match schema {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

/// The same as a value; null where there is no such operation.
pub(crate) fn input_schema(document: &Value, method: &str, path: &str) -> Value {
    of_operation(document, method, path).map_or(Value::Null, Value::Object)
}

/// Adds a property, in place of one of this name.
pub(crate) fn insert(schema: &mut Value, name: &str, property: Value) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(name.to_owned(), property);
    }
}

/// Removes a property.
pub(crate) fn remove(schema: &mut JsonObject, name: &str) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove(name);
    }
}

fn require(schema: &mut Value, name: &str) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut()
        && !required.iter().any(|known| known == name)
    {
        required.push(json!(name));
    }
}

/// A schema without references, since a tool's schema must be self-contained. A recursive
/// reference becomes "any object". Extensions and examples are left out, to save a model's
/// context.
fn inlined(schema: &Value, document: &Value, open: &mut Vec<String>) -> Value {
    match schema {
        Value::Object(members) => {
            if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                if open.iter().any(|known| known == target) {
                    return json!({"type": "object"});
                }
                let pointer = target.strip_prefix('#').unwrap_or(target);
                let Some(found) = document.pointer(pointer) else {
                    return json!({});
                };
                open.push(target.to_owned());
                let mut found = inlined(found, document, open);
                open.pop();
                if let (Some(found), Some(description)) =
                    (found.as_object_mut(), members.get("description"))
                {
                    found.insert("description".to_owned(), description.clone());
                }
                return found;
            }
            let kept = members
                .iter()
                .filter(|(name, _)| !name.starts_with("x-") && *name != "example")
                .map(|(name, member)| (name.clone(), inlined(member, document, open)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| inlined(item, document, open))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_bodies_become_one_object_that_stands_alone() {
        let document = json!({
            "paths": {
                "/v1/a/{id}": {"get": {"parameters": [
                    {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}, "description": "Which"},
                    {"name": "format", "in": "query", "schema": {"$ref": "#/components/schemas/F"}},
                    {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}},
                ]}},
                "/v1/b": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/B"}}}}}},
            },
            "components": {"schemas": {
                "F": {"type": "string", "enum": ["x"]},
                "B": {"type": "object", "required": ["url"], "example": {}, "properties": {
                    "url": {"type": "string", "x-extension": true}, "next": {"$ref": "#/components/schemas/B"}}},
            }},
        });
        let schema = |method, path| of_operation(&document, method, path).map(Value::Object);
        assert_eq!(
            schema("get", "/v1/a/{id}").unwrap(),
            json!({"type": "object", "required": ["id"], "properties": {
                "id": {"type": "integer", "description": "Which"},
                "format": {"type": "string", "enum": ["x"]},
            }})
        );
        assert_eq!(
            schema("post", "/v1/b").unwrap(),
            json!({"type": "object", "required": ["url"], "properties": {
                "url": {"type": "string"}, "next": {"type": "object"}}})
        );
        assert_eq!(schema("get", "/v1/b"), None);
    }
}

//! The document as generators of clients read it best. Inside the service the document is used
//! as it was before: forms and tools show the defaults of fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::entry::FREE;

/// The beginning of a reference to a component.
const SCHEMAS: &str = "#/components/schemas/";

/// Changes the document for generators of clients:
///
/// - A field of a request with a `default` is optional, but generators make it required. So the
///   default is said in the field's description instead.
/// - A body that is neither JSON nor text is binary.
/// - Every operation has a description, and the answer to a client that asks too much.
/// - Every answer that is a JSON object may have the member `warnings`.
pub(super) fn publish(document: &mut Value) {
    let requested = requested(document);
    describe_warnings(document);
    let components = document.pointer_mut("/components/schemas");
    let components = components.and_then(Value::as_object_mut);
    for (name, schema) in components.into_iter().flatten() {
        if requested.contains(name) {
            say_defaults(schema);
        }
    }
    for operation in operations(document) {
        if let Some(summary) = operation.get("summary").cloned() {
            operation.entry("description").or_insert(summary);
        }
        if let Some(body) = operation.get_mut("requestBody") {
            say_defaults(body);
            mark_binary(body);
        }
        let responses = operation.get_mut("responses");
        let Some(responses) = responses.and_then(Value::as_object_mut) else {
            continue;
        };
        responses.values_mut().for_each(mark_binary);
    }
    describe_refusals(document);
}

/// Describes what every operation may answer, whatever it does.
fn describe_refusals(document: &mut Value) {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, item) in paths.into_iter().flatten() {
        let (status, description) = match path.as_str() {
            FREE => ("414", "The path and query are too long"),
            _ => ("429", "The address sends too many requests"),
        };
        let operations = item.as_object_mut().into_iter().flat_map(Map::values_mut);
        for operation in operations {
            let responses = operation.get_mut("responses");
            if let Some(responses) = responses.and_then(Value::as_object_mut) {
                let refusal = || refusal(description);
                responses.entry(status).or_insert_with(refusal);
            }
        }
    }
}

/// Describes the member that names unknown fields of a request.
fn describe_warnings(document: &mut Value) {
    let mut answers = BTreeSet::new();
    for operation in operations(document) {
        let responses = operation.get_mut("responses");
        let responses = responses.and_then(Value::as_object_mut);
        let good = responses
            .into_iter()
            .flatten()
            .filter(|(status, _)| status.starts_with('2'));
        for (_, response) in good {
            let Some(schema) = response.pointer_mut("/content/application~1json/schema") else {
                continue;
            };
            let target = schema.get("$ref").and_then(Value::as_str);
            match target.and_then(|target| target.strip_prefix(SCHEMAS)) {
                Some(name) => {
                    answers.insert(name.to_owned());
                }
                None => add_warnings(schema),
            }
        }
    }
    let components = document.pointer_mut("/components/schemas");
    let components = components.and_then(Value::as_object_mut);
    for (name, schema) in components.into_iter().flatten() {
        if answers.contains(name) {
            add_warnings(schema);
        }
    }
}

fn add_warnings(schema: &mut Value) {
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(members) = members {
        members.entry("warnings").or_insert_with(|| {
            json!({
                "type": "array",
                "items": {"type": "string"},
                "description": "Names that the request has and the operation does not know; \
                                absent where there are none",
                "x-extension": true,
            })
        });
    }
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let items = paths.into_iter().flat_map(Map::values_mut);
    let items = items.filter_map(Value::as_object_mut);
    items
        .flat_map(Map::values_mut)
        .filter_map(Value::as_object_mut)
}

/// Names of the components that bodies of requests have, with those that these refer to.
fn requested(document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let paths = document.get("paths").and_then(Value::as_object);
    let items = paths.into_iter().flat_map(Map::values);
    let operations = items
        .filter_map(Value::as_object)
        .flat_map(Map::values)
        .filter_map(|operation| operation.get("requestBody"));
    let mut open: Vec<&Value> = operations.collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                let target = fields.get("$ref").and_then(Value::as_str);
                if let Some(name) = target.and_then(|target| target.strip_prefix(SCHEMAS))
                    && names.insert(name.to_owned())
                {
                    open.extend(document.pointer(&format!("/components/schemas/{name}")));
                }
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    names
}

/// Moves every `default` of a schema's fields to the field's description.
fn say_defaults(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let properties = fields.get_mut("properties").and_then(Value::as_object_mut);
            for property in properties.into_iter().flat_map(Map::values_mut) {
                if let Some(property) = property.as_object_mut() {
                    say_default(property);
                }
            }
            fields.values_mut().for_each(say_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(say_defaults),
        _ => {}
    }
}

fn say_default(property: &mut Map<String, Value>) {
    let Some(default) = property.remove("default") else {
        return;
    };
    let said = property.get("description").and_then(Value::as_str);
    let said = said.map(|said| format!("{} ", said.trim_end()));
    let said = format!("{}Default: `{default}`.", said.unwrap_or_default());
    property.insert("description".to_owned(), json!(said));
}

/// Gives content that is neither JSON nor text the schema of a file.
fn mark_binary(body: &mut Value) {
    let content = body.get_mut("content").and_then(Value::as_object_mut);
    for (media_type, media) in content.into_iter().flatten() {
        let is_text = media_type.contains("json") || media_type.starts_with("text/");
        if let Some(media) = media.as_object_mut().filter(|_| !is_text) {
            media.insert(
                "schema".to_owned(),
                json!({"type": "string", "format": "binary"}),
            );
        }
    }
}

fn refusal(description: &str) -> Value {
    json!({
        "description": description,
        "content": {"application/json": {"schema": {"$ref": format!("{SCHEMAS}ErrorBody")}}},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_requests_are_said_and_those_of_answers_stay() {
        let field = json!({"type": "integer", "description": "How many.", "default": 5});
        let mut document = json!({
            "components": {"schemas": {
                "Request": {"properties": {"part": {"$ref": "#/components/schemas/Part"}}},
                "Part": {"properties": {"count": field}},
                "Answer": {"properties": {"count": field}},
            }},
            "paths": {"/a": {"post": {
                "summary": "Counts.",
                "requestBody": {"content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/Request"}}}},
                "responses": {"200": {"content": {"image/png": {"schema": {"type": "array"}}}},
                    "422": {"description": "A rule is broken"}},
            }}, FREE: {"get": {"summary": "Lives.", "responses": {"200": {}}}}},
        });
        publish(&mut document);
        let schemas = &document["components"]["schemas"];
        let part = &schemas["Part"]["properties"]["count"];
        assert_eq!(
            *part,
            json!({"type": "integer", "description": "How many. Default: `5`."})
        );
        assert_eq!(schemas["Answer"]["properties"]["count"], field);
        let post = &document["paths"]["/a"]["post"];
        assert_eq!(post["description"], "Counts.");
        let binary = json!({"type": "string", "format": "binary"});
        assert_eq!(
            post["responses"]["200"]["content"]["image/png"]["schema"],
            binary
        );
        assert!(post["responses"]["429"].is_object());
        let free = &document["paths"][FREE]["get"]["responses"];
        assert!(free["414"].is_object() && free["429"].is_null(), "{free}");
    }
}

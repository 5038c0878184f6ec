//! Whether a value is what the OpenAPI document says of it.

use serde_json::Value;

/// What is wrong with a value, by its place; empty where its schema describes it: every member is
/// known, the required ones are there, and words are among those that the schema lists.
pub fn undescribed(document: &Value, schema: &str, value: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let schema = &document["components"]["schemas"][schema];
    check(document, schema, value, "", &mut wrong);
    wrong
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(&reference[1..]).expect("a component");
        return check(document, schema, value, at, wrong);
    }
    if let Some(any) = schema["oneOf"].as_array() {
        let schema = any
            .iter()
            .find(|one| (one["type"] == "null") == value.is_null());
        return check(document, schema.expect("a schema"), value, at, wrong);
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        wrong.push(format!("{at}: {value}"));
    }
    let Some(members) = value.as_object() else {
        return;
    };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !members.contains_key(name.as_str().expect("a name")) {
            wrong.push(format!("{at}/{name} is missing"));
        }
    }
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    for (name, value) in members {
        match properties.get(name) {
            Some(schema) => check(document, schema, value, &format!("{at}/{name}"), wrong),
            None => wrong.push(format!("{at}/{name} is unknown")),
        }
    }
}

//! The operations of the actors that are loaded at this moment, for the OpenAPI document.

use orbweaver_engine::{Kind, PluginInfo};
use serde_json::{Map, Value, json};

use super::input::published;

/// The contract's own actors; all others are extensions.
const CONTRACT: [&str; 7] = [
    "extract-article",
    "audit-onpage",
    "check-links",
    "structured-data",
    "render-diff",
    "internal-link-graph",
    "sitemap-audit",
];

/// What actors add to the document.
#[derive(Default)]
pub(crate) struct Described {
    /// A path for each actor.
    pub paths: Map<String, Value>,
    /// Components: `ActorNAMEInput` and `ActorNAMEData` of each actor `NAME`.
    pub schemas: Map<String, Value>,
}

/// Describes every actor, made like the operation of any actor, which `generic` is.
pub(crate) fn operations(plugins: &[PluginInfo], generic: &Value) -> Described {
    let mut described = Described::default();
    for actor in plugins.iter().filter(|plugin| plugin.kind == Kind::Actor) {
        let item = json!({"post": operation(actor, generic, &mut described.schemas)});
        let path = format!("/v1/actors/{}", actor.name);
        described.paths.insert(path, item);
    }
    described
}

fn operation(actor: &PluginInfo, generic: &Value, schemas: &mut Map<String, Value>) -> Value {
    let mut operation = generic.clone();
    let Some(fields) = operation.as_object_mut() else {
        return operation;
    };
    let name = &actor.name;
    fields.insert("operationId".to_owned(), json!(format!("actor-{name}")));
    fields.insert(
        "summary".to_owned(),
        json!(format!("Runs the actor {name}.")),
    );
    fields.insert("description".to_owned(), json!(actor.description));
    if CONTRACT.contains(&name.as_str()) {
        fields.remove("x-extension");
    }
    if let Some(parameters) = fields.get_mut("parameters").and_then(Value::as_array_mut) {
        parameters.retain(|parameter| parameter.get("in") != Some(&json!("path")));
    }
    let input = actor.input_schema.as_ref().map(published);
    let input = embedded(input.as_ref(), name, "input");
    fields.insert(
        "requestBody".to_owned(),
        json!({"required": true, "content": {"application/json": {
            "example": example(&input), "schema": component(input, name, "Input", schemas)}}}),
    );
    let data = embedded(actor.output_schema.as_ref(), name, "output");
    let answer = json!({
        "type": "object",
        "required": ["actor", "url", "elapsed_ms", "data"],
        "properties": {
            "actor": {"type": "string", "const": name},
            "url": {"type": ["string", "null"]},
            "elapsed_ms": {"type": "integer", "minimum": 0},
            "data": component(data, name, "Data", schemas),
        },
    });
    if let Some(schema) = operation.pointer_mut("/responses/200/content/application~1json/schema") {
        *schema = answer;
    }
    operation
}

/// An input to try: the page or crawl that the schema asks for, and what it requires besides.
fn example(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array);
    let required = |name: &str| {
        let mut names = required.into_iter().flatten().filter_map(Value::as_str);
        names.any(|known| known == name)
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut example = Map::new();
    for (name, property) in properties.into_iter().flatten() {
        let value = match name.as_str() {
            "url" => json!("https://example.com/"),
            "crawl_id" => json!(1),
            name if !required(name) => continue,
            "urls" => json!(["https://example.com/"]),
            _ => match property.get("default").or_else(|| property.get("example")) {
                Some(value) => value.clone(),
                None => match property.get("type").and_then(Value::as_str) {
                    Some("integer" | "number") => json!(1),
                    Some("boolean") => json!(false),
                    Some("array") => json!([]),
                    Some("object") => json!({}),
                    _ => json!("example"),
                },
            },
        };
        example.insert(name.clone(), value);
    }
    Value::Object(example)
}

/// Names a schema, so that generated clients have a type of that name. One with references of its
/// own stays where it is used: a reference from a component would not be resolved within it.
fn component(schema: Value, actor: &str, part: &str, schemas: &mut Map<String, Value>) -> Value {
    if refers(&schema) {
        return schema;
    }
    let words = actor.split(|c: char| !c.is_ascii_alphanumeric());
    let capitalised = words.map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{}{rest}", first.to_ascii_uppercase())
    });
    let name = format!("Actor{}{part}", capitalised.collect::<String>());
    let reference = json!({"$ref": format!("#/components/schemas/{name}")});
    schemas.insert(name, schema);
    reference
}

/// A plugin's schema inside the document. One with references of its own gets an identifier,
/// so that they stay within it.
fn embedded(schema: Option<&Value>, name: &str, part: &str) -> Value {
    let mut schema = match schema {
        Some(schema @ Value::Object(_)) => schema.clone(),
        _ => json!({"type": "object"}),
    };
    if refers(&schema)
        && let Some(fields) = schema.as_object_mut()
    {
        fields
            .entry("$id")
            .or_insert_with(|| json!(format!("urn:orbweaver:actor:{name}:{part}")));
    }
    schema
}

/// Whether a `$ref` stands anywhere in it.
fn refers(schema: &Value) -> bool {
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                if fields.contains_key("$ref") {
                    return true;
                }
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    false
}

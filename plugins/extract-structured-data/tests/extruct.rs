//! Agreement with extruct on the samples of its own tests, and where there is none, why.

use std::collections::BTreeMap;

use orbweaver_sdk::serde_json::{Map, Value, from_str, json};
use orbweaver_sdk::testing::Document;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/extruct");

/// Samples on which the two differ, by syntax.
const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "microdata",
        "schema.org-LocalBusiness.002.html",
        "a URL is written as the URL standard says, with the slash of the root",
    ),
    (
        "microdata",
        "schema.org-SearchAction.001.html",
        "an input's value is its text, not an item",
    ),
    (
        "microdata",
        "schema.org-product-ref.html",
        "properties of an item that itemref names are that item's own",
    ),
    (
        "microdata",
        "w3c-microdata.5.3.html",
        "properties by itemref stand in tree order",
    ),
];

/// White space collapsed, in every string.
fn collapsed(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Value::Array(items) => items.iter().map(collapsed).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), collapsed(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        one => vec![one.clone()],
    }
}

/// Arrays and graphs flattened, contexts left out.
fn json_ld(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut waiting = vec![value.clone()];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items.into_iter().rev()),
            Value::Object(mut fields) => {
                fields.remove("@context");
                match fields.remove("@graph") {
                    Some(graph) if !fields.contains_key("@type") => waiting.push(graph),
                    _ => found.push(collapsed(&Value::Object(fields))),
                }
            }
            _ => {}
        }
    }
    found
}

/// Types and values as lists.
fn microdata(value: &Value) -> Value {
    let Value::Object(item) = value else {
        return collapsed(value);
    };
    let mut out = Map::new();
    if let Some(kind) = item.get("type") {
        out.insert("type".into(), list(kind).into());
    }
    if let Some(id) = item.get("id") {
        out.insert("id".into(), id.clone());
    }
    let properties = item.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten().map(|(name, values)| {
        let values: Vec<Value> = list(values).iter().map(microdata).collect();
        (name.clone(), Value::from(values))
    });
    out.insert(
        "properties".into(),
        properties.collect::<Map<_, _>>().into(),
    );
    Value::Object(out)
}

/// Triples without what only one of the two gives: languages of the element's `lang`, roles,
/// and blank nodes' names.
fn rdfa(value: &Value) -> Vec<String> {
    let id = |id: &str| {
        if id.starts_with("_:") {
            "_:".to_owned()
        } else {
            id.to_owned()
        }
    };
    let mut triples = Vec::new();
    for subject in list(value) {
        let name = id(subject["@id"].as_str().unwrap_or(""));
        for (property, values) in subject.as_object().into_iter().flatten() {
            if property == "@id" || property.ends_with("vocab#role") {
                continue;
            }
            for value in list(values) {
                let target = value["@id"].as_str().map(id);
                let target = target.or_else(|| value["@value"].as_str().map(str::to_owned));
                let target = target.unwrap_or_else(|| value.to_string());
                let kind = value["@type"].as_str().unwrap_or("");
                let target = target.split_whitespace().collect::<Vec<_>>().join(" ");
                triples.push(format!("{name} {property} {target} {kind}"));
            }
        }
    }
    triples.sort();
    triples
}

fn normal(syntax: &str, value: &Value) -> Value {
    match syntax {
        "json-ld" => json_ld(value).into(),
        "microdata" => list(value).iter().map(microdata).collect(),
        "rdfa" => rdfa(value).into(),
        "opengraph" => list(value)
            .iter()
            .map(|page| collapsed(&page["properties"]))
            .collect(),
        _ => {
            let entries = |page: &Value, key: &str| {
                let mut uris: Vec<String> = list(&page[key])
                    .iter()
                    .map(|e| format!("{} {}", e["URI"], e["content"]))
                    .collect();
                uris.sort();
                uris
            };
            list(value)
                .iter()
                .map(|page| json!([entries(page, "elements"), entries(page, "terms")]))
                .collect()
        }
    }
}

#[test]
fn what_extruct_finds_in_its_samples_is_found() {
    let read = |name: &str| {
        let bytes = std::fs::read(format!("{FOLDER}/{name}")).expect("a sample");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let expected: BTreeMap<String, BTreeMap<String, Value>> =
        from_str(&read("expected.json")).expect("JSON");
    let mut agreed: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, syntaxes) in &expected {
        let document = Document::new("http://www.example.com/index.html", &read(name));
        let found = orbweaver_extract_structured_data::extract(&document.page(), "{}");
        let found: Value = from_str(&found.expect("structured data")).expect("JSON");
        for (syntax, theirs) in syntaxes {
            let ours = normal(syntax, &found["data"][syntax]);
            let theirs = normal(syntax, theirs);
            let different = DIFFERENT.iter().any(|(s, n, _)| s == syntax && n == name);
            assert_eq!(
                ours != theirs,
                different,
                "{syntax} of {name}: {ours:#} {theirs:#}"
            );
            *agreed.entry(syntax.as_str()).or_default() += usize::from(!different);
        }
    }
    let agreed: Vec<(&str, usize)> = agreed.into_iter().collect();
    assert_eq!(
        agreed,
        [
            ("dublincore", 1),
            ("json-ld", 8),
            ("microdata", 17),
            ("opengraph", 3),
            ("rdfa", 15)
        ]
    );
}

//! The OpenAPI document.

use serde_json::{Value, json};

use crate::support::described::undescribed;
use crate::support::{Service, Site};

#[tokio::test]
async fn the_document_is_public_and_has_the_stated_versions() {
    let service = Service::start().await;
    let document = service.stranger().get("/openapi.json").await.ok();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    assert_eq!(document["info"]["version"], "0.4.1");
    let docs = service.stranger().get("/docs/").await;
    assert_eq!(docs.status, 200);
    assert!(docs.text().contains("swagger"));
}

#[tokio::test]
async fn every_operation_is_described_completely() {
    let service = Service::start().await;
    let document = service.stranger().get("/openapi.json").await.ok();
    let paths = document["paths"].as_object().unwrap();
    for path in [
        "/v1/health",
        "/v1/ready",
        "/v1/crawls",
        "/v1/crawls/{id}",
        "/v1/crawls/{id}/pages",
        "/v1/crawls/{id}/export",
        "/v1/crawls/{id}/links",
        "/v1/crawls/{id}/orphans",
        "/v1/crawls/{id}/events",
        "/v1/crawls/{old_id}/diff/{new_id}",
        "/v1/pages/{id}",
        "/v1/scan",
        "/v1/scan/bulk",
        "/v1/map",
        "/v1/batch",
        "/v1/logs",
        "/v1/robots-policy",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    let public = [
        "/",
        "/v1/health",
        "/v1/ready",
        "/v1/signup",
        "/v1/billing/checkout",
        "/v1/billing/mock/{intent_id}",
        "/v1/billing/webhook",
    ];
    let mut ids = std::collections::HashSet::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            let place = format!("{method} {path}");
            assert!(
                ids.insert(operation["operationId"].as_str().unwrap().to_owned()),
                "{place}"
            );
            assert!(operation["summary"].is_string(), "{place}");
            let responses = operation["responses"].as_object().unwrap();
            for (status, response) in responses {
                let text = response["description"].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{place} {status} has no description");
                let error = status.starts_with(['4', '5']) && status != "503";
                let schema = &response["content"]["application/json"]["schema"]["$ref"];
                if error {
                    assert_eq!(schema, "#/components/schemas/ErrorBody", "{place} {status}");
                }
            }
            if !public.contains(&path.as_str()) {
                assert!(responses.contains_key("401"), "{place}");
            }
            let is_free = path == "/v1/health";
            assert_eq!(responses.contains_key("429"), !is_free, "{place}");
        }
    }
}

/// What "Try it out" sends: an example that only names what the operation takes.
#[tokio::test]
async fn every_request_body_has_an_example() {
    let service = Service::start().await;
    let document = service.stranger().get("/openapi.json").await.ok();
    let mut seen = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let media = &operation["requestBody"]["content"]["application/json"];
            if media.is_null() || path == "/v1/billing/webhook" {
                continue;
            }
            let mut schema = &media["schema"];
            if let Some(parts) = schema["oneOf"].as_array() {
                // An optional body is its schema or null.
                schema = parts
                    .iter()
                    .find(|part| part["$ref"].is_string())
                    .or(parts.last())
                    .expect("a schema");
            }
            if let Some(reference) = schema["$ref"].as_str() {
                schema = document.pointer(&reference[1..]).expect("a schema");
            }
            let example = [&media["example"], &schema["example"]]
                .into_iter()
                .find(|example| example.is_object())
                .unwrap_or_else(|| panic!("{method} {path} has no example"));
            let example = example.as_object().expect("an object");
            if let Some(properties) = schema["properties"].as_object() {
                for name in example.keys() {
                    assert!(properties.contains_key(name), "{method} {path}: {name}");
                }
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().expect("a name");
                assert!(example.contains_key(name), "{method} {path}: {name}");
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[tokio::test]
async fn every_reference_resolves() {
    let service = Service::start().await;
    let document = service.stranger().get("/openapi.json").await.ok();
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    let pointer = reference.strip_prefix('#').expect("a local reference");
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                open.extend(map.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}

/// Generators make a field with a default required.
#[tokio::test]
async fn no_field_of_a_request_has_a_default() {
    let service = Service::start().await;
    let document = service.stranger().get("/openapi.json").await.ok();
    let scan = &document["components"]["schemas"]["ScanRequest"];
    assert_eq!(scan["required"], json!(["url"]));
    let field = &scan["properties"]["only_main_content"];
    assert_eq!(field.get("default"), None);
    let said = field["description"].as_str().unwrap();
    assert!(said.ends_with("Default: `false`."), "{said}");
    let input = &document["components"]["schemas"]["ActorCheckLinksInput"];
    for (name, field) in input["properties"].as_object().expect("an actor's input") {
        assert_eq!(field.get("default"), None, "{name}");
    }
}

#[tokio::test]
async fn each_operation_answers_in_one_content_type() {
    let service = Service::start().await;
    let document = service.stranger().get("/openapi.json").await.ok();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let Some(content) = response["content"].as_object() else {
                    continue;
                };
                // A list's and an export's form is chosen by a parameter, a screenshot's by `Accept`, and
                // that of `/mcp` by whether there is progress.
                let mut parameters = operation["parameters"].as_array().into_iter().flatten();
                let chosen = parameters.any(|parameter| parameter["name"] == "format")
                    || path.ends_with("/screenshot")
                    || path == "/mcp";
                let most = if chosen { 8 } else { 1 };
                assert!(content.len() <= most, "{method} {path} {status}");
                for (kind, media) in content {
                    let is_binary = !kind.contains("json") && !kind.starts_with("text/");
                    let format = &media["schema"]["format"];
                    assert_eq!(is_binary, *format == "binary", "{method} {path} {kind}");
                }
            }
        }
    }
    let crawl = &document["components"]["schemas"]["Crawl"]["properties"];
    assert_eq!(crawl["status"]["$ref"], "#/components/schemas/CrawlStatus");
    let words = &document["components"]["schemas"]["CrawlStatus"]["enum"];
    let known = json!(["queued", "running", "done", "failed", "cancelled"]);
    assert_eq!(*words, known);
}

#[tokio::test]
async fn a_list_is_described_in_all_its_forms_and_in_each_alone() {
    let service = Service::start().await;
    let document = service.stranger().get("/openapi.json").await.ok();
    let kinds = |path: &str| {
        let content = &document["paths"][path]["get"]["responses"]["200"]["content"];
        let content = content.as_object().expect("contents");
        content.keys().cloned().collect::<Vec<_>>()
    };
    let forms = ["application/json", "application/x-ndjson", "text/csv"];
    for list in [
        "/v1/crawls/{id}/pages",
        "/v1/crawls/{id}/errors",
        "/v1/crawls/{id}/skipped",
        "/v1/crawls/{id}/records",
        "/v1/actors/{name}/runs/{id}/items",
    ] {
        assert_eq!(kinds(list), forms, "{list}");
        assert_eq!(kinds(&format!("{list}.ndjson")), [forms[1]], "{list}");
        assert_eq!(kinds(&format!("{list}.csv")), [forms[2]], "{list}");
    }
}

#[tokio::test]
async fn a_scan_has_no_member_that_the_document_does_not_describe() {
    let (service, site) = (Service::start().await, Site::start().await);
    let document = service.stranger().get("/openapi.json").await.ok();
    let body = json!({"url": site.url("/article"), "no_such_field": 1});
    let scan = service.client().post("/v1/scan", &body).await.ok();
    assert!(scan["warnings"].is_array(), "{scan}");
    assert!(scan["metadata"]["lang"].is_string(), "{scan}");
    let answer = "/paths/~1v1~1scan/post/responses/200/content/application~1json/schema/$ref";
    let schema = document.pointer(answer).unwrap().as_str().unwrap();
    let schema = schema.rsplit('/').next().unwrap();
    assert_eq!(undescribed(&document, schema, &scan), [""; 0]);
}

//! Tenancy: every route of the OpenAPI document, without a valid key and with another
//! project's ids. Routes that are added later are covered, too.

use serde_json::{Map, Value, json};

use crate::support::http::Answer;
use crate::support::{Client, KEY, Service, Site};

/// An id that does not exist.
const NOBODYS: i64 = 9_000_000_000_000;
/// Text that only the first project's resources contain.
const MARK: &str = "tenant-mark";
/// Routes that need no key by the documented API, and the payment provider's webhook.
const PUBLIC: [&str; 7] = [
    "/",
    "/v1/health",
    "/v1/ready",
    "/v1/signup",
    "/v1/billing/checkout",
    "/v1/billing/mock/{intent_id}",
    "/v1/billing/webhook",
];
/// Path parameters whose values belong to no project.
const NAMES: [&str; 3] = ["name", "domain", "path"];

/// An operation of the document.
#[derive(Clone, Debug)]
struct Operation {
    method: String,
    path: String,
    path_parameters: Vec<String>,
    /// Properties of the JSON body that are ids.
    body_ids: Vec<String>,
}

impl Operation {
    fn place(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    fn filled(&self, value: impl Fn(&str) -> String) -> String {
        self.path_parameters
            .iter()
            .fold(self.path.clone(), |path, name| {
                path.replace(&format!("{{{name}}}"), &value(name))
            })
    }

    fn names_a_resource(&self) -> bool {
        self.path_parameters
            .iter()
            .any(|name| !NAMES.contains(&name.as_str()))
    }
}

async fn operations(service: &Service) -> Vec<Operation> {
    let document = service.stranger().get("/openapi.json").await.ok();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path_parameters = path
                .split('{')
                .skip(1)
                .filter_map(|rest| rest.split_once('}'))
                .map(|(name, _)| name.trim_start_matches('*').to_owned())
                .collect();
            operations.push(Operation {
                method: method.to_ascii_uppercase(),
                path: path.replace("{*", "{"),
                path_parameters,
                body_ids: body_ids(&document, operation),
            });
        }
    }
    assert!(operations.len() > 10, "{operations:?}");
    operations
}

/// Integer properties of the request's body that end in `_id`.
fn body_ids(document: &Value, operation: &Value) -> Vec<String> {
    let mut schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    while let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        schema = document.pointer(pointer).unwrap_or(&Value::Null);
    }
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    properties
        .keys()
        .filter(|name| name.ends_with("_id"))
        .cloned()
        .collect()
}

fn is_public(operation: &Operation) -> bool {
    PUBLIC.contains(&operation.path.as_str())
}

#[tokio::test]
async fn every_private_route_needs_a_valid_key() {
    let service = Service::start().await;
    let old = service.client();
    let rotated = old
        .post("/v1/keys/rotate", &json!({"grace_seconds": 0}))
        .await
        .ok();
    let new = old.with_key(rotated["api_key"].as_str().unwrap());
    new.get("/v1/usage").await.ok();
    let unknown = old.with_key("orb_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB");
    for operation in operations(&service).await {
        if is_public(&operation) {
            continue;
        }
        let path = operation.filled(|_| "1".to_owned());
        for client in [&service.stranger(), &old, &unknown] {
            let answer = client
                .send(&operation.method, &path, &[], b"not even JSON")
                .await;
            assert_eq!(answer.status, 401, "{}", operation.place());
            answer.error(401, "UNAUTHORIZED");
        }
    }
}

/// Creates resources of the first project: a page, perhaps runs and a monitor, an intent.
async fn furnish(service: &Service, site: &Site) {
    let client = service.client();
    let url = format!("{}?{MARK}", site.url("/article"));
    client.post("/v1/scan", &json!({"url": url})).await.ok();
    for body in [
        json!({"url": url, "max_pages": 1}),
        json!({"url": url, "max_pages": 1}),
        json!({"url": url, "cron": "0 0 1 1 *"}),
    ] {
        client.post("/v1/crawls", &body).await;
    }
}

/// The request of an id's owner: the resource may change meanwhile, but it exists.
async fn walk(client: &Client, operation: &Operation, id: &str) -> Answer {
    let path = operation.filled(|name| match name {
        "prefix" if id != NOBODYS.to_string() => KEY[..12].to_owned(),
        "prefix" => "orb_nobodys0".to_owned(),
        name if NAMES.contains(&name) => "nothing".to_owned(),
        _ => id.to_owned(),
    });
    let body = match operation.method.as_str() {
        "GET" | "DELETE" => String::new(),
        // A valid body of PATCH /v1/crons; other routes refuse it before or after the look-up.
        _ => json!({"enabled": false}).to_string(),
    };
    client
        .send(&operation.method, &path, &[], body.as_bytes())
        .await
}

/// Status and code only: the message may repeat the requested id.
fn shape(answer: &Answer) -> (u16, Value) {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer.status, body["error"]["code"].clone())
}

#[tokio::test]
async fn ids_of_another_project_look_unknown() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let site = Site::start().await;
        furnish(&service, &site).await;
        let (owner, other) = (service.client(), service.other_project("shop").await);
        let operations = operations(&service).await;
        let mut owned = 0;
        let named = |o: &&Operation| o.names_a_resource() && !is_public(o);
        for operation in operations.iter().filter(named) {
            let place = operation.place();
            let nobodys = walk(&other, operation, &NOBODYS.to_string()).await;
            assert!(
                matches!(nobodys.status, 403 | 404 | 422 | 501),
                "{place}: {}",
                nobodys.text()
            );
            for id in ["1", "2", "3"] {
                let foreign = walk(&other, operation, id).await;
                let (foreign, nobodys) = (shape(&foreign), shape(&nobodys));
                assert_eq!(foreign, nobodys, "{place} {id}");
                if operation.method == "GET" || operation.method == "DELETE" {
                    // A project whose tier has no plugins of its own manages none.
                    let is_plugins = operation.path.starts_with("/v1/plugins/");
                    let expected = if is_plugins { 403 } else { 404 };
                    assert_eq!(foreign.0, expected, "{place} {id}");
                }
                // A run's event stream ends with the run.
                if operation.method == "GET" && !operation.path.ends_with("/events") {
                    let mine = walk(&owner, operation, id).await;
                    owned += usize::from(mine.status == 200);
                }
            }
        }
        assert!(owned > 0, "no request named an existing resource");
        // The deletions above had no effect: even the owner's key still exists.
        let keys = owner.get("/v1/keys").await.ok();
        assert_eq!(keys["items"][0]["state"], "active");
    }
}

#[tokio::test]
async fn ids_of_another_project_in_bodies_look_unknown() {
    let (service, site) = (Service::start().await, Site::start().await);
    furnish(&service, &site).await;
    let other = service.other_project("shop").await;
    for operation in operations(&service).await {
        if operation.body_ids.is_empty() || is_public(&operation) {
            continue;
        }
        let path = operation.filled(|_| "internal-link-graph".to_owned());
        let body = |id: i64| {
            let fields = operation
                .body_ids
                .iter()
                .map(|name| (name.clone(), json!(id)));
            Value::Object(fields.collect())
        };
        let nobodys = other.post(&path, &body(NOBODYS)).await;
        assert!(nobodys.status >= 400, "{}", operation.place());
        for id in 1..4 {
            let foreign = other.post(&path, &body(id)).await;
            assert_eq!(shape(&foreign), shape(&nobodys), "{}", operation.place());
        }
    }
}

#[tokio::test]
async fn listings_show_nothing_of_another_project() {
    let (service, site) = (Service::start().await, Site::start().await);
    furnish(&service, &site).await;
    let other = service.other_project("shop").await;
    let mut listings = 0;
    for operation in operations(&service).await {
        let is_listing = operation.method == "GET" && operation.path_parameters.is_empty();
        if !is_listing || is_public(&operation) {
            continue;
        }
        let answer = other.get(&operation.path).await;
        let text = answer.text();
        assert!(!text.contains(MARK), "{}: {text}", operation.place());
        assert!(!text.contains(&KEY[..12]), "{}: {text}", operation.place());
        listings += usize::from(answer.status == 200);
    }
    assert!(listings >= 5, "{listings}");
}

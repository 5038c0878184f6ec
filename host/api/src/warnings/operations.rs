//! What each operation knows, from the OpenAPI document.

use std::collections::HashMap;

use http::Method;
use serde_json::Value;

use super::{Step, schema};

/// The operations of the interface by route and method.
#[derive(Default)]
pub(crate) struct Operations {
    routes: matchit::Router<HashMap<Method, Operation>>,
    /// The document's component schemas.
    components: Value,
}

/// What one operation takes.
#[derive(Debug, Default)]
pub(crate) struct Operation {
    /// Names of its query parameters.
    parameters: Vec<String>,
    /// Schema of its JSON body.
    body: Value,
}

impl Operation {
    pub(super) fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|known| known == name)
    }

    pub(super) fn parameters(&self) -> &[String] {
        &self.parameters
    }
}

impl Operations {
    /// Of a document whose paths are still in the router's notation.
    pub(crate) fn from_document(document: &Value) -> Self {
        let mut operations = Self {
            routes: matchit::Router::new(),
            components: document
                .pointer("/components/schemas")
                .cloned()
                .unwrap_or_default(),
        };
        let paths = document.get("paths").and_then(Value::as_object);
        for (path, item) in paths.into_iter().flatten() {
            let methods = item.as_object().into_iter().flatten();
            let methods = methods
                .filter_map(|(method, operation)| {
                    let method = method.to_ascii_uppercase().parse().ok()?;
                    Some((method, operation_of(operation)))
                })
                .collect();
            if let Err(error) = operations.routes.insert(path.as_str(), methods) {
                tracing::warn!(path, %error, "unknown names of this route get no warning");
            }
        }
        operations
    }

    pub(super) fn find(&self, method: &Method, path: &str) -> Option<&Operation> {
        let method = if method == Method::HEAD {
            &Method::GET
        } else {
            method
        };
        self.routes.at(path).ok()?.value.get(method)
    }

    /// Names that the object at this place may have, without the last step.
    pub(super) fn members_beside(&self, operation: &Operation, path: &[Step]) -> Vec<String> {
        let holder = path.split_last().map_or(path, |(_, holder)| holder);
        let mut schemas = vec![&operation.body];
        for step in holder {
            schemas = schema::below(&schemas, step, &self.components);
        }
        schema::members(&schemas, &self.components)
    }
}

fn operation_of(operation: &Value) -> Operation {
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let parameters = parameters
        .into_iter()
        .flatten()
        .filter(|parameter| parameter.get("in").and_then(Value::as_str) == Some("query"))
        .filter_map(|parameter| parameter.get("name").and_then(Value::as_str))
        .map(str::to_owned)
        .collect();
    let body = operation.pointer("/requestBody/content/application~1json/schema");
    Operation {
        parameters,
        body: body.cloned().unwrap_or_default(),
    }
}

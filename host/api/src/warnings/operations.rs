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
    /// Their schemas, in the same order.
    parameter_schemas: Vec<Value>,
    /// Schema of its JSON body.
    body: Value,
    /// Whether anybody may call it.
    is_public: bool,
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
    /// Reads a document whose paths are still in the router's notation.
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

    /// Whether a key is asked for there. Outside of the interface's paths nothing asks for one that the
    /// document does not name: the console's pages, the document itself.
    pub(crate) fn takes_key(&self, method: &Method, path: &str) -> bool {
        match self.find(method, path) {
            Some(operation) => !operation.is_public,
            None => path.starts_with("/v1/"),
        }
    }

    /// The rule for a whole number at this place of the body.
    pub(super) fn body_number(&self, operation: &Operation, path: &[Step]) -> Option<String> {
        let mut schemas = vec![&operation.body];
        for step in path {
            schemas = schema::below(&schemas, step, &self.components);
        }
        schema::whole_number(&schemas, &self.components)
    }

    /// The rule for a whole number in this parameter of the query.
    pub(super) fn parameter_number(&self, operation: &Operation, name: &str) -> Option<String> {
        let at = operation.parameters.iter().position(|one| one == name)?;
        let schema = operation.parameter_schemas.get(at)?;
        schema::whole_number(&[schema], &self.components)
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
    let (parameters, parameter_schemas) = parameters
        .into_iter()
        .flatten()
        .filter(|parameter| parameter.get("in").and_then(Value::as_str) == Some("query"))
        .filter_map(|parameter| {
            let name = parameter.get("name").and_then(Value::as_str)?.to_owned();
            let schema = parameter.get("schema").cloned().unwrap_or_default();
            Some((name, schema))
        })
        .unzip();
    let body = operation.pointer("/requestBody/content/application~1json/schema");
    let security = operation.get("security").and_then(Value::as_array);
    let is_nothing = |requirement: &Value| requirement == &serde_json::json!({});
    Operation {
        parameters,
        parameter_schemas,
        body: body.cloned().unwrap_or_default(),
        is_public: security.is_some_and(|any| any.is_empty() || any.iter().any(is_nothing)),
    }
}

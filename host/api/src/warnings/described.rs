//! What the OpenAPI document says of a request's places, for messages about them.

use std::sync::Arc;

use http::{Extensions, Method, Uri};

use super::{Operations, Step};

/// The description of one request's operation.
#[derive(Clone, Default)]
pub(crate) struct Described {
    operations: Arc<Operations>,
    method: Method,
    path: String,
}

impl Described {
    /// The description of a request; empty if no document came with it.
    pub(crate) fn of(extensions: &Extensions, method: &Method, uri: &Uri) -> Self {
        let operations = extensions.get::<Arc<Operations>>();
        Self {
            operations: operations.cloned().unwrap_or_default(),
            method: method.clone(),
            path: uri.path().to_owned(),
        }
    }

    /// The rule for the whole number in this place of the body, such as `a whole number between 1 and
    /// 50`; `None` where the document has none there.
    pub(crate) fn number(&self, place: &[Step]) -> Option<String> {
        let operation = self.operations.find(&self.method, &self.path)?;
        self.operations.body_number(operation, place)
    }

    /// The same for a parameter of the query.
    pub(crate) fn parameter_number(&self, name: &str) -> Option<String> {
        let operation = self.operations.find(&self.method, &self.path)?;
        self.operations.parameter_number(operation, name)
    }

    /// The description of a request whose body has this schema.
    #[cfg(test)]
    pub(crate) fn body(schema: serde_json::Value) -> Self {
        let document = serde_json::json!({"paths": {"/": {"post": {
            "requestBody": {"content": {"application/json": {"schema": schema}}},
        }}}});
        Self {
            operations: Arc::new(Operations::from_document(&document)),
            method: Method::POST,
            path: "/".to_owned(),
        }
    }
}

//! The API for the faces of this process: MCP and the console.
//!
//! A face sends requests to the same router as clients do, so that checks, guard, limits, billing
//! and errors are the same. Only the key and its rate limit are not checked a second time.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use http::{Method, Request, StatusCode, header};
use orbweaver_core::json_values;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::context::{Admitted, Ctx};
use crate::error::ApiError;
use crate::held::Holder;
use crate::warnings::{self, Operations, UnknownNames};
use orbweaver_pipeline::{INLINE_BYTES, sized};

/// Largest answer that a face reads whole, in bytes.
const MAX_ANSWER: usize = 32 << 20;

/// The API's router, for requests from inside. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Inside(Arc<Parts>);

struct Parts {
    router: Router,
    operations: Arc<Operations>,
    /// The OpenAPI document, without the operations of single actors.
    document: Value,
    /// Longest time to an answer.
    limit: Duration,
}

/// A request to the API.
#[derive(Debug)]
pub(crate) struct Call {
    method: Method,
    path: String,
    query: String,
    body: Option<Value>,
}

impl Call {
    /// A request to this path; its segments must be encoded, see [`segment`].
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: String::new(),
            body: None,
        }
    }

    /// GET.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// POST of a JSON body.
    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self {
            body: Some(body),
            ..Self::new(Method::POST, path)
        }
    }

    /// The same with one more query parameter.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let mut query = form_urlencoded::Serializer::new(std::mem::take(&mut self.query));
        query.append_pair(name, value);
        self.query = query.finish();
        self
    }
}

impl Call {
    /// The same with a JSON body.
    pub(crate) fn with_body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }
}

/// A text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// An error of the API, as its envelope has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// The member `error`: `code`, `message`, and what else there is.
    pub(crate) error: Value,
}

impl Failure {
    /// Same as the API's error.
    pub(crate) fn code(&self) -> &str {
        self.error["code"].as_str().unwrap_or("INTERNAL")
    }

    /// For people.
    pub(crate) fn message(&self) -> &str {
        self.error["message"].as_str().unwrap_or_default()
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let status = error.status();
        Self {
            status,
            error: json!(error.into_detail()),
        }
    }
}

impl Inside {
    pub(crate) fn new(
        router: Router,
        operations: Operations,
        document: Value,
        limit: Duration,
    ) -> Self {
        Self(Arc::new(Parts {
            router,
            operations: Arc::new(operations),
            document,
            limit,
        }))
    }

    /// The OpenAPI document, without the operations of single actors.
    pub(crate) fn document(&self) -> &Value {
        &self.0.document
    }

    /// The answer to a request, its body not yet read.
    ///
    /// # Errors
    /// The API's error.
    pub(crate) async fn open(&self, ctx: &Ctx, call: Call) -> Result<Response, Failure> {
        let scope = ctx.scope.inside();
        let admitted = Admitted(Ctx {
            scope: scope.clone(),
            ..ctx.clone()
        });
        let uri = match call.query.as_str() {
            "" => call.path,
            query => format!("{}?{query}", call.path),
        };
        let mut request = Request::builder().method(call.method.clone()).uri(&uri);
        if let Some(extensions) = request.extensions_mut() {
            extensions.insert(scope.clone());
            extensions.insert(admitted);
            extensions.insert(Arc::clone(&self.0.operations));
        }
        let body = match call.body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                let text = body.to_string();
                drop(body);
                ctx.scope.drop_values();
                Body::from(text)
            }
            None => Body::empty(),
        };
        let request = request
            .body(body)
            .map_err(|error| Failure::from(ApiError::internal(&error)))?;
        let parsed = request.uri().clone();
        let work = self.0.router.clone().oneshot(request);
        let response = match tokio::time::timeout(self.0.limit, work).await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_) => ApiError::timeout("the request took too long").into_response(),
        };
        let none = UnknownNames::default();
        let fields = scope.unknown().unwrap_or(&none);
        let mut messages = warnings::messages(
            &self.0.operations,
            &call.method,
            parsed.path(),
            parsed.query(),
            fields,
        );
        messages.extend(scope.warnings());
        let response = match messages.as_slice() {
            [] => response,
            messages => warnings::attach(response, messages).await,
        };
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            return Err(failure(status, response).await);
        }
        Ok(response)
    }

    /// The JSON of the answer to a request; null where it has no body.
    ///
    /// # Errors
    /// The API's error.
    pub(crate) async fn json(&self, ctx: &Ctx, call: Call) -> Result<Value, Failure> {
        let body = self.open(ctx, call).await?.into_body();
        let body = axum::body::to_bytes(body, MAX_ANSWER).await.map_err(|_| {
            Failure::from(ApiError::breaks(format!(
                "the answer is larger than {MAX_ANSWER} bytes, which only a request to the API \
                 itself can have"
            )))
        })?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        let bytes = body.len();
        let mut values = ctx.app.answer_memory.held(Holder::of(&ctx.scope));
        let parse = move || {
            values.grow(json_values::memory(&body) + body.len() as u64)?;
            let parsed = serde_json::from_slice(&body);
            let value: Value = parsed.map_err(|error| ApiError::internal(&error))?;
            Ok::<_, ApiError>((value, values))
        };
        let parsed = sized(bytes, parse).await.map_err(ApiError::from)?;
        let (value, values) = parsed?;
        ctx.scope.hold_values(values);
        Ok(value)
    }
}

/// The error in an answer's envelope.
async fn failure(status: StatusCode, response: Response) -> Failure {
    let whole = axum::body::to_bytes(response.into_body(), INLINE_BYTES).await;
    let envelope: Option<Value> = whole
        .ok()
        .and_then(|whole| serde_json::from_slice(&whole).ok());
    match envelope.and_then(|mut envelope| envelope.get_mut("error").map(Value::take)) {
        Some(error) => Failure { status, error },
        None => ApiError::for_status(status).into(),
    }
}

/// The data of the server-sent events of an answer, one after the other; comments are left out.
pub(crate) fn events(response: Response) -> impl futures::Stream<Item = Value> + Send + Unpin {
    let chunks = response.into_body().into_data_stream();
    let state = (chunks, Vec::<u8>::new());
    Box::pin(futures::stream::unfold(
        state,
        |(mut chunks, mut held)| async move {
            loop {
                if let Some(at) = held.windows(2).position(|pair| pair == b"\n\n") {
                    let event: Vec<u8> = held.drain(..at + 2).collect();
                    match event_data(&event) {
                        Some(data) => return Some((data, (chunks, held))),
                        None => continue,
                    }
                }
                held.extend_from_slice(&chunks.next().await?.ok()?);
            }
        },
    ))
}

fn event_data(event: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(event).ok()?;
    let data = text.lines().find_map(|line| line.strip_prefix("data:"))?;
    serde_json::from_str(data).ok()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[tokio::test]
    async fn events_are_read_across_chunks_and_comments_are_left_out() {
        let chunks = [
            ": keep",
            "-alive\n\nevent: progress\nid: 1\nda",
            "ta: {\"a\":1}\n",
            "\ndata: {\"a\":2}\n\n",
        ];
        let body = Body::from_stream(futures::stream::iter(
            chunks.map(|chunk| Ok::<_, std::io::Error>(Bytes::from(chunk))),
        ));
        let read: Vec<Value> = events(Response::new(body)).collect().await;
        assert_eq!(read, [json!({"a": 1}), json!({"a": 2})]);
    }

    #[test]
    fn a_call_encodes_its_query_and_segments() {
        let call = Call::get(format!("/v1/actors/{}", segment("../x?y"))).with("q", "a&b=c");
        assert_eq!(call.path, "/v1/actors/%2E%2E%2Fx%3Fy");
        assert_eq!(call.query, "q=a%26b%3Dc");
    }
}

//! Shapes of answers that many endpoints share.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use orbweaver_pipeline::sized;
use serde::Serialize;

use crate::error::ApiError;

/// JSON text that is already complete.
pub(crate) fn raw_json(body: Bytes) -> Response {
    ([(http::header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A JSON body with about `bytes` bytes of content; a large one is written on a thread for CPU-bound work.
///
/// # Errors
/// An internal error.
pub(crate) async fn large_json<T: Serialize + Send + 'static>(
    bytes: usize,
    answer: T,
) -> Result<Response, ApiError> {
    let json = sized(bytes, move || serde_json::to_vec(&answer)).await?;
    let json = json.map_err(|error| ApiError::internal(&error))?;
    Ok(raw_json(json.into()))
}

/// A JSON body, or an error.
pub(crate) type JsonAnswer<T> = Result<Json<T>, ApiError>;

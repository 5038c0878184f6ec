//! Shapes of answers that many endpoints share.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;

use crate::error::ApiError;

/// JSON text that is already complete.
pub(crate) fn raw_json(body: Bytes) -> Response {
    ([(http::header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A JSON body, or an error.
pub(crate) type JsonAnswer<T> = Result<Json<T>, ApiError>;

//! The one error envelope: `{"error":{"code","message","retry_after_seconds"?}}`.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use orbweaver_accounts::fair::Busy;
use orbweaver_accounts::quota::QuotaError;

/// Seconds after which to try again where the storage is not available.
const UNAVAILABLE_SECONDS: u64 = 5;

/// An error answer.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    code: Code,
    message: Cow<'static, str>,
    retry_after: Option<u64>,
    crawl: Option<i64>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The values of `error.code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = ErrorCode)]
pub enum Code {
    /// The request breaks a rule; the message names field and rule.
    InvalidInput,
    /// No valid key.
    Unauthorized,
    /// The key may not do this.
    Forbidden,
    /// No such resource in this project, or no such path.
    NotFound,
    /// The path has other methods; `Allow` lists them.
    MethodNotAllowed,
    /// The request took too long.
    Timeout,
    /// The request conflicts with the present state.
    Conflict,
    /// The body is larger than accepted.
    PayloadTooLarge,
    /// A cap is reached; `retry_after_seconds` says for how long.
    RateLimited,
    /// The service failed.
    Internal,
    /// The database or the blob store is not available; `retry_after_seconds` says when to try again.
    Unavailable,
    /// A plugin failed.
    PluginFailed,
    /// What the request needs is not configured.
    NotImplemented,
    /// The target could not be fetched.
    FetchFailed,
}

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDetail {
    /// For programs.
    pub code: Code,
    /// For people; may change.
    pub message: String,
    /// Seconds after which a retry makes sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub retry_after_seconds: Option<u64>,
    /// The crawl to wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub crawl_id: Option<i64>,
}

impl ApiError {
    fn new(status: StatusCode, code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            retry_after: None,
            crawl: None,
            headers: Vec::new(),
        }
    }

    /// 422: a field breaks a rule.
    pub fn invalid(field: &str, rule: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::InvalidInput,
            format!("{field}: {rule}"),
        )
    }

    /// 422: as [`invalid`](Self::invalid), with a message that names the field already.
    pub fn breaks(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::InvalidInput,
            message,
        )
    }

    /// 400: the request is malformed.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::InvalidInput, message)
    }

    /// 401.
    pub fn unauthorized(message: &'static str) -> Self {
        let mut error = Self::new(StatusCode::UNAUTHORIZED, Code::Unauthorized, message);
        error
            .headers
            .push((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        error
    }

    /// 403.
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::FORBIDDEN, Code::Forbidden, message)
    }

    /// 429: a cap is reached; `retry_after` is in seconds.
    pub fn rate_limited(message: impl Into<Cow<'static, str>>, retry_after: u64) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, Code::RateLimited, message)
        }
    }

    /// 404: no such resource in the caller's project.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::NotFound, message)
    }

    /// 404 for an unknown path.
    pub fn no_such_path() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "there is no such path; /openapi.json lists them",
        )
    }

    /// 404 for a path that has a segment which is no text.
    pub fn unreadable_segment(segment: &str) -> Self {
        Self::not_found(format!(
            "no such path: the bytes of `{}` are not UTF-8",
            crate::validate::shown(segment)
        ))
    }

    /// 405; the router adds `Allow`.
    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            Code::MethodNotAllowed,
            "this path does not take that method; the Allow header lists those it takes",
        )
    }

    /// 408.
    pub fn timeout(message: &'static str) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, Code::Timeout, message)
    }

    /// 408 of a request that waited for a crawl.
    pub fn crawl_runs(message: impl Into<Cow<'static, str>>, crawl: i64) -> Self {
        Self {
            crawl: Some(crawl),
            ..Self::new(StatusCode::REQUEST_TIMEOUT, Code::Timeout, message)
        }
    }

    /// 409.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, Code::Conflict, message)
    }

    /// 413.
    pub fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Code::PayloadTooLarge,
            format!("the request body is larger than {limit} bytes"),
        )
    }

    /// 414.
    pub fn uri_too_long(limit: usize) -> Self {
        Self::new(
            StatusCode::URI_TOO_LONG,
            Code::InvalidInput,
            format!("the request's path and query are longer than {limit} bytes"),
        )
    }

    /// 415: the body has a content coding.
    pub fn coded(coding: &str) -> Self {
        let mut error = Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::InvalidInput,
            format!("Content-Encoding: must be identity, not `{coding}`"),
        );
        // The codings that are accepted (RFC 9110, section 12.5.3).
        error.headers.push((
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        ));
        error
    }

    /// 500: the client gets no details, the log gets all.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %cause, "request failed");
        Self::unexplained()
    }

    /// 500 whose cause is logged already.
    pub fn unexplained() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::Internal,
            "internal error; search the log for this X-Request-Id",
        )
    }

    /// 500: a plugin failed; says which and how.
    pub fn plugin_failed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::PluginFailed,
            message,
        )
    }

    /// 503: a plugin is not called for a while, because its last calls crashed; `retry_after` is in
    /// seconds.
    pub fn plugin_refused(message: impl Into<Cow<'static, str>>, retry_after: u64) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::PluginFailed, message)
        }
    }

    /// 503: the database or the blob store is not available; the log gets the cause.
    pub fn unavailable(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %cause, "a request failed: the storage is not available");
        Self {
            retry_after: Some(UNAVAILABLE_SECONDS),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                Code::Unavailable,
                "the service's database or blob store is not available now; try again later",
            )
        }
    }

    /// 501: names what to configure.
    pub fn not_configured(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, Code::NotImplemented, message)
    }

    /// 502.
    pub fn fetch_failed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, Code::FetchFailed, message)
    }

    /// The error for a status that another layer answered without our envelope.
    pub fn for_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::no_such_path(),
            StatusCode::METHOD_NOT_ALLOWED => Self::method_not_allowed(),
            StatusCode::REQUEST_TIMEOUT => Self::timeout("the request took too long"),
            status if status.is_server_error() => Self::unexplained(),
            _ => Self {
                status,
                ..Self::bad_request(
                    status
                        .canonical_reason()
                        .unwrap_or("the request is not valid"),
                )
            },
        }
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Its body and its headers.
    fn into_parts(self) -> (ErrorDetail, Vec<(HeaderName, HeaderValue)>) {
        let detail = ErrorDetail {
            code: self.code,
            message: self.message.into_owned(),
            retry_after_seconds: self.retry_after,
            crawl_id: self.crawl,
        };
        (detail, self.headers)
    }

    /// Its body.
    pub(crate) fn into_detail(self) -> ErrorDetail {
        self.into_parts().0
    }

    /// Its message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.status, self.retry_after);
        let (error, headers) = self.into_parts();
        let mut response = (status, axum::Json(ErrorBody { error })).into_response();
        response.headers_mut().extend(headers);
        if let Some(seconds) = retry_after {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<Busy> for ApiError {
    fn from(busy: Busy) -> Self {
        Self::rate_limited(busy.to_string(), busy.retry_after_seconds())
    }
}

impl From<QuotaError> for ApiError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Capped(cap) => Self::rate_limited(cap.to_string(), cap.retry_after_seconds),
            QuotaError::Suspended => Self::forbidden("the project is suspended"),
            QuotaError::Store(error) => error.into(),
        }
    }
}

impl From<orbweaver_store::StoreError> for ApiError {
    fn from(error: orbweaver_store::StoreError) -> Self {
        match error.is_transient() {
            true => Self::unavailable(&error),
            false => Self::internal(&error),
        }
    }
}

/// What every operation with a key may answer; for the OpenAPI document.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "read by the derive only")]
pub enum CommonErrors {
    /// The key is missing or not valid.
    #[response(status = 401)]
    Unauthorized(ErrorBody),
    /// The project is suspended, or the key may not do this.
    #[response(status = 403)]
    Forbidden(ErrorBody),
    /// A parameter breaks a rule; the message names it.
    #[response(status = 422)]
    Invalid(ErrorBody),
    /// A cap is reached; see `Retry-After`.
    #[response(status = 429)]
    RateLimited(ErrorBody),
    /// The service failed.
    #[response(status = 500)]
    Internal(ErrorBody),
    /// The database or the blob store is not available; see `Retry-After`.
    #[response(status = 503)]
    Unavailable(ErrorBody),
}

/// What every operation with a JSON body may answer besides.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "read by the derive only")]
pub enum BodyErrors {
    /// The body is not JSON.
    #[response(status = 400)]
    NotJson(ErrorBody),
    /// The request, or its target, took too long.
    #[response(status = 408)]
    Timeout(ErrorBody),
    /// The Idempotency-Key was used with another body, or its first request is still running.
    #[response(status = 409)]
    Conflict(ErrorBody),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(ErrorBody),
    /// The body has a content coding.
    #[response(status = 415)]
    Coded(ErrorBody),
}

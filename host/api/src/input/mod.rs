//! JSON bodies and query strings, refused with the field's name and the rule.

mod json;
mod query;
mod strict;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::error::ApiError;
use crate::app::App;
use crate::scope::Scope;
use crate::warnings::{Described, UnknownNames};
use orbweaver_pipeline::sized;

pub(crate) use json::check_json;
pub use query::Query;

/// A JSON object, whatever its `Content-Type`: clients of the contract send only JSON.
#[derive(Debug)]
pub struct Payload<T> {
    /// Its value.
    pub value: T,
    digest: [u8; 32],
}

impl<T> Payload<T> {
    /// SHA-256 of the body as sent.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for Payload<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (value, digest) = read_json(request, app, json::parse).await?;
        Ok(Self { value, digest })
    }
}

/// Reads a body and its SHA-256; a large one on a thread for CPU-bound work. Unknown fields are
/// noted in the request's scope, even if other fields are invalid.
async fn read_json<T: Send + 'static>(
    request: Request,
    app: &App,
    read: impl FnOnce(&[u8], &mut UnknownNames, &Described) -> Result<T, ApiError> + Send + 'static,
) -> Result<(T, [u8; 32]), ApiError> {
    let scope = request.extensions().get::<Scope>().cloned();
    let described = Described::of(request.extensions(), request.method(), request.uri());
    let raw = whole_body(request, app).await?;
    let bytes = raw.len();
    let work = move || {
        let mut unknown = UnknownNames::default();
        let value = read(&raw, &mut unknown, &described);
        if let Some(scope) = scope.filter(|_| !unknown.is_empty()) {
            scope.note_unknown(unknown);
        }
        Ok((value?, Sha256::digest(&raw).into()))
    };
    sized(bytes, work).await?
}

/// Whether no value is given: no body at all, or null.
fn is_absent(raw: &[u8]) -> bool {
    matches!(raw.trim_ascii(), b"" | b"null")
}

/// A JSON object; no body at all and null stand for `{}`.
#[derive(Debug)]
pub struct Optional<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for Optional<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let read = |raw: &[u8], unknown: &mut UnknownNames, described: &Described| {
            json::parse(if is_absent(raw) { b"{}" } else { raw }, unknown, described)
        };
        let (value, _) = read_json(request, app, read).await?;
        Ok(Self(value))
    }
}

/// The unchanged body, for checks of its signature.
#[derive(Debug)]
pub struct RawBody(pub Bytes);

impl FromRequest<App> for RawBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        whole_body(request, app).await.map(Self)
    }
}

async fn whole_body(request: Request, app: &App) -> Result<Bytes, ApiError> {
    body(request, app, app.settings.max_body_bytes).await
}

/// A JSON object; no body at all and null stand for the default.
#[derive(Debug)]
pub struct OptionalPayload<T> {
    /// Its value.
    pub value: T,
    digest: [u8; 32],
}

impl<T> OptionalPayload<T> {
    /// SHA-256 of the body as sent.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

impl<T: DeserializeOwned + Default + Send + 'static> FromRequest<App> for OptionalPayload<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let read =
            |raw: &[u8], unknown: &mut UnknownNames, described: &Described| match is_absent(raw) {
                true => Ok(T::default()),
                false => json::parse(raw, unknown, described),
            };
        let (value, digest) = read_json(request, app, read).await?;
        Ok(Self { value, digest })
    }
}

/// A request's body of at most `limit` bytes.
///
/// # Errors
/// 415 for a coded body, 413 for more, 408 where it comes too slowly, 400 where it breaks off.
pub async fn body(request: Request, app: &App, limit: usize) -> Result<Bytes, ApiError> {
    check_coding(request.headers())?;
    // Refused before reading, if the client states the length.
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(ApiError::too_large(limit));
    }
    tokio::time::timeout(app.settings.body_timeout, read(request.into_body(), limit))
        .await
        .map_err(|_| ApiError::timeout("the request's body took too long to arrive"))?
}

/// Bodies of requests come as they are.
fn check_coding(headers: &HeaderMap) -> Result<(), ApiError> {
    let is_plain = |coding: &str| coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    for value in headers.get_all(CONTENT_ENCODING) {
        let value = String::from_utf8_lossy(value.as_bytes());
        if let Some(coding) = value.split(',').map(str::trim).find(|one| !is_plain(one)) {
            return Err(ApiError::coded(&crate::validate::shown(coding)));
        }
    }
    Ok(())
}

async fn read(body: Body, limit: usize) -> Result<Bytes, ApiError> {
    axum::body::to_bytes(body, limit).await.map_err(|error| {
        let error = error.into_inner();
        if error.is::<http_body_util::LengthLimitError>() {
            ApiError::too_large(limit)
        } else {
            ApiError::bad_request("the request's body ended before its end")
        }
    })
}

//! JSON bodies and query strings, refused with the field's name and the rule.

mod json;
mod query;
mod strict;
mod values;

use std::marker::PhantomData;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use bytes::BytesMut;
use futures::StreamExt as _;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::error::ApiError;
use crate::app::App;
use crate::held::{Held, Holder};
use crate::scope::Scope;
use crate::warnings::{Described, UnknownNames};
pub use orbweaver_core::json_values::MemberBound;
use orbweaver_pipeline::{rules, sized};

pub(crate) use json::check_json;
pub use query::Query;
use values::check_values;

/// How large a body may be.
pub trait BodyBound {
    /// In bytes.
    fn most(app: &App) -> usize;

    /// Members that have a bound of their own.
    fn members() -> &'static [MemberBound] {
        &[]
    }
}

/// As large as the operator lets bodies be (`http.max_body_bytes`).
#[derive(Debug)]
pub struct AsConfigured;

impl BodyBound for AsConfigured {
    fn most(app: &App) -> usize {
        app.settings.max_body_bytes
    }
}

/// The same, with the bounds of `extract` and `extractor_options`.
#[derive(Debug)]
pub struct OfPages;

impl BodyBound for OfPages {
    fn most(app: &App) -> usize {
        app.settings.max_body_bytes
    }

    fn members() -> &'static [MemberBound] {
        const MEMBERS: &[MemberBound] = &[
            MemberBound {
                name: "extract",
                is_of_each: false,
                most: rules::MAX_EXTRACT_BYTES,
                // The prompt, of which a character has four bytes at most, and the names of members.
                besides: 4 * rules::MAX_PROMPT + 64,
            },
            MemberBound {
                name: "extractor_options",
                is_of_each: true,
                most: rules::MAX_OPTIONS_BYTES,
                besides: 0,
            },
        ];
        MEMBERS
    }
}

/// At most `MOST` bytes: for endpoints that need no key.
#[derive(Debug)]
pub struct AtMost<const MOST: usize>;

impl<const MOST: usize> BodyBound for AtMost<MOST> {
    fn most(app: &App) -> usize {
        MOST.min(app.settings.max_body_bytes)
    }
}

/// A JSON object, whatever its `Content-Type`: clients of the contract send only JSON.
#[derive(Debug)]
pub struct Payload<T, B = AsConfigured> {
    /// Its value.
    pub value: T,
    digest: [u8; 32],
    bound: PhantomData<B>,
}

impl<T, B> Payload<T, B> {
    /// SHA-256 of the body as sent.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

impl<T: DeserializeOwned + Send + 'static, B: BodyBound> FromRequest<App> for Payload<T, B> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let bounds = (B::most(app), B::members());
        let (value, digest) = read_json(request, app, bounds, json::parse).await?;
        Ok(Self {
            value,
            digest,
            bound: PhantomData,
        })
    }
}

/// Reads a body and its SHA-256; a large one on a thread for CPU-bound work. Unknown fields are
/// noted in the request's scope, even if other fields are invalid.
async fn read_json<T: Send + 'static>(
    request: Request,
    app: &App,
    (limit, members): (usize, &'static [MemberBound]),
    read: impl FnOnce(&[u8], &mut UnknownNames, &Described) -> Result<T, ApiError> + Send + 'static,
) -> Result<(T, [u8; 32]), ApiError> {
    let scope = request.extensions().get::<Scope>().cloned();
    let described = Described::of(request.extensions(), request.method(), request.uri());
    let raw = body(request, app, limit).await?;
    let bytes = raw.len();
    let values = app.request_memory.held(holder(scope.as_ref()));
    let work = move || {
        hold_values(&raw, members, values, scope.as_ref())?;
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
        let bounds = (AsConfigured::most(app), AsConfigured::members());
        let (value, _) = read_json(request, app, bounds, read).await?;
        Ok(Self(value))
    }
}

/// Whose memory a request's body is.
fn holder(scope: Option<&Scope>) -> Holder {
    scope.map_or(Holder::Local, Holder::of)
}

/// Counts a body's values, and has the request hold the memory for them.
///
/// # Errors
/// 422 for too many, or a member beyond its bound, 429 where there is no memory for them.
pub(crate) fn hold_values(
    raw: &[u8],
    members: &'static [MemberBound],
    mut held: Held,
    scope: Option<&Scope>,
) -> Result<(), ApiError> {
    held.grow(check_values(raw, members)?)?;
    if let Some(scope) = scope {
        scope.hold_values(held);
    }
    Ok(())
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
        let bounds = (AsConfigured::most(app), AsConfigured::members());
        let (value, digest) = read_json(request, app, bounds, read).await?;
        Ok(Self { value, digest })
    }
}

/// A request's body of at most `limit` bytes. The request holds its memory until it has ended.
///
/// # Errors
/// 415 for a coded body, 413 for more, 408 where it comes too slowly, 400 where it breaks off, 429
/// where there is no memory for it.
pub async fn body(request: Request, app: &App, limit: usize) -> Result<Bytes, ApiError> {
    check_coding(request.headers())?;
    // Refused before reading, if the client states the length.
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok())
        .unwrap_or(0);
    if announced > limit as u64 {
        return Err(ApiError::too_large(limit));
    }
    let scope = request.extensions().get::<Scope>().cloned();
    let mut held = app.request_memory.held(holder(scope.as_ref()));
    held.would_grow(announced)?;
    let reading = read(request.into_body(), limit, &mut held);
    let body = tokio::time::timeout(app.settings.body_timeout, reading)
        .await
        .map_err(|_| ApiError::timeout("the request's body took too long to arrive"))??;
    if let Some(scope) = scope {
        scope.hold_body(held);
    }
    Ok(body)
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

/// Reads a body piece by piece, and holds memory for what has come.
async fn read(body: Body, limit: usize, held: &mut Held) -> Result<Bytes, ApiError> {
    let mut pieces = body.into_data_stream();
    let mut whole = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|_| ApiError::bad_request("the request's body ended before its end"))?;
        if piece.len() > limit - whole.len() {
            return Err(ApiError::too_large(limit));
        }
        held.grow(piece.len() as u64)?;
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

//! JSON bodies and query strings, refused with the field's name and the rule.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::error::ApiError;
use crate::app::App;
use crate::scope::Scope;
use crate::warnings::{Step, UnknownNames};
use orbweaver_pipeline::sized;

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
        let scope = request.extensions().get::<Scope>().cloned();
        let raw = whole_body(request, app).await?;
        let (value, digest) = read_json(raw, scope, |raw, unknown| parse(raw, unknown)).await?;
        Ok(Self { value, digest })
    }
}

/// Reads a body and its SHA-256; a large one on a thread for CPU-bound work. Unknown fields are
/// noted in the request's scope, even if other fields are invalid.
async fn read_json<T: Send + 'static>(
    raw: Bytes,
    scope: Option<Scope>,
    read: impl FnOnce(&[u8], &mut UnknownNames) -> Result<T, ApiError> + Send + 'static,
) -> Result<(T, [u8; 32]), ApiError> {
    let bytes = raw.len();
    let work = move || {
        let mut unknown = UnknownNames::default();
        let value = read(&raw, &mut unknown);
        if let Some(scope) = scope.filter(|_| !unknown.is_empty()) {
            scope.note_unknown(unknown);
        }
        Ok((value?, Sha256::digest(&raw).into()))
    };
    sized(bytes, work).await?
}

/// A JSON object, or no body at all, which stands for `{}`.
#[derive(Debug)]
pub struct Optional<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for Optional<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let scope = request.extensions().get::<Scope>().cloned();
        let raw = whole_body(request, app).await?;
        let read = |raw: &[u8], unknown: &mut UnknownNames| {
            let is_empty = raw.iter().all(u8::is_ascii_whitespace);
            parse(if is_empty { b"{}" } else { raw }, unknown)
        };
        let (value, _) = read_json(raw, scope, read).await?;
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

/// A JSON object, or no body at all, which stands for an empty object.
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
        let scope = request.extensions().get::<Scope>().cloned();
        let raw = whole_body(request, app).await?;
        let read = |raw: &[u8], unknown: &mut UnknownNames| match raw {
            raw if raw.iter().all(u8::is_ascii_whitespace) => Ok(T::default()),
            b"null" => Ok(T::default()),
            raw => parse(raw, unknown),
        };
        let (value, digest) = read_json(raw, scope, read).await?;
        Ok(Self { value, digest })
    }
}

/// A request's body of at most `limit` bytes.
///
/// # Errors
/// 413 for more, 408 where it comes too slowly, 400 where it breaks off.
pub async fn body(request: Request, app: &App, limit: usize) -> Result<Bytes, ApiError> {
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

/// Parses an object: 400 for what is not JSON, 422 for what is not the right JSON. Fields that
/// the type does not have are noted in `unknown`.
fn parse<T: DeserializeOwned>(raw: &[u8], unknown: &mut UnknownNames) -> Result<T, ApiError> {
    // serde would accept an array as a struct, field by field.
    let is_object = raw.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let mut deserializer = serde_json::Deserializer::from_slice(raw);
    if !is_object {
        check_json(raw)?;
        return Err(ApiError::invalid("body", "must be a JSON object"));
    }
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    let note = |path: serde_ignored::Path<'_>| match unknown.is_full() {
        true => unknown.count(),
        false => unknown.push(steps(&path), None),
    };
    let value = serde_ignored::deserialize(tracked, note).map_err(|cause| {
        let path = track.path().to_string();
        // Syntax errors count first, and a value of the wrong kind may look like one
        // (a number where a word belongs).
        match serde_json::from_slice::<serde::de::IgnoredAny>(raw) {
            Ok(_) => wrong_field(&path, &cause.to_string()),
            Err(error) => not_json(&error),
        }
    })?;
    deserializer.end().map_err(|error| not_json(&error))?;
    Ok(value)
}

/// The steps to a field that was ignored.
fn steps(mut path: &serde_ignored::Path<'_>) -> Vec<Step> {
    use serde_ignored::Path;

    let mut steps = Vec::new();
    loop {
        path = match path {
            Path::Root => break,
            Path::Seq { parent, index } => {
                steps.push(Step::Index(*index));
                parent
            }
            Path::Map { parent, key } => {
                steps.push(Step::Member(key.clone()));
                parent
            }
            Path::Some { parent }
            | Path::NewtypeStruct { parent }
            | Path::NewtypeVariant { parent } => parent,
        };
    }
    steps.reverse();
    steps
}

/// 400 for what is not JSON.
pub(crate) fn check_json(raw: &[u8]) -> Result<(), ApiError> {
    let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(raw);
    parsed.map(|_| ()).map_err(|error| not_json(&error))
}

fn not_json(error: &serde_json::Error) -> ApiError {
    ApiError::bad_request(format!("the body is not JSON: {error}"))
}

fn wrong_field(path: &str, message: &str) -> ApiError {
    // The sender of a field has no use for serde_json's position.
    let message = message
        .rsplit_once(" at line ")
        .map_or(message, |(front, _)| front);
    if let Some(field) = message
        .strip_prefix("missing field `")
        .and_then(|m| m.strip_suffix('`'))
    {
        let path = if path == "." {
            String::new()
        } else {
            format!("{path}.")
        };
        return ApiError::invalid(&format!("{path}{field}"), "is required");
    }
    let field = if path == "." { "body" } else { path };
    ApiError::invalid(field, in_words(message))
}

/// serde's "invalid type: string "x", expected u32" as a rule.
fn in_words(message: &str) -> String {
    if message == "expected value" {
        return "must be one of the words that are described for it".to_owned();
    }
    let Some((got, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "a JSON number" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "an object",
        other => other,
    };
    let got = got
        .strip_prefix("invalid type: ")
        .or_else(|| got.strip_prefix("invalid value: "))
        .or_else(|| got.strip_prefix("unknown variant "))
        .unwrap_or(got);
    let got = match got {
        "sequence" => "an array",
        "map" => "an object",
        other => other,
    };
    format!("must be {expected}, not {got}")
}

/// Parameters of the query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let deserializer =
            serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
        serde_path_to_error::deserialize(deserializer)
            .map(Self)
            .map_err(|error| {
                let path = error.path().to_string();
                wrong_parameter(&path, &error.into_inner().to_string())
            })
    }
}

fn wrong_parameter(path: &str, message: &str) -> ApiError {
    if let Some(name) = message
        .strip_prefix("missing field `")
        .and_then(|m| m.strip_suffix('`'))
    {
        return ApiError::invalid(name, "is required");
    }
    if let Some(name) = message
        .strip_prefix("duplicate field `")
        .and_then(|m| m.strip_suffix('`'))
    {
        return ApiError::invalid(name, "is given twice");
    }
    let rule = match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "must be a whole number, 0 or more"
        }
        "number too large to fit in target type" => "is too large",
        "number too small to fit in target type" => "must be a whole number, 0 or more",
        "provided string was not `true` or `false`" => "must be true or false",
        other => other,
    };
    // serde's "unknown variant `x`, expected one of `a`, `b`".
    let words = rule
        .strip_prefix("unknown variant ")
        .and_then(|rest| rest.rsplit_once(", expected "));
    let rule = match words {
        Some((given, words)) => format!("must be {words}, not {given}").replace('`', ""),
        None => rule.to_owned(),
    };
    ApiError::invalid(if path == "." { "query" } else { path }, rule)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Sample {
        url: String,
        #[serde(default)]
        depth: Option<u32>,
        #[serde(default)]
        urls: Vec<String>,
    }

    fn refused(raw: &str) -> (u16, String) {
        let mut unknown = UnknownNames::default();
        let error = parse::<Sample>(raw.as_bytes(), &mut unknown).unwrap_err();
        (error.status().as_u16(), error.message().to_owned())
    }

    #[test]
    fn what_is_not_json_is_a_bad_request() {
        for raw in [
            "",
            "{",
            "{\"url\":\"x\"} x",
            "nul",
            "[1,",
            "{\"url\":1,",
            "\u{feff}{}",
        ] {
            let (status, message) = refused(raw);
            assert_eq!(status, 400, "{raw}: {message}");
            assert!(message.starts_with("the body is not JSON"), "{message}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(refused(&deep).0, 400);
    }

    #[test]
    fn a_wrong_field_is_named_with_its_rule() {
        for (raw, expected) in [
            ("{}", "url: is required"),
            ("[\"http://x\"]", "body: must be a JSON object"),
            ("null", "body: must be a JSON object"),
            ("{\"url\":1}", "url: must be a string, not integer `1`"),
            (
                "{\"url\":\"x\",\"depth\":-1}",
                "depth: must be a whole number, 0 or more, not integer `-1`",
            ),
            (
                "{\"url\":\"x\",\"depth\":\"3\"}",
                "depth: must be a whole number, 0 or more, not string \"3\"",
            ),
            (
                "{\"url\":\"x\",\"urls\":[\"a\",2]}",
                "urls[1]: must be a string, not integer `2`",
            ),
        ] {
            assert_eq!(refused(raw), (422, expected.to_owned()), "{raw}");
        }
    }

    #[test]
    fn unknown_fields_are_noted_and_nulls_are_nothing() {
        let mut unknown = UnknownNames::default();
        let raw = br#" {"url":"x","depth":null,"params":{"a":1},"zzz":[[]]} "#;
        let sample: Sample = parse(raw, &mut unknown).unwrap();
        assert!(!unknown.is_empty());
        assert_eq!(
            (sample.url.as_str(), sample.depth, sample.urls.len()),
            ("x", None, 0)
        );
    }
}

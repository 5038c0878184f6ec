//! `Idempotency-Key`: the same request is answered once, billed once.
//!
//! The key is claimed after validation, so that a corrected body may carry it again. The
//! work runs in a task of its own: when the client hangs up, it still ends, and the retry
//! finds its answer. If the process dies, the claim ends half a minute later, and a retry does
//! the work again, billed once.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use orbweaver_engine::within_request;
use orbweaver_pipeline::sized;
use orbweaver_store::{
    Claim, KeptAnswer, MAX_KEPT_BYTES, PackedAnswer, RENEWAL, Store, StoreError,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::Instrument as _;
use utoipa::IntoParams;

use super::context::Ctx;
use super::error::ApiError;
use super::scope::Scope;
use super::warnings::WARNINGS;

/// How many times larger than its packed form an answer usually is.
const EXPANSION: usize = 8;
/// Longest path that is kept as it is, in bytes.
const MAX_KEPT_PATH: usize = 255;
/// Time between two attempts to write how a request ended.
const RETRY: Duration = Duration::from_secs(1);
/// Attempts before the end of a request is given up. Its claim has ended long before, so a retry
/// of the client does the work again.
const RETRIES: u32 = 600;

/// The header, for the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IdempotencyHeader {
    /// A UUID. The same request with the same key within 24 hours gets the first answer
    /// again, unbilled, with `Idempotent-Replayed: true`. An answer over 16 MiB is not kept: the
    /// request then gets 409. After 408, 429 or 5xx the request works again, on the same bill.
    #[param(rename = "Idempotency-Key", value_type = String, format = "uuid", required = false)]
    #[expect(dead_code, reason = "a schema, never constructed")]
    key: Option<String>,
}

/// The token of a call's bill: work with the same token is billed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageToken(String);

impl UsageToken {
    /// Token of a call that is billed as one.
    pub fn whole(&self) -> String {
        self.0.clone()
    }

    /// Token of one part of a call.
    pub fn part(&self, index: usize) -> String {
        format!("{}#{index}", self.0)
    }
}

/// Runs `work` unless an answer to the same request is kept.
pub async fn once<F, W>(ctx: &Ctx, digest: &[u8; 32], work: W) -> Response
where
    W: FnOnce(UsageToken) -> F,
    F: Future<Output = Response> + Send + 'static,
{
    let Some(key) = ctx.idempotency_key else {
        return work(UsageToken(format!("request:{}", ctx.scope.id()))).await;
    };
    let key = key.to_string();
    let path = kept_path(&ctx.path);
    let (store, project) = (&ctx.app.store, ctx.principal.project);
    let claim = store
        .claim_idempotency(project, &path, &key, digest, ctx.app.clock.now())
        .await;
    let since = match claim {
        Ok(Claim::Run { since }) => since,
        Ok(Claim::Replay(answer)) => return replay(answer, &ctx.scope).await.into_response(),
        Ok(Claim::Busy) => {
            return ApiError::conflict(
                "Idempotency-Key: the first request with this key is still being worked on",
            )
            .into_response();
        }
        Ok(Claim::OtherBody) => {
            return ApiError::conflict(
                "Idempotency-Key: this key was used with another body within 24 hours",
            )
            .into_response();
        }
        Ok(Claim::TooLarge) => {
            return ApiError::conflict(
                "Idempotency-Key: the request with this key was answered and billed, but its answer \
                 was over 16 MiB and is not kept; another key does the work again, and bills it",
            )
            .into_response();
        }
        Err(error) => return ApiError::from(error).into_response(),
    };
    let token = UsageToken(format!("key:{key}:{path}:{}", since.timestamp_millis()));
    let work = within_request(ctx.scope.id().into(), work(token));
    let ctx = ctx.clone();
    let (store, unanswered, place) = (store.clone(), key.clone(), path.clone());
    let task = tokio::spawn(
        async move {
            let keeper = Keeper {
                ctx: &ctx,
                path: &place,
                key: &key,
            };
            let answer = tokio::select! {
                answer = work => answer,
                never = keeper.renew() => match never {},
            };
            let answer = keeper.keep(answer).await;
            answer.unwrap_or_else(|error| error.into_response())
        }
        .in_current_span(),
    );
    match task.await {
        Ok(answer) => answer,
        Err(error) => {
            // It panicked, perhaps after it was billed: a retry runs again under the same token.
            let released = store.release_idempotency(project, &path, &unanswered).await;
            if released.is_err() {
                insist(move || {
                    let (store, path, key) = (store.clone(), path.clone(), unanswered.clone());
                    async move { store.release_idempotency(project, &path, &key).await }
                });
            }
            ApiError::internal(&error).into_response()
        }
    }
}

/// The path as it is kept: a long one as its hash, because indexes of PostgreSQL do not take rows of
/// any length.
fn kept_path(path: &str) -> String {
    if path.len() <= MAX_KEPT_PATH {
        return path.to_owned();
    }
    format!("sha256:{}", hex::encode(Sha256::digest(path.as_bytes())))
}

/// Repeats, in the background, a write that the database refused, such as on a full disk. Until it
/// succeeds, a retry of the request is told that the first one is in progress.
fn insist<F>(write: impl Fn() -> F + Send + 'static)
where
    F: Future<Output = Result<(), StoreError>> + Send,
{
    tokio::spawn(async move {
        for left in (0..RETRIES).rev() {
            tokio::time::sleep(RETRY).await;
            match write().await {
                Ok(()) => return,
                Err(error) if left == 0 => {
                    tracing::error!(%error, "cannot record how a request with an Idempotency-Key ended");
                }
                Err(_) => {}
            }
        }
    });
}

struct Keeper<'a> {
    ctx: &'a Ctx,
    /// The path as it is kept.
    path: &'a str,
    key: &'a str,
}

impl Keeper<'_> {
    /// Renews the claim for as long as it is polled.
    async fn renew(&self) -> Infallible {
        let (app, path) = (&self.ctx.app, self.path);
        loop {
            tokio::time::sleep(RENEWAL).await;
            let renewed = app
                .store
                .renew_idempotency(self.ctx.principal.project, path, self.key, app.clock.now())
                .await;
            if let Err(error) = renewed {
                tracing::warn!(%error, "cannot renew the claim of an Idempotency-Key");
            }
        }
    }

    async fn keep(&self, answer: Response) -> Result<Response, ApiError> {
        let (store, project) = (&self.ctx.app.store, self.ctx.principal.project);
        let path = self.path;
        let status = answer.status();
        if status.is_server_error()
            || matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
            )
        {
            if store
                .release_idempotency(project, path, self.key)
                .await
                .is_err()
            {
                let (store, path, key) = self.row();
                insist(move || {
                    let (store, path, key) = (store.clone(), path.clone(), key.clone());
                    async move { store.release_idempotency(project, &path, &key).await }
                });
            }
            return Ok(answer);
        }
        let (parts, body) = answer.into_parts();
        let body: Bytes = axum::body::to_bytes(body, usize::MAX)
            .await
            .map_err(|error| ApiError::internal(&error))?;
        let headers = head(&parts.headers, &self.ctx.scope.warnings());
        let packed = match body.len() <= MAX_KEPT_BYTES {
            true => pack(body.clone()).await,
            false => None,
        };
        let kept = packed.as_ref().map(|packed| (&*headers, packed));
        let status = status.as_u16();
        if let Err(error) = store
            .keep_answer(project, path, self.key, status, kept)
            .await
        {
            // The work is done, so the client gets its answer now.
            tracing::warn!(%error, "cannot keep an answer for its Idempotency-Key yet");
            let (store, path, key) = self.row();
            let kept = packed.map(|packed| (headers, packed));
            insist(move || {
                let (store, path, key) = (store.clone(), path.clone(), key.clone());
                let kept = kept.clone();
                async move {
                    let kept = kept.as_ref().map(|(head, packed)| (&**head, packed));
                    store.keep_answer(project, &path, &key, status, kept).await
                }
            });
        }
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}

impl Keeper<'_> {
    /// The store and the key of the row.
    fn row(&self) -> (Store, String, String) {
        let store = self.ctx.app.store.clone();
        (store, self.path.to_owned(), self.key.to_owned())
    }
}

/// The answer as it is kept. One that cannot be packed is not kept: its client has it.
async fn pack(body: Bytes) -> Option<PackedAnswer> {
    let packed = sized(body.len(), move || PackedAnswer::pack(&body)).await;
    packed
        .map_err(ApiError::from)
        .and_then(|packed| packed.map_err(ApiError::from))
        .inspect_err(|error| tracing::warn!(?error, "cannot pack an answer"))
        .ok()
}

/// The headers of an answer as they are kept: all but those of its transfer. What its work warned of is
/// kept with them, each warning as a JSON string.
fn head(headers: &HeaderMap, warnings: &[String]) -> String {
    let mut head = String::new();
    for warning in warnings {
        let _ = writeln!(head, "{WARNINGS}: {}", Value::from(warning.as_str()));
    }
    for (name, value) in headers {
        if let Ok(value) = value.to_str()
            && name != header::CONTENT_LENGTH
        {
            let _ = writeln!(head, "{name}: {value}");
        }
    }
    head
}

async fn replay(answer: KeptAnswer, scope: &Scope) -> Result<Response, ApiError> {
    let KeptAnswer {
        status,
        headers,
        body,
    } = answer;
    let body = sized(body.packed_bytes() * EXPANSION, move || body.unpack()).await??;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let kept = headers.lines().filter_map(|line| line.split_once(": "));
    for (name, value) in kept {
        if name == WARNINGS {
            if let Ok(warning) = serde_json::from_str::<String>(value) {
                scope.warn(warning);
            }
        } else if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
            response.headers_mut().append(name, value);
        }
    }
    response
        .headers_mut()
        .insert("idempotent-replayed", HeaderValue::from_static("true"));
    Ok(response)
}

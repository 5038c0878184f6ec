//! Memory of answers: taken before a large one is made or while it grows, and held until its body is
//! dropped.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::response::{IntoResponse as _, Response};

use super::{Full, Held, Holder, Memory, RETRY_AFTER, SMALL};
use crate::context::Ctx;
use crate::error::ApiError;
use crate::scope::Scope;

/// How long an answer that is not begun waits for room.
const PATIENCE: Duration = Duration::from_secs(RETRY_AFTER);

/// Memory that an answer holds until its body is dropped: an extension of the response. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HeldAnswer {
    _held: Arc<Held>,
}

/// Takes memory for an answer of about so many bytes that is made next. [`answered`] makes it what the
/// answer has. Small answers take none.
///
/// # Errors
/// 429 where there is no room for them in a few seconds.
pub(crate) async fn reserve(ctx: &Ctx, bytes: u64) -> Result<(), ApiError> {
    if bytes > SMALL {
        let mut held = ctx.app.answer_memory.held(Holder::of(&ctx.scope));
        held.grow_within(PATIENCE, bytes).await?;
        *ctx.scope.answer() = Some(held);
    }
    Ok(())
}

/// Takes memory for so many bytes more of a request's answer, which has begun.
///
/// # Errors
/// Where there is no room for them.
pub(crate) fn grow(answers: &Memory, scope: &Scope, more: u64) -> Result<(), Full> {
    let mut held = scope.answer();
    let held = held.get_or_insert_with(|| answers.held(Holder::of(scope)));
    held.grow(more)
}

/// The answer, which holds its memory; a refusal where there is no room for it. Small answers, and
/// those that are made while they are read, hold none.
pub(crate) fn answered(answers: &Memory, scope: &Scope, mut response: Response) -> Response {
    let reserved = scope.answer().take();
    let bytes = response.body().size_hint().exact().unwrap_or(0);
    if bytes <= SMALL {
        return response;
    }
    let mut held = reserved.unwrap_or_else(|| answers.held(Holder::of(scope)));
    if let Err(full) = held.resize(bytes) {
        return ApiError::from(full).into_response();
    }
    let held = HeldAnswer {
        _held: Arc::new(held),
    };
    response.extensions_mut().insert(held);
    response
}

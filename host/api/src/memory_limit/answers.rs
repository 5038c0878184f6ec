//! Memory of answers: taken before a large one is made or while it grows, and held until its body is
//! dropped. Of an answer that is made while it is read, the piece holds memory that is on its way.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::StreamExt as _;

use super::{Full, Held, Holder, Memory, RETRY_AFTER, SMALL};
use crate::context::Ctx;
use crate::error::ApiError;
use crate::scope::Scope;

/// About how many bytes a page takes in a list that is made as a whole: its row, and its JSON.
pub(crate) const LISTED_PAGE: usize = 256;
/// How long an answer that is not begun waits for room.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(RETRY_AFTER);

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
        held.grow_within(MEMORY_TIMEOUT, bytes).await?;
        *ctx.scope.answer() = Some(held);
    }
    Ok(())
}

/// The same for an answer that lists so many pages and is made as a whole.
///
/// # Errors
/// The same.
pub(crate) async fn reserve_list(ctx: &Ctx, pages: u64) -> Result<(), ApiError> {
    reserve(ctx, pages.saturating_mul(LISTED_PAGE as u64)).await
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

/// The answer, which holds its memory; a refusal where there is no room for it. Small answers hold none.
pub(crate) fn answered(answers: &Memory, scope: &Scope, mut response: Response) -> Response {
    let reserved = scope.answer().take();
    let Some(bytes) = response.body().size_hint().exact() else {
        let held = answers.held(Holder::of(scope));
        return response.map(|body| streamed(held, body));
    };
    if bytes <= SMALL {
        return response;
    }
    let mut held = reserved.unwrap_or_else(|| answers.held(Holder::of(scope)));
    // The rest of the answer, such as its warnings, is small, and the request is billed already, so
    // exceeding the limit by that does not refuse it.
    if let Err(full) = held.resize(bytes)
        && bytes > held.bytes.saturating_add(SMALL)
    {
        return ApiError::from(full).into_response();
    }
    let held = HeldAnswer {
        _held: Arc::new(held),
    };
    response.extensions_mut().insert(held);
    response
}

/// The body of an answer that is made while it is read. It breaks off where there is no room for a piece.
fn streamed(mut held: Held, body: Body) -> Body {
    let pieces = body.into_data_stream().map(move |piece| {
        let piece: Bytes = piece?;
        let bytes = match piece.len() as u64 {
            ..=SMALL => 0,
            bytes => bytes,
        };
        // The piece before it is sent by now.
        held.resize(bytes).map_err(|full| {
            tracing::warn!(%full, "answer aborted");
            axum::Error::new(full)
        })?;
        Ok::<_, axum::Error>(piece)
    });
    Body::from_stream(pieces)
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc::unbounded;
    use orbweaver_core::ids::ProjectId;

    use super::*;

    #[test]
    fn an_answer_that_is_billed_is_not_refused_for_what_comes_to_it() {
        let memory = Memory::of_answers(1);
        let scope = Scope::new("".into(), false);
        let status = |bytes: u64| {
            let body = Body::from(vec![b' '; usize::try_from(bytes).expect("few")]);
            answered(&memory, &scope, Response::new(body))
                .status()
                .as_u16()
        };
        let result = 200 << 10;
        grow(&memory, &scope, result).expect("room");
        let mut others = memory.held(Holder::Project(ProjectId(1)));
        while others.grow(1 << 10).is_ok() {}
        assert_eq!(status(result + SMALL), 200);
        grow(&memory, &scope, result).expect("what was given back");
        assert_eq!(status(result + SMALL + 1), 429);
    }

    #[tokio::test]
    async fn a_streamed_answer_holds_the_piece_that_is_on_its_way() {
        let memory = Memory::of_answers(1);
        let scope = Scope::new("".into(), false);
        let (send, pieces) = unbounded::<Result<Bytes, axum::Error>>();
        let send = |bytes: u64| {
            let piece = vec![b' '; usize::try_from(bytes).expect("few")];
            send.unbounded_send(Ok(piece.into())).expect("a reader");
        };
        let response = Response::new(Body::from_stream(pieces));
        let mut body = answered(&memory, &scope, response)
            .into_body()
            .into_data_stream();
        for (bytes, held) in [
            (300 << 10, 300 << 10),
            (200 << 10, 200 << 10),
            (SMALL, 0),
            (200 << 10, 200 << 10),
        ] {
            send(bytes);
            let piece = body.next().await.expect("a piece").expect("room");
            assert_eq!(piece.len() as u64, bytes);
            assert_eq!(memory.0.table.lock().used, held);
        }
        let mut others = memory.held(Holder::Project(ProjectId(1)));
        while others.grow(1 << 10).is_ok() {}
        send(300 << 10);
        body.next().await.expect("the end").expect_err("no room");
        drop(body);
        assert_eq!(memory.0.table.lock().used, others.bytes);
    }
}

//! GET /v1/crawls/{id}/links.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::stream;
use http::header::CONTENT_TYPE;
use orbweaver_core::ids::PageId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::listing::MAX_LIMIT;
use super::path::{self, RunPath};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use crate::validate;
use orbweaver_crawl::link_reader::LinkReader;
use orbweaver_pipeline::ScanError;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// How many links.
    #[param(minimum = 1, maximum = 100_000, default = 100)]
    limit: Option<u32>,
    /// How many of the first to skip.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    offset: Option<u64>,
    /// Only links of this page.
    from_page_id: Option<i64>,
}

/// Links in the order of their pages, then of the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Links {
    items: Vec<LinkItem<'static>>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

#[derive(Serialize, ToSchema)]
struct LinkItem<'a> {
    #[schema(value_type = i64)]
    from_page_id: PageId,
    /// Absolute, as written.
    to_url: &'a str,
    /// What it says.
    anchor: &'a str,
    /// Its `rel`; empty without one.
    rel: &'a str,
    /// Whether `rel` or the page's robots rules say nofollow.
    nofollow: bool,
}

/// The links of a run's pages, repeats included; streamed.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/links",
    tag = "Crawls",
    params(("id" = i64, Path, description = "The run"), Params),
    responses(
        (status = 200, description = "The links", body = Links),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_links(
    ctx: Ctx,
    RunPath(id): RunPath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let limit = validate::limit(query.0.limit, 100, MAX_LIMIT)?;
    let offset = validate::offset(query.0.offset)?;
    let only = query.0.from_page_id.map(PageId);
    let run = path::run(&ctx, id).await?;
    let mut listing = Listing {
        reader: LinkReader::new(
            &ctx.app.store,
            &ctx.app.crawls.link_places,
            ctx.principal.project,
            run.id,
            only,
            offset,
        ),
        left: u64::from(limit),
        next_offset: offset + u64::from(limit),
        started: false,
        ended: false,
    };
    // A failure before anything is sent is answered like any other error.
    let first = listing.next().await?;
    let rest = stream::try_unfold(listing, |mut listing| async move {
        let piece = listing.next().await.inspect_err(|error| {
            tracing::error!(%error, "listing aborted");
        })?;
        Ok::<_, ScanError>(piece.map(|piece| (piece, listing)))
    });
    let body = Body::from_stream(stream::StreamExt::chain(stream::iter(first.map(Ok)), rest));
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

struct Listing {
    reader: LinkReader,
    left: u64,
    next_offset: u64,
    started: bool,
    ended: bool,
}

impl Listing {
    async fn next(&mut self) -> Result<Option<Bytes>, ScanError> {
        if self.ended {
            return Ok(None);
        }
        // One more than is sent tells whether there is another link.
        let most = usize::try_from(self.left + 1).unwrap_or(usize::MAX);
        let links = self.reader.read(most).await?;
        let mut out = Vec::with_capacity(links.len() * 120 + 64);
        let mut first = !self.started;
        if first {
            out.extend_from_slice(b"{\"items\":[");
            self.started = true;
        }
        let more = links.len() as u64 > self.left;
        let sent = links
            .iter()
            .take(usize::try_from(self.left).unwrap_or(usize::MAX));
        for found in sent {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            let item = LinkItem {
                from_page_id: found.from,
                to_url: &found.link.to_url,
                anchor: &found.link.anchor,
                rel: &found.link.rel,
                nofollow: found.link.nofollow,
            };
            serde_json::to_writer(&mut out, &item)
                .map_err(|error| ScanError::Internal(error.to_string()))?;
        }
        self.left -= self.left.min(links.len() as u64);
        // Only another piece tells whether there is another link.
        if more || links.is_empty() {
            let next = if more {
                self.next_offset.to_string()
            } else {
                "null".to_owned()
            };
            out.extend_from_slice(format!("],\"next_offset\":{next}}}").as_bytes());
            self.ended = true;
        }
        Ok(Some(out.into()))
    }
}

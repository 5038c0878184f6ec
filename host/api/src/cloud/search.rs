//! POST /v1/cloud/search.

use axum::response::{IntoResponse as _, Response};
use orbweaver_core::json_number::whole;
use orbweaver_store::Amount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Work, within};
use crate::answer::large_json;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::search::{SearchResult, search as find};
use orbweaver_pipeline::ScanError;
use orbweaver_pipeline::cloud::usd;
use orbweaver_pipeline::convert::Format;

const MAX_QUERY: usize = 1_000;

/// What to search for.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"query": "example domain", "limit": 5}))]
pub(super) struct SearchRequest {
    /// Words.
    #[schema(min_length = 1, max_length = 1000)]
    query: String,
    /// Most results returned.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 50, default = 10)]
    limit: Option<u64>,
    /// The same as `limit`, which wins where both are given.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 50)]
    num: Option<u64>,
    /// How the content is returned.
    #[schema(default = "markdown")]
    return_format: Option<Format>,
}

/// The results.
#[derive(Serialize, ToSchema)]
pub(super) struct SearchResults {
    /// Best first.
    results: Vec<SearchItem>,
    /// US dollars, all results together.
    cost_usd: f64,
    elapsed_ms: u64,
}

/// A result.
#[derive(Serialize, ToSchema)]
pub(super) struct SearchItem {
    /// The URL that the search engine returned.
    url: String,
    title: String,
    content: String,
    /// US dollars.
    cost_usd: f64,
}

/// Searches the web where an engine is configured, else the project's own stored pages.
///
/// Billed one cloud page per result. A result whose content an answer of 64 MiB (setting
/// `http.max_answer_bytes`) has no room for has the beginning of it, or what the engine says of it.
#[utoipa::path(
    post,
    path = "/v1/cloud/search",
    operation_id = "cloud_search",
    tag = "Cloud",
    params(IdempotencyHeader),
    request_body = SearchRequest,
    responses(
        (status = 200, description = "The results, best first", body = SearchResults),
        (status = 502, description = "The configured engine gives no results", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn search(
    ctx: Ctx,
    payload: Payload<SearchRequest>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let request = payload.value;
    if request.query.trim().is_empty() || request.query.chars().count() > MAX_QUERY {
        return Err(ApiError::invalid(
            "query",
            "must be 1 to 1000 characters, not all blank",
        ));
    }
    let num = within("num", request.num, 10, 50)?;
    let limit = within("limit", request.limit, num, 50)?;
    let format = request.return_format.unwrap_or(Format::Markdown);
    let of = ctx.clone();
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let work = Work::new(&of, token, "cloud-search");
        run(work, request.query, limit, format)
            .await
            .into_response()
    })
    .await)
}

async fn run(work: Work, query: String, limit: u64, format: Format) -> Result<Response, ApiError> {
    let (quota, project) = (&work.app.accounts.quota, work.principal.project);
    let want = Amount::cloud(limit);
    let reserved = quota
        .reserve_up_to_for(project, want, &[work.token.whole()], want)
        .await
        .map_err(ScanError::from)?;
    let limit = usize::try_from(reserved.left().cloud_pages.min(limit)).unwrap_or(0);
    let (app, principal, room) = (&work.app, &work.principal, &work.room());
    let mut charge = work.charge(reserved, Amount::default());
    let found = match find(app, principal, &query, limit, format, room, &charge.spent).await {
        Ok(found) if !found.is_empty() => {
            charge.amount = Amount::cloud(found.len() as u64);
            charge.bill().await?;
            found
        }
        nothing => {
            charge.bill_in_vain().await?;
            nothing?
        }
    };
    let cost_micros = charge.spent.micros();
    let bytes = found.iter().map(|one| one.content.len()).sum();
    let answer = SearchResults {
        results: found.into_iter().map(SearchItem::from).collect(),
        cost_usd: usd(cost_micros),
        elapsed_ms: work.elapsed_ms(),
    };
    large_json(bytes, answer).await
}

impl From<SearchResult> for SearchItem {
    fn from(found: SearchResult) -> Self {
        Self {
            url: found.url,
            title: found.title,
            content: found.content,
            cost_usd: usd(found.cost_micros),
        }
    }
}

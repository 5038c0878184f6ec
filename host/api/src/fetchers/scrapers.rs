//! GET /v1/cloud/scrapers.

use axum::Json;
use orbweaver_engine::Kind;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors};
use crate::input::Query;

const MAX_LIMIT: u64 = 200;
const LIMIT: u64 = 50;
/// More pages than any directory has.
const MAX_PAGE: u64 = 1_000_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// Which page of the directory, from 1.
    #[param(minimum = 1, maximum = 1_000_000, default = 1)]
    page: Option<u64>,
    /// Entries of a page.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u64>,
}

/// A domain with a fetcher of its own.
#[derive(Serialize, ToSchema)]
pub(super) struct Scraper {
    /// The key for `POST /v1/cloud/fetch/{domain}`; `*.example.org` stands for every name
    /// below.
    domain: String,
    /// What may follow the domain.
    paths: Vec<ScraperPath>,
    /// What an item of the answer holds.
    data_shape: String,
    /// The plugin that serves it.
    #[schema(extensions(("x-extension" = json!(true))))]
    plugin: String,
}

/// A path of a domain.
#[derive(Serialize, ToSchema)]
pub(super) struct ScraperPath {
    /// A pattern such as `items/{id}`; empty for the domain alone.
    path: String,
    /// What it returns.
    description: String,
}

/// One page of the directory.
#[derive(Serialize, ToSchema)]
pub(super) struct ScraperList {
    /// By domain.
    items: Vec<Scraper>,
    /// This page.
    page: u64,
    /// Entries of a page.
    limit: u64,
    /// Entries in all.
    total: u64,
}

/// The domains that have a fetcher of their own, with their paths and the shape of the data.
#[utoipa::path(
    get,
    path = "/v1/cloud/scrapers",
    tag = "Cloud",
    params(Params),
    responses(
        (status = 200, description = "A page of the directory", body = ScraperList),
        CommonErrors,
    )
)]
pub(super) async fn list_scrapers(ctx: Ctx, query: Query<Params>) -> JsonAnswer<ScraperList> {
    let (page, limit) = (query.0.page.unwrap_or(1), query.0.limit.unwrap_or(LIMIT));
    if !(1..=MAX_PAGE).contains(&page) {
        return Err(ApiError::invalid("page", "must be between 1 and 1000000"));
    }
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::invalid("limit", "must be between 1 and 200"));
    }
    ctx.engine().await_fetchers().await;
    let all = directory(&ctx);
    let total = all.len() as u64;
    let skipped = (page - 1).saturating_mul(limit);
    let items = all
        .into_iter()
        .skip(usize::try_from(skipped).unwrap_or(usize::MAX))
        .take(usize::try_from(limit).unwrap_or(usize::MAX))
        .collect();
    Ok(Json(ScraperList {
        items,
        page,
        limit,
        total,
    }))
}

fn directory(ctx: &Ctx) -> Vec<Scraper> {
    let mut all = Vec::new();
    for plugin in ctx.engine().plugins() {
        let Some(info) = plugin.fetcher.filter(|_| plugin.kind == Kind::Fetcher) else {
            continue;
        };
        let paths = || {
            let path = |path: &orbweaver_engine::FetcherPath| ScraperPath {
                path: path.path.clone(),
                description: path.description.clone(),
            };
            info.paths.iter().map(path).collect()
        };
        all.extend(info.domains.iter().map(|domain| Scraper {
            domain: domain.clone(),
            paths: paths(),
            data_shape: info.data_shape.clone(),
            plugin: plugin.name.clone(),
        }));
    }
    all.sort_by(|a, b| a.domain.cmp(&b.domain));
    all
}

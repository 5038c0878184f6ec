//! GET /v1/pages/{id}.

use axum::response::Response;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::path::{self, PagePath};
use crate::answer::raw_json;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use crate::memory_limit;
use orbweaver_pipeline::{ExtractorOptions, PageContent, Parts, StoredError};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// What to answer: `html` (default), `markdown`, `article`, `both` (all of these), `full`
    /// (both,
    /// signals and content hash) or `signals`.
    #[param(inline)]
    format: Option<Format>,
    /// Markdown without navigation, footer and sidebars.
    #[param(default = false)]
    only_main_content: Option<bool>,
    /// Options of the extractors that `format` runs, by role: a JSON object of objects that
    /// satisfy their schemas, such as `{"markdown":{"only_main_content":true}}`. Path and query have at
    /// most 8,192 bytes together, as they are sent.
    #[param(max_length = 7_900)]
    extractor_options: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PageFormat)]
enum Format {
    #[default]
    Html,
    Markdown,
    Article,
    Both,
    Full,
    Signals,
}

impl Format {
    const fn parts(self, main_content: bool) -> Parts {
        let whole = matches!(self, Self::Both | Self::Full);
        Parts {
            html: whole || matches!(self, Self::Html),
            markdown: whole || matches!(self, Self::Markdown),
            main_content,
            article: whole || matches!(self, Self::Article),
            metadata: true,
            signals: matches!(self, Self::Full | Self::Signals),
            content_hash: matches!(self, Self::Full),
        }
    }
}

/// A stored page with its content, extracted when it is first asked for.
#[utoipa::path(
    get,
    path = "/v1/pages/{id}",
    tag = "Crawls",
    params(("id" = i64, Path, description = "The page: a global id"), Params),
    responses(
        (status = 200, description = "The page", body = PageContent),
        (status = 404, description = "No such page in this project", body = ErrorBody),
        (status = 414, description = "Path and query are longer than 8,192 bytes", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn get_page(
    ctx: Ctx,
    PagePath(id): PagePath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    let record = app.store.page(project, id).await?;
    let record = record.ok_or_else(path::no_page)?;
    let main_content = query.0.only_main_content.unwrap_or(false);
    let parts = query.0.format.unwrap_or_default().parts(main_content);
    let options = match &query.0.extractor_options {
        None => ExtractorOptions::new(),
        Some(text) => {
            let given = serde_json::from_str(text).map_err(|_| {
                ApiError::invalid("extractor_options", "must be a JSON object of objects")
            })?;
            app.pipeline
                .of_project(project)
                .check_extractor_options(given, &|role| parts.runs(role))
                .await?
        }
    };
    let stored = record.page.body.map_or(0, |_| record.page.bytes);
    memory_limit::reserve(&ctx, parts.memory(stored)).await?;
    match app
        .pipeline
        .stored(&app.store, project, record, parts, &options)
        .await
    {
        Ok(json) => Ok(raw_json(json)),
        Err(error @ StoredError::NoBody) => Err(ApiError::invalid("format", error)),
        Err(StoredError::Scan(error)) => Err(error.into()),
    }
}

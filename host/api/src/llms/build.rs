//! POST /v1/llms-txt-build.

use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use chrono::SecondsFormat;
use http::{HeaderName, HeaderValue, header};
use orbweaver_core::json_number::whole;
use serde::Deserialize;
use utoipa::ToSchema;

use super::builder::{LlmsError, LlmsFile, LlmsSpec, build};
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::Payload;
use crate::validate;

const PAGES: u64 = 30;
const MAX_PAGES: u64 = 200;
const WAIT_SECONDS: u64 = 60;
const MAX_WAIT_SECONDS: u64 = 180;
const MAX_AGE_SECONDS: u64 = 3_600;
/// Says from which crawl the file was built.
const CRAWL_ID: HeaderName = HeaderName::from_static("orbweaver-crawl-id");
/// Says when that crawl ended.
const CRAWL_FINISHED_AT: HeaderName = HeaderName::from_static("orbweaver-crawl-finished-at");
const MAX_NAME: usize = 200;
const MAX_SUMMARY: usize = 2_000;
/// Seconds after which a place for a crawl may be free again.
const RETRY_AFTER: u64 = 10;

/// A site to describe.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/", "max_pages": 10}))]
pub(super) struct LlmsTxtRequest {
    /// Where the site begins: absolute, http or https, on the public internet.
    #[schema(
        format = "uri",
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://",
        example = "https://example.com/"
    )]
    url: String,
    /// Pages to describe, at most.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 200, default = 30)]
    max_pages: Option<u64>,
    /// The site's name; by default what its first page says.
    #[schema(max_length = 200)]
    site_name: Option<String>,
    /// What the site is about; by default what its first page says.
    #[schema(max_length = 2000)]
    summary: Option<String>,
    /// Seconds to wait for the crawl.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 180, default = 60)]
    wait_seconds: Option<u64>,
    /// Uses a crawl for the same question again that ended, whole, at most so many seconds ago, or that is
    /// under way; 0: always crawls anew.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 315_360_000, default = 3600, extensions(("x-extension" = json!(true))))]
    max_age_seconds: Option<u64>,
}

impl LlmsTxtRequest {
    fn check(self, app: &App) -> Result<LlmsSpec, ApiError> {
        validate::url(app, "url", &self.url)?;
        let max_pages = self.max_pages.unwrap_or(PAGES);
        if !(1..=MAX_PAGES).contains(&max_pages) {
            return Err(ApiError::invalid("max_pages", "must be between 1 and 200"));
        }
        let wait_seconds = self.wait_seconds.unwrap_or(WAIT_SECONDS);
        if wait_seconds > MAX_WAIT_SECONDS {
            return Err(ApiError::invalid("wait_seconds", "must be at most 180"));
        }
        validate::max_age(self.max_age_seconds)?;
        let text = |field: &str, text: Option<String>, max: usize| match text {
            Some(text) if text.chars().count() > max => Err(ApiError::invalid(
                field,
                format!("must be at most {max} characters"),
            )),
            text => Ok(text.filter(|text| !text.trim().is_empty())),
        };
        Ok(LlmsSpec {
            url: self.url,
            max_pages: u32::try_from(max_pages).unwrap_or(u32::MAX),
            site_name: text("site_name", self.site_name, MAX_NAME)?,
            summary: text("summary", self.summary, MAX_SUMMARY)?,
            wait: Duration::from_secs(wait_seconds),
            max_age_seconds: self.max_age_seconds.unwrap_or(MAX_AGE_SECONDS),
        })
    }
}

/// Crawls a site and writes its llms.txt: sections by the site's structure, with titles and
/// descriptions.
///
/// Billed as the crawl that it makes: a page for every page stored. A crawl of the last hour
/// (`max_age_seconds`) for the same question is used again, unless it failed, a cap cut it, or its
/// start page answered with an error; the headers `Orbweaver-Crawl-Id` and
/// `Orbweaver-Crawl-Finished-At` say which crawl the file is from. Where the crawl takes longer than `wait_seconds`, the answer is 408 with its id in
/// `error.crawl_id`: the same request, once the crawl is over, uses it (with `max_age_seconds` 0 it
/// crawls anew). Pages that ask not to be indexed (`noindex`) are not listed. A start page that
/// answers with an error is 502.
#[utoipa::path(
    post,
    path = "/v1/llms-txt-build",
    tag = "Robots",
    params(IdempotencyHeader),
    request_body = LlmsTxtRequest,
    responses(
        (status = 200, description = "The file", content_type = "text/plain", body = String,
         headers(
             ("Orbweaver-Crawl-Id" = i64, description = "The crawl that it was built from"),
             ("Orbweaver-Crawl-Finished-At" = String, description = "When that crawl ended"),
         )),
        (status = 502, description = "The site could not be crawled, or its start page answers with \
         an error", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn build_llms_txt(
    ctx: Ctx,
    payload: Payload<LlmsTxtRequest>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let spec = payload.value.check(&ctx.app)?;
    let (app, principal) = (ctx.app.clone(), ctx.principal.clone());
    Ok(idempotency::once(&ctx, &digest, |_| async move {
        match build(&app, &principal, &spec).await {
            Ok(file) => answer(file),
            Err(error) => ApiError::from(error).into_response(),
        }
    })
    .await)
}

fn answer(file: LlmsFile) -> Response {
    let content_type = (header::CONTENT_TYPE, "text/plain; charset=utf-8");
    let mut response = ([content_type], file.text).into_response();
    let headers = response.headers_mut();
    headers.insert(CRAWL_ID, HeaderValue::from(file.run.get()));
    let finished_at = file
        .finished_at
        .map(|at| at.to_rfc3339_opts(SecondsFormat::Millis, true));
    if let Some(Ok(value)) = finished_at.map(HeaderValue::try_from) {
        headers.insert(CRAWL_FINISHED_AT, value);
    }
    response
}

impl From<LlmsError> for ApiError {
    fn from(error: LlmsError) -> Self {
        let message = error.to_string();
        match error {
            LlmsError::Waiting(run) => Self::crawl_runs(message, run.get()),
            LlmsError::Crawl(why) => Self::fetch_failed(why),
            LlmsError::Busy { .. } => Self::rate_limited(message, RETRY_AFTER),
            LlmsError::Quota(error) => error.into(),
            LlmsError::Store(error) => error.into(),
        }
    }
}

//! POST /v1/scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use indexmap::IndexMap;
use orbweaver_core::json_number::whole;
use orbweaver_store::CloudMode;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::answer::raw_json;
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::{self, IdempotencyHeader};
use crate::input::{OfPages, Payload};
use crate::memory_limit;
use crate::validate;
use orbweaver_fetch::{Action, PictureOptions};
use orbweaver_pipeline::browsing::{BrowsingRequest, WaitRequest};
use orbweaver_pipeline::rules::MAX_EXTRACTORS;
use orbweaver_pipeline::{
    self as pipeline, AnswerBudget, Bill, Content, ExtractRequest, Pipeline, ScanResult, ScanSpec,
};

/// A page to scan.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com/"}))]
pub(super) struct ScanRequest {
    /// Absolute, http or https, on the public internet.
    #[schema(
        format = "uri",
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://",
        example = "https://example.com/"
    )]
    url: String,
    /// User agent to send; by default one of current browsers.
    #[schema(max_length = 1024, pattern = "^[ -~]*$")]
    user_agent: Option<String>,
    /// A page of this URL that the project fetched less than so many seconds ago, with the
    /// same user agent, cloud mode and `follow_refresh`, answers.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 315_360_000)]
    max_age_seconds: Option<u64>,
    /// Where the page comes from; by default the project's setting.
    cloud_mode: Option<CloudModeWord>,
    /// Skips Markdown and article.
    #[schema(default = false)]
    metadata_only: Option<bool>,
    /// Markdown without navigation, footer and sidebars.
    #[schema(default = false)]
    only_main_content: Option<bool>,
    /// Adds `links`.
    #[schema(default = false)]
    include_links: Option<bool>,
    /// Adds `screenshot`, or `screenshot_error`.
    #[schema(default = false)]
    screenshot_inline: Option<bool>,
    /// Follow a `Refresh` header or a page's `meta` refresh of at most 100 seconds, at once and as a
    /// redirect. Otherwise the page itself is the answer; `signals.refresh` names the target. A page in a
    /// browser is not affected.
    #[schema(default = false, extensions(("x-extension" = json!(true))))]
    follow_refresh: Option<bool>,
    /// Further extractors; their outputs are under `extensions`.
    #[schema(max_items = 16, extensions(("x-extension" = json!(true))))]
    extractors: Option<Vec<String>>,
    /// Options of extractors, by role: objects that satisfy their schemas.
    #[schema(
        value_type = Option<std::collections::HashMap<String, Object>>,
        extensions(("x-extension" = json!(true)))
    )]
    extractor_options: Option<BTreeMap<String, Value>>,
    /// When a rendered page counts as loaded: `load` (default), `domcontentloaded`,
    /// `networkidle`, or an object of `event`, `selector` and `milliseconds`. This field and the
    /// next four need `cloud_mode` `browser` or `auto`, which then renders at once.
    #[schema(extensions(("x-extension" = json!(true))))]
    wait_for: Option<WaitRequest>,
    /// Sent with requests to the URL's own host.
    #[schema(
        value_type = Option<std::collections::HashMap<String, String>>,
        extensions(("x-extension" = json!(true)))
    )]
    headers: Option<IndexMap<String, String>>,
    /// Cookies, `k=v; k=v`, of the URL's own host.
    #[schema(max_length = 16_384, extensions(("x-extension" = json!(true))))]
    cookies: Option<String>,
    /// What is done in the loaded page, in this order, within a minute. Screenshots are in
    /// `screenshots`.
    #[schema(max_items = 50, extensions(("x-extension" = json!(true))))]
    actions: Option<Vec<Action>>,
    /// The name of a session: rendered pages with the same name share cookies. It is forgotten an
    /// hour after its last use.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", extensions(("x-extension" = json!(true))))]
    session: Option<String>,
    /// Options of the screenshot; adds `screenshot`, as `screenshot_inline` does.
    #[schema(extensions(("x-extension" = json!(true))))]
    screenshot: Option<PictureOptions>,
    /// Fields to extract by CSS selectors: `extracted` of the answer.
    #[schema(extensions(("x-extension" = json!(true))))]
    extract: Option<ExtractRequest>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CloudMode)]
enum CloudModeWord {
    /// Plain HTTP.
    None,
    /// Plain HTTP, and a browser where that is not enough.
    Auto,
    /// An unblocking backend.
    Unblocker,
    /// A browser.
    Browser,
}

impl From<CloudModeWord> for CloudMode {
    fn from(word: CloudModeWord) -> Self {
        match word {
            CloudModeWord::None => Self::None,
            CloudModeWord::Auto => Self::Auto,
            CloudModeWord::Unblocker => Self::Unblocker,
            CloudModeWord::Browser => Self::Browser,
        }
    }
}

impl ScanRequest {
    async fn check(
        self,
        app: &App,
        pipeline: &Pipeline,
        default: CloudMode,
    ) -> Result<ScanSpec, ApiError> {
        validate::url(app, "url", &self.url)?;
        validate::user_agent(self.user_agent.as_deref())?;
        validate::max_age(self.max_age_seconds)?;
        let browsing = BrowsingRequest {
            wait_for: self.wait_for,
            headers: self.headers,
            cookies: self.cookies,
            actions: self.actions,
            session: self.session,
            screenshot: self.screenshot,
        };
        let screenshot = self.screenshot_inline.unwrap_or(false) || browsing.screenshot.is_some();
        let cloud_mode = self.cloud_mode.map_or(default, CloudMode::from);
        let needing = browsing.field();
        let browsing = browsing.check()?;
        if let Some(field) = needing
            && !matches!(cloud_mode, CloudMode::Browser | CloudMode::Auto)
        {
            let rule = "needs a browser: set cloud_mode to browser or auto";
            return Err(ApiError::invalid(field, rule));
        }
        let extractors = self.extractors.unwrap_or_default();
        validate::extractors(pipeline, &extractors)?;
        let content = Content {
            metadata_only: self.metadata_only.unwrap_or(false),
            only_main_content: self.only_main_content.unwrap_or(false),
            include_links: self.include_links.unwrap_or(false),
            screenshot,
            extractors,
            extract: pipeline.check_extract(self.extract).await?,
            ..Content::default()
        };
        let options = self.extractor_options.unwrap_or_default();
        Ok(ScanSpec {
            url: self.url,
            user_agent: self.user_agent,
            max_age_seconds: self.max_age_seconds,
            cloud_mode,
            follow_refresh: self.follow_refresh.unwrap_or(false),
            content: validate::with_options(pipeline, content, options).await?,
            browsing,
        })
    }
}

/// Fetches a page and extracts it: Markdown, article, metadata, signals, links.
///
/// Billed one page when a response arrived, whatever its HTTP status, cached or not; a page that a browser
/// or an unblocker gave is one cloud page instead, and a screenshot one more.
#[utoipa::path(
    post,
    path = "/v1/scan",
    tag = "Scan",
    params(IdempotencyHeader),
    request_body = ScanRequest,
    responses(
        (status = 200, description = "The page's content", body = ScanResult),
        (status = 501, description = "The cloud mode's backend is not configured", body = ErrorBody),
        (status = 502, description = "The target could not be fetched", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn scan(
    ctx: Ctx,
    payload: Payload<ScanRequest, OfPages>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let pipeline = ctx.pipeline();
    let extractors = payload.value.extractors.iter().flatten();
    for name in extractors.take(MAX_EXTRACTORS) {
        pipeline.engine.await_role(name).await;
    }
    let spec = payload
        .value
        .check(&ctx.app, &pipeline, ctx.principal.cloud_mode)
        .await?;
    let (app, principal) = (ctx.app.clone(), ctx.principal.clone());
    let (memory, scope) = (app.answer_memory.clone(), ctx.scope.clone());
    let count = move |bytes| Ok(memory_limit::grow(&memory, &scope, bytes as u64)?);
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        let bill = Bill {
            token: token.whole(),
            call: "scan",
            always: false,
            reserved: None,
            room: Some(Arc::new(AnswerBudget::of_memory(count))),
        };
        match pipeline::scan(&app.scans, &principal, &spec, bill).await {
            Ok(json) => raw_json(json),
            Err(error) => ApiError::from(error).into_response(),
        }
    })
    .await)
}

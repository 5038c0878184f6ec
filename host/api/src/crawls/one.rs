//! GET /v1/crawls/{id}.

use std::collections::BTreeMap;

use axum::Json;
use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, RunId};
use orbweaver_crawl::long_crawl_delay;
use orbweaver_store::crawl::{Run, SiteTexts};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::path::{RunPath, no_run};
use super::words::{CrawlStatus, WebhookStatus};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// A run.
#[derive(Serialize, ToSchema)]
#[schema(as = Crawl)]
pub(super) struct CrawlDetail {
    #[schema(value_type = i64)]
    id: RunId,
    /// The seed as it was asked for.
    url: String,
    #[schema(value_type = CrawlStatus)]
    status: &'static str,
    /// Pages stored, whatever their HTTP status.
    page_count: u64,
    /// Failures on the crawler's side: DNS, TLS, time-outs.
    error_count: u64,
    enqueued_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    /// Why it failed, or ended early.
    error_message: Option<String>,
    /// The proxy without its credentials.
    proxy_url: Option<String>,
    /// What robots.txt lets AI crawlers do: name to `allowed`, `partial` or `disallowed`.
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    ai_bot_policy: Option<Box<RawValue>>,
    llms_txt: Option<String>,
    llms_full_txt: Option<String>,
    /// Null without a webhook.
    #[schema(value_type = Option<WebhookStatus>)]
    webhook_status: Option<String>,
    webhook_attempts: u32,
    /// Why the last attempt failed, or why nothing was compared.
    webhook_last_error: Option<String>,
    /// The monitor that started it.
    #[schema(value_type = Option<i64>, extensions(("x-extension" = json!(true))))]
    monitor_id: Option<MonitorId>,
    /// The monitor's run before.
    #[schema(value_type = Option<i64>, extensions(("x-extension" = json!(true))))]
    previous_run_id: Option<RunId>,
    /// Failures of plugins on pages and requests; they are listed with the errors.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(required = false, extensions(("x-extension" = json!(true))))]
    plugin_error_count: u64,
    /// Fetched pages that hooks did not let be stored; they count against `max_pages`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(required = false, extensions(("x-extension" = json!(true))))]
    dropped_count: u64,
    /// What was left out, by reason: URLs for `robots` and `duplicate`; links, each as often as it is on a
    /// page, for `scope`, `excluded`, `depth`, `budget` and `hook`. When the run is done, `budget` has the URLs, too, that it knew of and did
    /// not fetch, because `max_pages` or a cap was reached.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(
        required = false,
        value_type = std::collections::HashMap<String, u64>,
        extensions(("x-extension" = json!(true)))
    )]
    skipped: BTreeMap<&'static str, u64>,
    /// The longest Crawl-delay of a host, in milliseconds, which the run keeps between its pages there. Absent
    /// below five seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, extensions(("x-extension" = json!(true))))]
    crawl_delay_ms: Option<u64>,
}

/// Whether there is nothing to tell: runs without plugins answer as the contract says.
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TryFrom<(Run, SiteTexts)> for CrawlDetail {
    type Error = ApiError;

    fn try_from((run, texts): (Run, SiteTexts)) -> Result<Self, ApiError> {
        Ok(Self {
            id: run.id,
            url: run.url,
            status: run.status.as_str(),
            page_count: run.page_count,
            error_count: run.error_count,
            enqueued_at: run.enqueued_at,
            started_at: run.started_at,
            finished_at: run.finished_at,
            error_message: run.error_message,
            proxy_url: run.proxy_url,
            ai_bot_policy: run
                .ai_bot_policy
                .map(RawValue::from_string)
                .transpose()
                .map_err(|error| ApiError::internal(&error))?,
            llms_txt: texts.llms_txt,
            llms_full_txt: texts.llms_full_txt,
            webhook_status: run.webhook_status,
            webhook_attempts: run.webhook_attempts,
            webhook_last_error: run.webhook_last_error,
            monitor_id: run.monitor,
            previous_run_id: run.previous,
            plugin_error_count: run.progress.plugin_errors,
            dropped_count: run.progress.dropped,
            skipped: run
                .progress
                .skipped
                .iter()
                .map(|(reason, count)| (reason.as_str(), *count))
                .collect(),
            crawl_delay_ms: long_crawl_delay(&run.engine_state),
        })
    }
}

/// A run, and where it stands. Poll every 2 to 5 seconds, or follow its events.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}",
    tag = "Crawls",
    params(("id" = i64, Path, description = "The run")),
    responses(
        (status = 200, description = "The run", body = CrawlDetail),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn get_crawl(ctx: Ctx, RunPath(id): RunPath) -> JsonAnswer<CrawlDetail> {
    let (store, project) = (&ctx.app.store, ctx.principal.project);
    let run = store
        .run_with_texts(project, id)
        .await?
        .ok_or_else(no_run)?;
    Ok(Json(run.try_into()?))
}

//! POST /v1/crawls.

use std::fmt::Display;

use axum::Json;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::{HeaderName, HeaderValue, StatusCode, header};
use orbweaver_core::ids::RunId;
use orbweaver_pipeline::cloud::backend::NO_BROWSER;
use orbweaver_store::Amount;
use orbweaver_store::crawl::{Created, KeyUse, Run};
use serde::Serialize;
use utoipa::ToSchema;

use super::words::CrawlStatus;
use crate::context::Ctx;
use crate::crons;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::IdempotencyHeader;
use crate::input::{OfPages, Payload};
use orbweaver_crawl::advice::advice;
use orbweaver_crawl::request::{CrawlRequest, RequestError};
use orbweaver_crawl::reuse::{self, Reused};
use orbweaver_crawl::spec::CrawlSpec;
use orbweaver_crawl::submit::{self, Origin};

/// Seconds after which a place may be free again: runs have no known end.
const RETRY_AFTER: u64 = 10;

/// A run by its reference.
#[derive(Serialize, ToSchema)]
#[schema(as = CrawlReference)]
pub(super) struct Reference {
    #[schema(value_type = i64)]
    id: RunId,
    #[schema(value_type = CrawlStatus)]
    status: &'static str,
    /// The seed as it was asked for.
    url: String,
    enqueued_at: DateTime<Utc>,
}

/// Starts a crawl or, with `cron`, makes a monitor.
///
/// Billed one page for every page stored. A request with the Idempotency-Key of an earlier
/// one gets the earlier one's run or monitor, whatever its body; 409 if the earlier one was a
/// batch.
#[utoipa::path(
    post,
    path = "/v1/crawls",
    tag = "Crawls",
    params(IdempotencyHeader),
    request_body = CrawlRequest,
    responses(
        (status = 202, description = "The run is queued", body = Reference,
            headers(("Location" = String, description = "URL of the run"))),
        (status = 200, description = "A recent run (`max_age_seconds`)", body = Reference,
            headers(("Location" = String, description = "URL of the run"))),
        (status = 201, description = "The monitor is made (`cron`)", body = crons::Made,
            headers(("Location" = String, description = "URL of the monitor"))),
        (status = 403, description = "The project is suspended", body = ErrorBody),
        (status = 409, description = "The Idempotency-Key stands for a batch", body = ErrorBody),
        (status = 501, description = "The proxy pool, or a browser, is not configured", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn create_crawl(
    ctx: Ctx,
    payload: Payload<CrawlRequest, OfPages>,
) -> Result<Response, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    let idem_key = ctx.idempotency_key.map(|key| key.to_string());
    let used = match &idem_key {
        Some(key) => app.store.key_use(project, key, app.clock.now()).await?,
        None => None,
    };
    let tier = app.accounts.quota.caps(project).await?;
    let checked = payload
        .value
        .check(&ctx.pipeline(), tier.aggressive, &ctx.principal.tier)
        .await;
    for said in checked.iter().flat_map(advice) {
        ctx.scope.warn(said);
    }
    // What is repeated is answered as before, whatever it has to say.
    if let Some(used) = used {
        return again(used);
    }
    let checked = checked?;
    if checked.needs_browser() && !app.cloud.has_browser() {
        return Err(ApiError::not_configured(format!("render: {NO_BROWSER}")));
    }
    let spec = checked
        .spec
        .with_project_proxy(ctx.principal.proxy_url.as_deref());
    if let Some(schedule) = &checked.cron {
        return crons::create(&ctx, &spec, schedule).await;
    }
    if let Some(seconds) = checked.max_age_seconds {
        let key = idem_key.as_deref();
        match reuse::recent(&app.crawls, project, &spec, seconds, key).await? {
            Some(Reused::Recent(run)) => return reference(StatusCode::OK, &run),
            Some(Reused::Before(used)) => return again(used),
            None => {}
        }
    }
    // A run needs a page at least; the reservation goes back at once.
    drop(
        app.accounts
            .quota
            .reserve(project, Amount::pages(1))
            .await?,
    );
    let origin = Origin {
        idem_key,
        may_wait: checked.may_wait,
        ..Origin::default()
    };
    let cap = tier.concurrent_runs.0;
    match submit::submit(&app.crawls, project, &spec, origin, cap).await? {
        Created::New(run) => reference(StatusCode::ACCEPTED, &run),
        Created::Replayed(run) => replayed(&run),
        Created::Monitor(monitor) => crons::replayed(*monitor),
        Created::CapReached => Err(cap_reached(cap, &ctx.principal.tier)),
    }
}

/// The refusal of a run beyond the project's cap.
pub(super) fn cap_reached(cap: Option<u64>, tier: &str) -> ApiError {
    let cap = cap.unwrap_or(0);
    let message = format!(
        "as many crawls are queued and running as the project may have at once: {cap} (setting \
         tiers.{tier}.concurrent_runs); `\"queue\": true` in the request makes it wait for a place"
    );
    ApiError::rate_limited(message, RETRY_AFTER)
}

/// The answer of the request that used the Idempotency-Key first.
fn again(used: KeyUse) -> Result<Response, ApiError> {
    match used {
        KeyUse::Run(run) => replayed(&run),
        KeyUse::Reused(run) => {
            let mut response = reference(StatusCode::OK, &run)?;
            mark_replayed(&mut response);
            Ok(response)
        }
        KeyUse::Monitor(monitor) => crons::replayed(*monitor),
    }
}

/// The answer of the request that made the run.
///
/// # Errors
/// 409 if that was a batch.
pub(crate) fn replayed(run: &Run) -> Result<Response, ApiError> {
    if spec_of(run)?.list {
        return Err(key_taken("batch", run.id));
    }
    let mut response = reference(StatusCode::ACCEPTED, run)?;
    mark_replayed(&mut response);
    Ok(response)
}

/// Says that an answer is that of an earlier request.
pub(crate) fn mark_replayed(response: &mut Response) {
    response.headers_mut().insert(
        HeaderName::from_static("idempotent-replayed"),
        HeaderValue::from_static("true"),
    );
}

/// The request that a run was made of.
pub(super) fn spec_of(run: &Run) -> Result<CrawlSpec, ApiError> {
    serde_json::from_str(&run.spec).map_err(|error| ApiError::internal(&error))
}

/// The refusal of an Idempotency-Key that stands for something else.
pub(super) fn key_taken(kind: &str, id: impl Display) -> ApiError {
    ApiError::conflict(format!(
        "Idempotency-Key: this key stands for the {kind} {id} within 24 hours of its first use"
    ))
}

fn reference(status: StatusCode, run: &Run) -> Result<Response, ApiError> {
    located(status, run, Json(Reference::new(run)))
}

/// An answer with the run's place.
pub(super) fn located(
    status: StatusCode,
    run: &Run,
    body: impl IntoResponse,
) -> Result<Response, ApiError> {
    let location = HeaderValue::try_from(format!("/v1/crawls/{}", run.id))
        .map_err(|error| ApiError::internal(&error))?;
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

impl Reference {
    /// The reference of a run.
    pub(super) fn new(run: &Run) -> Self {
        Self {
            id: run.id,
            status: run.status.as_str(),
            url: run.url.clone(),
            enqueued_at: run.enqueued_at,
        }
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Invalid(error) => error.into(),
            RequestError::NotConfigured(what) => Self::not_configured(what),
            RequestError::Internal(cause) => Self::internal(&cause),
        }
    }
}

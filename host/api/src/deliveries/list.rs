//! GET /v1/crawls/{id}/deliveries.

use axum::Json;
use chrono::{DateTime, Utc};
use orbweaver_core::ids::DeliveryId;
use orbweaver_store::webhook::{Delivery, DeliveryAttempt};
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::crawls::path::{RunPath, no_run};
use crate::crawls::words::DeliveryStatus;
use crate::error::{CommonErrors, ErrorBody};

/// A run's deliveries.
#[derive(Serialize, ToSchema)]
#[schema(as = Deliveries)]
pub(super) struct List {
    items: Vec<DeliveryItem>,
}

/// One event's delivery.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
struct DeliveryItem {
    #[schema(value_type = i64)]
    id: DeliveryId,
    /// The `webhook-id` header of every attempt.
    webhook_id: String,
    /// `crawl.done`, `crawl.diff_detected` or `crawl.page`; during an upgrade of several nodes, it may be one
    /// of a newer version.
    event: String,
    url: String,
    #[schema(value_type = DeliveryStatus)]
    status: &'static str,
    created_at: DateTime<Utc>,
    /// When it is tried next; null once it is delivered or dead.
    next_attempt_at: Option<DateTime<Utc>>,
    /// When it was delivered or given up.
    finished_at: Option<DateTime<Utc>>,
    /// What was tried, oldest first: the newest 1,000 attempts.
    attempts: Vec<Attempt>,
}

/// One attempt.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryAttempt)]
struct Attempt {
    /// From 1.
    attempt: u32,
    at: DateTime<Utc>,
    /// HTTP status of the receiver's answer; null without one.
    status: Option<u16>,
    latency_ms: u64,
    error: Option<String>,
}

impl From<DeliveryAttempt> for Attempt {
    fn from(attempt: DeliveryAttempt) -> Self {
        Self {
            attempt: attempt.number,
            at: attempt.at,
            status: attempt.status,
            latency_ms: attempt.latency_ms,
            error: attempt.error,
        }
    }
}

impl From<Delivery> for DeliveryItem {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id,
            webhook_id: delivery.message_id,
            event: delivery.event,
            url: delivery.url,
            status: delivery.state.as_str(),
            created_at: delivery.created_at,
            next_attempt_at: delivery.next_at,
            finished_at: delivery.finished_at,
            attempts: delivery.attempts.into_iter().map(Attempt::from).collect(),
        }
    }
}

/// Deliveries of the run's webhook with their attempts: status, time and error.
///
/// There is one per event; none where the run has no webhook, is not over, or its webhook
/// was suppressed.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/deliveries",
    tag = "Webhooks",
    params(("id" = i64, Path, description = "The run")),
    responses(
        (status = 200, description = "The deliveries", body = List),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    ),
    extensions(("x-extension" = json!(true)))
)]
pub(super) async fn list_deliveries(ctx: Ctx, RunPath(run): RunPath) -> JsonAnswer<List> {
    let (store, project) = (&ctx.app.store, ctx.principal.project);
    store.run(project, run).await?.ok_or_else(no_run)?;
    let deliveries = store.deliveries(project, run).await?;
    Ok(Json(List {
        items: deliveries.into_iter().map(DeliveryItem::from).collect(),
    }))
}

//! The webhook of a job that ends.

use chrono::{DateTime, SubsecRound as _, Utc};
use orbweaver_core::ids::{JobId, ProjectId};
use orbweaver_core::webhook::{ACTOR_RUN_COMPLETE, target};
use orbweaver_pipeline::cloud::usd;
use orbweaver_store::NewUsage;
use orbweaver_store::jobs::{Job, JobDelivery, JobOutcome};
use serde::Serialize;
use uuid::Uuid;

/// The body; the same for every attempt at the delivery.
#[derive(Serialize)]
struct CompletionWebhook<'a> {
    event: &'static str,
    id: JobId,
    project_id: ProjectId,
    actor: &'a str,
    status: &'static str,
    item_count: u64,
    attempts: u32,
    error: Option<WebhookError<'a>>,
    billing: Billing,
    request_id: &'a str,
    enqueued_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: DateTime<Utc>,
}

#[derive(Serialize)]
struct WebhookError<'a> {
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Billing {
    pages: u64,
    cloud_pages: u64,
    cost_usd: f64,
}

/// The delivery that tells of the end; none without a webhook, or for a cancelled job.
pub(super) fn delivery(
    job: &Job,
    outcome: &JobOutcome,
    usages: &[NewUsage],
    items: u64,
    at: DateTime<Utc>,
) -> Option<JobDelivery> {
    let url = job.webhook_url.as_deref()?;
    let error = match outcome {
        JobOutcome::Cancelled => return None,
        JobOutcome::Done(_) => None,
        JobOutcome::Failed { code, message } => Some(WebhookError { code, message }),
    };
    let sum = |of: fn(&NewUsage) -> u64| usages.iter().map(of).sum();
    let body = CompletionWebhook {
        event: ACTOR_RUN_COMPLETE,
        id: job.id,
        project_id: job.project,
        actor: &job.actor,
        status: outcome.state().as_str(),
        item_count: items,
        attempts: job.attempts,
        error,
        billing: Billing {
            pages: sum(|usage| usage.pages),
            cloud_pages: sum(|usage| usage.cloud_pages),
            cost_usd: usd(sum(|usage| usage.cost_micros)),
        },
        request_id: &job.request_id,
        enqueued_at: job.enqueued_at,
        started_at: job.started_at,
        // As it is stored.
        finished_at: at.trunc_subsecs(3),
    };
    Some(JobDelivery {
        message_id: format!("msg_{}", Uuid::now_v7().simple()),
        event: ACTOR_RUN_COMPLETE,
        url: url.to_owned(),
        target: target(url),
        // Numbers and text always serialise.
        payload: serde_json::to_string(&body).unwrap_or_default(),
    })
}

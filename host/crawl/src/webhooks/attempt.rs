//! One attempt at one delivery.

use std::time::SystemTime;

use chrono::{DateTime, Utc};
use orbweaver_core::retry_after::retry_after;
use orbweaver_core::webhook::{SIGNATURE_HEADER, Verdict, sign};
use orbweaver_fetch::{FetchError, Kind, Method, Request, SubKind};
use orbweaver_store::webhook::{DeliverySubject, NewAttempt, TakenDelivery};
use tokio::time::Instant;

use super::body::WebhookBody;
use super::pages_body;
use super::secret::secret;
use crate::context::Crawls;

const USER_AGENT: &str = concat!("Orbweaver-Webhooks/", env!("CARGO_PKG_VERSION"));
/// Maximum characters of a stored error message.
const MAX_ERROR: usize = 500;

/// An attempt and its result.
pub(super) struct Attempted {
    pub(super) record: NewAttempt,
    pub(super) verdict: Verdict,
}

/// Signs and sends the delivery; `Err` if it could not be tried, which is no attempt.
pub(super) async fn attempt(
    crawls: &Crawls,
    delivery: &TakenDelivery,
) -> anyhow::Result<Attempted> {
    let at = crawls.clock.now();
    let secret = secret(&crawls.store, delivery.project, at).await?;
    let (body, subject) = match &delivery.subject {
        DeliverySubject::Run(run) => {
            let body = match &run.payload {
                Some(payload) => payload.clone().into_bytes(),
                None => serde_json::to_vec(&WebhookBody::of(delivery.project, run, at))?,
            };
            (body, ("x-crawler-run-id", run.run.to_string()))
        }
        DeliverySubject::Pages(pages) => {
            let body = pages_body::make(&crawls.store, delivery.project, pages, at).await?;
            (body, ("x-crawler-run-id", pages.run.to_string()))
        }
        DeliverySubject::Job { job, payload } => (
            payload.clone().into_bytes(),
            ("x-crawler-actor-run-id", job.to_string()),
        ),
        DeliverySubject::Plugin { event, payload } => (
            payload.clone().into_bytes(),
            ("x-crawler-event", event.clone()),
        ),
    };
    let signed = sign(&secret, &delivery.message_id, at, &body);
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("accept", "*/*".to_owned()),
        subject,
        (SIGNATURE_HEADER, signed.crawler),
        ("webhook-id", signed.id),
        ("webhook-timestamp", signed.timestamp),
        ("webhook-signature", signed.standard),
    ];
    let request = Request {
        headers: headers
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        body: Some(body.into()),
        user_agent: Some(USER_AGENT.to_owned()),
        follow_redirects: false,
        discard_body: true,
        ..Request::new(Method::POST, delivery.url.as_str())
            .patient(crawls.webhook_config.timeout_ms.as_duration())
    };
    let started = Instant::now();
    let fetcher = crawls.pipeline.fetcher.of_project(delivery.project);
    let answer = fetcher.fetch(request).await;
    let latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (status, error, verdict) = match answer {
        Ok(response) => {
            let asked = response.headers.get("retry-after");
            judge(response.status, asked, at)
        }
        // The fetch reports this as an error; here it is a redirect like any other.
        Err(error) if error.kind == Kind::Protocol && error.sub == Some(SubKind::NotModified) => {
            judge(304, None, at)
        }
        Err(error) => (None, Some(described(&error)), of_error(&error)),
    };
    Ok(Attempted {
        record: NewAttempt {
            at,
            status,
            latency_ms,
            error,
        },
        verdict,
    })
}

fn judge(
    status: u16,
    asked: Option<&str>,
    at: DateTime<Utc>,
) -> (Option<u16>, Option<String>, Verdict) {
    let wait = asked.and_then(|asked| retry_after(asked, SystemTime::from(at)));
    let verdict = Verdict::of_status(status, wait);
    let error = match status {
        _ if verdict == Verdict::Delivered => None,
        300..=399 => Some(format!(
            "the receiver answered {status}; redirects are not followed"
        )),
        _ => Some(format!("the receiver answered {status}")),
    };
    (Some(status), error, verdict)
}

/// A delivery that the guard refuses is given up; a network error is retried.
fn of_error(error: &FetchError) -> Verdict {
    match error.kind {
        Kind::Refused | Kind::InvalidRequest | Kind::Scope | Kind::Robots => Verdict::Refused,
        _ => Verdict::Failed { retry_after: None },
    }
}

fn described(error: &FetchError) -> String {
    format!("{}: {error}", error.kind)
        .chars()
        .take(MAX_ERROR)
        .collect()
}

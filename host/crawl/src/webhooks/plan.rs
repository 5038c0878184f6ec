//! Decides the deliveries of a run that ends.

use orbweaver_core::webhook::{DiffCounts, Event, Outcome, Selection, select, target};
use orbweaver_store::crawl::{Ending, Run};
use orbweaver_store::webhook::{NewDelivery, RunWebhook};
use orbweaver_store::{Store, StoreError};
use uuid::Uuid;

use crate::spec::CrawlSpec;

/// Why a failed run found no change.
const NOT_COMPARED: &str = "the run failed, so that it was not compared with the one before: \
    crawl.diff_detected was not sent";

/// The deliveries; none for a run without a webhook.
pub(super) async fn plan(
    store: &Store,
    run: &Run,
    ending: &Ending,
) -> Result<Option<RunWebhook>, StoreError> {
    let spec: CrawlSpec = match serde_json::from_str(&run.spec) {
        Ok(spec) => spec,
        Err(error) => {
            // The run has to end all the same; otherwise it would be taken again without end.
            tracing::error!(run.id = %run.id, %error, "stored crawl spec is invalid; no webhook is sent");
            return Ok(None);
        }
    };
    let Some(url) = &spec.webhook_url else {
        return Ok(None);
    };
    if spec.webhook_events == [Event::Page] {
        return Ok(Some(RunWebhook::OnlyPages));
    }
    let diff = match run.previous {
        Some(previous) if ending.done => {
            let early = ending.error_message.is_some();
            store
                .count_diff(run.project, previous, run.id, early)
                .await?
        }
        // No diff was made, although there is a run to compare with.
        Some(_) => Some(DiffCounts::default()),
        None => None,
    };
    let outcome = select(&Selection {
        events: &spec.webhook_events,
        recurring: run.monitor.is_some(),
        only_changed: spec.return_only_changed,
        succeeded: ending.done,
        diff,
    });
    let diff = diff.filter(|_| ending.done);
    let urls = match (run.previous, diff) {
        (Some(previous), Some(diff)) if !diff.is_zero() => {
            let early = ending.error_message.is_some();
            Some(
                store
                    .diff_urls(run.project, previous, run.id, early)
                    .await?,
            )
        }
        _ => None,
    };
    Ok(Some(match outcome {
        Outcome::NoChange => RunWebhook::Suppressed {
            status: "suppressed_no_change",
            why: (!ending.done).then_some(NOT_COMPARED),
        },
        Outcome::NoBaseline => RunWebhook::Suppressed {
            status: "suppressed_no_baseline",
            why: None,
        },
        Outcome::Deliver(events) => RunWebhook::Deliver {
            deliveries: events
                .into_iter()
                .map(|event| NewDelivery {
                    message_id: message_id(),
                    event,
                    url: url.clone(),
                    target: target(url),
                    payload: None,
                })
                .collect(),
            diff,
            urls,
        },
    }))
}

/// A new id of a message to a receiver.
pub(super) fn message_id() -> String {
    format!("msg_{}", Uuid::now_v7().simple())
}

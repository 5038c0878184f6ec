//! Lets a run's hooks change the payloads of its webhooks, once, when the run ends.

use chrono::{DateTime, Utc};
use orbweaver_core::key_hash::key_hash;
use orbweaver_engine::{Delivery, HookFailure, HookPoint, RunRef};
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{Ending, Lease, NewNote, NoteKind, Run, RunState};
use orbweaver_store::webhook::{EndedRun, RunWebhook};

use super::Hooks;
use crate::context::Crawls;
use crate::spec::CrawlSpec;
use crate::webhooks::WebhookBody;

/// What became of the payloads.
pub(crate) enum Delivered {
    /// They are made, or are made at each attempt because no hook has `deliver`.
    Made,
    /// A hook failed whose failure ends the run; says why.
    Failed(String),
}

/// Makes the payloads of a run's deliveries. Failures of hooks are noted with the run.
///
/// # Errors
/// If the database fails.
pub(crate) async fn payloads(
    crawls: &Crawls,
    lease: Lease,
    ending: &Ending,
    webhook: &mut RunWebhook,
    at: DateTime<Utc>,
) -> Result<Delivered, StoreError> {
    let RunWebhook::Deliver {
        deliveries,
        diff,
        urls,
    } = webhook
    else {
        return Ok(Delivered::Made);
    };
    // The counts of the last commit, and the hooks of the request.
    let Some(run) = crawls.store.run(lease.project, lease.run).await? else {
        return Ok(Delivered::Made);
    };
    let Ok(spec) = serde_json::from_str::<CrawlSpec>(&run.spec) else {
        return Ok(Delivered::Made);
    };
    let hooks = Hooks::new(&spec.hooks);
    let engine = crawls
        .pipeline
        .engine
        .of_run(run.project, RunRef::Crawl(run.id.get()));
    if !hooks.points(&engine).has(HookPoint::Deliver) {
        return Ok(Delivered::Made);
    }
    let mut failures: Vec<HookFailure> = Vec::new();
    for delivery in deliveries {
        let about = Delivery {
            event: delivery.event.as_str().to_owned(),
            run_id: run.id.get(),
            run_url: run.url.clone(),
        };
        let ended = EndedRun {
            event: delivery.event,
            payload: None,
            diff: *diff,
            urls: urls.clone(),
            run: run.id,
            monitor: run.monitor,
            previous: run.previous,
            run_url: run.url.clone(),
            status: if ending.done {
                RunState::Done
            } else {
                RunState::Failed
            },
            page_count: run.page_count,
            error_count: run.error_count,
            started_at: run.started_at,
            finished_at: Some(at),
            error_message: ending.error_message.clone(),
        };
        let Ok(body) = serde_json::to_string(&WebhookBody::of(run.project, &ended, at)) else {
            continue;
        };
        let (payload, failed) = engine.delivery_hooks(&hooks.uses, &about, body).await;
        delivery.payload = Some(payload);
        failures.extend(failed);
    }
    if !failures.is_empty() {
        let notes: Vec<NewNote> = failures
            .iter()
            .map(|failure| note(&run, failure, at))
            .collect();
        crawls.store.note_failures(lease, &notes).await?;
    }
    let strict = failures
        .iter()
        .find(|failure| hooks.is_strict(&failure.hook));
    Ok(match strict {
        Some(failure) => {
            Delivered::Failed(format!("hook {}: {}", failure.hook, failure.error.told()))
        }
        None => Delivered::Made,
    })
}

fn note(run: &Run, failure: &HookFailure, at: DateTime<Utc>) -> NewNote {
    NewNote {
        kind: NoteKind::Plugin,
        plugin: failure.hook.clone(),
        url: run.url.clone(),
        key_hash: key_hash(&run.url_key),
        message: format!("{}: {}", failure.point.as_str(), failure.error.told()).replace('\0', ""),
        noted_at: at,
    }
}

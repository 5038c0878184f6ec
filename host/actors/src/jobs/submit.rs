//! Queueing a job.

use orbweaver_core::ids::ProjectId;
use orbweaver_store::StoreError;
use orbweaver_store::jobs::{JobCreated, NewJob};
use serde_json::Value;

use crate::context::Actors;

/// A job to queue; its input is accepted by the actor's schema and by
/// [`check_urls`](crate::check_urls).
#[derive(Debug)]
pub struct JobRequest<'a> {
    /// The actor's name.
    pub actor: &'a str,
    /// Its input.
    pub input: &'a Value,
    /// Id of the request.
    pub request_id: &'a str,
    /// Where its end is told; accepted by the guard.
    pub webhook_url: Option<&'a str>,
    /// The client's Idempotency-Key, and the SHA-256 of the request's body.
    pub idem: Option<(&'a str, &'a [u8; 32])>,
}

/// Queues a job, unless its Idempotency-Key already did.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn submit(
    actors: &Actors,
    project: ProjectId,
    request: &JobRequest<'_>,
) -> Result<JobCreated, StoreError> {
    let input = request.input.to_string();
    let created = actors
        .store
        .create_job(&new_job(actors, project, request, &input))
        .await?;
    if matches!(created, JobCreated::New(_)) {
        actors.jobs.wake();
    }
    Ok(created)
}

/// What the Idempotency-Key stands for, if it was used before: for a request that is refused for
/// another reason.
///
/// # Errors
/// If the database fails.
#[crate::boxed]
pub async fn submitted(
    actors: &Actors,
    project: ProjectId,
    request: &JobRequest<'_>,
) -> Result<Option<JobCreated>, StoreError> {
    let new = new_job(actors, project, request, "");
    actors.store.job_of_key(&new).await
}

fn new_job<'a>(
    actors: &Actors,
    project: ProjectId,
    request: &JobRequest<'a>,
    input: &'a str,
) -> NewJob<'a> {
    let config = &actors.job_config;
    NewJob {
        project,
        actor: request.actor,
        input,
        request_id: request.request_id,
        webhook_url: request.webhook_url,
        idem: request.idem,
        enqueued_at: actors.clock.now(),
        most_active: config.queue_per_project,
        most_input_bytes: config.queue_mib_per_project.saturating_mul(1 << 20),
    }
}

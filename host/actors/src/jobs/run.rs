//! One attempt at a job.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::quota::QuotaError;
use orbweaver_core::ids::KeyId;
use orbweaver_engine::{CallOutput, Engine, PluginError, RunBudget};
use orbweaver_store::jobs::{Job, JobEnding, JobOutcome, LeasedJob};
use orbweaver_store::{NewUsage, Principal, Project};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tracing::Instrument as _;

use super::completion_webhook;
use super::live::{Fate, JobHandle};
use super::sink::JobSink;
use crate::call::{CallError, explained};
use crate::caller::Caller;
use crate::context::Actors;
use crate::host::CallHost;
use crate::ledger::Ledger;
use crate::tariff::Tariff;

/// How often progress and items are written that do not fill a batch.
const FLUSH: Duration = Duration::from_millis(500);
/// Time between two attempts to write the end.
const RETRY: Duration = Duration::from_millis(500);
/// Attempts to write the end before the lease is left to run out.
const RETRIES: u32 = 120;

/// Works on a leased job until its end, or until the attempt is void.
pub(super) async fn attempt(actors: &Actors, leased: LeasedJob, handle: Arc<JobHandle>) {
    let span = tracing::info_span!(
        "actor_run",
        request_id = leased.job.request_id,
        run.id = leased.job.id.get(),
        actor = leased.job.actor,
        attempt = leased.job.attempts,
    );
    let attempt = Attempt {
        actors,
        job: leased.job,
        handle,
    };
    attempt.run(&leased.input).instrument(span).await;
}

struct Attempt<'a> {
    actors: &'a Actors,
    job: Job,
    handle: Arc<JobHandle>,
}

/// How the actor's call ended.
enum Ended {
    /// With its answer or its failure.
    Answered(Result<CallOutput, PluginError>),
    /// It did not end within its time after the job was cancelled.
    Ignored,
    /// The attempt is void.
    Void(Fate),
}

/// What an attempt works with.
struct Prepared {
    host: Arc<CallHost>,
    sink: Arc<JobSink>,
    input: Value,
    budget: RunBudget,
}

impl Attempt<'_> {
    async fn run(&self, input: &str) {
        if self.job.cancel_requested {
            return self.end(JobOutcome::Cancelled, None).await;
        }
        let most = self.actors.job_config.max_attempts;
        if self.job.attempts > most {
            let message =
                format!("the process died in each of {most} attempts (setting jobs.max_attempts)");
            let failed = JobOutcome::Failed {
                code: "INTERNAL",
                message,
            };
            return self.end(failed, None).await;
        }
        let prepared = match self.prepare(input).await {
            Ok(prepared) => prepared,
            Err(CallError::Quota(QuotaError::Store(error))) => {
                tracing::warn!(%error, "cannot begin a run of an actor yet");
                return self.hand_back().await;
            }
            Err(error) => return self.end(failed(&error), None).await,
        };
        let Prepared { host, sink, .. } = &prepared;
        let (host, sink) = (Arc::clone(host), Arc::clone(sink));
        let mut ended = self.call(prepared).await;
        if sink.flush().await.is_err() && !matches!(ended, Ended::Void(_)) {
            ended = Ended::Void(self.handle.fate());
        }
        let cancelled = *self.handle.cancel.borrow();
        let outcome = match ended {
            Ended::Void(fate) => return self.give_up(fate, &host).await,
            Ended::Ignored => JobOutcome::Cancelled,
            Ended::Answered(_) if cancelled => JobOutcome::Cancelled,
            Ended::Answered(Ok(output)) => match host.capped() {
                Some(cap) => failed(&QuotaError::Capped(cap).into()),
                None => JobOutcome::Done(output.json.into()),
            },
            Ended::Answered(Err(error)) => failed(&explained(&host, error)),
        };
        self.end(outcome, Some((&host, sink.taken()))).await;
    }

    /// The plugins of the job's project.
    fn engine(&self) -> Engine {
        let engine = &self.actors.pipeline.engine;
        engine.of_project(self.job.project)
    }

    async fn prepare(&self, input: &str) -> Result<Prepared, CallError> {
        let (actors, job) = (self.actors, &self.job);
        let project = actors.store.project(job.project).await;
        let project = project.map_err(QuotaError::Store)?;
        let project = project.ok_or(QuotaError::Suspended)?;
        let tier = actors.quota.caps(job.project).await?;
        let input = serde_json::from_str(input)
            .map_err(|error| CallError::Internal(format!("the input of a run: {error}")))?;
        let token = format!("actor-run:{}", job.id);
        let tariff = Tariff::of_called(&self.engine(), &job.actor);
        let ledger = Ledger::open(actors, job.project, tariff, &token).await?;
        let sink = JobSink::new(&actors.store, &self.handle, job, &actors.job_config);
        let caller = Caller::Job(Arc::clone(&sink));
        let principal = Arc::new(principal(project));
        let host = Arc::new(CallHost::new(actors.clone(), principal, ledger, caller));
        let most = actors.job_config.max_seconds;
        let seconds = tier.max_run_seconds.map_or(most, |tier| tier.min(most));
        Ok(Prepared {
            host,
            sink,
            input,
            budget: RunBudget {
                wall: Duration::from_secs(seconds),
                cpu: Duration::from_secs(actors.job_config.max_cpu_seconds),
            },
        })
    }

    /// Calls the actor until it ends, or has to.
    async fn call(&self, prepared: Prepared) -> Ended {
        let Prepared {
            host,
            sink,
            input,
            budget,
        } = prepared;
        let engine = self.engine();
        let mut call = engine.run_actor_in_background(&self.job.actor, &input, host, budget);
        let grace = self.actors.job_config.cancel_grace_ms.as_duration();
        let mut cancelled_at: Option<Instant> = None;
        let mut cancel = self.handle.cancel.subscribe();
        let mut flush = interval(FLUSH);
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                done = &mut call => return Ended::Answered(done),
                fate = self.handle.doomed() => return Ended::Void(fate),
                () = async { drop(cancel.wait_for(|cancel| *cancel).await) },
                    if cancelled_at.is_none() => {
                    cancelled_at = Some(Instant::now() + grace);
                }
                () = ended_at(cancelled_at) => {
                    tracing::warn!("an actor's run did not end when cancelled; it is ended");
                    return Ended::Ignored;
                }
                // A void attempt is noticed by its fate.
                _ = flush.tick() => drop(sink.flush().await),
            }
        }
    }

    /// Writes the end, the bill and the webhook in one transaction.
    async fn end(&self, outcome: JobOutcome, work: Option<(&CallHost, u64)>) {
        let (actors, lease) = (self.actors, self.handle.lease);
        let succeeded = matches!(outcome, JobOutcome::Done(_));
        let usages = work.map(|(host, _)| host.ledger().end(succeeded).0);
        let usages = usages.unwrap_or_default();
        let items = work.map_or(0, |(_, items)| items);
        let at = actors.clock.now();
        let delivery = completion_webhook::delivery(&self.job, &outcome, &usages, items, at);
        let ending = JobEnding {
            outcome,
            usages,
            delivery,
            at,
        };
        for _ in 0..RETRIES {
            match actors.store.end_job(lease, &ending).await {
                Ok(true) => {
                    let status = ending.outcome.state().as_str();
                    tracing::info!(status, items, "a run of an actor ended");
                    return;
                }
                Ok(false) => return self.bill_if_deleted(ending.usages).await,
                Err(error) => tracing::warn!(%error, "cannot write the end of an actor's run yet"),
            }
            sleep(RETRY).await;
        }
        tracing::error!("the end of an actor's run could not be written; it will be run again");
    }

    /// Ends a void attempt: it costs nothing, because another attempt follows, unless the job was
    /// deleted.
    async fn give_up(&self, fate: Fate, host: &CallHost) {
        if fate == Fate::HandBack {
            host.ledger().abandon();
            match self.actors.store.release_job(self.handle.lease).await {
                Ok(_) => tracing::info!("a run of an actor is handed back"),
                Err(error) => tracing::warn!(%error, "cannot hand a run of an actor back"),
            }
            return;
        }
        let (usages, _) = host.ledger().end(false);
        self.bill_if_deleted(usages).await;
    }

    /// Lets another attempt follow after a pause, which a database that fails for a moment needs. This one
    /// does not count.
    async fn hand_back(&self) {
        for _ in 0..RETRIES {
            let fate = tokio::select! {
                () = sleep(RETRY) => Fate::Going,
                fate = self.handle.doomed() => fate,
            };
            match self.actors.store.release_job(self.handle.lease).await {
                Ok(_) => return,
                Err(error) => tracing::warn!(%error, "cannot hand a run of an actor back"),
            }
            if fate != Fate::Going {
                return;
            }
        }
    }

    /// What a deleted job has fetched is billed; a job that another worker has is billed by that.
    async fn bill_if_deleted(&self, usages: Vec<NewUsage>) {
        let (project, id) = (self.job.project, self.job.id);
        match self.actors.store.job(project, id).await {
            Ok(None) => {}
            Ok(Some(_)) => return tracing::warn!("another worker has taken an actor's run"),
            Err(error) => return tracing::error!(%error, "cannot bill a deleted run"),
        }
        for usage in usages {
            if let Err(error) = self.actors.store.bill(usage).await {
                tracing::error!(%error, "cannot bill a deleted run");
            }
        }
    }
}

/// Waits until then; without a time for ever.
async fn ended_at(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn failed(error: &CallError) -> JobOutcome {
    if error.is_internal() {
        tracing::error!(%error, "a run of an actor failed");
    }
    JobOutcome::Failed {
        code: error.code(),
        message: error.client_message(),
    }
}

/// The project as its own calls see it; there is no key.
fn principal(project: Project) -> Principal {
    Principal {
        project: project.id,
        project_name: project.name,
        key: KeyId(0),
        prefix: String::new(),
        tier: project.tier,
        administrator: project.administrator,
        proxy_url: project.proxy_url,
        cloud_mode: project.cloud_mode,
        expires_at: None,
        suspended: false,
    }
}

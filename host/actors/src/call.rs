//! Runs one call of an actor or a fetcher: input, answer and bill.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use orbweaver_accounts::fair::Busy;
use orbweaver_accounts::quota::QuotaError;
use orbweaver_engine::{Engine, PluginError, PluginInfo, Source};
use orbweaver_pipeline::cloud::usd;
use orbweaver_store::Principal;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::context::Actors;
use crate::host::{CallHost, Refusal};
use crate::ledger::Ledger;
use crate::tariff::Tariff;
use crate::urls;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no plugin of that name, or for that domain.
    #[error("{0}")]
    NotFound(String),
    /// The input breaks a rule; `field: rule`.
    #[error("{0}")]
    Invalid(String),
    /// The plugin could not fetch what it needed.
    #[error("{0}")]
    Fetch(String),
    /// A backend is not configured; says what to set.
    #[error("{0}")]
    NotConfigured(String),
    /// A cap is reached, or the project is suspended.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// Too many calls of this project are waiting.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The plugin failed: a trap, an exhausted limit, a missing permission.
    #[error("{0}")]
    Plugin(String),
    /// An internal error.
    #[error("{0}")]
    Internal(String),
}

impl CallError {
    fn from_plugin(error: PluginError) -> Self {
        match error {
            PluginError::NotFound { .. } => Self::NotFound(error.to_string()),
            PluginError::InvalidInput(why) => Self::Invalid(why),
            PluginError::FetchFailed(why) => Self::Fetch(why),
            PluginError::Engine(why) => Self::Internal(why),
            PluginError::Denied(_)
            | PluginError::Failed(_)
            | PluginError::Trap(_)
            | PluginError::Limit(_)
            | PluginError::BadOutput(_) => Self::Plugin(error.to_string()),
        }
    }
}

/// An actor's answer.
#[derive(Serialize)]
struct ActorAnswer<'a> {
    actor: &'a str,
    url: Option<String>,
    elapsed_ms: u64,
    data: &'a RawValue,
}

/// A fetcher's answer.
#[derive(Serialize)]
struct FetcherAnswer<'a> {
    data: &'a RawValue,
    cost_usd: f64,
    elapsed_ms: u64,
}

/// Runs an actor on input accepted by [`check_urls`](crate::check_urls); billed when this returns.
///
/// # Errors
/// Why it failed. Pages fetched until then are billed.
#[crate::boxed]
pub async fn run_actor(
    actors: &Actors,
    principal: &Arc<Principal>,
    name: &str,
    input: &Value,
    token: &str,
) -> Result<Bytes, CallError> {
    let started = Instant::now();
    let _slot = actors.slots.acquire(principal.project).await?;
    let engine = actors.pipeline.engine.of_project(principal.project);
    let own = engine
        .actor(name)
        .is_some_and(|actor| matches!(actor.source, Source::Project(_)));
    let tariff = if own {
        Tariff::THIRD_PARTY
    } else {
        Tariff::of_actor(name)
    };
    let ledger = Ledger::open(actors, principal.project, tariff, token).await?;
    let host = Arc::new(CallHost::new(actors.clone(), Arc::clone(principal), ledger));
    let done = engine
        .run_actor(name, input, Arc::<CallHost>::clone(&host))
        .await;
    let (json, _) = settle(&host, done).await?;
    let answer = ActorAnswer {
        actor: name,
        url: urls::subject(input),
        elapsed_ms: millis(started),
        data: &raw(json)?,
    };
    whole(&answer)
}

/// Runs the fetcher of a domain; billed when this returns.
///
/// # Errors
/// Same as [`run_actor`].
#[crate::boxed]
pub async fn run_fetcher(
    actors: &Actors,
    principal: &Arc<Principal>,
    domain: &str,
    path: &str,
    params: &Value,
    token: &str,
) -> Result<Bytes, CallError> {
    let started = Instant::now();
    let _slot = actors.slots.acquire(principal.project).await?;
    let ledger = Ledger::open(actors, principal.project, Tariff::FETCHER, token).await?;
    let host = Arc::new(CallHost::new(actors.clone(), Arc::clone(principal), ledger));
    let engine = actors.pipeline.engine.of_project(principal.project);
    let done = engine
        .run_fetcher(domain, path, params, Arc::<CallHost>::clone(&host))
        .await;
    let (json, cost_micros) = settle(&host, done).await?;
    let answer = FetcherAnswer {
        data: &raw(json)?,
        cost_usd: usd(cost_micros),
        elapsed_ms: millis(started),
    };
    whole(&answer)
}

/// Bills the call and maps the plugin's result. If the host refused a request for want of a
/// backend or quota and the plugin failed, that refusal is the error.
async fn settle(
    host: &CallHost,
    done: Result<orbweaver_engine::CallOutput, PluginError>,
) -> Result<(String, u64), CallError> {
    let cost = host
        .ledger()
        .close(done.is_ok())
        .await
        .map_err(|error| CallError::Internal(error.to_string()))?;
    match done {
        Ok(output) => Ok((output.json, cost)),
        Err(error) => Err(match host.reason(&error) {
            Some(Refusal::NotConfigured(what)) => CallError::NotConfigured(what),
            Some(Refusal::Capped(cap)) => QuotaError::Capped(cap).into(),
            Some(Refusal::Target(why)) => CallError::Invalid(why),
            Some(Refusal::Missing(what)) => CallError::NotFound(what),
            None => CallError::from_plugin(error),
        }),
    }
}

/// All loaded actors that the engine's project may call, sorted by name.
pub fn directory(engine: &Engine) -> Vec<PluginInfo> {
    let plugins = engine.plugins().into_iter();
    plugins
        .filter(|plugin| plugin.kind == orbweaver_engine::Kind::Actor)
        .collect()
}

fn raw(json: String) -> Result<Box<RawValue>, CallError> {
    RawValue::from_string(json).map_err(|error| CallError::Internal(error.to_string()))
}

fn whole(answer: &impl Serialize) -> Result<Bytes, CallError> {
    serde_json::to_vec(answer)
        .map(Bytes::from)
        .map_err(|error| CallError::Internal(error.to_string()))
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

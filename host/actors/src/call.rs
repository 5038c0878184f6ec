//! Runs one call of an actor or a fetcher: input, answer and bill.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use orbweaver_accounts::fair::Busy;
use orbweaver_accounts::quota::QuotaError;
use orbweaver_engine::{CodedError, Engine, ErrorCode, Json, Limit, PluginError, PluginInfo};
use orbweaver_pipeline::cloud::usd;
use orbweaver_pipeline::sized;
use orbweaver_store::Principal;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::context::Actors;
use crate::host::{CallHost, Refusal};
use crate::ledger::Ledger;
use crate::tariff::Tariff;
use crate::urls;

/// When to try again, where a plugin says `quota` and does not say when.
const QUOTA_SECONDS: u64 = 60;
/// The longest such time that is passed on: a month, after which every cap has begun anew.
const MOST_QUOTA_SECONDS: u64 = 31 * 86_400;

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
    /// The plugin says that a cap is reached.
    #[error("{message}")]
    RateLimited {
        /// What is capped.
        message: String,
        /// When to try again.
        retry_after_seconds: u64,
    },
    /// A cap is reached, or the project is suspended.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// Too many calls of this project are waiting.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The plugin failed: a trap, an exhausted limit, a missing permission; or the project's own could not be
    /// loaded.
    #[error("{0}")]
    Plugin(String),
    /// The plugin was not called, because its last calls crashed.
    #[error("{message}")]
    Quarantined {
        /// What happened.
        message: String,
        /// When it is called again.
        retry_after_seconds: u64,
    },
    /// The plugin's time was over.
    #[error("{0}")]
    TimedOut(String),
    /// An internal error.
    #[error("{0}")]
    Internal(String),
}

impl CallError {
    fn from_plugin(error: PluginError) -> Self {
        match error {
            PluginError::NotFound { .. } => Self::NotFound(error.to_string()),
            PluginError::Reported(error) => Self::from_code(error),
            PluginError::Engine(why) => Self::Internal(why),
            PluginError::Quarantined { retry_after, .. } => Self::Quarantined {
                message: error.to_string(),
                retry_after_seconds: retry_after
                    .as_millis()
                    .div_ceil(1_000)
                    .try_into()
                    .unwrap_or(1),
            },
            PluginError::Limit(Limit::Wall(_)) => Self::TimedOut(error.to_string()),
            PluginError::NotLoaded { .. }
            | PluginError::Trap(_)
            | PluginError::Limit(_)
            | PluginError::BadOutput(_) => Self::Plugin(error.to_string()),
        }
    }

    /// The error of a plugin by its code.
    fn from_code(error: CodedError) -> Self {
        let CodedError { code, message, .. } = error;
        match code {
            ErrorCode::InvalidInput | ErrorCode::BlockedAddress | ErrorCode::Robots => {
                Self::Invalid(message)
            }
            code if code.is_fetch() => Self::Fetch(message),
            ErrorCode::NotConfigured => Self::NotConfigured(message),
            ErrorCode::Quota => Self::RateLimited {
                message,
                retry_after_seconds: error.retry_after_ms.map_or(QUOTA_SECONDS, |ms| {
                    ms.div_ceil(1_000).clamp(1, MOST_QUOTA_SECONDS)
                }),
            },
            ErrorCode::Failed => Self::Plugin(message),
            code => Self::Plugin(format!("{code}: {message}")),
        }
    }
}

impl CallError {
    /// The code in the API's errors.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "NOT_FOUND",
            Self::Invalid(_) => "INVALID_INPUT",
            Self::Fetch(_) => "FETCH_FAILED",
            Self::NotConfigured(_) => "NOT_IMPLEMENTED",
            Self::Quota(QuotaError::Suspended) => "FORBIDDEN",
            Self::Quota(QuotaError::Capped(_)) | Self::Busy(_) | Self::RateLimited { .. } => {
                "RATE_LIMITED"
            }
            Self::Plugin(_) | Self::Quarantined { .. } => "PLUGIN_FAILED",
            Self::TimedOut(_) => "TIMEOUT",
            Self::Quota(QuotaError::Store(_)) | Self::Internal(_) => "INTERNAL",
        }
    }

    /// The message as clients see it: the cause of an internal error is in the log only.
    pub(crate) fn client_message(&self) -> String {
        if self.is_internal() {
            return "internal error; search the log for the request id of the run".to_owned();
        }
        self.to_string()
    }

    /// Whether it is a fault of the service, which the caller logs.
    pub(crate) fn is_internal(&self) -> bool {
        self.code() == "INTERNAL"
    }
}

/// One call of an actor.
#[derive(Clone, Copy, Debug)]
pub struct ActorCall<'a> {
    /// The actor's name.
    pub name: &'a str,
    /// Its input, accepted by [`check_urls`](crate::check_urls).
    pub input: &'a Value,
    /// What it is billed under.
    pub token: &'a str,
    /// Id of the request.
    pub request_id: &'a str,
}

/// Writes a line to the log if the call is dropped before its end: the client has hung up, or its
/// request has taken too long.
struct Unfinished<'a> {
    plugin: &'static str,
    name: &'a str,
    ended: bool,
}

impl<'a> Unfinished<'a> {
    const fn new(plugin: &'static str, name: &'a str) -> Self {
        Self {
            plugin,
            name,
            ended: false,
        }
    }

    fn ended(mut self) {
        self.ended = true;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let (kind, name) = (self.plugin, self.name);
            tracing::warn!(
                plugin = %format_args!("{kind}:{name}"),
                "the call was ended before its answer: its request took too long, or the client \
                 hung up"
            );
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

/// Runs an actor; billed when this returns.
///
/// # Errors
/// Why it failed. Pages fetched until then are billed.
#[crate::boxed]
pub async fn run_actor(
    actors: &Actors,
    principal: &Arc<Principal>,
    call: &ActorCall<'_>,
) -> Result<Bytes, CallError> {
    let ActorCall {
        name, input, token, ..
    } = *call;
    let started = Instant::now();
    let _slot = actors.slots.acquire(principal.project).await?;
    let engine = actors.pipeline.engine.of_project(principal.project);
    let unfinished = Unfinished::new("actor", name);
    let tariff = Tariff::of_called(&engine, name);
    let ledger = Ledger::open(actors, principal.project, tariff, token).await?;
    let caller = Caller::Request(call.request_id.to_owned());
    let host = CallHost::new(actors.clone(), Arc::clone(principal), ledger, caller);
    let host = Arc::new(host);
    let done = engine
        .run_actor(name, input, Arc::<CallHost>::clone(&host))
        .await;
    unfinished.ended();
    let (json, _) = settle(&host, done).await?;
    let (actor, url) = (name.to_owned(), urls::subject(input));
    let elapsed_ms = millis(started);
    written(json, move |data| {
        whole(&ActorAnswer {
            actor: &actor,
            url,
            elapsed_ms,
            data,
        })
    })
    .await
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
    let engine = actors.pipeline.engine.of_project(principal.project);
    let unfinished = Unfinished::new("fetcher", domain);
    let tariff = Tariff::of_fetcher(&engine, domain);
    let ledger = Ledger::open(actors, principal.project, tariff, token).await?;
    // A fetcher does not ask what its call is part of.
    let caller = Caller::Request(String::new());
    let host = CallHost::new(actors.clone(), Arc::clone(principal), ledger, caller);
    let host = Arc::new(host);
    let done = engine
        .run_fetcher(domain, path, params, Arc::<CallHost>::clone(&host))
        .await;
    unfinished.ended();
    let (json, cost_micros) = settle(&host, done).await?;
    let (cost_usd, elapsed_ms) = (usd(cost_micros), millis(started));
    written(json, move |data| {
        whole(&FetcherAnswer {
            data,
            cost_usd,
            elapsed_ms,
        })
    })
    .await
}

/// Bills the call and maps the plugin's result. If the host refused a request for want of a
/// backend or quota and the plugin failed, that refusal is the error; so is a cap for which nothing was
/// fetched that is not free.
async fn settle(
    host: &CallHost,
    done: Result<orbweaver_engine::CallOutput, PluginError>,
) -> Result<(Json, u64), CallError> {
    let capped = host.capped();
    let cost = host
        .ledger()
        .close(done.is_ok())
        .await
        .map_err(QuotaError::Store)?;
    match (done, capped) {
        (Ok(_), Some(cap)) => Err(QuotaError::Capped(cap).into()),
        (Ok(output), None) => Ok((output.json, cost)),
        (Err(error), _) => Err(explained(host, error)),
    }
}

/// A plugin's failure: one of the host's refusals, if it goes back to one.
pub(crate) fn explained(host: &CallHost, error: PluginError) -> CallError {
    match host.reason(&error) {
        Some(Refusal::NotConfigured(what)) => CallError::NotConfigured(what),
        Some(Refusal::Capped(cap)) => QuotaError::Capped(cap).into(),
        Some(Refusal::Target(why)) => CallError::Invalid(why),
        Some(Refusal::Missing(what)) => CallError::NotFound(what),
        None => CallError::from_plugin(error),
    }
}

/// All loaded actors that the engine's project may call, sorted by name.
pub fn directory(engine: &Engine) -> Vec<PluginInfo> {
    let plugins = engine.plugins().into_iter();
    plugins
        .filter(|plugin| plugin.kind == orbweaver_engine::Kind::Actor)
        .collect()
}

/// The answer that `write` makes of a plugin's JSON; of a long one on a thread for CPU-bound work.
async fn written(
    json: Json,
    write: impl FnOnce(&RawValue) -> Result<Bytes, CallError> + Send + 'static,
) -> Result<Bytes, CallError> {
    let bytes = json.len();
    let work = move || write(json.raw());
    let written = sized(bytes, work).await;
    written.map_err(|error| CallError::Internal(error.to_string()))?
}

fn whole(answer: &impl Serialize) -> Result<Bytes, CallError> {
    serde_json::to_vec(answer)
        .map(Bytes::from)
        .map_err(|error| CallError::Internal(error.to_string()))
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

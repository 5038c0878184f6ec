//! Calls that may wait: actors, fetchers, and extractors that include an interpreter.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::Store;
use wasmtime::component::Resource;

use crate::capability::Capabilities;
use crate::capability::pages::HostPage;
use crate::error::{Limit, PluginError};
use crate::extract::{RoleGroup, RoleResult, ends_instance, role_input};
use crate::host::Host;
use crate::journal::{CallInput, Caller, Reporter, with_context};
use crate::json::Json;
use crate::limits::Limits;
use crate::load::fails_test;
use crate::memory::MemoryBudget;
use crate::meter::{Meter, Metered};
use crate::output;
use crate::page::Page;
use crate::plugin::{Code, Plugin};
use crate::runtime::{Placement, Runtime};
use crate::state::State;
use crate::wit::v1::bindings::extractor::orbweaver::plugin::types::Error as WitError;
use crate::wit::v1::bindings::extractor_async::Extractor;

/// Answer of an actor or fetcher, and the resources that it used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOutput {
    /// The output; for a fetcher, an array with one element per item.
    pub json: Json,
    /// CPU time.
    pub cpu: Duration,
    /// Wall time.
    pub wall: Duration,
    /// Requests made through the host, including renders.
    pub fetches: u32,
}

/// Time of a call that is a run in the background; its other budgets are the plugin's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunBudget {
    /// Wall time.
    pub wall: Duration,
    /// CPU time, if that is more than the plugin's own.
    pub cpu: Duration,
}

impl RunBudget {
    /// The limits of a run of a plugin with these limits.
    pub(crate) fn limits(self, plugin: &Limits) -> Limits {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Limits {
            wall_ms: ms(self.wall),
            cpu_ms: ms(self.cpu).max(plugin.cpu_ms),
            ..*plugin
        }
    }
}

/// The export to call, with its arguments.
#[derive(Clone)]
pub(crate) enum Invocation {
    /// An actor, with its input.
    Run(Arc<str>),
    /// A fetcher: domain, path, parameters.
    Fetch(Arc<str>, Arc<str>, Arc<str>),
    /// Only instantiate.
    Nothing,
}

impl Invocation {
    /// The input, for the journal.
    fn noted(self) -> CallInput {
        match self {
            Self::Run(input) => CallInput::Actor {
                input: input.as_ref().to_owned(),
            },
            Self::Fetch(domain, path, params) => CallInput::Fetcher {
                domain: domain.as_ref().to_owned(),
                path: path.as_ref().to_owned(),
                params: params.as_ref().to_owned(),
            },
            Self::Nothing => CallInput::Actor {
                input: String::new(),
            },
        }
    }
}

/// Runs an actor or fetcher within its time budgets; dropping the future drops the guest.
pub(crate) async fn run(
    runtime: Arc<Runtime>,
    (plugin, caller): (Arc<Plugin>, Caller),
    invocation: Invocation,
    host: Arc<dyn Host>,
    limits: Limits,
) -> Result<CallOutput, PluginError> {
    let meter = Arc::new(Meter::new(limits.cpu(), limits.wall()));
    let memory = MemoryBudget::new(limits.memory_bytes());
    let capabilities = Arc::new(Capabilities::new(
        &host,
        &plugin.grants,
        &limits,
        &memory,
        plugin.id(),
        &meter,
        &runtime.host_work(&limits, &memory),
    ));
    let caller = with_context(caller, capabilities.job.context());
    let reporter = Reporter::new(runtime.journal.get(), &plugin.facts, &caller);
    let mut state = State::new(
        &plugin.label,
        &limits,
        Arc::clone(&meter),
        Arc::clone(&memory),
        Some(Arc::clone(&capabilities)),
    );
    state.report_to(reporter.clone());
    let input = invocation.clone();
    let mut store = task_store(&runtime, &limits, state)?;
    let answer = {
        let guest = Metered {
            meter: &meter,
            ticker: &runtime.ticker,
            future: Box::pin(invoke(&mut store, &plugin, invocation)),
        };
        match tokio::time::timeout(limits.wall(), guest).await {
            Err(_) => Err(PluginError::Limit(Limit::Wall(limits.wall()))),
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(error.into()),
            Ok(Err(error)) => Err(Failure(error).into_plugin_error(&store, &limits)),
        }
    };
    plugin.stats.record_fuel(runtime.fuel_used(&store));
    // Frees the guest's memory before its answer is checked.
    drop(store);
    let result = match answer {
        Ok(answer) => off_thread(answer.bytes(), move || answer.checked(&limits)).await,
        Err(error) => Err(error),
    };
    let failure = result.as_ref().err();
    if let Some(PluginError::Limit(limit)) = failure {
        tracing::warn!(
            target: "plugin",
            plugin = &*plugin.label,
            request_id = capabilities.job.context().request_id,
            cpu_ms = meter.cpu().as_millis(),
            wall_ms = meter.wall().as_millis(),
            "the call was ended: {limit}"
        );
    }
    let ended = (failure, || input.noted());
    plugin.ended((&caller, &reporter), &meter, memory.peak(), ended);
    Ok(CallOutput {
        json: result?,
        cpu: meter.cpu(),
        wall: meter.wall(),
        fetches: capabilities.requests_made(),
    })
}

/// Longest answer checked on the calling thread, in bytes: about 100 µs.
const MAX_CHECKED_IN_PLACE: usize = 64 << 10;

/// Checks an answer of this many bytes, on another thread if that takes long.
async fn off_thread(
    bytes: usize,
    check: impl FnOnce() -> Result<Json, PluginError> + Send + 'static,
) -> Result<Json, PluginError> {
    if bytes <= MAX_CHECKED_IN_PLACE {
        return check();
    }
    tokio::task::spawn_blocking(check)
        .await
        .unwrap_or_else(|_| Err(PluginError::Engine("shutting down".to_owned())))
}

/// Runs one component's roles on a page, as a task. A self-test has one meter for all of them, and ends with
/// the first failure.
pub(crate) async fn extract(
    runtime: Arc<Runtime>,
    group: RoleGroup,
    page: Arc<Page>,
    test: Option<Arc<Meter>>,
) -> Vec<(usize, RoleResult)> {
    let RoleGroup {
        plugin,
        caller,
        calls,
        inputs,
        account,
    } = group;
    let limits = plugin.limits;
    let mut results = Vec::with_capacity(calls.len());
    let mut instance: Option<(Store<State>, Extractor, u32)> = None;
    let mut memory = MemoryBudget::new(limits.memory_bytes());
    let reporter = Reporter::new(runtime.journal.get(), &plugin.facts, &caller);
    for (place, call) in calls {
        let meter = match &test {
            Some(meter) => Arc::clone(meter),
            None => Arc::new(Meter::new(limits.cpu(), limits.wall())),
        };
        let previous = instance.take();
        let earlier = previous.as_ref();
        let fuel = earlier.map_or(0, |(store, ..)| runtime.fuel_used(store));
        let one = async {
            let (mut store, extractor, page) = match previous {
                Some(mut instance) => {
                    instance.0.data_mut().set_meter(Arc::clone(&meter));
                    instance
                }
                None => {
                    memory = MemoryBudget::new(limits.memory_bytes());
                    let (meter, memory) = (Arc::clone(&meter), Arc::clone(&memory));
                    let mut state = State::new(&plugin.label, &limits, meter, memory, None);
                    state.inputs = inputs.clone();
                    state.report_to(reporter.clone());
                    let mut store = task_store(&runtime, &limits, state)?;
                    match begin(&mut store, &plugin, &page).await {
                        Ok((extractor, page)) => (store, extractor, page),
                        Err(error) => return Err(Failure(error).into_plugin_error(&store, &limits)),
                    }
                }
            };
            let answer = extractor
                .orbweaver_plugin_extracting()
                .call_extract(
                    &mut store,
                    &call.role,
                    Resource::new_borrow(page),
                    &call.options,
                )
                .await;
            let used = runtime.fuel_used(&store).saturating_sub(fuel);
            plugin.stats.record_fuel(used);
            let result = match answer {
                Ok(Ok(json)) => {
                    let (role, bytes) = (call.role.clone(), json.len());
                    off_thread(bytes, move || output::of_role(&role, json, &limits)).await
                }
                Ok(Err(error)) => Err(error.into()),
                Err(error) => Err(Failure(error).into_plugin_error(&store, &limits)),
            };
            if !result.as_ref().is_err_and(ends_instance) {
                instance = Some((store, extractor, page));
            }
            result
        };
        let one = Metered {
            meter: &meter,
            ticker: &runtime.ticker,
            future: Box::pin(one),
        };
        let wall = limits.wall().saturating_sub(meter.wall());
        let result = tokio::time::timeout(wall, one)
            .await
            .unwrap_or(Err(PluginError::Limit(Limit::Wall(limits.wall()))))
            .map(|json| json.made_from(&inputs));
        if let Some(account) = &account {
            account.spend(meter.cpu());
        }
        let ended = (result.as_ref().err(), || role_input(&page, &call));
        plugin.ended((&caller, &reporter), &meter, memory.peak(), ended);
        let is_over = test.is_some() && result.as_ref().is_err_and(fails_test);
        results.push((place, result));
        if is_over {
            break;
        }
    }
    results
}

async fn begin(
    store: &mut Store<State>,
    plugin: &Plugin,
    page: &Arc<Page>,
) -> wasmtime::Result<(Extractor, u32)> {
    let Code::ExtractorOnDemand(pre) = &*plugin.code else {
        return Err(wasmtime::format_err!(
            "not an extractor with memory of its own"
        ));
    };
    let extractor = pre.instantiate_async(&mut *store).await?;
    let page = HostPage::given(Arc::clone(page));
    let page: Resource<HostPage> = store.data_mut().push_page(page)?;
    Ok((extractor, page.rep()))
}

fn task_store(
    runtime: &Runtime,
    limits: &Limits,
    state: State,
) -> Result<Store<State>, PluginError> {
    runtime
        .store(Placement::OnDemand, state, limits)
        .map_err(|error| PluginError::Engine(error.to_string()))
}

struct Failure(wasmtime::Error);

impl Failure {
    fn into_plugin_error(self, store: &Store<State>, limits: &Limits) -> PluginError {
        store.data().failure(&self.0, limits)
    }
}

enum Answer {
    Json(String),
    Items(Vec<String>),
    Nothing,
}

impl Answer {
    fn bytes(&self) -> usize {
        match self {
            Self::Json(json) => json.len(),
            Self::Items(items) => items.iter().map(String::len).sum(),
            Self::Nothing => 0,
        }
    }

    fn checked(self, limits: &Limits) -> Result<Json, PluginError> {
        match self {
            Self::Json(json) => output::checked(json, limits),
            Self::Items(items) => output::checked_list(&items, limits),
            Self::Nothing => Ok(Json::null()),
        }
    }
}

async fn invoke(
    store: &mut Store<State>,
    plugin: &Plugin,
    invocation: Invocation,
) -> wasmtime::Result<Result<Answer, WitError>> {
    let mismatch = || wasmtime::format_err!("the plugin is of another kind");
    match (&*plugin.code, invocation) {
        (Code::Actor(pre), Invocation::Run(input)) => {
            let actor = pre.instantiate_async(&mut *store).await?;
            let answer = store
                .run_concurrent(async |accessor| {
                    actor
                        .orbweaver_plugin_acting()
                        .call_run(accessor, input.as_ref().to_owned())
                        .await
                })
                .await??;
            Ok(answer.map(Answer::Json))
        }
        (Code::ActorSync(pre), Invocation::Run(input)) => {
            let actor = pre.instantiate_async(&mut *store).await?;
            let answer = actor
                .orbweaver_plugin_acting_sync()
                .call_run(&mut *store, &input.as_ref().to_owned())
                .await?;
            Ok(answer.map(Answer::Json))
        }
        (Code::Fetcher(pre), Invocation::Fetch(domain, path, params)) => {
            let fetcher = pre.instantiate_async(&mut *store).await?;
            let answer = store
                .run_concurrent(async |accessor| {
                    fetcher
                        .orbweaver_plugin_fetching()
                        .call_fetch(
                            accessor,
                            domain.as_ref().to_owned(),
                            path.as_ref().to_owned(),
                            params.as_ref().to_owned(),
                        )
                        .await
                })
                .await??;
            Ok(answer.map(Answer::Items))
        }
        (Code::FetcherSync(pre), Invocation::Fetch(domain, path, params)) => {
            let fetcher = pre.instantiate_async(&mut *store).await?;
            let answer = fetcher
                .orbweaver_plugin_fetching_sync()
                .call_fetch(
                    &mut *store,
                    domain.as_ref(),
                    path.as_ref(),
                    &params.as_ref().to_owned(),
                )
                .await?;
            Ok(answer.map(Answer::Items))
        }
        (Code::FetcherSync(pre), Invocation::Nothing) => {
            pre.instantiate_async(&mut *store).await?;
            Ok(Ok(Answer::Nothing))
        }
        (Code::Actor(pre), Invocation::Nothing) => {
            pre.instantiate_async(&mut *store).await?;
            Ok(Ok(Answer::Nothing))
        }
        (Code::ActorSync(pre), Invocation::Nothing) => {
            pre.instantiate_async(&mut *store).await?;
            Ok(Ok(Answer::Nothing))
        }
        (Code::Fetcher(pre), Invocation::Nothing) => {
            pre.instantiate_async(&mut *store).await?;
            Ok(Ok(Answer::Nothing))
        }
        _ => Err(mismatch()),
    }
}

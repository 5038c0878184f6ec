//! Calls that may wait: actors, fetchers, and extractors that are whole interpreters.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::Resource;
use wasmtime::{Engine, Store, UpdateDeadline};

use crate::call::HostCall;
use crate::classify::classify;
use crate::error::{Limit, PluginError};
use crate::extract::{RoleCall, RoleResult, bound, ends_instance};
use crate::host::Host;
use crate::meter::{Meter, Metered};
use crate::output;
use crate::page::Page;
use crate::plugin::{Code, Plugin};
use crate::state::{HostPage, State};
use crate::wit::v0_1_0::WitError;
use crate::wit::v0_1_0::extractor_async::Extractor;

/// What an actor or fetcher returned, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Validated JSON text; of a fetcher an array, one element per item.
    pub json: String,
    /// Time on a CPU.
    pub cpu: Duration,
    /// Time from start to end.
    pub wall: Duration,
    /// Requests made through the host, renders included.
    pub fetches: u32,
}

/// What to call.
pub(crate) enum Work {
    /// An actor, with its input.
    Run(String),
    /// A fetcher: domain, path, parameters.
    Fetch(String, String, String),
    /// Only instantiate.
    Nothing,
}

/// Runs an actor or fetcher. Its time budgets are enforced here; dropping the future
/// drops the guest.
pub(crate) async fn run(
    engine: Engine,
    plugin: Arc<Plugin>,
    work: Work,
    host: Arc<dyn Host>,
) -> Result<Output, PluginError> {
    let limits = plugin.limits;
    let meter = Arc::new(Meter::new(limits.cpu(), limits.wall()));
    let call = Arc::new(HostCall::new(host, Arc::clone(&plugin.grants), limits));
    let mut store = store(
        &engine,
        &plugin,
        Arc::clone(&meter),
        Some(Arc::clone(&call)),
    );
    let result = {
        let guest = Metered {
            meter: &meter,
            future: Box::pin(invoke(&mut store, &plugin, work)),
        };
        match tokio::time::timeout(limits.wall(), guest).await {
            Err(_) => Err(PluginError::Limit(Limit::Wall(limits.wall()))),
            Ok(Ok(Ok(answer))) => answer.checked(&plugin),
            Ok(Ok(Err(error))) => Err(error.into()),
            Ok(Err(error)) => Err(Failure(error).into_plugin_error(&store, &plugin)),
        }
    };
    let memory = store.data().limiter.memory();
    let failure = result.as_ref().err();
    plugin.stats.record(meter.cpu(), memory, failure);
    Ok(Output {
        json: result?,
        cpu: meter.cpu(),
        wall: meter.wall(),
        fetches: call.fetches(),
    })
}

/// Runs one component's roles on a page, as tasks do.
pub(crate) async fn extract(
    engine: Engine,
    plugin: Arc<Plugin>,
    page: Arc<Page>,
    calls: Vec<(usize, RoleCall)>,
) -> Vec<(usize, RoleResult)> {
    let limits = plugin.limits;
    let mut results = Vec::with_capacity(calls.len());
    let mut instance: Option<(Store<State>, Extractor, u32)> = None;
    for (place, call) in calls {
        let meter = Arc::new(Meter::new(limits.cpu(), limits.wall()));
        let kept = instance.take();
        let one = async {
            let (mut store, extractor, page) = match kept {
                Some(mut instance) => {
                    instance.0.data_mut().meter = Arc::clone(&meter);
                    instance
                }
                None => {
                    let mut store = store(&engine, &plugin, Arc::clone(&meter), None);
                    match begin(&mut store, &plugin, &page).await {
                        Ok((extractor, page)) => (store, extractor, page),
                        Err(error) => return Err(Failure(error).into_plugin_error(&store, &plugin)),
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
            let result = match answer {
                Ok(Ok(json)) => output::checked(json, &limits),
                Ok(Err(error)) => Err(error.into()),
                Err(error) => Err(Failure(error).into_plugin_error(&store, &plugin)),
            };
            if !result.as_ref().is_err_and(ends_instance) {
                instance = Some((store, extractor, page));
            }
            result
        };
        let one = Metered {
            meter: &meter,
            future: Box::pin(one),
        };
        let result = tokio::time::timeout(limits.wall(), one)
            .await
            .unwrap_or(Err(PluginError::Limit(Limit::Wall(limits.wall()))));
        let memory = instance
            .as_ref()
            .map_or(0, |(store, ..)| store.data().limiter.memory());
        let failure = result.as_ref().err();
        plugin.stats.record(meter.cpu(), memory, failure);
        results.push((place, result));
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
    let page: Resource<HostPage> = store.data_mut().push_page(Arc::clone(page))?;
    Ok((extractor, page.rep()))
}

fn store(
    engine: &Engine,
    plugin: &Plugin,
    meter: Arc<Meter>,
    call: Option<Arc<HostCall>>,
) -> Store<State> {
    let mut store = Store::new(
        engine,
        State::new(&plugin.label, &plugin.limits, meter, call),
    );
    bound(&mut store, &plugin.limits);
    store.epoch_deadline_callback(|store| {
        store.data().meter.check()?;
        // Other calls get their turn every tick.
        Ok(UpdateDeadline::Yield(1))
    });
    store
}

struct Failure(wasmtime::Error);

impl Failure {
    fn into_plugin_error(self, store: &Store<State>, plugin: &Plugin) -> PluginError {
        classify(
            &plugin.label,
            &self.0,
            &store.data().limiter,
            &plugin.limits,
        )
    }
}

enum Answer {
    Json(String),
    Items(Vec<String>),
    Nothing,
}

impl Answer {
    fn checked(self, plugin: &Plugin) -> Result<String, PluginError> {
        match self {
            Self::Json(json) => output::checked(json, &plugin.limits),
            Self::Items(items) => output::checked_list(&items, &plugin.limits),
            Self::Nothing => Ok("null".to_owned()),
        }
    }
}

async fn invoke(
    store: &mut Store<State>,
    plugin: &Plugin,
    work: Work,
) -> wasmtime::Result<Result<Answer, WitError>> {
    let mismatch = || wasmtime::format_err!("the plugin is of another kind");
    match (&*plugin.code, work) {
        (Code::Actor(pre), Work::Run(input)) => {
            let actor = pre.instantiate_async(&mut *store).await?;
            let answer = store
                .run_concurrent(async |accessor| {
                    actor
                        .orbweaver_plugin_acting()
                        .call_run(accessor, input)
                        .await
                })
                .await??;
            Ok(answer.map(Answer::Json))
        }
        (Code::ActorSync(pre), Work::Run(input)) => {
            let actor = pre.instantiate_async(&mut *store).await?;
            let answer = actor
                .orbweaver_plugin_acting_sync()
                .call_run(&mut *store, &input)
                .await?;
            Ok(answer.map(Answer::Json))
        }
        (Code::Fetcher(pre), Work::Fetch(domain, path, params)) => {
            let fetcher = pre.instantiate_async(&mut *store).await?;
            let answer = store
                .run_concurrent(async |accessor| {
                    fetcher
                        .orbweaver_plugin_fetching()
                        .call_fetch(accessor, domain, path, params)
                        .await
                })
                .await??;
            Ok(answer.map(Answer::Items))
        }
        (Code::Actor(pre), Work::Nothing) => {
            pre.instantiate_async(&mut *store).await?;
            Ok(Ok(Answer::Nothing))
        }
        (Code::ActorSync(pre), Work::Nothing) => {
            pre.instantiate_async(&mut *store).await?;
            Ok(Ok(Answer::Nothing))
        }
        (Code::Fetcher(pre), Work::Nothing) => {
            pre.instantiate_async(&mut *store).await?;
            Ok(Ok(Answer::Nothing))
        }
        _ => Err(mismatch()),
    }
}

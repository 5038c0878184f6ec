//! One hook's calls for a page or a request, in a new instance: on the calling thread for hooks in
//! the pool, as a task for the others.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::Resource;

use super::verdict::PageState;
use super::{HookPoints, HookUse, RequestChange, outgoing};
use crate::capability::Capabilities;
use crate::capability::pages::HostPage;
use crate::error::{Limit, PluginError};
use crate::extract::{self, ends_instance};
use crate::host::NoHost;
use crate::inputs::Inputs;
use crate::journal::{CallInput, Caller, LogLevel, Reporter};
use crate::manifest::HookPoint;
use crate::memory::MemoryBudget;
use crate::meter::{Meter, Metered};
use crate::page::Page;
use crate::plugin::{Code, Plugin, Pooled};
use crate::runtime::{Placement, Runtime};
use crate::state::State;
use crate::wit::v1::bindings::extractor::orbweaver::plugin::types::Error as WitError;
use crate::wit::v1::bindings::{hook, hook_async};
use crate::wit::v1::hooking::{on_demand, pooled};

/// The functions for a page, in the order in which a hook gets them.
pub(crate) const PAGE_POINTS: [HookPoint; 3] =
    [HookPoint::Response, HookPoint::Record, HookPoint::Discover];

/// The error of a call whose thread or slot is gone.
pub(crate) fn lost() -> PluginError {
    PluginError::Engine("the call was lost".to_owned())
}

/// The first function for a page in a set, else `request`.
pub(crate) fn first_of(points: HookPoints) -> HookPoint {
    let first = PAGE_POINTS.into_iter().find(|point| points.has(*point));
    first.unwrap_or(HookPoint::Request)
}

/// An instance of a hook, with the page's handle in it.
struct Alive<G> {
    store: Store<State>,
    guest: G,
    page: u32,
}

impl<G> Alive<G> {
    fn page(&self) -> Resource<HostPage> {
        Resource::new_borrow(self.page)
    }
}

fn new_store(
    runtime: &Runtime,
    placement: Placement,
    (plugin, caller): (&Plugin, &Caller),
    meter: &Arc<Meter>,
    (inputs, reporter): (&Inputs, &Reporter),
) -> Result<Store<State>, PluginError> {
    let memory = MemoryBudget::new(plugin.limits.memory_bytes());
    let capabilities = match placement {
        Placement::OnDemand if plugin.grants.state => {
            Some(values(runtime, (plugin, caller), meter, &memory))
        }
        Placement::OnDemand | Placement::Pool => None,
    };
    let mut state = State::new(
        &plugin.label,
        &plugin.limits,
        Arc::clone(meter),
        memory,
        capabilities,
    );
    state.inputs = inputs.clone();
    state.crawl_run = caller.as_ref().and_then(|origin| origin.crawl_run());
    state.report_to(reporter.clone());
    runtime
        .store(placement, state, &plugin.limits)
        .map_err(|error| PluginError::Engine(error.to_string()))
}

/// The capabilities of a hook with state: the values of the caller's project.
fn values(
    runtime: &Runtime,
    (plugin, caller): (&Plugin, &Caller),
    meter: &Arc<Meter>,
    memory: &Arc<MemoryBudget>,
) -> Arc<Capabilities> {
    let host = match runtime.hook_hosts.get() {
        Some(hosts) => hosts.of(caller.as_deref()),
        None => Arc::new(NoHost),
    };
    let (grants, limits) = (&plugin.grants, &plugin.limits);
    Arc::new(Capabilities::new(
        &host,
        grants,
        limits,
        memory,
        plugin.id(),
        meter,
        &runtime.host_work(limits, memory),
    ))
}

fn failure(plugin: &Plugin, store: &Store<State>, error: &wasmtime::Error) -> PluginError {
    extract::failure(plugin, error, store.data())
}

/// What a call brought, with its two kinds of error as one.
fn flat<T>(
    plugin: &Plugin,
    store: &Store<State>,
    called: wasmtime::Result<Result<T, WitError>>,
) -> Result<T, PluginError> {
    match called {
        Ok(answer) => answer.map_err(PluginError::from),
        Err(error) => Err(failure(plugin, store, &error)),
    }
}

fn lend(store: &mut Store<State>, page: &Arc<Page>) -> wasmtime::Result<u32> {
    let page = HostPage::given(Arc::clone(page));
    Ok(store.data_mut().push_page(page)?.rep())
}

/// Calls the functions of a hook that a page needs, in their order, and applies the answers.
macro_rules! call_points {
    ($plugin:ident, $hook:ident, $state:ident, $alive:ident, $calls:ident, [$($await:tt)*]) => {{
        let own = HookPoints::of(&$plugin.manifest.hooks).and($state.work.points);
        let mut failed = None;
        for point in PAGE_POINTS {
            if !own.has(point) || !$state.wants(point) {
                continue;
            }
            let page = $alive.page();
            let (store, guest) = (&mut $alive.store, &$alive.guest);
            let visit = &$state.work.visit;
            let result = match point {
                HookPoint::Response => {
                    let called = $calls::response(store, guest, &$hook.config, visit, page)$($await)*;
                    flat($plugin, store, called).map(|verdict| {
                        if let Some(line) = $state.apply_response(&$hook.name, verdict) {
                            store.data_mut().log.line(LogLevel::Info, &line);
                        }
                    })
                }
                HookPoint::Record => {
                    let records = $state.records();
                    let outputs = &$state.work.outputs;
                    let called = $calls::record(
                        store, guest, &$hook.config, visit, page, outputs, &records,
                    )$($await)*;
                    flat($plugin, store, called).and_then(|verdict| {
                        $state.apply_record(&$hook.name, verdict, &$plugin.limits)
                    })
                }
                HookPoint::Discover => {
                    let (open, links) = $state.open_links();
                    let called =
                        $calls::discover(store, guest, &$hook.config, visit, page, &links)$($await)*;
                    flat($plugin, store, called).and_then(|discovery| {
                        $state.apply_discovery(&$hook.name, &open, discovery)
                    })
                }
                HookPoint::Request | HookPoint::Deliver => Ok(()),
            };
            if let Err(error) = result {
                let is_over = ends_instance(&error);
                $state.failed(&$hook.name, point, error.clone());
                failed = Some((point, error));
                // A trap makes the instance unusable.
                if is_over {
                    break;
                }
            }
        }
        failed
    }};
}

/// Runs a guest of the pool on this thread, which has entered the meter; it is stopped when the
/// meter fails a check.
fn interruptible<T>(
    runtime: &Runtime,
    plugin: &Plugin,
    meter: &Meter,
    guest: impl FnOnce() -> T,
) -> T {
    match (&runtime.interrupter, &*plugin.code) {
        (Some(interrupter), Code::Hook(pooled)) => interrupter.run(&pooled.code, meter, guest),
        _ => guest(),
    }
}

/// Calls a hook's functions for a page on this thread.
pub(crate) fn page_on_this_thread(
    runtime: &Runtime,
    (plugin, caller): (&Plugin, &Caller),
    hook: &HookUse,
    (meter, inputs): (&Arc<Meter>, &Inputs),
    state: &mut PageState,
) {
    let _running = runtime.ticker.guest();
    let reporter = Reporter::new(runtime.journal.get(), &plugin.facts, caller);
    meter.enter();
    let guest = || match new_pooled(
        runtime,
        (plugin, caller),
        (meter, inputs, &reporter),
        Some(&state.work.page),
    ) {
        Ok(mut alive) => {
            let failed = call_points!(plugin, hook, state, alive, pooled, []);
            plugin.stats.record_fuel(runtime.fuel_used(&alive.store));
            (failed, alive.store.data().memory.peak())
        }
        Err(error) => {
            let point = first_of(state.work.points);
            state.failed(&hook.name, point, error.clone());
            (Some((point, error)), 0)
        }
    };
    let (failed, memory) = interruptible(runtime, plugin, meter, guest);
    meter.leave();
    let (point, error) = failed.unzip();
    let input = || page_input(point, hook, state);
    let ended = (error.as_ref(), input);
    plugin.ended((caller, &reporter), meter, memory, ended);
}

/// Calls a hook's functions for a page as a task.
pub(crate) async fn page_as_task(
    runtime: &Runtime,
    (plugin, caller): (&Plugin, &Caller),
    hook: &HookUse,
    inputs: &Inputs,
    state: &mut PageState,
) {
    let limits = plugin.limits;
    let reporter = Reporter::new(runtime.journal.get(), &plugin.facts, caller);
    let meter = Arc::new(Meter::new(limits.cpu(), limits.wall()));
    let ended = {
        let work = async {
            match new_on_demand(
                runtime,
                (plugin, caller),
                (&meter, inputs, &reporter),
                Some(&state.work.page),
            )
            .await
            {
                Ok(mut alive) => {
                    let failed = call_points!(plugin, hook, state, alive, on_demand, [.await]);
                    plugin.stats.record_fuel(runtime.fuel_used(&alive.store));
                    (failed, alive.store.data().memory.peak())
                }
                Err(error) => {
                    let point = first_of(state.work.points);
                    state.failed(&hook.name, point, error.clone());
                    (Some((point, error)), 0)
                }
            }
        };
        let work = Metered {
            meter: &meter,
            ticker: &runtime.ticker,
            future: Box::pin(work),
        };
        tokio::time::timeout(limits.wall(), work).await
    };
    let (failed, memory) = ended.unwrap_or_else(|_| {
        let error = PluginError::Limit(Limit::Wall(limits.wall()));
        let point = first_of(state.work.points);
        state.failed(&hook.name, point, error.clone());
        (Some((point, error)), 0)
    });
    let (point, error) = failed.unzip();
    let input = || page_input(point, hook, state);
    let ended = (error.as_ref(), input);
    plugin.ended((caller, &reporter), &meter, memory, ended);
}

/// Calls `request` on this thread.
pub(crate) fn request_on_this_thread(
    runtime: &Runtime,
    (plugin, caller): (&Plugin, &Caller),
    hook: &HookUse,
    meter: &Arc<Meter>,
    url: &str,
    depth: u32,
    attempts: u32,
) -> Result<RequestChange, PluginError> {
    let _running = runtime.ticker.guest();
    let reporter = Reporter::new(runtime.journal.get(), &plugin.facts, caller);
    meter.enter();
    let guest = || {
        let mut alive = new_pooled(
            runtime,
            (plugin, caller),
            (meter, &Inputs::default(), &reporter),
            None,
        )?;
        let (store, guest) = (&mut alive.store, &alive.guest);
        let called = pooled::request(store, guest, &hook.config, url, depth, attempts);
        plugin.stats.record_fuel(runtime.fuel_used(store));
        flat(plugin, store, called)
    };
    let result = interruptible(runtime, plugin, meter, guest);
    meter.leave();
    let result = result.and_then(outgoing::checked);
    let ended = (result.as_ref().err(), || request_input(hook, url));
    plugin.ended((caller, &reporter), meter, 0, ended);
    result
}

/// Calls `request` as a task.
pub(crate) async fn request_as_task(
    runtime: &Runtime,
    (plugin, caller): (&Plugin, &Caller),
    hook: &HookUse,
    url: &str,
    depth: u32,
    attempts: u32,
) -> Result<RequestChange, PluginError> {
    let limits = plugin.limits;
    let reporter = Reporter::new(runtime.journal.get(), &plugin.facts, caller);
    let meter = Arc::new(Meter::new(limits.cpu(), limits.wall()));
    let work = async {
        let mut alive = new_on_demand(
            runtime,
            (plugin, caller),
            (&meter, &Inputs::default(), &reporter),
            None,
        )
        .await?;
        let (store, guest) = (&mut alive.store, &alive.guest);
        let called = on_demand::request(store, guest, &hook.config, url, depth, attempts).await;
        plugin.stats.record_fuel(runtime.fuel_used(store));
        flat(plugin, store, called)
    };
    let work = Metered {
        meter: &meter,
        ticker: &runtime.ticker,
        future: Box::pin(work),
    };
    let result = tokio::time::timeout(limits.wall(), work).await;
    let result = result
        .unwrap_or(Err(PluginError::Limit(Limit::Wall(limits.wall()))))
        .and_then(outgoing::checked);
    let ended = (result.as_ref().err(), || request_input(hook, url));
    plugin.ended((caller, &reporter), &meter, 0, ended);
    result
}

/// The input of a call for a page, for the journal.
fn page_input(point: Option<HookPoint>, hook: &HookUse, state: &PageState) -> CallInput {
    CallInput::Hook {
        point: point.unwrap_or_else(|| first_of(state.work.points)),
        config: Arc::clone(&hook.config),
        url: state.work.visit.url.clone(),
        page: Some(Arc::clone(&state.work.page)),
    }
}

/// The input of a call of `request`, for the journal.
fn request_input(hook: &HookUse, url: &str) -> CallInput {
    CallInput::Hook {
        point: HookPoint::Request,
        config: Arc::clone(&hook.config),
        url: url.to_owned(),
        page: None,
    }
}

fn new_pooled(
    runtime: &Runtime,
    (plugin, caller): (&Plugin, &Caller),
    (meter, inputs, reporter): (&Arc<Meter>, &Inputs, &Reporter),
    page: Option<&Arc<Page>>,
) -> Result<Alive<hook::Hook>, PluginError> {
    let Code::Hook(Pooled { pre, .. }) = &*plugin.code else {
        return Err(PluginError::Engine("not a pooled hook".to_owned()));
    };
    let mut store = new_store(
        runtime,
        Placement::Pool,
        (plugin, caller),
        meter,
        (inputs, reporter),
    )?;
    let made = pre.instantiate(&mut store).and_then(|guest| {
        let page = page.map_or(Ok(0), |page| lend(&mut store, page))?;
        Ok((guest, page))
    });
    match made {
        Ok((guest, page)) => Ok(Alive { store, guest, page }),
        Err(error) => Err(failure(plugin, &store, &error)),
    }
}

async fn new_on_demand(
    runtime: &Runtime,
    (plugin, caller): (&Plugin, &Caller),
    (meter, inputs, reporter): (&Arc<Meter>, &Inputs, &Reporter),
    page: Option<&Arc<Page>>,
) -> Result<Alive<hook_async::Hook>, PluginError> {
    let Code::HookOnDemand(pre) = &*plugin.code else {
        return Err(PluginError::Engine(
            "not a hook with memory of its own".to_owned(),
        ));
    };
    let mut store = new_store(
        runtime,
        Placement::OnDemand,
        (plugin, caller),
        meter,
        (inputs, reporter),
    )?;
    let made = match pre.instantiate_async(&mut store).await {
        Ok(guest) => match page.map_or(Ok(0), |page| lend(&mut store, page)) {
            Ok(page) => Ok((guest, page)),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    match made {
        Ok((guest, page)) => Ok(Alive { store, guest, page }),
        Err(error) => Err(failure(plugin, &store, &error)),
    }
}

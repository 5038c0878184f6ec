//! Runs extractors: one new instance per component and page.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use wasmtime::Store;
use wasmtime::component::Resource;

use crate::capability::pages::HostPage;
use crate::error::PluginError;
use crate::inputs::Inputs;
use crate::journal::{CallInput, Caller, Reporter};
use crate::json::Json;
use crate::lane::Lane;
use crate::memory::MemoryBudget;
use crate::meter::Meter;
use crate::output;
use crate::page::Page;
use crate::plugin::{Code, Plugin};
use crate::pool::Workers;
use crate::runtime::{Placement, Runtime};
use crate::state::State;
use crate::wit::v1::bindings::extractor::{Extractor, ExtractorPre};

/// A request for one role on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleCall {
    /// E.g. `markdown`.
    pub role: String,
    /// Options as a JSON object; empty for none.
    pub options: String,
}

/// A role's answer.
pub(crate) type RoleResult = Result<Json, PluginError>;

/// The roles of one page that one component serves, each with its index in the caller's list.
pub(crate) struct RoleGroup {
    pub plugin: Arc<Plugin>,
    /// The project that the call is for.
    pub caller: Caller,
    pub calls: Vec<(usize, RoleCall)>,
    /// Outputs of other roles that it needs.
    pub inputs: Inputs,
}

/// One page's groups on the worker threads. A worker processes group after group; idle workers
/// help it. If there are none, a page stays on one thread, which has it in its cache.
pub(crate) struct PageJob {
    runtime: Arc<Runtime>,
    page: Arc<Page>,
    groups: Vec<RoleGroup>,
    lane: Lane,
    next: AtomicUsize,
    progress: Mutex<Progress>,
    cancelled: Mutex<Cancelled>,
}

#[derive(Default)]
struct Cancelled {
    yes: bool,
    running: Vec<Arc<Meter>>,
}

struct Progress {
    results: Vec<(usize, RoleResult)>,
    left: usize,
    done: Option<oneshot::Sender<Vec<(usize, RoleResult)>>>,
}

impl PageJob {
    /// The job, and the receiver of its results.
    pub fn new(
        runtime: Arc<Runtime>,
        page: Arc<Page>,
        groups: Vec<RoleGroup>,
        lane: Lane,
    ) -> (Arc<Self>, oneshot::Receiver<Vec<(usize, RoleResult)>>) {
        let (done, results) = oneshot::channel();
        let left = groups.len();
        let job = Arc::new(Self {
            runtime,
            page,
            groups,
            lane,
            next: AtomicUsize::new(0),
            progress: Mutex::new(Progress {
                results: Vec::new(),
                left,
                done: Some(done),
            }),
            cancelled: Mutex::new(Cancelled::default()),
        });
        (job, results)
    }

    /// Cancels the job: groups not started are skipped, running ones are interrupted.
    pub fn cancel(&self) {
        let mut cancelled = self.cancelled.lock();
        cancelled.yes = true;
        for meter in &cancelled.running {
            meter.cancel();
        }
    }

    /// Processes groups on a worker.
    pub fn work(self: Arc<Self>, workers: &Workers) {
        // Helpers join later: until the page is parsed they would only wait.
        if !self.cancelled.lock().yes {
            self.page.snapshot();
        }
        loop {
            let mine = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(group) = self.groups.get(mine) else {
                return;
            };
            if mine + 1 < self.groups.len() && workers.spare() > 0 {
                let helper = Arc::clone(&self);
                workers.spawn(self.lane.project(), move |workers| helper.work(workers));
            }
            let results = self.run(group);
            let mut progress = self.progress.lock();
            progress.results.extend(results);
            progress.left -= 1;
            if progress.left == 0
                && let Some(done) = progress.done.take()
            {
                let results = std::mem::take(&mut progress.results);
                // The receiver may be dropped.
                let _ = done.send(results);
            }
        }
    }

    fn run(&self, group: &RoleGroup) -> Vec<(usize, RoleResult)> {
        let begin = || {
            let limits = &group.plugin.limits;
            let meter = Arc::new(Meter::new(limits.cpu(), limits.wall()));
            let mut cancelled = self.cancelled.lock();
            if cancelled.yes {
                meter.cancel();
            }
            cancelled.running.push(Arc::clone(&meter));
            meter
        };
        run_group(&self.runtime, group, &self.page, begin)
    }
}

/// Runs the roles of one pooled component on this thread. `begin` creates the meter of each role.
pub(crate) fn run_group(
    runtime: &Runtime,
    group: &RoleGroup,
    page: &Arc<Page>,
    begin: impl Fn() -> Arc<Meter>,
) -> Vec<(usize, RoleResult)> {
    let RoleGroup {
        plugin,
        caller,
        calls,
        inputs,
    } = group;
    let Code::Extractor(pooled) = &*plugin.code else {
        let error = PluginError::Engine("not a pooled extractor".to_owned());
        return calls
            .iter()
            .map(|(place, _)| (*place, Err(error.clone())))
            .collect();
    };
    let mut results = Vec::with_capacity(calls.len());
    let mut instance: Option<Instance> = None;
    let mut memory = MemoryBudget::new(plugin.limits.memory_bytes());
    let reporter = Reporter::new(runtime.journal.get(), &plugin.facts, caller);
    let _running = runtime.ticker.guest();
    for (place, call) in calls {
        let meter = begin();
        meter.enter();
        let previous = instance.take();
        let guest = || {
            let mut alive = match previous {
                Some(mut instance) => {
                    instance.store.data_mut().set_meter(Arc::clone(&meter));
                    instance
                }
                None => {
                    memory = MemoryBudget::new(plugin.limits.memory_bytes());
                    let budgets = (Arc::clone(&meter), Arc::clone(&memory));
                    let given = (inputs, &reporter);
                    Instance::new(runtime, plugin, &pooled.pre, page, budgets, given)?
                }
            };
            let result = alive.call(plugin, call);
            plugin.stats.record_fuel(alive.spend_fuel(runtime));
            // A trap makes the instance unusable; the next role gets a new one.
            if !result.as_ref().is_err_and(ends_instance) {
                instance = Some(alive);
            }
            result
        };
        let result = match &runtime.interrupter {
            Some(interrupter) => interrupter.run(&pooled.code, &meter, guest),
            None => guest(),
        };
        meter.leave();
        let ended = (result.as_ref().err(), || role_input(page, call));
        plugin.ended((caller, &reporter), &meter, memory.peak(), ended);
        results.push((*place, result));
    }
    results
}

/// The input of a role's call.
pub(crate) fn role_input(page: &Arc<Page>, call: &RoleCall) -> CallInput {
    CallInput::Role {
        page: Arc::clone(page),
        role: call.role.clone(),
        options: call.options.clone(),
    }
}

/// Whether an error leaves the instance unusable.
pub(crate) fn ends_instance(error: &PluginError) -> bool {
    matches!(
        error,
        PluginError::Trap(_) | PluginError::Limit(_) | PluginError::Engine(_)
    )
}

struct Instance {
    store: Store<State>,
    extractor: Extractor,
    page: u32,
    /// Fuel recorded so far.
    fuel: u64,
}

impl Instance {
    fn new(
        runtime: &Runtime,
        plugin: &Plugin,
        pre: &ExtractorPre<State>,
        page: &Arc<Page>,
        (meter, memory): (Arc<Meter>, Arc<MemoryBudget>),
        (inputs, reporter): (&Inputs, &Reporter),
    ) -> Result<Self, PluginError> {
        let limits = &plugin.limits;
        let mut state = State::new(&plugin.label, limits, meter, memory, None);
        state.inputs = inputs.clone();
        state.report_to(reporter.clone());
        let mut store = runtime
            .store(Placement::Pool, state, limits)
            .map_err(|error| PluginError::Engine(error.to_string()))?;
        let made = pre.instantiate(&mut store).and_then(|extractor| {
            let page = HostPage::given(Arc::clone(page));
            let page: Resource<HostPage> = store.data_mut().push_page(page)?;
            Ok((extractor, page.rep()))
        });
        match made {
            Ok((extractor, page)) => Ok(Self {
                store,
                extractor,
                page,
                fuel: 0,
            }),
            Err(error) => Err(failure(plugin, &error, store.data())),
        }
    }

    /// Fuel used since the last call.
    fn spend_fuel(&mut self, runtime: &Runtime) -> u64 {
        let used = runtime.fuel_used(&self.store);
        let spent = used - self.fuel;
        self.fuel = used;
        spent
    }

    fn call(&mut self, plugin: &Plugin, call: &RoleCall) -> RoleResult {
        let page = Resource::new_borrow(self.page);
        let answer = self.extractor.orbweaver_plugin_extracting().call_extract(
            &mut self.store,
            &call.role,
            page,
            &call.options,
        );
        match answer {
            Ok(Ok(json)) => output::checked(json, &plugin.limits),
            Ok(Err(error)) => Err(error.into()),
            Err(error) => Err(failure(plugin, &error, self.store.data())),
        }
    }
}

/// Types an error of wasmtime. A guest that was interrupted has trapped; its meter knows why.
pub(crate) fn failure(plugin: &Plugin, error: &wasmtime::Error, state: &State) -> PluginError {
    match state.meter.check_if_overdue() {
        Err(stop) => state.failure(&stop.into(), &plugin.limits),
        Ok(()) => state.failure(error, &plugin.limits),
    }
}

//! Runs extractors: one new instance per component and page, on each thread that works for the page.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use wasmtime::Store;
use wasmtime::component::Resource;

use crate::capability::pages::HostPage;
use crate::error::{Limit, PluginError};
use crate::host::work::{HostWork, measure_for};
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
use crate::ticker::RunningGuest;
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
    /// What its calls are spent on, besides their own meters.
    pub account: Option<HostWork>,
}

/// One page's groups on the worker threads. A worker processes group after group, those that share an
/// instance in a row; idle workers help it. If there are none, a page stays on one thread, which has it in its cache.
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
            let account = self.groups.first().and_then(|group| group.account.as_ref());
            measure_for(account, || self.page.snapshot());
        }
        let mut mine = self.claim();
        if mine.is_none() {
            return;
        }
        let _slot = self.runtime.pool_slots.acquire();
        let mut session = Session::new(&self.runtime, &self.page);
        while let Some((place, group)) = mine {
            if place + 1 < self.groups.len() && workers.spare() > 0 {
                let helper = Arc::clone(&self);
                workers.spawn(self.lane.project(), move |workers| helper.work(workers));
            }
            let results = self.run(&mut session, group);
            // The answers are sent once the last group is counted: no instance lives on then, and its
            // log is written to the end.
            mine = self.claim();
            if mine.is_none() {
                session.end();
            }
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

    /// The next group that no thread has taken, with its index.
    fn claim(&self) -> Option<(usize, &RoleGroup)> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        Some((place, self.groups.get(place)?))
    }

    fn run(&self, session: &mut Session<'_>, group: &RoleGroup) -> Vec<(usize, RoleResult)> {
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
        session.run(group, begin)
    }
}

/// One thread's work for a page: groups, one after the other. The instance stays for the next group if
/// that may share it ([`Plugin::may_share_with`]), so that the document is copied once for all of them.
pub(crate) struct Session<'s> {
    runtime: &'s Runtime,
    page: &'s Arc<Page>,
    instance: Option<Instance>,
    /// The memory of the instance made last.
    memory: Arc<MemoryBudget>,
    _running: RunningGuest<'s>,
}

impl<'s> Session<'s> {
    /// Nothing is instantiated yet.
    pub fn new(runtime: &'s Runtime, page: &'s Arc<Page>) -> Self {
        Self {
            runtime,
            page,
            instance: None,
            memory: MemoryBudget::new(0),
            _running: runtime.ticker.guest(),
        }
    }

    /// Drops the instance.
    pub fn end(&mut self) {
        self.instance = None;
    }

    /// Runs the roles of one pooled component on this thread. `begin` creates the meter of each role.
    pub fn run(
        &mut self,
        group: &RoleGroup,
        begin: impl Fn() -> Arc<Meter>,
    ) -> Vec<(usize, RoleResult)> {
        let plugin = &group.plugin;
        let Code::Extractor(pooled) = &*plugin.code else {
            let error = PluginError::Engine("not a pooled extractor".to_owned());
            let failed = |(place, _): &(usize, RoleCall)| (*place, Err(error.clone()));
            return group.calls.iter().map(failed).collect();
        };
        let runtime = self.runtime;
        let journal = runtime.journal.get();
        let reporter = Reporter::new(journal, &plugin.facts, &group.caller);
        let served = Served {
            plugin,
            pre: &pooled.pre,
            inputs: &group.inputs,
            reporter: &reporter,
        };
        if let Some(instance) = self.instance.take()
            && instance.plugin.may_share_with(plugin)
        {
            self.instance = Some(instance.for_next(&served));
        }
        let mut results = Vec::with_capacity(group.calls.len());
        for (place, call) in &group.calls {
            let meter = begin();
            meter.enter();
            let mut guest = || self.answer(&served, &meter, call);
            let result = match &runtime.interrupter {
                Some(interrupter) => interrupter.run(&pooled.code, &meter, guest),
                None => guest(),
            };
            meter.leave();
            let result = result.map(|json| json.made_from(&group.inputs));
            if let Some(account) = &group.account {
                account.spend(meter.cpu());
            }
            let ended = (result.as_ref().err(), || role_input(self.page, call));
            plugin.ended(
                (&group.caller, &reporter),
                &meter,
                self.memory.peak(),
                ended,
            );
            results.push((*place, result));
        }
        results
    }

    /// A role's answer. Where the instance has worked for another plugin before and fails, the role runs
    /// again in a new one, within the same budgets of time: what the other left behind is not its fault.
    fn answer(&mut self, served: &Served<'_>, meter: &Arc<Meter>, call: &RoleCall) -> RoleResult {
        let inherited = self.instance.as_ref().is_some_and(|it| it.is_inherited);
        match self.attempt(served, meter, call) {
            Err(error) if inherited && may_be_inherited(&error) => {
                self.attempt(served, meter, call)
            }
            result => result,
        }
    }

    fn attempt(&mut self, served: &Served<'_>, meter: &Arc<Meter>, call: &RoleCall) -> RoleResult {
        let mut alive = match self.instance.take() {
            Some(mut instance) => {
                instance.store.data_mut().set_meter(Arc::clone(meter));
                instance
            }
            None => {
                self.memory = MemoryBudget::new(served.plugin.limits.memory_bytes());
                let budgets = (Arc::clone(meter), Arc::clone(&self.memory));
                Instance::new(self.runtime, served, self.page, budgets)?
            }
        };
        let result = alive.call(served.plugin, call);
        let spent = alive.spend_fuel(self.runtime);
        served.plugin.stats.record_fuel(spent);
        // A trap makes the instance unusable; the next role gets a new one.
        if !result.as_ref().is_err_and(ends_instance) {
            self.instance = Some(alive);
        }
        result
    }
}

/// The plugin that an instance works for now, and what its calls are given.
struct Served<'c> {
    plugin: &'c Arc<Plugin>,
    pre: &'c ExtractorPre<State>,
    inputs: &'c Inputs,
    reporter: &'c Reporter,
}

/// Whether an error may come from what earlier calls left in an instance, such as memory that is not
/// free again.
fn may_be_inherited(error: &PluginError) -> bool {
    matches!(
        error,
        PluginError::Trap(_)
            | PluginError::Limit(Limit::Memory(_) | Limit::Table(_) | Limit::Handles(_))
    )
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
    /// For which it works.
    plugin: Arc<Plugin>,
    /// Whether it has worked for another plugin before.
    is_inherited: bool,
    /// Fuel recorded so far.
    fuel: u64,
}

impl Instance {
    fn new(
        runtime: &Runtime,
        served: &Served<'_>,
        page: &Arc<Page>,
        (meter, memory): (Arc<Meter>, Arc<MemoryBudget>),
    ) -> Result<Self, PluginError> {
        let Served { plugin, pre, .. } = served;
        let limits = &plugin.limits;
        let mut state = State::new(&plugin.label, limits, meter, memory, None);
        state.inputs = served.inputs.clone();
        state.report_to(served.reporter.clone());
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
                plugin: Arc::clone(plugin),
                is_inherited: false,
                fuel: 0,
            }),
            Err(error) => Err(failure(plugin, &error, store.data())),
        }
    }

    /// The same, working for another plugin from now on.
    fn for_next(mut self, served: &Served<'_>) -> Self {
        self.is_inherited |= !Arc::ptr_eq(&self.plugin, served.plugin);
        self.plugin = Arc::clone(served.plugin);
        let state = self.store.data_mut();
        state.work_for(&self.plugin.label, served.inputs, served.reporter);
        self
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
            Ok(Ok(json)) => output::of_role(&call.role, json, &plugin.limits),
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

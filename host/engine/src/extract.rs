//! Running extractors: one fresh instance per component and page.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use wasmtime::component::Resource;
use wasmtime::{Store, UpdateDeadline};

use crate::classify::classify;
use crate::error::PluginError;
use crate::meter::Meter;
use crate::output;
use crate::page::Page;
use crate::plugin::{Code, Plugin};
use crate::pool::Workers;
use crate::runtime::Runtime;
use crate::state::{HostPage, State};
use crate::wit::v0_1_0::extractor::{Extractor, ExtractorPre};

/// One role asked of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleCall {
    /// E.g. `markdown`.
    pub role: String,
    /// JSON object of options; empty for none.
    pub options: String,
}

/// A role's answer: JSON text.
pub(crate) type RoleResult = Result<String, PluginError>;

/// The roles of one page that one component serves. Each call has its place in the
/// caller's list.
pub(crate) struct Group {
    pub plugin: Arc<Plugin>,
    pub calls: Vec<(usize, RoleCall)>,
}

/// One page's groups on the worker threads. A worker takes group after group; while there
/// are idle workers it lets them help. Without idle ones a page stays on one thread, whose
/// cache has it.
pub(crate) struct PageJob {
    runtime: Arc<Runtime>,
    page: Arc<Page>,
    groups: Vec<Group>,
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
    /// The job, and where its results will arrive.
    pub fn new(
        runtime: Arc<Runtime>,
        page: Arc<Page>,
        groups: Vec<Group>,
    ) -> (Arc<Self>, oneshot::Receiver<Vec<(usize, RoleResult)>>) {
        let (done, results) = oneshot::channel();
        let left = groups.len();
        let job = Arc::new(Self {
            runtime,
            page,
            groups,
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

    /// Nobody waits any more: groups not begun are skipped, running ones interrupted.
    pub fn cancel(&self) {
        let mut cancelled = self.cancelled.lock();
        cancelled.yes = true;
        for meter in &cancelled.running {
            meter.cancel();
        }
    }

    /// A worker's part.
    pub fn work(self: Arc<Self>, workers: &Workers) {
        // Helpers would only wait for the parse.
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
                workers.spawn(move |workers| helper.work(workers));
            }
            let results = self.run(group);
            let mut progress = self.progress.lock();
            progress.results.extend(results);
            progress.left -= 1;
            if progress.left == 0
                && let Some(done) = progress.done.take()
            {
                let results = std::mem::take(&mut progress.results);
                // The caller may have gone.
                let _ = done.send(results);
            }
        }
    }

    fn run(&self, group: &Group) -> Vec<(usize, RoleResult)> {
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
        run_group(
            &self.runtime,
            &group.plugin,
            &self.page,
            &group.calls,
            begin,
        )
    }
}

/// Runs one pooled component's roles on this thread. `begin` makes the meter of each role.
pub(crate) fn run_group(
    runtime: &Runtime,
    plugin: &Plugin,
    page: &Arc<Page>,
    calls: &[(usize, RoleCall)],
    begin: impl Fn() -> Arc<Meter>,
) -> Vec<(usize, RoleResult)> {
    let Code::Extractor(pre) = &*plugin.code else {
        let error = PluginError::Engine("not a pooled extractor".to_owned());
        return calls
            .iter()
            .map(|(place, _)| (*place, Err(error.clone())))
            .collect();
    };
    let mut results = Vec::with_capacity(calls.len());
    let mut instance: Option<Instance> = None;
    for (place, call) in calls {
        let meter = begin();
        meter.enter();
        let result = match instance.take() {
            Some(mut instance) => {
                instance.store.data_mut().meter = Arc::clone(&meter);
                Ok(instance)
            }
            None => Instance::new(runtime, plugin, pre, page, Arc::clone(&meter)),
        }
        .and_then(|mut alive| {
            let result = alive.call(plugin, call);
            // After a trap the instance is spent; the next role gets a fresh one.
            if !result.as_ref().is_err_and(ends_instance) {
                instance = Some(alive);
            }
            result
        });
        meter.leave();
        let memory = instance.as_ref().map_or(0, Instance::memory);
        let failure = result.as_ref().err();
        plugin.stats.record(meter.cpu(), memory, failure);
        results.push((*place, result));
    }
    results
}

/// Whether an error leaves the guest in a state that nobody should call into.
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
}

impl Instance {
    fn new(
        runtime: &Runtime,
        plugin: &Plugin,
        pre: &ExtractorPre<State>,
        page: &Arc<Page>,
        meter: Arc<Meter>,
    ) -> Result<Self, PluginError> {
        let limits = &plugin.limits;
        let state = State::new(&plugin.label, limits, meter, None);
        let mut store = Store::new(&runtime.pool, state);
        bound(&mut store, limits);
        store.epoch_deadline_callback(|store| {
            store.data().meter.check()?;
            Ok(UpdateDeadline::Continue(1))
        });
        let made = pre.instantiate(&mut store).and_then(|extractor| {
            let page: Resource<HostPage> = store.data_mut().push_page(Arc::clone(page))?;
            Ok((extractor, page.rep()))
        });
        match made {
            Ok((extractor, page)) => Ok(Self {
                store,
                extractor,
                page,
            }),
            Err(error) => Err(classify(
                &plugin.label,
                &error,
                &store.data().limiter,
                limits,
            )),
        }
    }

    fn memory(&self) -> u64 {
        self.store.data().limiter.memory()
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
            Err(error) => {
                let limiter = &self.store.data().limiter;
                Err(classify(&plugin.label, &error, limiter, &plugin.limits))
            }
        }
    }
}

/// Applies a call's budgets to its store.
pub(crate) fn bound(store: &mut Store<State>, limits: &crate::config::Limits) {
    let bytes = limits.host_call_bytes().max(limits.output_bytes());
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(usize::try_from(bytes).unwrap_or(usize::MAX));
    // The guest's own handles, which it needs besides those of the host's resources.
    store.set_max_component_handles((limits.handles as usize).saturating_add(64));
    store.set_epoch_deadline(1);
}

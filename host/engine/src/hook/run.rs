//! Runs hooks: one new instance for each hook and page, or request.

use std::sync::Arc;
use std::time::Instant;

use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::call::{
    PAGE_POINTS, first_of, lost, page_as_task, page_on_this_thread, request_as_task,
    request_on_this_thread,
};
use super::verdict::PageState;
use super::{HookFailure, HookPoints, HookUse, PageVerdict, PageWork, RequestChange};
use crate::error::PluginError;
use crate::inner::Inner;
use crate::inputs::{Inputs, Plan};
use crate::journal::{Caller, project_of};
use crate::kind::Kind;
use crate::lane::Lane;
use crate::manifest::HookPoint;
use crate::meter::Meter;
use crate::page::Page;
use crate::plugin::{Code, Plugin};
use crate::registry::Visible;

/// A hook with the plugin that serves it.
struct Step {
    hook: HookUse,
    plugin: Arc<Plugin>,
    caller: Caller,
    /// Why it is not called on this page, which is found before its inputs are made.
    refused: Option<PluginError>,
    /// Outputs of roles that it needs.
    inputs: Inputs,
}

impl Step {
    /// Whether its call may begin. Asked just before the call: a call on trial that is not made would
    /// keep the next ones waiting.
    fn admit(&self) -> Result<(), PluginError> {
        match &self.refused {
            Some(error) => {
                self.plugin.figures.record_refused();
                Err(error.clone())
            }
            None => self.plugin.admit(project_of(&self.caller)),
        }
    }

    /// Whether the hook runs on the page in its current state; a reason against it is recorded in
    /// `state`.
    fn is_called(&self, state: &mut PageState) -> bool {
        if !state.wants_any(HookPoints::of(&self.plugin.manifest.hooks)) {
            return false;
        }
        let admitted = self.admit();
        if let Err(error) = &admitted {
            let point = first_of(state.work.points);
            state.failed(&self.hook.name, point, error.clone());
        }
        admitted.is_ok()
    }

    fn is_pooled(&self) -> bool {
        matches!(&*self.plugin.code, Code::Hook(_))
    }

    fn owner(&self) -> Option<ProjectId> {
        self.plugin.owner()
    }

    /// Where it is called, on this page if on any.
    fn lane(&self, page: Option<&Page>) -> Lane {
        match (self.owner(), page) {
            (Some(owner), _) => Lane::Own(owner),
            (None, Some(page)) => Lane::of_page(page, &self.caller),
            (None, None) => Lane::Short(project_of(&self.caller)),
        }
    }
}

/// Meters of running guests, which are interrupted when nobody waits for them any more.
#[derive(Default)]
pub(crate) struct Running(Mutex<(bool, Vec<Arc<Meter>>)>);

impl Running {
    pub fn begin(&self, plugin: &Plugin) -> Arc<Meter> {
        let meter = Arc::new(Meter::new(plugin.limits.cpu(), plugin.limits.wall()));
        let mut running = self.0.lock();
        if running.0 {
            meter.cancel();
        }
        running.1.push(Arc::clone(&meter));
        meter
    }
}

struct CancelOnDrop(Arc<Running>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let mut running = self.0.0.lock();
        running.0 = true;
        for meter in &running.1 {
            meter.cancel();
        }
    }
}

impl Inner {
    /// Which functions these hooks have; a hook that is not loaded has all, so that its absence is
    /// noticed.
    pub fn hook_points(&self, project: Option<ProjectId>, hooks: &[HookUse]) -> HookPoints {
        let registry = self.registry();
        let points = hooks
            .iter()
            .map(|hook| match registry.get(project, Kind::Hook, &hook.name) {
                Some(plugin) => HookPoints::of(&plugin.manifest.hooks),
                None => HookPoints::of(&PAGE_POINTS),
            });
        points.fold(HookPoints::NONE, HookPoints::or)
    }

    /// The hooks that have one of these functions, each with its plugin, and failures for those that
    /// are not loaded.
    fn steps(
        &self,
        caller: &Caller,
        hooks: &[HookUse],
        points: HookPoints,
    ) -> (Vec<Step>, Vec<HookFailure>) {
        let registry = self.registry();
        let (mut steps, mut missing) = (Vec::new(), Vec::new());
        let project = project_of(caller);
        for hook in hooks {
            match registry.get(project, Kind::Hook, &hook.name) {
                Some(plugin)
                    if HookPoints::of(&plugin.manifest.hooks)
                        .and(points)
                        .is_empty() => {}
                Some(plugin) => steps.push(Step {
                    hook: hook.clone(),
                    refused: plugin.quarantine.check(project, Instant::now()).err(),
                    plugin: Arc::clone(plugin),
                    caller: caller.clone(),
                    inputs: Inputs::default(),
                }),
                None => missing.push(HookFailure {
                    hook: hook.name.clone(),
                    point: first_of(points),
                    error: registry.missing(project, Kind::Hook, &hook.name),
                }),
            }
        }
        (steps, missing)
    }

    /// Passes a page through hooks, one after the other.
    #[crate::boxed]
    pub async fn page_hooks(
        &self,
        caller: &Caller,
        hooks: &[HookUse],
        work: PageWork,
    ) -> PageVerdict {
        let (mut steps, missing) = self.steps(caller, hooks, work.points);
        if work.points.has(HookPoint::Record) {
            self.give_inputs(caller, &mut steps, &work.page).await;
        }
        let mut state = PageState::new(work);
        for failure in missing {
            state.failed(&failure.hook, failure.point, failure.error);
        }
        let mut steps = steps.into_iter().peekable();
        while let Some(step) = steps.next() {
            let last = (step.hook.name.clone(), first_of(state.work.points));
            let next = if step.is_pooled() {
                let (owner, lane) = (step.owner(), step.lane(Some(&state.work.page)));
                let mut group = vec![step];
                let same = |step: &Step| step.is_pooled() && step.owner() == owner;
                while let Some(step) = steps.next_if(same) {
                    group.push(step);
                }
                self.pooled_steps(lane, group, state).await
            } else if step.is_called(&mut state) {
                self.on_demand_step(step, state).await
            } else {
                continue;
            };
            state = match next {
                Ok(state) => state,
                // The links are lost with the state: they count as not judged.
                Err(error) => {
                    return PageVerdict {
                        failures: vec![HookFailure {
                            hook: last.0,
                            point: last.1,
                            error,
                        }],
                        ..PageVerdict::default()
                    };
                }
            };
        }
        state.finish()
    }

    /// Runs the roles that hooks need for their records, each once.
    async fn give_inputs(&self, caller: &Caller, steps: &mut [Step], page: &Arc<Page>) {
        let registry = self.registry();
        let visible = Visible::new(&registry, caller);
        let called = steps.iter().filter(|step| step.refused.is_none());
        let plan = Plan::of_plugins(visible, called.map(|step| &step.plugin));
        let outputs = self.outputs(page, visible, plan).await;
        for step in steps {
            step.inputs = Inputs::of(&step.plugin, &outputs);
        }
    }

    /// What hooks change of a request, each with its name, and failures. A hook is asked only if its
    /// permission `http` covers the URL.
    #[crate::boxed]
    pub async fn request_hooks(
        &self,
        caller: &Caller,
        hooks: &[HookUse],
        url: &str,
        depth: u32,
        attempts: u32,
    ) -> (Vec<(String, RequestChange)>, Vec<HookFailure>) {
        let points = HookPoints::of(&[HookPoint::Request]);
        let (steps, mut failures) = self.steps(caller, hooks, points);
        let mut changes = Vec::new();
        for step in steps {
            if !step.plugin.grants.http.allows(url) {
                continue;
            }
            let name = step.hook.name.clone();
            let called = match step.admit() {
                Ok(()) => self.request_step(step, url, depth, attempts).await,
                Err(error) => Err(error),
            };
            match called {
                Ok(change) => changes.push((name, change)),
                Err(error) => failures.push(HookFailure {
                    hook: name,
                    point: HookPoint::Request,
                    error,
                }),
            }
        }
        (changes, failures)
    }

    async fn pooled_steps(
        &self,
        lane: Lane,
        steps: Vec<Step>,
        mut state: PageState,
    ) -> Result<PageState, PluginError> {
        let runtime = Arc::clone(&self.runtime);
        self.in_pool(lane, move |running| {
            for step in &steps {
                if !step.is_called(&mut state) {
                    continue;
                }
                let meter = running.begin(&step.plugin);
                let given = (&meter, &step.inputs);
                let called = (&*step.plugin, &step.caller);
                page_on_this_thread(&runtime, called, &step.hook, given, &mut state);
            }
            state
        })
        .await
    }

    async fn on_demand_step(
        &self,
        step: Step,
        mut state: PageState,
    ) -> Result<PageState, PluginError> {
        let owner = step.owner();
        let slot = self.interpreter_slot(owner, &step.caller).await;
        let slot = slot.ok_or_else(lost)?;
        let runtime = Arc::clone(&self.runtime);
        let task = self.tasks_of(owner).spawn(async move {
            let called = (&*step.plugin, &step.caller);
            page_as_task(&runtime, called, &step.hook, &step.inputs, &mut state).await;
            drop(slot);
            state
        });
        task.await
    }

    async fn request_step(
        &self,
        step: Step,
        url: &str,
        depth: u32,
        attempts: u32,
    ) -> Result<RequestChange, PluginError> {
        let runtime = Arc::clone(&self.runtime);
        let url = url.to_owned();
        let (owner, lane) = (step.owner(), step.lane(None));
        let Step {
            hook,
            plugin,
            caller,
            ..
        } = step;
        if matches!(&*plugin.code, Code::Hook(_)) {
            let work = move |running: &Running| {
                let meter = running.begin(&plugin);
                let called = (&*plugin, &caller);
                request_on_this_thread(&runtime, called, &hook, &meter, &url, depth, attempts)
            };
            return self.in_pool(lane, work).await?;
        }
        let slot = self.interpreter_slot(owner, &caller).await;
        let slot = slot.ok_or_else(lost)?;
        let task = self.tasks_of(owner).spawn(async move {
            let called = (&*plugin, &caller);
            let change = request_as_task(&runtime, called, &hook, &url, depth, attempts).await;
            drop(slot);
            change
        });
        task.await?
    }

    /// Runs work on a worker thread, with a slot for its guests, one after the other; they are interrupted if the
    /// future is dropped.
    pub(crate) async fn in_pool<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&Running) -> T + Send + 'static,
    ) -> Result<T, PluginError> {
        let _slot = self.page_slot(lane).await.ok_or_else(lost)?;
        let running = Arc::new(Running::default());
        let guard = CancelOnDrop(Arc::clone(&running));
        let (done, result) = oneshot::channel();
        let runtime = Arc::clone(&self.runtime);
        self.pool_of(lane).spawn(lane.project(), move |_| {
            let _slot = runtime.pool_slots.acquire();
            // Nobody waits any more if this fails.
            let _ = done.send(work(&running));
        });
        let result = result.await.map_err(|_| lost());
        drop(guard);
        result
    }
}

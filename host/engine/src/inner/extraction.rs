//! Runs roles on a page: those that others need first, and each component once.

use std::sync::Arc;

use super::Inner;
use crate::error::PluginError;
use crate::extract::{PageJob, RoleCall, RoleGroup, RoleResult, Session};
use crate::host::work::HostWork;
use crate::inputs::{Inputs, NO_OPTIONS, Outputs, Plan};
use crate::journal::Caller;
use crate::lane::Lane;
use crate::meter::Meter;
use crate::page::Page;
use crate::plugin::Code;
use crate::pool::Workers;
use crate::registry::Visible;
use crate::task;

impl Inner {
    /// Runs roles on a page; the answers are in the order of `calls`. What that takes is spent on `account`.
    #[crate::boxed]
    pub async fn extract(
        &self,
        (caller, account): (&Caller, Option<&HostWork>),
        page: &Arc<Page>,
        calls: Vec<RoleCall>,
    ) -> Vec<RoleResult> {
        let registry = self.registry();
        let visible = Visible::new(&registry, caller).spending(account);
        let plan = Plan::of(visible, &calls);
        let outputs = self.outputs(page, visible, plan).await;
        let (mut answers, open) = Answers::known(calls, &outputs);
        answers.fill(self.run_calls(page, visible, open, &outputs).await);
        answers.finish()
    }

    /// Runs the roles that others need, each once, those that are needed first.
    pub(crate) async fn outputs(
        &self,
        page: &Arc<Page>,
        visible: Visible<'_>,
        plan: Plan,
    ) -> Outputs {
        let mut outputs = Outputs::default();
        for (role, error) in plan.broken {
            outputs.insert(role, Err(error));
        }
        for roles in plan.ranks {
            let results = self
                .run_calls(page, visible, without_options(&roles), &outputs)
                .await;
            outputs.extend(&roles, results);
        }
        outputs
    }

    /// Runs calls whose needed roles have run.
    async fn run_calls(
        &self,
        page: &Arc<Page>,
        visible: Visible<'_>,
        calls: Vec<(usize, RoleCall)>,
        outputs: &Outputs,
    ) -> Vec<(usize, RoleResult)> {
        let Groups {
            pooled,
            on_demand,
            mut results,
        } = Groups::of(visible, calls, outputs);
        // A plugin that may take longer than usual runs where those of projects do: a project's long
        // calls then delay its own, and not the short ones of all others.
        let usual = self.config.limits.extractor.default.cpu_ms;
        let (own, pooled): (Vec<_>, Vec<_>) = pooled.into_iter().partition(|group| {
            group.plugin.owner().is_some() || group.plugin.limits.cpu_ms > usual
        });
        let lane = Lane::of_page(page, visible.caller());
        let own_lane = visible.project().map_or(lane, Lane::Own);
        let own = self.extract_pooled(own_lane, page, own);
        let pooled = self.extract_pooled(lane, page, pooled);
        let on_demand = async {
            let tasks = on_demand
                .into_iter()
                .map(|group| self.extract_on_demand(page, group));
            let results = futures::future::join_all(tasks).await;
            results.into_iter().flatten().collect::<Vec<_>>()
        };
        let (pooled, own, on_demand) = futures::future::join3(pooled, own, on_demand).await;
        results.extend(pooled);
        results.extend(own);
        results.extend(on_demand);
        results
    }

    /// Same as [`extract`](Self::extract), on the calling thread.
    pub fn extract_blocking(
        &self,
        caller: &Caller,
        page: &Arc<Page>,
        calls: Vec<RoleCall>,
    ) -> Vec<RoleResult> {
        let registry = self.registry();
        let visible = Visible::new(&registry, caller);
        let plan = Plan::of(visible, &calls);
        let mut outputs = Outputs::default();
        for (role, error) in plan.broken {
            outputs.insert(role, Err(error));
        }
        for roles in plan.ranks {
            let calls = without_options(&roles);
            let results = self.run_calls_blocking(page, visible, calls, &outputs);
            outputs.extend(&roles, results);
        }
        let (mut answers, open) = Answers::known(calls, &outputs);
        answers.fill(self.run_calls_blocking(page, visible, open, &outputs));
        answers.finish()
    }

    fn run_calls_blocking(
        &self,
        page: &Arc<Page>,
        visible: Visible<'_>,
        calls: Vec<(usize, RoleCall)>,
        outputs: &Outputs,
    ) -> Vec<(usize, RoleResult)> {
        let Groups {
            pooled,
            on_demand,
            mut results,
        } = Groups::of(visible, calls, outputs);
        let slot = self.runtime.pool_slots.acquire();
        let mut session = Session::new(&self.runtime, page);
        for group in pooled {
            let limits = group.plugin.limits;
            let begin = || Arc::new(Meter::new(limits.cpu(), limits.wall()));
            results.extend(session.run(&group, begin));
        }
        drop(session);
        drop(slot);
        for group in on_demand {
            let work = self.extract_on_demand(page, group);
            results.extend(self.tasks.handle().block_on(work));
        }
        results
    }

    async fn extract_pooled(
        &self,
        lane: Lane,
        page: &Arc<Page>,
        groups: Vec<RoleGroup>,
    ) -> Vec<(usize, RoleResult)> {
        if groups.is_empty() {
            return Vec::new();
        }
        let Some(_slot) = self.page_slot(lane).await else {
            return Vec::new();
        };
        let runtime = Arc::clone(&self.runtime);
        let (job, results) = PageJob::new(runtime, Arc::clone(page), groups, lane);
        let guard = CancelOnDrop(Arc::clone(&job));
        let work = move |workers: &Workers| job.work(workers);
        self.pool_of(lane).spawn(lane.project(), work);
        let results = results.await.unwrap_or_default();
        drop(guard);
        results
    }

    async fn extract_on_demand(
        &self,
        page: &Arc<Page>,
        group: RoleGroup,
    ) -> Vec<(usize, RoleResult)> {
        let places: Vec<usize> = group.calls.iter().map(|(place, _)| *place).collect();
        let owner = group.plugin.owner();
        let Some(slot) = self.interpreter_slot(owner, &group.caller).await else {
            return Vec::new();
        };
        let runtime = Arc::clone(&self.runtime);
        let page = Arc::clone(page);
        let task = self.tasks_of(owner).spawn(async move {
            let results = task::extract(runtime, group, page, None).await;
            drop(slot);
            results
        });
        task.await.unwrap_or_else(|error| {
            places
                .into_iter()
                .map(|place| (place, Err(error.clone())))
                .collect()
        })
    }
}

/// Calls of roles without options, by their index.
fn without_options(roles: &[String]) -> Vec<(usize, RoleCall)> {
    let call = |role: &String| RoleCall {
        role: role.clone(),
        options: NO_OPTIONS.to_owned(),
    };
    roles.iter().map(call).enumerate().collect()
}

/// Calls by the component that serves them.
#[derive(Default)]
struct Groups {
    pooled: Vec<RoleGroup>,
    on_demand: Vec<RoleGroup>,
    /// The results of calls that no plugin serves.
    results: Vec<(usize, RoleResult)>,
}

impl Groups {
    fn of(visible: Visible<'_>, calls: Vec<(usize, RoleCall)>, outputs: &Outputs) -> Self {
        let mut results = Vec::new();
        let mut groups: Vec<RoleGroup> = Vec::new();
        for (place, call) in calls {
            let Some((plugin, role)) = visible.role(&call.role) else {
                results.push((place, Err(visible.missing_role(&call.role))));
                continue;
            };
            let call = RoleCall {
                role: role.to_owned(),
                // An extractor is given JSON.
                options: match call.options.is_empty() {
                    true => NO_OPTIONS.to_owned(),
                    false => call.options,
                },
            };
            match groups
                .iter_mut()
                .find(|group| Arc::ptr_eq(&group.plugin, plugin))
            {
                Some(group) => group.calls.push((place, call)),
                None => match plugin.admit(visible.project()) {
                    Ok(()) => {
                        // Those that may share an instance come one after the other.
                        let shares = |group: &RoleGroup| group.plugin.may_share_with(plugin);
                        let behind = groups.iter().rposition(shares);
                        let group = RoleGroup {
                            plugin: Arc::clone(plugin),
                            caller: visible.caller().clone(),
                            calls: vec![(place, call)],
                            inputs: Inputs::of(plugin, outputs),
                            account: visible.account().cloned(),
                        };
                        groups.insert(behind.map_or(groups.len(), |at| at + 1), group);
                    }
                    Err(refused) => results.push((place, Err(refused))),
                },
            }
        }
        let (pooled, on_demand) = groups
            .into_iter()
            .partition(|group| matches!(&*group.plugin.code, Code::Extractor(_)));
        Self {
            pooled,
            on_demand,
            results,
        }
    }
}

/// Answers by the index of their calls.
struct Answers(Vec<Option<RoleResult>>);

impl Answers {
    fn new(calls: usize) -> Self {
        Self((0..calls).map(|_| None).collect())
    }

    /// The answers of calls whose role has run already, and the other calls by their index.
    fn known(calls: Vec<RoleCall>, outputs: &Outputs) -> (Self, Vec<(usize, RoleCall)>) {
        let mut answers = Self::new(calls.len());
        let mut open = Vec::with_capacity(calls.len());
        for (place, call) in calls.into_iter().enumerate() {
            let is_plain = call.options.is_empty() || call.options == NO_OPTIONS;
            match outputs.get(&call.role).filter(|_| is_plain) {
                Some(output) => {
                    answers.fill([(place, output.clone())]);
                }
                None => open.push((place, call)),
            }
        }
        (answers, open)
    }

    fn fill(&mut self, results: impl IntoIterator<Item = (usize, RoleResult)>) {
        for (place, result) in results {
            if let Some(slot) = self.0.get_mut(place) {
                *slot = Some(result);
            }
        }
    }

    fn finish(self) -> Vec<RoleResult> {
        let missing = || Err(PluginError::Engine("the call was lost".to_owned()));
        self.0
            .into_iter()
            .map(|answer| answer.unwrap_or_else(missing))
            .collect()
    }
}

struct CancelOnDrop(Arc<PageJob>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

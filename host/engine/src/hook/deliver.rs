//! Hooks that change the payloads of webhooks: one new instance for each hook and payload, as tasks.

use std::sync::Arc;

use super::{HookFailure, HookUse};
use crate::error::{Limit, PluginError};
use crate::inner::Inner;
use crate::journal::{CallInput, Caller, Reporter, project_of};
use crate::kind::Kind;
use crate::manifest::HookPoint;
use crate::memory::MemoryBudget;
use crate::meter::{Meter, Metered};
use crate::output;
use crate::plugin::{Code, Plugin};
use crate::runtime::{Placement, Runtime};
use crate::state::State;
use crate::wit::v1::bindings::delivery_hook::exports::orbweaver::plugin::delivering as wit;

/// Longest payload that a hook may make, in bytes.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// What a payload is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The event's name, such as `crawl.done`.
    pub event: String,
    /// The crawl run.
    pub run_id: i64,
    /// Its seed as requested.
    pub run_url: String,
}

impl Inner {
    /// Passes a payload through the hooks that have `deliver`, in their order. A hook that fails
    /// leaves it as it was, and is listed.
    #[crate::boxed]
    pub async fn delivery_hooks(
        &self,
        caller: &Caller,
        hooks: &[HookUse],
        delivery: &Delivery,
        payload: String,
    ) -> (String, Vec<HookFailure>) {
        let (mut payload, mut failures) = (payload, Vec::new());
        for hook in hooks {
            let (registry, project) = (self.registry(), project_of(caller));
            let plugin = registry.get(project, Kind::Hook, &hook.name).cloned();
            let result = match plugin {
                Some(plugin) if !plugin.manifest.hooks.contains(&HookPoint::Deliver) => continue,
                Some(plugin) => match plugin.admit(project) {
                    Ok(()) => {
                        let called = (plugin, caller.clone());
                        self.deliver(called, hook, delivery, &payload).await
                    }
                    Err(refused) => Err(refused),
                },
                None => Err(registry.missing(project, Kind::Hook, &hook.name)),
            };
            match result {
                Ok(changed) => payload = changed,
                Err(error) => failures.push(HookFailure {
                    hook: hook.name.clone(),
                    point: HookPoint::Deliver,
                    error,
                }),
            }
        }
        (payload, failures)
    }

    async fn deliver(
        &self,
        (plugin, caller): (Arc<Plugin>, Caller),
        hook: &HookUse,
        delivery: &Delivery,
        payload: &str,
    ) -> Result<String, PluginError> {
        let owner = plugin.owner();
        let slot = self.interpreter_slot(owner, &caller).await;
        let slot = slot.ok_or_else(super::call::lost)?;
        let runtime = Arc::clone(&self.runtime);
        let (config, payload) = (hook.config.to_string(), payload.to_owned());
        let delivery = wit::Delivery {
            event: delivery.event.clone(),
            run_id: delivery.run_id,
            run_url: delivery.run_url.clone(),
        };
        let task = self.tasks_of(owner).spawn(async move {
            let called = (&*plugin, &caller);
            let result = deliver(&runtime, called, &config, &delivery, &payload).await;
            drop(slot);
            result
        });
        task.await?
    }
}

/// Calls a hook in an instance of its own.
pub(crate) async fn deliver(
    runtime: &Runtime,
    (plugin, caller): (&Plugin, &Caller),
    config: &str,
    delivery: &wit::Delivery,
    payload: &str,
) -> Result<String, PluginError> {
    let Code::DeliveryHook(pre) = &*plugin.code else {
        return Err(PluginError::Engine("not a hook of deliveries".to_owned()));
    };
    let limits = plugin.limits;
    let meter = Arc::new(Meter::new(limits.cpu(), limits.wall()));
    let memory = MemoryBudget::new(limits.memory_bytes());
    let mut state = State::new(&plugin.label, &limits, Arc::clone(&meter), memory, None);
    let reporter = Reporter::new(runtime.journal.get(), &plugin.facts, caller);
    state.report_to(reporter.clone());
    let mut store = runtime
        .store(Placement::OnDemand, state, &limits)
        .map_err(|error| PluginError::Engine(error.to_string()))?;
    let called = {
        let work = async {
            let guest = pre.instantiate_async(&mut store).await?;
            guest
                .orbweaver_plugin_delivering()
                .call_deliver(
                    &mut store,
                    &config.to_owned(),
                    delivery,
                    &payload.to_owned(),
                )
                .await
        };
        let work = Metered {
            meter: &meter,
            ticker: &runtime.ticker,
            future: Box::pin(work),
        };
        tokio::time::timeout(limits.wall(), work).await
    };
    plugin.stats.record_fuel(runtime.fuel_used(&store));
    let result = match called {
        Err(_) => Err(PluginError::Limit(Limit::Wall(limits.wall()))),
        Ok(Ok(Ok(json))) if json.len() > MAX_PAYLOAD_BYTES => {
            Err(PluginError::Limit(Limit::Output(MAX_PAYLOAD_BYTES as u64)))
        }
        Ok(Ok(Ok(json))) => output::checked(json, &limits).map(String::from),
        Ok(Ok(Err(error))) => Err(error.into()),
        Ok(Err(error)) => Err(store.data().failure(&error, &limits)),
    };
    let peak = store.data().memory.peak();
    let ended = (result.as_ref().err(), || CallInput::Hook {
        point: HookPoint::Deliver,
        config: config.into(),
        url: delivery.run_url.clone(),
        page: None,
    });
    plugin.ended((caller, &reporter), &meter, peak, ended);
    result
}

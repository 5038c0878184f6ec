//! Calls of plugins.

use std::sync::Arc;

use orbweaver_core::json_number;
use serde_json::Value;

use super::Engine;
use crate::error::{CodedError, ErrorCode, PluginError};
use crate::extract::{RoleCall, RoleResult};
use crate::hook::{
    Delivery, HookFailure, HookPoints, HookUse, PageVerdict, PageWork, RequestChange,
};
use crate::host::Host;
use crate::inputs::NO_OPTIONS;
use crate::kind::Kind;
use crate::page::Page;
use crate::plugin::Plugin;
use crate::task::{CallOutput, Invocation, RunBudget};

impl Engine {
    /// Runs roles on a page. The answers are in the order of `calls`, each a JSON text. Every
    /// component gets one new instance for the page and all of its roles. Dropping the future
    /// interrupts running guests.
    #[crate::boxed]
    pub async fn extract(&self, page: &Arc<Page>, calls: Vec<RoleCall>) -> Vec<RoleResult> {
        let roles = calls.iter().map(|call| call.role.clone());
        self.await_roles(roles.collect()).await;
        let asking = (&self.caller, self.account.as_ref());
        self.inner.extract(asking, page, calls).await
    }

    /// Runs a role on a page for a plugin that asks its host for it.
    ///
    /// # Errors
    /// Wrong options are the asking plugin's fault; another failure names the role.
    #[crate::boxed]
    pub async fn extract_for_plugin(
        &self,
        role: &str,
        page: &Arc<Page>,
        options: &str,
    ) -> Result<String, CodedError> {
        let options = match self.checked_options(role, options).await {
            Ok(options) => options,
            Err(PluginError::Reported(error)) => return Err(error),
            Err(error) => return Err(CodedError::failed(format!("extractor {role}: {error}"))),
        };
        let call = RoleCall {
            role: role.to_owned(),
            options,
        };
        let _held = match &self.account {
            Some(account) => account.hold(page)?,
            None => None,
        };
        match self.extract(page, vec![call]).await.pop() {
            Some(Ok(json)) => Ok(json.into()),
            Some(Err(PluginError::Reported(error))) if error.code == ErrorCode::InvalidInput => {
                Err(error)
            }
            Some(Err(error)) => {
                let plugin = self.role(role).map(|plugin| plugin.name);
                let plugin = plugin.filter(|name| name != role);
                let plugin = plugin.map(|name| format!(" (plugin `{name}`)"));
                let plugin = plugin.unwrap_or_default();
                let why = format!("extractor {role}{plugin}: {error}");
                Err(CodedError::failed(why))
            }
            None => Err(CodedError::failed(format!("extractor {role}: no answer"))),
        }
    }

    /// Checks options of a role, JSON text, against the schema of the extractor that serves it. Returns them as the
    /// extractor gets them: whole numbers as integers. Empty text and `{}` are no options.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidInput`](crate::ErrorCode::InvalidInput), which names field and rule, as a request's options
    /// get it.
    #[crate::boxed]
    pub async fn checked_options(&self, role: &str, options: &str) -> Result<String, PluginError> {
        if options.is_empty() || options == NO_OPTIONS {
            return Ok(options.to_owned());
        }
        let parsed: Result<Value, _> = serde_json::from_str(options);
        let mut parsed =
            parsed.map_err(|error| PluginError::invalid(format!("options: {error}")))?;
        if !parsed.is_object() {
            return Err(PluginError::invalid("options: must be an object"));
        }
        json_number::write_integers(&mut parsed);
        self.await_role(role).await;
        // That nobody serves the role is the answer of the call.
        let serving = {
            let registry = self.inner.registry();
            let found = registry.role(self.project(), role);
            found.map(|(plugin, _)| Arc::clone(plugin))
        };
        let parsed = Arc::new(parsed);
        if let Some(plugin) = serving {
            let (checked, account) = (Arc::clone(&parsed), self.account.clone());
            self.inner.check_input(&plugin, checked, account).await?;
        }
        Ok(parsed.to_string())
    }

    /// Same as [`extract`](Self::extract), on the calling thread, for benchmarks and tools. Must
    /// not be called within an asynchronous task.
    pub fn extract_blocking(&self, page: &Arc<Page>, calls: Vec<RoleCall>) -> Vec<RoleResult> {
        self.inner.extract_blocking(&self.caller, page, calls)
    }

    /// Runs an actor after checking the input against its schema. Dropping the future drops the
    /// guest.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidInput`](crate::ErrorCode::InvalidInput) names the field that breaks the schema; the other errors say
    /// how the call failed.
    #[crate::boxed]
    pub async fn run_actor(
        &self,
        name: &str,
        input: &Value,
        host: Arc<dyn Host>,
    ) -> Result<CallOutput, PluginError> {
        self.await_plugin(Kind::Actor, name).await;
        let plugin = self.find(Kind::Actor, name)?;
        self.check(&plugin, input).await?;
        let invocation = Invocation::Run(input.to_string().into());
        let called = (plugin, self.caller.clone());
        self.inner.run(called, invocation, host).await
    }

    /// Same as [`run_actor`](Self::run_actor), for a run in the background: it has its own time
    /// limits, and does not count against the calls at the same time.
    ///
    /// # Errors
    /// Same as [`Engine::run_actor`].
    #[crate::boxed]
    pub async fn run_actor_in_background(
        &self,
        name: &str,
        input: &Value,
        host: Arc<dyn Host>,
        budget: RunBudget,
    ) -> Result<CallOutput, PluginError> {
        self.await_plugin(Kind::Actor, name).await;
        let plugin = self.find(Kind::Actor, name)?;
        self.check(&plugin, input).await?;
        let invocation = Invocation::Run(input.to_string().into());
        self.inner
            .run_in_background((plugin, self.caller.clone()), invocation, host, budget)
            .await
    }

    /// Runs the fetcher of a domain, which it gets as its manifest lists it. `path` is the part after the
    /// domain, without a leading slash; `params` is a JSON object.
    ///
    /// # Errors
    /// Same as [`Engine::run_actor`].
    #[crate::boxed]
    pub async fn run_fetcher(
        &self,
        domain: &str,
        path: &str,
        params: &Value,
        host: Arc<dyn Host>,
    ) -> Result<CallOutput, PluginError> {
        self.await_fetchers().await;
        let registry = self.inner.registry();
        let plugin = registry.fetcher(self.project(), domain).cloned();
        let plugin = plugin.ok_or_else(|| registry.missing_fetcher(self.project(), domain))?;
        self.check(&plugin, params).await?;
        let domain = match &plugin.manifest.fetcher {
            Some(info) => info.as_listed(domain),
            None => domain.to_owned(),
        };
        let invocation = Invocation::Fetch(domain.into(), path.into(), params.to_string().into());
        let called = (plugin, self.caller.clone());
        self.inner.run(called, invocation, host).await
    }

    /// Which functions these hooks have together. A hook that is not loaded has those for pages,
    /// so that its absence is noticed there.
    pub fn hook_points(&self, hooks: &[HookUse]) -> HookPoints {
        self.inner.hook_points(self.project(), hooks)
    }

    /// Passes a page through hooks, in their order. Dropping the future interrupts a running guest.
    /// A hook that fails changes nothing, and is listed in the verdict.
    #[crate::boxed]
    pub async fn page_hooks(&self, hooks: &[HookUse], work: PageWork) -> PageVerdict {
        for hook in hooks {
            self.await_plugin(Kind::Hook, &hook.name).await;
            let registry = self.inner.registry();
            let plugin = registry
                .get(self.project(), Kind::Hook, &hook.name)
                .cloned();
            if let Some(plugin) = plugin {
                self.await_roles(plugin.manifest.needs.clone()).await;
            }
        }
        self.inner.page_hooks(&self.caller, hooks, work).await
    }

    /// Passes a webhook's payload (JSON text) through the hooks that have `deliver`, in their order. A
    /// hook that fails leaves it as it was, and is listed.
    #[crate::boxed]
    pub async fn delivery_hooks(
        &self,
        hooks: &[HookUse],
        delivery: &Delivery,
        payload: String,
    ) -> (String, Vec<HookFailure>) {
        for hook in hooks {
            self.await_plugin(Kind::Hook, &hook.name).await;
        }
        self.inner
            .delivery_hooks(&self.caller, hooks, delivery, payload)
            .await
    }

    /// What hooks change of a request to a URL, each with its hook's name, and the hooks that
    /// failed. A hook is asked only if its permission `http` covers the URL.
    #[crate::boxed]
    pub async fn request_hooks(
        &self,
        hooks: &[HookUse],
        url: &str,
        depth: u32,
        attempts: u32,
    ) -> (Vec<(String, RequestChange)>, Vec<HookFailure>) {
        for hook in hooks {
            self.await_plugin(Kind::Hook, &hook.name).await;
        }
        self.inner
            .request_hooks(&self.caller, hooks, url, depth, attempts)
            .await
    }

    /// Checks an input against a plugin's schema, as every call does; for callers that need the
    /// result before the call.
    ///
    /// # Errors
    /// [`ErrorCode::InvalidInput`](crate::ErrorCode::InvalidInput), which names field and rule; [`PluginError::NotFound`].
    #[crate::boxed]
    pub async fn check_input(
        &self,
        kind: Kind,
        name: &str,
        input: &Value,
    ) -> Result<(), PluginError> {
        let plugin = self.find(kind, name)?;
        self.check(&plugin, input).await
    }

    async fn check(&self, plugin: &Arc<Plugin>, input: &Value) -> Result<(), PluginError> {
        if plugin.input.is_none() {
            return Ok(());
        }
        let input = Arc::new(input.clone());
        self.inner.check_input(plugin, input, None).await
    }

    fn find(&self, kind: Kind, name: &str) -> Result<Arc<Plugin>, PluginError> {
        let registry = self.inner.registry();
        let plugin = registry.get(self.project(), kind, name).cloned();
        plugin.ok_or_else(|| registry.missing(self.project(), kind, name))
    }
}

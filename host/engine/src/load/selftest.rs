//! The self-test: a plugin that fails on a small page is not put in service. It runs where the plugin's calls
//! do, in turn with those of other projects, and takes no more time than one of them may.

use std::sync::Arc;

use crate::error::{LoadError, PluginError};
use crate::extract::{RoleCall, RoleGroup, RoleResult, Session, ends_instance};
use crate::hook;
use crate::hook::call::lost;
use crate::hook::run::Running;
use crate::host::NoHost;
use crate::inner::Inner;
use crate::inputs::Inputs;
use crate::lane::Lane;
use crate::meter::Meter;
use crate::page::Page;
use crate::plugin::{Code, Plugin};
use crate::runtime::Runtime;
use crate::task;

/// The page of the self-test.
const URL: &str = "https://self-test.invalid/";
const HTML: &str = "<!DOCTYPE html><html lang=en><head><title>Self-test</title></head>\
<body><main><h1>Self-test</h1><p>A page that <a href=\"/other\">links</a>.</p></main></body></html>";

/// A test on a worker thread, within the time of a meter.
type Here = fn(&Runtime, &Arc<Plugin>, Arc<Page>, &Arc<Meter>) -> Option<PluginError>;

/// Runs the roles of an extractor, or the functions of a hook, on a small page, up to the first failure. Other
/// kinds are only instantiated, since their work has effects. An error reported by the plugin itself passes:
/// the page may have nothing for it.
pub(super) async fn self_test(inner: &Inner, plugin: Arc<Plugin>) -> Result<(), LoadError> {
    let page = Page::from_html(URL, HTML);
    let (runtime, owned) = (Arc::clone(&inner.runtime), Arc::clone(&plugin));
    let failure = match &*plugin.code {
        Code::Extractor(_) => in_pool(inner, owned, page, roles_here).await,
        Code::Hook(_) => in_pool(inner, owned, page, hook::selftest::here).await,
        Code::ExtractorOnDemand(_) => {
            as_task(inner, &plugin, roles_as_task(runtime, owned, page)).await
        }
        Code::HookOnDemand(_) => {
            let test = async move { hook::selftest::as_task(&runtime, &owned, page).await };
            as_task(inner, &plugin, test).await
        }
        Code::DeliveryHook(_) => {
            let test = async move { hook::selftest::deliver(&runtime, &owned).await };
            as_task(inner, &plugin, test).await
        }
        Code::Actor(_) | Code::ActorSync(_) | Code::Fetcher(_) | Code::FetcherSync(_) => {
            let (limits, nothing) = (plugin.limits, task::Invocation::Nothing);
            let host = Arc::new(NoHost);
            let test = async move {
                let made = task::run(runtime, (owned, None), nothing, host, limits).await;
                made.err()
            };
            as_task(inner, &plugin, test).await
        }
    };
    match failure {
        None => Ok(()),
        Some(error) => Err(LoadError::SelfTest(error.to_string())),
    }
}

/// Runs a test on a worker thread: of a project's plugin on those of projects, of the instance's on those of
/// its short calls.
async fn in_pool(
    inner: &Inner,
    plugin: Arc<Plugin>,
    page: Arc<Page>,
    test: Here,
) -> Option<PluginError> {
    let lane = plugin.owner().map_or(Lane::Short(None), Lane::Own);
    let runtime = Arc::clone(&inner.runtime);
    let work = move |running: &Running| test(&runtime, &plugin, page, &running.begin(&plugin));
    inner.in_pool(lane, work).await.unwrap_or_else(Some)
}

/// Runs a test as a task, with the slot of one.
async fn as_task(
    inner: &Inner,
    plugin: &Plugin,
    test: impl Future<Output = Option<PluginError>> + Send + 'static,
) -> Option<PluginError> {
    let owner = plugin.owner();
    let Some(slot) = inner.interpreter_slot(owner, &None).await else {
        return Some(lost());
    };
    let work = async move {
        let failure = test.await;
        drop(slot);
        failure
    };
    let done = inner.tasks_of(owner).spawn(work).await;
    done.unwrap_or_else(Some)
}

fn roles_here(
    runtime: &Runtime,
    plugin: &Arc<Plugin>,
    page: Arc<Page>,
    meter: &Arc<Meter>,
) -> Option<PluginError> {
    let mut session = Session::new(runtime, &page);
    calls(plugin).find_map(|call| {
        let results = session.run(&group(plugin, vec![call]), || Arc::clone(meter));
        first_failure(results)
    })
}

async fn roles_as_task(
    runtime: Arc<Runtime>,
    plugin: Arc<Plugin>,
    page: Arc<Page>,
) -> Option<PluginError> {
    let meter = Arc::new(Meter::new(plugin.limits.cpu(), plugin.limits.wall()));
    let group = group(&plugin, calls(&plugin).collect());
    first_failure(task::extract(runtime, group, page, Some(meter)).await)
}

/// A call of each role.
fn calls(plugin: &Plugin) -> impl Iterator<Item = (usize, RoleCall)> {
    let call = |role: &String| RoleCall {
        role: role.clone(),
        options: "{}".to_owned(),
    };
    plugin.manifest.roles.iter().map(call).enumerate()
}

fn group(plugin: &Arc<Plugin>, calls: Vec<(usize, RoleCall)>) -> RoleGroup {
    RoleGroup {
        plugin: Arc::clone(plugin),
        caller: None,
        calls,
        inputs: Inputs::default(),
        account: None,
    }
}

fn first_failure(results: Vec<(usize, RoleResult)>) -> Option<PluginError> {
    let mut errors = results.into_iter().filter_map(|(_, result)| result.err());
    errors.find(fails_test)
}

/// Whether a role that fails so keeps its plugin out of service.
pub(crate) fn fails_test(error: &PluginError) -> bool {
    // The SDK's answer to a role that the manifest lists and the component does not have.
    let is_unserved = error
        .invalid_input()
        .is_some_and(|text| text.starts_with("role: this plugin does not serve"));
    is_unserved || ends_instance(error) || matches!(error, PluginError::BadOutput(_))
}

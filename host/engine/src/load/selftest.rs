//! The self-test: a plugin that fails on a small page is not put in service.

use std::sync::Arc;

use super::{Loader, blocking};
use crate::error::{LoadError, PluginError};
use crate::extract::{RoleCall, RoleGroup, RoleResult, Session, ends_instance};
use crate::hook;
use crate::host::NoHost;
use crate::inputs::Inputs;
use crate::meter::Meter;
use crate::page::Page;
use crate::plugin::{Code, Plugin};
use crate::task;

/// The page of the self-test.
const URL: &str = "https://self-test.invalid/";
const HTML: &str = "<!DOCTYPE html><html lang=en><head><title>Self-test</title></head>\
<body><main><h1>Self-test</h1><p>A page that <a href=\"/other\">links</a>.</p></main></body></html>";

impl Loader {
    /// Runs every role of an extractor, or the functions of a hook, on a small page. Other kinds
    /// are only instantiated, since
    /// their work has effects. An error reported by the plugin itself passes: the page may have
    /// nothing for it.
    pub(super) async fn self_test(&self, plugin: Arc<Plugin>) -> Result<(), LoadError> {
        let calls: Vec<(usize, RoleCall)> = plugin
            .manifest
            .roles
            .iter()
            .map(|role| RoleCall {
                role: role.clone(),
                options: "{}".to_owned(),
            })
            .enumerate()
            .collect();
        let failure = match &*plugin.code {
            Code::Extractor(_) => {
                let runtime = Arc::clone(&self.runtime);
                let test = move || {
                    let page = Page::from_html(URL, HTML);
                    let limits = plugin.limits;
                    let begin = || Arc::new(Meter::new(limits.cpu(), limits.wall()));
                    let group = RoleGroup {
                        plugin,
                        caller: None,
                        calls,
                        inputs: Inputs::default(),
                        account: None,
                    };
                    Ok(first_failure(
                        Session::new(&runtime, &page).run(&group, begin),
                    ))
                };
                blocking(test).await?
            }
            Code::ExtractorOnDemand(_) => {
                let page = Page::from_html(URL, HTML);
                let runtime = Arc::clone(&self.runtime);
                let group = RoleGroup {
                    plugin,
                    caller: None,
                    calls,
                    inputs: Inputs::default(),
                    account: None,
                };
                first_failure(task::extract(runtime, group, page).await)
            }
            Code::Hook(_) | Code::HookOnDemand(_) => {
                let page = Page::from_html(URL, HTML);
                hook::selftest::self_test(Arc::clone(&self.runtime), plugin, page).await
            }
            Code::DeliveryHook(_) => hook::selftest::deliver(&self.runtime, &plugin).await,
            Code::Actor(_) | Code::ActorSync(_) | Code::Fetcher(_) | Code::FetcherSync(_) => {
                let runtime = Arc::clone(&self.runtime);
                let (limits, nothing) = (plugin.limits, task::Invocation::Nothing);
                task::run(runtime, (plugin, None), nothing, Arc::new(NoHost), limits)
                    .await
                    .err()
            }
        };
        match failure {
            None => Ok(()),
            Some(error) => Err(LoadError::SelfTest(error.to_string())),
        }
    }
}

fn first_failure(results: Vec<(usize, RoleResult)>) -> Option<PluginError> {
    results
        .into_iter()
        .filter_map(|(_, result)| result.err())
        .find(|error| {
            // The SDK's answer to a role that the manifest lists and the component does not have.
            let is_unserved = error
                .invalid_input()
                .is_some_and(|text| text.starts_with("role: this plugin does not serve"));
            is_unserved || ends_instance(error) || matches!(error, PluginError::BadOutput(_))
        })
}

//! The test that a hook passes before it serves.

use std::sync::Arc;

use super::call::{PAGE_POINTS, page_as_task, page_on_this_thread};
use super::verdict::PageState;
use super::{FoundLink, HookPoints, HookUse, PageWork, Visit};
use crate::error::PluginError;
use crate::extract::ends_instance;
use crate::inputs::Inputs;
use crate::meter::Meter;
use crate::page::Page;
use crate::plugin::Plugin;
use crate::runtime::Runtime;
use crate::wit::v1::bindings::delivery_hook::exports::orbweaver::plugin::delivering as wit;

/// Passes an empty payload to a hook of deliveries: the first failure that is not its own answer.
pub(crate) async fn deliver(runtime: &Runtime, plugin: &Plugin) -> Option<PluginError> {
    let about = wit::Delivery {
        event: "crawl.done".to_owned(),
        run_id: 0,
        run_url: "https://self-test.invalid/".to_owned(),
    };
    let result = super::deliver::deliver(runtime, (plugin, &None), "{}", &about, "{}").await;
    let error = result.err()?;
    (ends_instance(&error) || matches!(error, PluginError::BadOutput(_))).then_some(error)
}

/// Runs every function of a hook on a page that no server sent, on this thread, as a test of a new plugin: the
/// first failure that is not the hook's own answer.
pub(crate) fn here(
    runtime: &Runtime,
    plugin: &Arc<Plugin>,
    page: Arc<Page>,
    meter: &Arc<Meter>,
) -> Option<PluginError> {
    let (hook, mut state) = beginning(plugin, page);
    let given = (meter, &Inputs::default());
    page_on_this_thread(runtime, (&**plugin, &None), &hook, given, &mut state);
    failure(state)
}

/// The same as a task.
pub(crate) async fn as_task(
    runtime: &Runtime,
    plugin: &Plugin,
    page: Arc<Page>,
) -> Option<PluginError> {
    let (hook, mut state) = beginning(plugin, page);
    let inputs = Inputs::default();
    page_as_task(runtime, (plugin, &None), &hook, &inputs, &mut state).await;
    failure(state)
}

/// The hook, and the page before it.
fn beginning(plugin: &Plugin, page: Arc<Page>) -> (HookUse, PageState) {
    let accepts_no_config = plugin
        .input
        .as_ref()
        .is_none_or(|schema| crate::schema::check(schema, &serde_json::json!({})).is_ok());
    let points = if accepts_no_config {
        HookPoints::of(&PAGE_POINTS)
    } else {
        HookPoints::NONE
    };
    let link = FoundLink {
        url: format!("{}other", page.parts().url),
        anchor: "links".to_owned(),
        ..FoundLink::default()
    };
    let state = PageState::new(PageWork {
        visit: Visit {
            url: page.parts().url.clone(),
            ..Visit::default()
        },
        page,
        points,
        outputs: Vec::new(),
        links: vec![link],
        retry_within: Some(std::time::Duration::from_secs(120)),
    });
    let hook = HookUse {
        name: plugin.name().to_owned(),
        config: Arc::from("{}"),
    };
    (hook, state)
}

fn failure(state: PageState) -> Option<PluginError> {
    let failures = state.finish().failures.into_iter();
    failures
        .map(|failure| failure.error)
        .find(|error| ends_instance(error) || matches!(error, PluginError::BadOutput(_)))
}

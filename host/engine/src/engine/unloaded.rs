//! Plugins of projects that could not be loaded.

use std::sync::Arc;

use orbweaver_core::ids::ProjectId;

use super::Engine;
use crate::error::PluginError;
use crate::kind::Kind;
use crate::manifest::Manifest;

impl Engine {
    /// Ends the service of a project's own plugin that could not be loaded, of this component if that could be
    /// read. What it would serve is not served by the instance: such calls of the project fail with the reason until
    /// it is loaded or [removed](Self::remove_for_project).
    #[crate::boxed]
    pub async fn refuse_for_project(
        &self,
        project: ProjectId,
        (kind, name): (Kind, &str),
        component: Option<Arc<[u8]>>,
        reason: &str,
    ) {
        let id = (kind, name.to_owned());
        let refuse = |manifest: Option<&Manifest>| {
            self.inner
                .change(|registry, _| registry.refuse_own(project, &id, manifest, reason));
        };
        // What serves may have rights that are taken away, so it does not wait for the inspection.
        refuse(None);
        if let Some(component) = component {
            let engine = self.clone();
            let inspect = move || Some(engine.inspect(&component).ok()?.manifest);
            let inspected = self.inner.tenants.tasks.blocking(inspect).await;
            if let Ok(Some(manifest)) = inspected {
                refuse(Some(&manifest));
            }
        }
        self.inner.own_arrived(project, &id);
        self.inner.stats.forget(project, kind, name);
    }

    /// The error of calls of a plugin that the handle's project has, and that could not be loaded.
    pub fn unloaded(&self, kind: Kind, name: &str) -> Option<PluginError> {
        let registry = self.inner.registry();
        of_unloaded(registry.missing(self.project(), kind, name))
    }

    /// Same as [`unloaded`](Self::unloaded) for the extractor of a role.
    pub fn unloaded_role(&self, role: &str) -> Option<PluginError> {
        let registry = self.inner.registry();
        of_unloaded(registry.missing_role(self.project(), role))
    }

    /// Same as [`unloaded`](Self::unloaded) for the fetcher of a domain.
    pub fn unloaded_fetcher(&self, domain: &str) -> Option<PluginError> {
        let registry = self.inner.registry();
        of_unloaded(registry.missing_fetcher(self.project(), domain))
    }
}

fn of_unloaded(error: PluginError) -> Option<PluginError> {
    matches!(error, PluginError::NotLoaded { .. }).then_some(error)
}

//! The parts of a plugin that are known before its code is built.

use std::sync::Arc;
use std::time::SystemTime;

use orbweaver_core::ids::ProjectId;

use super::Inspected;
use crate::config::EngineConfig;
use crate::error::LoadError;
use crate::grants::EffectivePermissions;
use crate::host::state::PluginId;
use crate::inspect::{Digest, Inspection};
use crate::journal::PluginFacts;
use crate::label::Label;
use crate::limits::{LimitRange, Limits};
use crate::plugin::{Code, Plugin, Source};
use crate::quarantine::{Quarantine, QuarantineRule};
use crate::schema::Schema;
use crate::stats::{AllStats, Stats};

/// A plugin without its code.
pub(super) struct Parts {
    pub found: Inspection,
    pub digest: Digest,
    pub limits: Limits,
    pub grants: Arc<EffectivePermissions>,
    pub source: Source,
    cut: Vec<String>,
    input: Option<Schema>,
    loaded_at: SystemTime,
    label: Label,
    facts: Arc<PluginFacts>,
    rule: QuarantineRule,
}

impl Parts {
    /// # Errors
    /// If the component needs more memory or larger tables than its limits within `range`.
    pub fn new(
        config: &EngineConfig,
        inspected: Inspected,
        source: Source,
        range: &LimitRange,
        grants: EffectivePermissions,
    ) -> Result<Self, LoadError> {
        let Inspected {
            found,
            digest,
            input,
            ..
        } = inspected;
        let manifest = &found.manifest;
        let limits = manifest.limits.within(range);
        let cut = manifest.limits.cut(range);
        found
            .shape
            .fits(limits.memory_bytes(), limits.table_elements)?;
        let owner = owner_of(&source);
        let label = Label::new(manifest.kind, &manifest.name, owner);
        #[expect(
            clippy::disallowed_methods,
            reason = "shown to operators; no rule depends on it"
        )]
        let loaded_at = SystemTime::now();
        let facts = Arc::new(PluginFacts {
            id: PluginId {
                own: owner.is_some(),
                kind: manifest.kind,
                name: manifest.name.clone(),
            },
            version: manifest.version.clone(),
            digest: digest.to_string(),
        });
        Ok(Self {
            rule: QuarantineRule::of(config, &source),
            grants: Arc::new(grants),
            found,
            digest,
            limits,
            source,
            cut,
            input,
            loaded_at,
            label,
            facts,
        })
    }

    /// The project that the plugin belongs to; `None`: the instance.
    pub fn owner(&self) -> Option<ProjectId> {
        owner_of(&self.source)
    }

    /// The statistics of the plugin, over all its versions.
    pub fn stats(&self, all: &AllStats) -> Arc<Stats> {
        let manifest = &self.found.manifest;
        all.for_plugin(self.owner(), manifest.kind, &manifest.name)
    }

    /// The plugin with this code.
    pub fn assemble(&self, code: Arc<Code>, stats: Arc<Stats>) -> Plugin {
        let manifest = &self.found.manifest;
        Plugin {
            figures: stats.version(self.digest, &manifest.version, self.loaded_at),
            quarantine: Quarantine::new(self.rule, self.owner().is_some()),
            manifest: manifest.clone(),
            digest: self.digest,
            size: self.found.size,
            source: self.source.clone(),
            limits: self.limits,
            cut: self.cut.clone(),
            grants: Arc::clone(&self.grants),
            code,
            input: self.input.clone(),
            loaded_at: self.loaded_at,
            label: self.label.clone(),
            facts: Arc::clone(&self.facts),
            stats,
        }
    }
}

fn owner_of(source: &Source) -> Option<ProjectId> {
    match source {
        Source::Project(project) => Some(*project),
        Source::Embedded | Source::Folder(_) | Source::Upload => None,
    }
}

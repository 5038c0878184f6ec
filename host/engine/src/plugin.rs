//! A loaded plugin: code, manifest, budgets, grants and statistics.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use orbweaver_core::ids::ProjectId;
use serde::Serialize;
use serde_json::Value;
use wasmtime::component::Component;

use crate::error::PluginError;
use crate::figures::{CallUse, Figures};
use crate::grants::{EffectivePermissions, Permissions};
use crate::host::state::PluginId;
use crate::inspect::Digest;
use crate::interrupt::GuestCode;
use crate::journal::{
    CallInput, Caller, FailedCall, PluginFacts, QuarantineTurn, Reporter, project_of,
};
use crate::kind::Kind;
use crate::label::Label;
use crate::limits::Limits;
use crate::manifest::{FetcherInfo, HookPoint, Manifest};
use crate::meter::Meter;
use crate::quarantine::{Quarantine, QuarantineState, Turn};
use crate::schema::Schema;
use crate::state::State;
use crate::stats::Stats;
use crate::wit::v1::bindings::actor::ActorPre;
use crate::wit::v1::bindings::actor_sync::ActorSyncPre;
use crate::wit::v1::bindings::delivery_hook::DeliveryHookPre;
use crate::wit::v1::bindings::extractor::ExtractorPre;
use crate::wit::v1::bindings::extractor_async::ExtractorPre as ExtractorAsyncPre;
use crate::wit::v1::bindings::fetcher::FetcherPre;
use crate::wit::v1::bindings::fetcher_sync::FetcherSyncPre;
use crate::wit::v1::bindings::hook::HookPre;
use crate::wit::v1::bindings::hook_async::HookPre as HookAsyncPre;

/// Origin of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The program itself, which contains it.
    Embedded,
    /// A file of the plugin folder; overrides the program's plugin of the same name.
    Folder(PathBuf),
    /// Uploaded to the running service; overrides every other plugin of the same name.
    Upload,
    /// Uploaded by a project for itself; overrides the instance's for this project alone.
    Project(ProjectId),
}

/// Compiled, linked and type-checked code, ready to be instantiated.
pub(crate) enum Code {
    Extractor(Pooled<ExtractorPre<State>>),
    ExtractorOnDemand(ExtractorAsyncPre<State>),
    Actor(ActorPre<State>),
    ActorSync(ActorSyncPre<State>),
    Fetcher(FetcherPre<State>),
    FetcherSync(FetcherSyncPre<State>),
    Hook(Pooled<HookPre<State>>),
    HookOnDemand(HookAsyncPre<State>),
    DeliveryHook(DeliveryHookPre<State>),
}

/// An extractor or a hook of the pool.
pub(crate) struct Pooled<P> {
    pub pre: P,
    /// Its functions, where guests are ended by signals. `pre` keeps them alive.
    pub code: GuestCode,
}

impl<P> Pooled<P> {
    pub fn new(pre: P, component: &Component) -> Self {
        Self {
            pre,
            code: GuestCode::new(component),
        }
    }
}

/// A loaded plugin.
pub(crate) struct Plugin {
    pub manifest: Manifest,
    pub digest: Digest,
    pub size: u64,
    pub source: Source,
    pub limits: Limits,
    /// Requested limits above the maximum, one line each.
    pub cut: Vec<String>,
    pub grants: Arc<EffectivePermissions>,
    pub code: Arc<Code>,
    /// Compiled from `manifest.schema.input`.
    pub input: Option<Schema>,
    pub loaded_at: SystemTime,
    /// For logs.
    pub label: Label,
    /// The same for the journal.
    pub facts: Arc<PluginFacts>,
    pub stats: Arc<Stats>,
    /// Of this version.
    pub figures: Arc<Figures>,
    pub quarantine: Quarantine,
}

impl Plugin {
    pub fn kind(&self) -> Kind {
        self.manifest.kind
    }

    /// Its identity for its values.
    pub fn id(&self) -> PluginId {
        PluginId {
            own: self.owner().is_some(),
            kind: self.kind(),
            name: self.name().to_owned(),
        }
    }

    /// The project that it belongs to; `None`: the instance.
    pub fn owner(&self) -> Option<ProjectId> {
        match self.source {
            Source::Project(project) => Some(project),
            Source::Embedded | Source::Folder(_) | Source::Upload => None,
        }
    }

    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Whether this plugin and another one may run a page's calls in one instance: they are the same code
    /// (components that differ in their manifests alone), with the same grants, limits and owner. Such
    /// an instance says of a page what one of its own would say, because roles are pure.
    pub fn may_share_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.code, &other.code)
            && self.limits == other.limits
            && self.owner() == other.owner()
    }

    /// Whether a call for this project may begin; counted if not.
    ///
    /// # Errors
    /// [`PluginError::Quarantined`].
    pub fn admit(&self, caller: Option<ProjectId>) -> Result<(), PluginError> {
        let admitted = self.quarantine.admit(caller, Instant::now());
        if admitted.is_err() {
            self.figures.record_refused();
        }
        admitted
    }

    /// Counts a call that has ended.
    pub fn ended(
        &self,
        (caller, reporter): (&Caller, &Reporter),
        meter: &Meter,
        memory: u64,
        (error, input): (Option<&PluginError>, impl FnOnce() -> CallInput),
    ) {
        let used = CallUse {
            cpu: meter.cpu(),
            wall: meter.wall(),
            memory,
            denials: meter.denials(),
        };
        self.stats.record(&used, error);
        self.figures.record(&used, error);
        if let Some(error) = error {
            let failure = || FailedCall {
                input: input(),
                error: error.clone(),
                cpu: used.cpu,
                wall: used.wall,
                memory,
            };
            reporter.failed(failure, error);
        }
        let caller = project_of(caller);
        let (plugin, project) = (&*self.label, caller.map(ProjectId::get));
        match self.quarantine.ended(caller, error, Instant::now()) {
            Turn::Same => {}
            Turn::Closed(time, crashes) => {
                self.stats.record_quarantine();
                reporter.quarantine(QuarantineTurn::Closed {
                    crashes,
                    error: error.map_or("", PluginError::kind),
                    refused: time,
                });
                tracing::warn!(
                    target: "plugin",
                    plugin,
                    project,
                    crashes,
                    refused_ms = time.as_millis(),
                    "in quarantine: its last calls crashed"
                );
            }
            Turn::Opened => {
                reporter.quarantine(QuarantineTurn::Opened);
                tracing::info!(target: "plugin", plugin, project, "out of quarantine");
            }
        }
    }

    /// The plugin's entry in listings.
    pub fn info(&self, problem: Option<&str>) -> PluginInfo {
        let json = |text: &Option<String>| {
            text.as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
        };
        let manifest = &self.manifest;
        PluginInfo {
            kind: manifest.kind,
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            description: manifest.description.clone(),
            roles: manifest.roles.clone(),
            hooks: manifest.hooks.clone(),
            digest: self.digest.to_string(),
            size: self.size,
            source: self.source.clone(),
            asked: manifest.permissions.clone(),
            granted: self.grants.listed.clone(),
            limits: self.limits,
            limits_cut: self.cut.clone(),
            input_schema: json(&manifest.schema.input),
            output_schema: json(&manifest.schema.output),
            fetcher: manifest.fetcher.clone(),
            loaded_at: self.loaded_at,
            problem: problem.map(str::to_owned),
            calls: self.stats.calls(),
            errors: self.stats.errors(),
            cpu: self.stats.cpu(),
            peak_memory: self.stats.peak_memory(),
            fuel: self.stats.fuel(),
            quarantine: self.quarantine.shown(None, Instant::now()),
        }
    }
}

/// A plugin in listings.
#[derive(Clone, Debug, Serialize)]
pub struct PluginInfo {
    /// Its kind.
    pub kind: Kind,
    /// Its name, unique within its kind.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// Its manifest's description.
    pub description: String,
    /// The roles that an extractor serves; empty for the other kinds.
    pub roles: Vec<String>,
    /// What a hook takes part in; empty for the other kinds.
    pub hooks: Vec<HookPoint>,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// Size in bytes.
    pub size: u64,
    /// Its origin.
    pub source: Source,
    /// Permissions that its manifest requests.
    pub asked: Permissions,
    /// Effective permissions: requested and granted.
    pub granted: Permissions,
    /// Budgets of one call.
    pub limits: Limits,
    /// Limits that its manifest requests above the maximum, one line each.
    pub limits_cut: Vec<String>,
    /// JSON Schema of the input.
    pub input_schema: Option<Value>,
    /// JSON Schema of the output.
    pub output_schema: Option<Value>,
    /// A fetcher's domains and paths; `None` for other kinds.
    pub fetcher: Option<FetcherInfo>,
    /// When this version was loaded.
    pub loaded_at: SystemTime,
    /// Why a newer file of the same name failed to load.
    pub problem: Option<String>,
    /// Number of calls since the process started, over all versions.
    pub calls: u64,
    /// Number of failed calls.
    pub errors: u64,
    /// CPU time of all calls.
    pub cpu: Duration,
    /// Largest memory of one call, in bytes: the instance's, and data held by the host for it.
    pub peak_memory: u64,
    /// Fuel (about one per instruction) of all calls; 0 unless
    /// [`crate::EngineConfig::count_fuel`] is set.
    #[serde(skip)]
    pub fuel: u64,
    /// Its quarantine on this node, if calls are refused.
    #[serde(skip)]
    pub quarantine: Option<QuarantineState>,
}

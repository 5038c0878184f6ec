//! A plugin as answers show it.

use chrono::{DateTime, Utc};
use orbweaver_engine::{HookPoint, Kind, Limits, Permissions, PluginInfo, QuarantineState, Source};
use orbweaver_store::UploadedPlugin;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A plugin that serves.
#[derive(Serialize, ToSchema)]
pub(super) struct PluginItem {
    /// What it is for: extractor, actor, fetcher or hook.
    #[schema(value_type = String)]
    kind: Kind,
    /// Its name, unique within its kind.
    name: String,
    /// Its own version.
    version: String,
    /// What it does.
    description: String,
    /// Roles of an extractor.
    roles: Vec<String>,
    /// What a hook takes part in: discover, record, request, response.
    #[schema(value_type = Vec<String>)]
    hooks: Vec<HookPoint>,
    /// SHA-256 of the component, lower-case hex.
    digest: String,
    /// Its length in bytes.
    size: u64,
    /// `embedded` in the program, `folder`, `upload`, or `project` for one that a project has
    /// installed for itself; each takes the place of a plugin of its name in an earlier one.
    source: &'static str,
    /// Number of the uploaded version that serves, counted from 1; null for other sources.
    number: Option<i64>,
    /// Permissions that its manifest requests.
    #[schema(value_type = Object)]
    asked: Permissions,
    /// Permissions that are granted.
    #[schema(value_type = Object)]
    granted: Permissions,
    /// Budgets of one call.
    #[schema(value_type = Object)]
    limits: Limits,
    /// Limits that its manifest asks above the operator's maximum, one line each.
    limits_cut: Vec<String>,
    /// JSON Schema of its input.
    #[schema(value_type = Option<Object>)]
    input_schema: Option<Value>,
    /// JSON Schema of its output.
    #[schema(value_type = Option<Object>)]
    output_schema: Option<Value>,
    /// Domains of a fetcher.
    domains: Vec<String>,
    /// When this version was loaded.
    loaded_at: DateTime<Utc>,
    /// Why a newer file of its name is not the one that serves.
    problem: Option<String>,
    /// Calls on this node since it started.
    calls: u64,
    /// Those that failed.
    errors: u64,
    /// CPU time of all calls, in milliseconds.
    cpu_ms: u64,
    /// The most memory that one instance had, in bytes.
    peak_memory_bytes: u64,
    /// Set while calls are refused on this node because the last ones crashed.
    quarantine: Option<QuarantineItem>,
}

/// A plugin's quarantine on this node.
#[derive(Serialize, ToSchema)]
struct QuarantineItem {
    /// Number of projects whose calls are refused; of a project's own plugin 1.
    projects: usize,
    /// Crashes in a row; the most of one project.
    crashes: u32,
    /// How the last one ended: `trap`, `deadline` or `limit`.
    error: &'static str,
    /// Seconds until a call is tried; 0 if the next one is.
    retry_after_seconds: u64,
}

impl From<QuarantineState> for QuarantineItem {
    fn from(state: QuarantineState) -> Self {
        let seconds = state.retry_after.as_millis().div_ceil(1_000);
        Self {
            projects: state.projects,
            crashes: state.crashes,
            error: state.error,
            retry_after_seconds: u64::try_from(seconds).unwrap_or(u64::MAX),
        }
    }
}

impl PluginItem {
    /// An uploaded plugin with the number of its version.
    pub(super) fn uploaded(plugin: PluginInfo, number: i64) -> Self {
        Self {
            number: Some(number),
            ..Self::from(plugin)
        }
    }

    /// A plugin with the number of its version, if it is one of these uploads.
    pub(super) fn listed(plugin: PluginInfo, uploads: &[UploadedPlugin]) -> Self {
        let is_upload = matches!(plugin.source, Source::Upload | Source::Project(_));
        let number = uploads.iter().filter(|_| is_upload).find_map(|upload| {
            let same = upload.digest == plugin.digest
                && upload.key.name == plugin.name
                && upload.key.kind == plugin.kind.as_str();
            same.then_some(upload.number)
        });
        Self {
            number,
            ..Self::from(plugin)
        }
    }
}

impl From<PluginInfo> for PluginItem {
    fn from(plugin: PluginInfo) -> Self {
        Self {
            kind: plugin.kind,
            name: plugin.name,
            version: plugin.version,
            description: plugin.description,
            roles: plugin.roles,
            hooks: plugin.hooks,
            digest: plugin.digest,
            size: plugin.size,
            source: match plugin.source {
                Source::Embedded => "embedded",
                Source::Folder(_) => "folder",
                Source::Upload => "upload",
                Source::Project(_) => "project",
            },
            number: None,
            asked: plugin.asked,
            granted: plugin.granted,
            limits: plugin.limits,
            limits_cut: plugin.limits_cut,
            input_schema: plugin.input_schema,
            output_schema: plugin.output_schema,
            domains: plugin.fetcher.map(|info| info.domains).unwrap_or_default(),
            loaded_at: plugin.loaded_at.into(),
            problem: plugin.problem,
            calls: plugin.calls,
            errors: plugin.errors,
            cpu_ms: u64::try_from(plugin.cpu.as_millis()).unwrap_or(u64::MAX),
            peak_memory_bytes: plugin.peak_memory,
            quarantine: plugin.quarantine.map(QuarantineItem::from),
        }
    }
}

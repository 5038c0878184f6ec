//! GET /v1/plugins/{name}/metrics.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::Path;
use chrono::{DateTime, Utc};
use orbweaver_engine::{Kind, TimeSpread, VersionFigures};
use serde::Serialize;
use utoipa::ToSchema;

use super::scope::ScopeParams;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{CommonErrors, ErrorBody};
use crate::input::Query;

/// What the calls of a plugin used on this node, by version.
#[derive(Serialize, ToSchema)]
pub(super) struct PluginMetrics {
    /// What it is for: extractor, actor, fetcher or hook.
    #[schema(value_type = String)]
    kind: Kind,
    /// Its name.
    name: String,
    /// Its last versions, at most 8, the one that was loaded last first.
    versions: Vec<VersionMetrics>,
}

/// The calls of one version.
#[derive(Serialize, ToSchema)]
struct VersionMetrics {
    /// Its manifest's version.
    version: String,
    /// SHA-256 of the component, lower-case hex.
    digest: String,
    /// Whether it serves.
    serving: bool,
    /// When this node first loaded it; the figures begin here.
    since: DateTime<Utc>,
    /// Number of calls.
    calls: u64,
    /// Number of failed calls.
    error_count: u64,
    /// Failed calls by code: those of a plugin's errors, and `trap`, `deadline`, `limit`,
    /// `bad-output`, `engine`.
    errors: BTreeMap<&'static str, u64>,
    /// How often it asked for something that it is not granted.
    denials: u64,
    /// Calls refused because it was in quarantine; they are no calls.
    refused: u64,
    /// Wall time of a call.
    wall_ms: Milliseconds,
    /// CPU time of a call.
    cpu_ms: Milliseconds,
    /// Largest memory of one call, in bytes.
    peak_memory_bytes: u64,
}

/// Milliseconds; quantiles to within 1 %.
#[derive(Serialize, ToSchema)]
struct Milliseconds {
    /// Half of the calls took at most this.
    p50: f64,
    /// 99 of 100 calls took at most this.
    p99: f64,
    /// All calls together.
    total: f64,
}

impl From<TimeSpread> for Milliseconds {
    fn from(spread: TimeSpread) -> Self {
        // Microseconds are exact enough, and short.
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        Self {
            p50: ms(spread.p50),
            p99: ms(spread.p99),
            total: ms(spread.total),
        }
    }
}

impl From<VersionFigures> for VersionMetrics {
    fn from(figures: VersionFigures) -> Self {
        Self {
            version: figures.version,
            digest: figures.digest,
            serving: figures.serving,
            since: figures.since.into(),
            calls: figures.calls,
            error_count: figures.errors.iter().map(|(_, count)| count).sum(),
            errors: figures.errors.into_iter().collect(),
            denials: figures.denials,
            refused: figures.refused,
            wall_ms: figures.wall.into(),
            cpu_ms: figures.cpu.into(),
            peak_memory_bytes: figures.peak_memory,
        }
    }
}

/// Calls, errors by code, denials, times and memory of a plugin on this node, by version, since the node
/// first loaded the version. A project sees its own plugins only. The calls of a whole service are in
/// `/metrics`.
#[utoipa::path(
    get,
    path = "/v1/plugins/{name}/metrics",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with the prefix of its file where several kinds share it"),
        ScopeParams,
    ),
    responses(
        (status = 200, description = "The figures", body = PluginMetrics),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no plugin of that name", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn plugin_metrics(
    ctx: Ctx,
    Path(given): Path<String>,
    query: Query<ScopeParams>,
) -> JsonAnswer<PluginMetrics> {
    let scope = query.0.check(&ctx).await?;
    let plugin = scope.served(&ctx, &given).await?;
    let figures = scope.engine(&ctx).figures(plugin.kind, &plugin.name);
    Ok(Json(PluginMetrics {
        kind: plugin.kind,
        name: plugin.name,
        versions: figures.into_iter().map(VersionMetrics::from).collect(),
    }))
}

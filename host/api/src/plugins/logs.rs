//! GET /v1/plugins/{name}/logs.

use axum::Json;
use axum::extract::Path;
use orbweaver_store::{PluginLine, RecordPage};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::records::{Origin, RecordParams, next_before, owner};
use super::scope::Scope;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;

/// Levels from the least to the most severe.
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LevelParams {
    /// Only lines of this level or a more severe one: `trace`, `debug`, `info`, `warn`, `error`.
    #[param(value_type = Option<LevelWord>, inline, example = "warn")]
    level: Option<String>,
}

/// The values of `level`.
#[derive(ToSchema)]
#[schema(as = PluginLogLevel, rename_all = "lowercase")]
#[expect(dead_code, reason = "a schema, never constructed")]
enum LevelWord {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// Lines of a plugin's log.
#[derive(Serialize, ToSchema)]
pub(super) struct PluginLogs {
    /// Newest first.
    items: Vec<LogLine>,
    /// `before` of the next page; null if there is none.
    next_before: Option<i64>,
}

/// A line.
#[derive(Serialize, ToSchema)]
#[schema(as = PluginLogLine)]
struct LogLine {
    /// Its id; later lines have larger ones.
    id: i64,
    #[serde(flatten)]
    origin: Origin,
    /// `trace` to `error`.
    level: String,
    /// One line; control characters are escaped, credentials are `***`.
    message: String,
}

impl From<(i64, PluginLine)> for LogLine {
    fn from((id, line): (i64, PluginLine)) -> Self {
        Self {
            id,
            origin: Origin::new(line.at, line.origin),
            level: line.level,
            message: line.message,
        }
    }
}

/// What a plugin logged in calls for the caller's project, standard output and error included, and the
/// errors of its failed calls. The last 1,000 lines are kept for some days (`retention.plugin_records_days`);
/// under pressure lines may be missing.
#[utoipa::path(
    get,
    path = "/v1/plugins/{name}/logs",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with the prefix of its file where several kinds share it"),
        RecordParams,
        LevelParams,
    ),
    responses(
        (status = 200, description = "The lines", body = PluginLogs),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no plugin of that name", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn plugin_logs(
    ctx: Ctx,
    Path(given): Path<String>,
    query: Query<RecordParams>,
    level: Query<LevelParams>,
) -> JsonAnswer<PluginLogs> {
    let scope = Scope::check(&ctx, query.0.scope.as_deref()).await?;
    let least = match level.0.level.as_deref() {
        None => 0,
        Some(level) => LEVELS
            .iter()
            .position(|known| *known == level)
            .ok_or_else(|| {
                ApiError::invalid("level", "must be trace, debug, info, warn or error")
            })?,
    };
    let page = RecordPage {
        levels: LEVELS.get(least..).filter(|_| least > 0).unwrap_or(&[]),
        ..query.0.page()?
    };
    let owner = owner(scope, &ctx, &given).await?;
    ctx.app.actors.journal.written().await;
    let lines = ctx.app.store.plugin_lines(&owner, &page).await?;
    let next_before = next_before(lines.iter().map(|(id, _)| *id), page.limit);
    Ok(Json(PluginLogs {
        items: lines.into_iter().map(LogLine::from).collect(),
        next_before,
    }))
}

//! GET /v1/plugins/{name}/versions.

use axum::Json;
use axum::extract::Path;
use chrono::{DateTime, Utc};
use orbweaver_store::UploadedPlugin;
use serde::Serialize;
use utoipa::ToSchema;

use super::scope::ScopeParams;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;

/// A kept version of an uploaded plugin. It never changes.
#[derive(Serialize, ToSchema)]
pub(super) struct PluginVersion {
    /// Counts the uploads of this plugin, from 1.
    number: i64,
    /// Its manifest's version.
    version: String,
    /// SHA-256 of the component, lower-case hex.
    digest: String,
    /// Its length in bytes.
    size: u64,
    /// The grants named with the upload.
    grants: Vec<String>,
    /// When it was uploaded.
    uploaded_at: DateTime<Utc>,
    /// Whether this version serves.
    serving: bool,
}

impl From<UploadedPlugin> for PluginVersion {
    fn from(version: UploadedPlugin) -> Self {
        let grants = version.grants.as_deref();
        Self {
            number: version.number,
            version: version.version,
            digest: version.digest,
            size: version.size,
            grants: grants
                .and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default(),
            uploaded_at: version.uploaded_at,
            serving: version.serving,
        }
    }
}

/// The kept versions of a plugin.
#[derive(Serialize, ToSchema)]
pub(super) struct PluginVersionList {
    /// Newest first.
    items: Vec<PluginVersion>,
}

/// The kept versions of an uploaded plugin, newest first. The setting `plugins.kept_versions` says
/// how many are kept.
#[utoipa::path(
    get,
    path = "/v1/plugins/{name}/versions",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with the prefix of its file where several kinds share it"),
        ScopeParams,
    ),
    responses(
        (status = 200, description = "The versions", body = PluginVersionList),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no upload of that name", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_plugin_versions(
    ctx: Ctx,
    Path(given): Path<String>,
    query: Query<ScopeParams>,
) -> JsonAnswer<PluginVersionList> {
    let key = query.0.check(&ctx).await?.find(&ctx, &given).await?;
    let versions = ctx.app.store.plugin_versions(&key).await?;
    if versions.is_empty() {
        return Err(ApiError::not_found(format!(
            "there is no plugin `{}`",
            key.name
        )));
    }
    let items = versions.into_iter().map(PluginVersion::from).collect();
    Ok(Json(PluginVersionList { items }))
}

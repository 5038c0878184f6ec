//! POST /v1/plugins/{name}/rollback.

use axum::Json;
use axum::extract::Path;
use serde::Deserialize;
use utoipa::ToSchema;

use super::item::PluginItem;
use super::scope::ScopeParams;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::input::{OptionalPayload, Query};
use orbweaver_actors::plugins::roll_back;

/// Which version serves again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({"number": 3}))]
pub(super) struct RollbackRequest {
    /// The version's number; by default the newest one before the version that serves.
    #[schema(minimum = 1)]
    number: Option<i64>,
}

/// Serves a kept version of an uploaded plugin again, on every node within two seconds. Running calls
/// finish with the version that they began with. The version keeps the grants that were named with it.
#[utoipa::path(
    post,
    path = "/v1/plugins/{name}/rollback",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with the prefix of its file where several kinds share it"),
        ScopeParams,
    ),
    request_body(content = Option<RollbackRequest>, description = "The version; without one the one before"),
    responses(
        (status = 200, description = "The version serves", body = PluginItem),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no upload of that name, or the version is not kept", body = ErrorBody),
        (status = 409, description = "There is no version before the one that serves", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn roll_back_plugin(
    ctx: Ctx,
    Path(given): Path<String>,
    query: Query<ScopeParams>,
    payload: OptionalPayload<RollbackRequest>,
) -> JsonAnswer<PluginItem> {
    let key = query.0.check(&ctx).await?.find(&ctx, &given).await?;
    let versions = ctx.app.store.plugin_versions(&key).await?;
    let serving = versions.iter().find(|version| version.serving);
    let serving = serving.map_or(i64::MAX, |version| version.number);
    let target = match payload.value.number {
        Some(number) => {
            let named = versions
                .into_iter()
                .find(|version| version.number == number);
            named.ok_or_else(|| {
                ApiError::not_found(format!("version {number} of `{}` is not kept", key.name))
            })?
        }
        None => {
            let earlier = versions
                .into_iter()
                .find(|version| version.number < serving);
            earlier.ok_or_else(|| {
                ApiError::conflict(format!(
                    "there is no version of `{}` before number {serving}, which serves",
                    key.name
                ))
            })?
        }
    };
    let served = roll_back(&ctx.app.actors, target).await?;
    Ok(Json(PluginItem::uploaded(served.plugin, served.number)))
}

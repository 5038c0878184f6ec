//! DELETE /v1/plugins/{name}.

use axum::extract::Path;
use http::StatusCode;

use super::scope::ScopeParams;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use orbweaver_actors::plugins;

/// Removes an uploaded plugin with all its versions from every node; what it stood in front of serves
/// again: for an instance's plugin that of the folder, for a project's that of the instance.
#[utoipa::path(
    delete,
    path = "/v1/plugins/{name}",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with `actor-`, `extract-`, `site-` or `hook-` before it where several kinds share it"),
        ScopeParams,
    ),
    responses(
        (status = 204, description = "It is removed"),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no upload of that name", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn remove_plugin(
    ctx: Ctx,
    Path(given): Path<String>,
    query: Query<ScopeParams>,
) -> Result<StatusCode, ApiError> {
    let key = query.0.check(&ctx).await?.find(&ctx, &given).await?;
    if plugins::remove(&ctx.app.actors, &key).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ApiError::not_found(format!(
        "there is no plugin `{}`",
        key.name
    )))
}

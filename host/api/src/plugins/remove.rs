//! DELETE /v1/plugins/{name}.

use axum::extract::Path;
use http::StatusCode;

use super::{administrator, name};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use orbweaver_actors::plugins::kind;

/// Removes an uploaded plugin from every node; a plugin of the folder that it stood in front
/// of serves again. Administrator's keys only.
#[utoipa::path(
    delete,
    path = "/v1/plugins/{name}",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(("name" = String, Path, description = "Its name, with `actor-`, `extract-` or `site-` before it where several kinds share it")),
    responses(
        (status = 204, description = "It is removed"),
        (status = 403, description = "The key is not the administrator's", body = ErrorBody),
        (status = 404, description = "There is no upload of that name", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn remove_plugin(
    ctx: Ctx,
    Path(given): Path<String>,
) -> Result<StatusCode, ApiError> {
    administrator(&ctx)?;
    let uploads = ctx.app.store.uploaded_plugins().await?;
    let uploads: Vec<_> = uploads
        .into_iter()
        .filter_map(|upload| Some((kind(&upload.kind)?, upload.name)))
        .collect();
    let found = name::find(&given, &uploads).map_err(|rule| ApiError::invalid("name", rule))?;
    if let Some((kind, name)) = found
        && ctx
            .app
            .actors
            .overlay
            .remove(&ctx.app.store, &ctx.app.pipeline.engine, kind, &name)
            .await?
    {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ApiError::not_found(format!(
        "no plugin `{given}` was uploaded; plugins of the folder go with their file"
    )))
}

//! DELETE /v1/secrets/{name}.

use axum::extract::Path;
use http::StatusCode;

use super::check_name;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// Deletes a secret. Requests of plugins that need it fail from now on.
#[utoipa::path(
    delete,
    path = "/v1/secrets/{name}",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(("name" = String, Path, description = "Its name", pattern = "^[a-z0-9_-]{1,64}$", example = "crm-token")),
    responses(
        (status = 204, description = "It is deleted"),
        (status = 404, description = "The project has no secret of that name", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn remove_secret(
    ctx: Ctx,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    check_name(&name)?;
    let project = ctx.principal.project;
    if ctx.app.store.delete_plugin_secret(project, &name).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ApiError::not_found(format!(
        "the project has no secret `{name}`"
    )))
}

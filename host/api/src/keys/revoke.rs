//! DELETE /v1/keys/{prefix}.

use axum::extract::Path;
use http::StatusCode;
use orbweaver_store::Revoked;

use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};

/// Revokes a key at once. Revoking it again changes nothing. Where all keys that are left would expire,
/// the one that does so last does not expire any more.
#[utoipa::path(
    delete,
    path = "/v1/keys/{prefix}",
    tag = "Keys and secrets",
    params(("prefix" = String, Path, description = "First 12 characters of the key")),
    responses(
        (status = 204, description = "The key is revoked"),
        (status = 404, description = "The project has no such key", body = ErrorBody),
        (status = 409, description = "It is the last active key", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn revoke_key(
    ctx: Ctx,
    Path(prefix): Path<String>,
) -> Result<StatusCode, ApiError> {
    let (store, actor) = (&ctx.app.store, &ctx.principal.prefix);
    let (project, now) = (ctx.principal.project, ctx.app.clock.now());
    match store.revoke_key(project, &prefix, actor, now).await? {
        Revoked::Yes => {
            ctx.app.accounts.keys.changed();
            Ok(StatusCode::NO_CONTENT)
        }
        Revoked::LastActive => Err(ApiError::conflict(
            "it is the project's last active key; issue another with POST /v1/keys/rotate first",
        )),
        Revoked::Unknown => Err(ApiError::not_found("there is no such key")),
    }
}

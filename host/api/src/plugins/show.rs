//! GET /v1/plugins/{name}.

use axum::Json;
use axum::extract::Path;

use super::item::PluginItem;
use super::scope::ScopeParams;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{CommonErrors, ErrorBody};
use crate::input::Query;

/// A plugin that serves, as `GET /v1/plugins` lists it.
#[utoipa::path(
    get,
    path = "/v1/plugins/{name}",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "Its name, with the prefix of its file where several kinds share it"),
        ScopeParams,
    ),
    responses(
        (status = 200, description = "The plugin", body = PluginItem),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 404, description = "There is no plugin of that name", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn show_plugin(
    ctx: Ctx,
    Path(given): Path<String>,
    query: Query<ScopeParams>,
) -> JsonAnswer<PluginItem> {
    let scope = query.0.check(&ctx).await?;
    let plugin = scope.served(&ctx, &given).await?;
    let uploads = ctx.app.store.plugins_of(scope.owner()).await?;
    Ok(Json(PluginItem::listed(plugin, &uploads)))
}

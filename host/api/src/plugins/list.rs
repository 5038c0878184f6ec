//! GET /v1/plugins.

use axum::Json;
use orbweaver_engine::PluginInfo;
use serde::Serialize;
use utoipa::ToSchema;

use super::item::PluginItem;
use super::scope::{Scope, ScopeParams};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{CommonErrors, ErrorBody};
use crate::input::Query;

/// What serves on this node.
#[derive(Serialize, ToSchema)]
pub(super) struct PluginList {
    /// By kind and name.
    items: Vec<PluginItem>,
    /// Files of the plugin folder that are not loaded as they stand.
    refused: Vec<Refused>,
}

/// A file that is not loaded.
#[derive(Serialize, ToSchema)]
pub(super) struct Refused {
    /// Its name.
    file: String,
    /// Why.
    reason: String,
}

/// The plugins that serve, and the files that are refused: the instance's for an administrator's key,
/// else those that the project has installed for itself.
#[utoipa::path(
    get,
    path = "/v1/plugins",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(ScopeParams),
    responses(
        (status = 200, description = "The plugins", body = PluginList),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_plugins(ctx: Ctx, query: Query<ScopeParams>) -> JsonAnswer<PluginList> {
    let scope = query.0.check(&ctx).await?;
    let uploads = ctx.app.store.plugins_of(scope.owner()).await?;
    let item = |plugin: PluginInfo| PluginItem::listed(plugin, &uploads);
    let engine = match scope {
        Scope::Instance => ctx.app.pipeline.engine.clone(),
        Scope::Project(..) => {
            let engine = ctx.engine();
            engine.await_all().await;
            let items = engine.own_plugins().into_iter().map(item).collect();
            return Ok(Json(PluginList {
                items,
                refused: Vec::new(),
            }));
        }
    };
    engine.await_all().await;
    let items = engine.plugins().into_iter().map(item).collect();
    let refused = engine
        .refused()
        .into_iter()
        .map(|(path, reason)| Refused {
            file: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            reason: reason.to_string(),
        })
        .collect();
    Ok(Json(PluginList { items, refused }))
}

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
    /// Uploads, and files of the plugin folder, that this node could not load as they stand.
    refused: Vec<Refused>,
}

/// A plugin that is not loaded.
#[derive(Serialize, ToSchema)]
pub(super) struct Refused {
    /// The file's name; of an upload, the name of a file with it.
    file: String,
    /// Why.
    reason: String,
}

/// The plugins that serve, and what is refused: the instance's for an administrator's key,
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
    let not_loaded = || {
        let problems = scope.problems(&ctx).into_iter();
        let refused = problems.map(|(kind, name, reason)| Refused {
            file: format!("{}{name}.wasm", kind.file_prefix()),
            reason,
        });
        let mut refused: Vec<Refused> = refused.collect();
        refused.sort_by(|one, other| one.file.cmp(&other.file));
        refused
    };
    let engine = match scope {
        Scope::Instance => ctx.app.pipeline.engine.clone(),
        Scope::Project(..) => {
            let engine = ctx.engine();
            engine.await_all().await;
            let items = engine.own_plugins().into_iter().map(item).collect();
            return Ok(Json(PluginList {
                items,
                refused: not_loaded(),
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
        .chain(not_loaded())
        .collect();
    Ok(Json(PluginList { items, refused }))
}

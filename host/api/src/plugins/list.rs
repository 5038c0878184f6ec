//! GET /v1/plugins.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::administrator;
use super::item::PluginItem;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{CommonErrors, ErrorBody};

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

/// The plugins that serve, and the files that are refused. Administrator's keys only.
#[utoipa::path(
    get,
    path = "/v1/plugins",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    responses(
        (status = 200, description = "The plugins", body = PluginList),
        (status = 403, description = "The key is not the administrator's", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_plugins(ctx: Ctx) -> JsonAnswer<PluginList> {
    administrator(&ctx)?;
    let engine = &ctx.app.pipeline.engine;
    engine.await_all().await;
    let items = engine.plugins().into_iter().map(PluginItem::from).collect();
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

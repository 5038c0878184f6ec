//! GET /v1/secrets.

use axum::Json;
use chrono::{DateTime, Utc};
use orbweaver_store::PluginSecret;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::CommonErrors;

/// A secret without its value.
#[derive(Serialize, ToSchema)]
pub(super) struct SecretItem {
    /// Its name.
    name: String,
    /// The origins that may receive it.
    hosts: Vec<String>,
    /// When it was first stored.
    created_at: DateTime<Utc>,
    /// When its value or its hosts were last stored.
    updated_at: DateTime<Utc>,
}

/// The secrets of a project.
#[derive(Serialize, ToSchema)]
pub(super) struct SecretList {
    /// By name.
    items: Vec<SecretItem>,
}

impl From<PluginSecret> for SecretItem {
    fn from(secret: PluginSecret) -> Self {
        Self {
            name: secret.name,
            hosts: serde_json::from_str(&secret.hosts).unwrap_or_default(),
            created_at: secret.created_at,
            updated_at: secret.updated_at,
        }
    }
}

/// The project's secrets for requests of plugins, without their values.
#[utoipa::path(
    get,
    path = "/v1/secrets",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    responses((status = 200, description = "The secrets", body = SecretList), CommonErrors)
)]
pub(super) async fn list_secrets(ctx: Ctx) -> JsonAnswer<SecretList> {
    let secrets = ctx.app.store.plugin_secrets(ctx.principal.project).await?;
    let items = secrets.into_iter().map(SecretItem::from).collect();
    Ok(Json(SecretList { items }))
}

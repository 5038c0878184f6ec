//! GET /v1/keys.

use axum::Json;
use chrono::{DateTime, Utc};
use orbweaver_store::{ApiKey, KeyState};
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::CommonErrors;

/// Active, expired and revoked keys, oldest first.
#[derive(Serialize, ToSchema)]
pub(super) struct Keys {
    items: Vec<KeyItem>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ApiKey)]
struct KeyItem {
    /// First 12 characters of the key.
    #[schema(min_length = 12, max_length = 12)]
    prefix: String,
    label: Option<String>,
    created_at: DateTime<Utc>,
    /// To within half a minute.
    last_used_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
    /// When the key ends, or ended, after a rotation.
    expires_at: Option<DateTime<Utc>>,
    #[schema(extensions(("x-extension" = json!(true))))]
    state: State,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = KeyState)]
enum State {
    Active,
    Expired,
    Revoked,
}

impl KeyItem {
    fn new(key: ApiKey, now: DateTime<Utc>) -> Self {
        Self {
            state: match key.state(now) {
                KeyState::Active => State::Active,
                KeyState::Expired => State::Expired,
                KeyState::Revoked => State::Revoked,
            },
            prefix: key.prefix,
            label: key.label,
            created_at: key.created_at,
            last_used_at: key.last_used_at,
            revoked_at: key.revoked_at,
            expires_at: key.expires_at,
        }
    }
}

/// The project's keys; never the keys themselves.
#[utoipa::path(
    get,
    path = "/v1/keys",
    tag = "Keys and secrets",
    responses((status = 200, description = "All keys, expired and revoked ones included for 90 days after their end (the newest 1,000 of them)", body = Keys), CommonErrors)
)]
pub(super) async fn list_keys(ctx: Ctx) -> JsonAnswer<Keys> {
    let keys = ctx.app.store.keys(ctx.principal.project).await?;
    let now = ctx.app.clock.now();
    Ok(Json(Keys {
        items: keys.into_iter().map(|key| KeyItem::new(key, now)).collect(),
    }))
}

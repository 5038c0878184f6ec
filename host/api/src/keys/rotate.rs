//! POST /v1/keys/rotate.

use axum::Json;
use chrono::TimeDelta;
use orbweaver_core::json_number::whole;
use orbweaver_store::MAX_ACTIVE_KEYS;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::input::Optional;
use orbweaver_accounts::new_key::FreshKey;

const DEFAULT_GRACE: u64 = 86_400;
/// A year: a key that shall live longer needs no end.
const MAX_GRACE: u64 = 31_536_000;
const MAX_LABEL: usize = 100;

/// How to replace the project's keys.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"label": "laptop", "grace_seconds": 86400}))]
pub(super) struct RotateRequest {
    /// What to call the new key.
    #[schema(max_length = 100)]
    label: Option<String>,
    /// How long the keys that are there still work; those that end before it end when they do.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 31_536_000, default = 86_400)]
    grace_seconds: Option<u64>,
}

/// The new key, shown only this once.
#[derive(Serialize, ToSchema)]
pub(super) struct Rotated {
    api_key: String,
    /// Its first 12 characters.
    #[schema(min_length = 12, max_length = 12)]
    prefix: String,
    label: Option<String>,
    grace_seconds: u64,
}

/// What a key may be called.
fn label(label: Option<String>) -> Result<Option<String>, ApiError> {
    let Some(label) = label.filter(|label| !label.is_empty()) else {
        return Ok(None);
    };
    if label.chars().count() > MAX_LABEL {
        return Err(ApiError::invalid("label", "must be at most 100 characters"));
    }
    if label.chars().any(char::is_control) {
        return Err(ApiError::invalid(
            "label",
            "must not hold control characters",
        ));
    }
    Ok(Some(label))
}

/// Issues a new key; the others end after the grace period.
///
/// The answer is never kept under an Idempotency-Key: a key is stored as a hash only.
#[utoipa::path(
    post,
    path = "/v1/keys/rotate",
    tag = "Keys and secrets",
    request_body = Option<RotateRequest>,
    responses(
        (status = 200, description = "The new key", body = Rotated),
        (status = 409, description = "The project has 100 active keys, and the grace period would keep them", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn rotate_keys(
    ctx: Ctx,
    Optional(request): Optional<RotateRequest>,
) -> JsonAnswer<Rotated> {
    let label = label(request.label)?;
    let grace = request.grace_seconds.unwrap_or(DEFAULT_GRACE);
    if grace > MAX_GRACE {
        return Err(ApiError::invalid(
            "grace_seconds",
            "must be at most 31536000 (a year)",
        ));
    }
    let key = FreshKey::generate().map_err(|error| ApiError::internal(&error))?;
    let now = ctx.app.clock.now();
    let end = now + TimeDelta::seconds(i64::try_from(grace).unwrap_or(i64::MAX));
    let (store, actor) = (&ctx.app.store, &ctx.principal.prefix);
    let rotated = store
        .rotate_keys(
            ctx.principal.project,
            &key.row(label.as_deref()),
            end,
            actor,
            now,
        )
        .await?;
    if rotated.is_none() {
        return Err(ApiError::conflict(format!(
            "the project has {MAX_ACTIVE_KEYS} active keys; revoke one with \
             DELETE /v1/keys/{{prefix}}, or send grace_seconds 0, which ends all others"
        )));
    }
    ctx.app.accounts.keys.changed();
    Ok(Json(Rotated {
        api_key: key.expose().to_owned(),
        prefix: key.prefix().to_owned(),
        label,
        grace_seconds: grace,
    }))
}

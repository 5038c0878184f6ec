//! PATCH /v1/crons/{id}.

use axum::Json;
use orbweaver_store::monitors::{MonitorChange, NextFire};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::path::{MonitorPath, no_monitor};
use super::view::{self, View};
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::ApiError;
use crate::error::{BodyErrors, CommonErrors, ErrorBody};
use crate::input::Payload;
use crate::validate;

/// What to change; at least one field.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(as = MonitorChange, min_properties = 1, example = json!({"schedule": "0 6 * * 1"}))]
pub(super) struct Change {
    /// Five fields, UTC.
    #[schema(example = "0 6 * * 1")]
    schedule: Option<String>,
    /// False pauses the monitor; true resumes it at the next time of its schedule.
    enabled: Option<bool>,
    /// Receives the webhooks of later runs; null: later runs have no webhook.
    #[serde(default, deserialize_with = "given")]
    #[schema(format = "uri", value_type = Option<String>)]
    webhook_url: Option<Option<String>>,
}

/// A member that is there, be it null.
fn given<'de, D: Deserializer<'de>>(member: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(member).map(Some)
}

/// Changes a monitor.
#[utoipa::path(
    patch,
    path = "/v1/crons/{id}",
    tag = "Monitors",
    params(("id" = i64, Path, description = "The monitor")),
    request_body = Change,
    responses(
        (status = 200, description = "The monitor as it is now", body = View),
        (status = 404, description = "No such monitor in this project", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn change_cron(
    ctx: Ctx,
    MonitorPath(id): MonitorPath,
    payload: Payload<Change>,
) -> JsonAnswer<View> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    let wanted = payload.value;
    if wanted.schedule.is_none() && wanted.enabled.is_none() && wanted.webhook_url.is_none() {
        return Err(ApiError::invalid(
            "body",
            "must have at least one of schedule, enabled, webhook_url",
        ));
    }
    let now = app.clock.now();
    let given = wanted
        .schedule
        .as_deref()
        .map(|text| view::schedule("schedule", text, now))
        .transpose()?;
    if let Some(Some(url)) = &wanted.webhook_url {
        validate::url(app, "webhook_url", url)?;
    }
    let monitor = app.store.monitor(project, id).await?;
    let monitor = monitor.ok_or_else(no_monitor)?;
    let next_fire = match (wanted.enabled, &given) {
        (Some(false), _) => NextFire::Never,
        (Some(true), Some((_, next))) => NextFire::At(*next),
        (Some(true), None) => {
            NextFire::IfPaused(view::schedule("schedule", &monitor.schedule, now)?.1)
        }
        (None, Some((_, next))) => NextFire::IfEnabled(*next),
        (None, None) => NextFire::Unchanged,
    };
    let spec = match wanted.webhook_url {
        None => None,
        Some(url) => {
            let has_webhook = url.is_some();
            let mut spec = view::spec(&monitor)?;
            spec.webhook_url = url;
            let spec = serde_json::to_string(&spec).map_err(|error| ApiError::internal(&error))?;
            Some((spec, has_webhook))
        }
    };
    let change = MonitorChange {
        schedule: given.map(|(schedule, _)| schedule.as_str().to_owned()),
        next_fire,
        spec,
    };
    let changed = app.store.change_monitor(project, id, &change).await?;
    Ok(Json(changed.ok_or_else(no_monitor)?.try_into()?))
}

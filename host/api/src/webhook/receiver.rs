//! GET, PUT and DELETE /v1/webhook: the receiver of events that belong to no run.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, SubsecRound as _, Utc};
use http::StatusCode;
use orbweaver_core::ids::DeliveryId;
use orbweaver_core::webhook::PluginEvent;
use orbweaver_store::webhook::{ProjectReceiver, ReceiverDelivery};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};

use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::crawls::words::DeliveryStatus;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::input::Payload;
use crate::validate;

/// Deliveries shown.
const SHOWN: u32 = 20;

/// The receiver to set.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://hooks.example.com/orbweaver"}))]
pub(super) struct WebhookReceiverRequest {
    /// An absolute http or https URL.
    #[schema(format = "uri")]
    url: String,
    /// Which events are sent; all without it.
    #[schema(schema_with = events_schema)]
    events: Option<Vec<String>>,
}

/// `events` for the OpenAPI document.
fn events_schema() -> Schema {
    let names = PluginEvent::ALL.map(PluginEvent::as_str);
    let event = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(names));
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .description(Some("Which events are sent; all without it."))
        .items(event)
        .min_items(Some(1))
        .examples([json!(names)])
        .into()
}

/// The project's receiver of events that belong to no run.
#[derive(Serialize, ToSchema)]
pub(super) struct WebhookReceiver {
    url: String,
    /// The events that are sent.
    events: Vec<&'static str>,
    updated_at: DateTime<Utc>,
    /// The last 20 deliveries, newest first. They are kept as long as what plugins logged.
    deliveries: Vec<ReceiverDeliveryItem>,
}

/// One event's delivery.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookReceiverDelivery)]
struct ReceiverDeliveryItem {
    #[schema(value_type = i64)]
    id: DeliveryId,
    /// The `webhook-id` header of every attempt.
    webhook_id: String,
    event: String,
    #[schema(value_type = DeliveryStatus)]
    status: &'static str,
    /// Number of attempts.
    attempts: u32,
    /// Why the last attempt failed; null if none did.
    last_error: Option<String>,
    created_at: DateTime<Utc>,
    /// When it was delivered or given up.
    finished_at: Option<DateTime<Utc>>,
}

impl From<ReceiverDelivery> for ReceiverDeliveryItem {
    fn from(delivery: ReceiverDelivery) -> Self {
        Self {
            id: delivery.id,
            webhook_id: delivery.message_id,
            event: delivery.event,
            status: delivery.state.as_str(),
            attempts: delivery.attempts,
            last_error: delivery.last_error,
            created_at: delivery.created_at,
            finished_at: delivery.finished_at,
        }
    }
}

/// The project's receiver, and what it was sent.
#[utoipa::path(
    get,
    path = "/v1/webhook",
    tag = "Keys and secrets",
    extensions(("x-extension" = json!(true))),
    responses(
        (status = 200, description = "The receiver", body = WebhookReceiver),
        (status = 404, description = "The project has none", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn webhook_receiver(ctx: Ctx) -> JsonAnswer<WebhookReceiver> {
    let project = ctx.principal.project;
    match ctx.app.store.project_receiver(project).await? {
        Some(receiver) => Ok(Json(shown(&ctx, receiver).await?)),
        None => Err(none()),
    }
}

/// Sets the receiver of events that belong to no run: `plugin.quarantined` when calls of a plugin are
/// refused because the last ones crashed, and `plugin.recovered` when they are let through again. They are
/// signed and tried again as the webhooks of crawls.
#[utoipa::path(
    put,
    path = "/v1/webhook",
    tag = "Keys and secrets",
    extensions(("x-extension" = json!(true))),
    request_body = WebhookReceiverRequest,
    responses(
        (status = 200, description = "It replaced the one before", body = WebhookReceiver),
        (status = 201, description = "The project had none", body = WebhookReceiver),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn set_webhook_receiver(
    ctx: Ctx,
    payload: Payload<WebhookReceiverRequest>,
) -> Result<Response, ApiError> {
    let WebhookReceiverRequest { url, events } = payload.value;
    validate::url(&ctx.app, "url", &url)?;
    let receiver = ProjectReceiver {
        url,
        events: parsed(events)?,
        // Cut to the precision with which it is stored.
        updated_at: ctx.app.clock.now().trunc_subsecs(3),
    };
    let (store, project) = (&ctx.app.store, ctx.principal.project);
    let is_new = store.set_project_receiver(project, &receiver).await?;
    let status = match is_new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok((status, Json(shown(&ctx, receiver).await?)).into_response())
}

/// Removes the receiver. Deliveries that wait are still tried.
#[utoipa::path(
    delete,
    path = "/v1/webhook",
    tag = "Keys and secrets",
    extensions(("x-extension" = json!(true))),
    responses(
        (status = 204, description = "It is removed"),
        (status = 404, description = "The project has none", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn remove_webhook_receiver(ctx: Ctx) -> Result<StatusCode, ApiError> {
    let project = ctx.principal.project;
    match ctx.app.store.remove_project_receiver(project).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(none()),
    }
}

fn none() -> ApiError {
    ApiError::not_found("the project has no receiver; PUT /v1/webhook sets one".to_owned())
}

async fn shown(ctx: &Ctx, receiver: ProjectReceiver) -> Result<WebhookReceiver, ApiError> {
    let (store, project) = (&ctx.app.store, ctx.principal.project);
    let deliveries = store.receiver_deliveries(project, SHOWN).await?;
    Ok(WebhookReceiver {
        url: receiver.url,
        events: receiver.events.iter().map(|event| event.as_str()).collect(),
        updated_at: receiver.updated_at,
        deliveries: deliveries
            .into_iter()
            .map(ReceiverDeliveryItem::from)
            .collect(),
    })
}

/// The events of a request, each once; all if it names none.
fn parsed(names: Option<Vec<String>>) -> Result<Vec<PluginEvent>, ApiError> {
    let Some(names) = names else {
        return Ok(PluginEvent::ALL.to_vec());
    };
    if names.is_empty() {
        return Err(ApiError::invalid("events", "must name at least one event"));
    }
    let mut events = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let event: PluginEvent = name
            .parse()
            .map_err(|error| ApiError::invalid(&format!("events[{index}]"), error))?;
        if !events.contains(&event) {
            events.push(event);
        }
    }
    Ok(events)
}

//! POST /v1/billing/webhook.

use axum::Json;
use axum::extract::{Request, State};
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::JsonAnswer;
use crate::app::App;
use crate::error::{ApiError, BodyErrors, ErrorBody};
use crate::input;
use orbweaver_accounts::billing::{self, Event};
use orbweaver_accounts::signup::{self, SignupError};

/// Largest event, in bytes: providers' events have a few KiB.
const MAX_EVENT: usize = 512 << 10;

/// The event was taken note of.
#[derive(Serialize, ToSchema)]
pub(super) struct Received {
    received: bool,
}

/// Where the payment provider reports payments: completes the intent that was paid, once,
/// however often the report comes.
#[utoipa::path(
    post,
    path = "/v1/billing/webhook",
    tag = "Signup and billing",
    security(()),
    params(("Stripe-Signature" = String, Header, description = "`t=SECONDS,v1=HEX`")),
    request_body(content = Object, description = "The provider's event"),
    responses(
        (status = 200, description = "The event is accepted", body = Received),
        (status = 500, description = "The service failed; send it again", body = ErrorBody),
        (status = 501, description = "No webhook secret is configured", body = ErrorBody),
        BodyErrors,
    ),
    extensions(("x-extension" = json!(true)))
)]
pub(super) async fn billing_webhook(
    State(app): State<App>,
    headers: HeaderMap,
    request: Request,
) -> JsonAnswer<Received> {
    let settings = &app.accounts.billing;
    let Some(secret) = &settings.webhook_secret else {
        return Err(ApiError::not_configured(
            "no webhook secret is configured; set billing.webhook_secret",
        ));
    };
    let body = input::body(request, &app, MAX_EVENT).await?;
    let signature = headers
        .get("stripe-signature")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let (tolerance, now) = (settings.webhook_tolerance_seconds.0, app.clock.now());
    if !billing::is_signed(secret, signature, &body, tolerance, now) {
        return Err(ApiError::bad_request(
            "Stripe-Signature: is missing, too old, or not of this body",
        ));
    }
    let event: Event = serde_json::from_slice(&body)
        .map_err(|error| ApiError::bad_request(format!("the body is not an event: {error}")))?;
    if let Some(intent) = event.paid_intent() {
        match signup::complete(&app.accounts, intent).await {
            Ok(_) => {}
            // Sending it again would not help: it is not ours, or was removed.
            Err(SignupError::Refused(..)) => {
                tracing::error!(%intent, "payment for an unknown intent");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Json(Received { received: true }))
}

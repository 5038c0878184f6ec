//! GET /v1/billing/checkout.

use axum::extract::State;
use axum::{Extension, Json};
use http::HeaderMap;
use orbweaver_core::ids::IntentId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::JsonAnswer;
use crate::app::App;
use crate::base::base_url;
use crate::error::ErrorBody;
use crate::input::Query;
use crate::scope::Scope;
use orbweaver_accounts::billing;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// From POST /v1/signup.
    intent_id: i64,
}

/// Where to pay.
#[derive(Serialize, ToSchema)]
pub(super) struct Checkout {
    intent_id: i64,
    tier: String,
    checkout_url: String,
    /// No payment provider is configured: a visit to the URL counts as payment.
    mock: bool,
}

/// A checkout session of the payment provider for an intent.
#[utoipa::path(
    get,
    path = "/v1/billing/checkout",
    tag = "Signup and billing",
    security(()),
    params(Params),
    responses(
        (status = 200, description = "Where to pay", body = Checkout),
        (status = 404, description = "There is no such intent", body = ErrorBody),
        (status = 409, description = "The intent is paid already", body = ErrorBody),
        (status = 422, description = "intent_id is missing or no number", body = ErrorBody),
        (status = 500, description = "The service failed", body = ErrorBody),
        (status = 501, description = "The tier has no price configured", body = ErrorBody),
        (status = 502, description = "The payment provider failed", body = ErrorBody),
    )
)]
pub(super) async fn checkout(
    State(app): State<App>,
    Extension(scope): Extension<Scope>,
    headers: HeaderMap,
    query: Query<Params>,
) -> JsonAnswer<Checkout> {
    let intent = IntentId(query.0.intent_id);
    let base = base_url(&app, &scope, &headers);
    let checkout = billing::checkout(&app.accounts, intent, &base).await?;
    Ok(Json(Checkout {
        intent_id: intent.get(),
        tier: checkout.intent.tier,
        checkout_url: checkout.url,
        mock: checkout.mock,
    }))
}

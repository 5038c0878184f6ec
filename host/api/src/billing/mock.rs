//! GET /v1/billing/mock/{intent_id}: where the mock checkout's URL leads.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, Method, StatusCode, header};
use orbweaver_core::ids::IntentId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::error::{ApiError, ErrorBody};
use crate::input::Query;
use orbweaver_accounts::{billing, signup};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// The token in the checkout's URL.
    token: String,
}

/// The result of a mock payment.
#[derive(Serialize, ToSchema)]
pub(super) struct MockPayment {
    /// `completed`.
    #[schema(example = "completed")]
    status: &'static str,
    intent_id: i64,
    /// The new project's id; present if this visit made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    project_id: Option<i64>,
    /// The new project's name; present if this visit made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    project_name: Option<String>,
    /// The new project's key; present if this visit made it and the server sends no mail. It is shown only
    /// this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    api_key: Option<String>,
}

/// Counts as payment if no payment provider is configured: creates the project and
/// mails its key. Visiting again changes nothing.
#[utoipa::path(
    get,
    path = "/v1/billing/mock/{intent_id}",
    tag = "Signup and billing",
    security(()),
    params(("intent_id" = i64, Path, description = "The intent"), Params),
    responses(
        (status = 200, description = "The intent is complete", body = MockPayment),
        (status = 404, description = "There is no such checkout", body = ErrorBody),
        (status = 422, description = "The token is missing", body = ErrorBody),
        (status = 500, description = "The service failed", body = ErrorBody),
    ),
    extensions(("x-extension" = json!(true)))
)]
pub(super) async fn mock_checkout(
    State(app): State<App>,
    method: Method,
    Path(intent): Path<String>,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let intent: IntentId = intent
        .parse()
        .map_err(|_| ApiError::not_found("there is no such checkout"))?;
    if !billing::is_mock_token(&app.accounts, intent, &query.0.token) {
        return Err(ApiError::not_found("there is no such checkout"));
    }
    // A look ahead, such as a link's preview, is no payment, and has no body for the key.
    if method == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    let completed = signup::complete(&app.accounts, intent).await?;
    let mut payment = MockPayment {
        status: "completed",
        intent_id: intent.get(),
        project_id: None,
        project_name: None,
        api_key: None,
    };
    if let Some(completed) = completed {
        payment.project_id = Some(completed.project.get());
        payment.project_name = Some(completed.name);
        if !app.accounts.mailer.is_configured() {
            payment.api_key = Some(completed.key.expose().to_owned());
        }
    }
    let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(([no_store], Json(payment)).into_response())
}

//! POST /v1/signup.

use axum::Json;
use axum::extract::{FromRequest as _, Request, State};
use axum::{Extension, response::IntoResponse as _, response::Response};
use http::HeaderValue;
use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::base::base_url;
use crate::error::{ApiError, BodyErrors, ErrorBody};
use crate::input::{AtMost, Payload};
use crate::scope::Scope;
use orbweaver_accounts::project_name::is_project_name;
use orbweaver_accounts::signup::{self, Applicant, Outcome, TIERS};
use orbweaver_accounts::{billing, mail};

/// Longest address that mail servers take.
const MAX_EMAIL: usize = 254;
const MAX_TOKEN: usize = 2_048;

/// A small body, because its sender has no key.
type Body = Payload<SignupRequest, AtMost<{ 64 << 10 }>>;

/// A request for a new project.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"project_name": "my-project", "email": "me@example.com"}))]
pub(super) struct SignupRequest {
    /// Letters, digits, underscores and hyphens; unique.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    project_name: String,
    /// The address to which the key is sent.
    #[schema(format = "email", max_length = 254)]
    email: String,
    /// free, pro, agency or studio.
    #[schema(default = "free", pattern = "^(free|pro|agency|studio)$")]
    tier: Option<String>,
    /// What the bot challenge gave; required where the server has one configured.
    #[schema(max_length = 2048)]
    turnstile_token: Option<String>,
}

impl SignupRequest {
    fn check(self, ip: &str) -> Result<Applicant, ApiError> {
        if !is_project_name(&self.project_name) {
            return Err(ApiError::invalid(
                "project_name",
                "must be 1 to 64 letters, digits, underscores and hyphens",
            ));
        }
        if self.email.len() > MAX_EMAIL || !mail::is_public_address(&self.email) {
            return Err(ApiError::invalid("email", "must be an email address"));
        }
        let tier = self.tier.unwrap_or_else(|| signup::FREE.to_owned());
        if !TIERS.contains(&tier.as_str()) {
            return Err(ApiError::invalid(
                "tier",
                "must be one of free, pro, agency, studio",
            ));
        }
        let challenge = self.turnstile_token.filter(|token| !token.is_empty());
        if challenge
            .as_ref()
            .is_some_and(|token| token.len() > MAX_TOKEN)
        {
            return Err(ApiError::invalid(
                "turnstile_token",
                "must be at most 2048 characters",
            ));
        }
        Ok(Applicant {
            project_name: self.project_name,
            email: self.email,
            tier,
            challenge,
            ip: ip.parse().ok(),
        })
    }
}

/// A free project, or a paid one that waits for its payment.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum SignedUp {
    /// Tier free.
    Project(NewProject),
    /// Every other tier.
    Intent(NewIntent),
}

#[derive(Serialize, ToSchema)]
pub(super) struct NewProject {
    project_id: i64,
    project_name: String,
    tier: String,
    /// Shown only this once; also mailed, where the server sends mail.
    api_key: String,
    /// The key's first 12 characters.
    prefix: String,
}

#[derive(Serialize, ToSchema)]
pub(super) struct NewIntent {
    intent_id: i64,
    project_name: String,
    tier: String,
    /// URL of the payment page. The key is mailed after payment.
    checkout_url: String,
}

/// Creates a free project, or an intent of a paid one.
///
/// 3 attempts per address in 24 hours.
#[utoipa::path(
    post,
    path = "/v1/signup",
    tag = "Signup and billing",
    security(()),
    request_body = SignupRequest,
    responses(
        (status = 200, description = "The project and its key, or where to pay", body = SignedUp),
        (status = 403, description = "Signups are disabled on this server", body = ErrorBody),
        (status = 422, description = "A field breaks a rule, the name is taken, the challenge \
                                      was not passed, or there were too many attempts",
         body = ErrorBody),
        (status = 500, description = "The service failed", body = ErrorBody),
        (status = 502, description = "The challenge cannot be verified now", body = ErrorBody),
        BodyErrors,
    )
)]
pub(super) async fn signup(
    State(app): State<App>,
    Extension(scope): Extension<Scope>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    if !app.accounts.signup.is_open() {
        return Err(ApiError::forbidden("signups are disabled on this server"));
    }
    let payload: Body = Body::from_request(request, &app).await?;
    let applicant = payload.value.check(scope.client())?;
    let signed_up = match signup::sign_up(&app.accounts, &applicant).await? {
        Outcome::Project(project, key) => SignedUp::Project(NewProject {
            project_id: project.get(),
            project_name: applicant.project_name,
            tier: applicant.tier,
            api_key: key.expose().to_owned(),
            prefix: key.prefix().to_owned(),
        }),
        Outcome::Intent(intent) => {
            let base = base_url(&app, &scope, &headers);
            // A provider that fails now may do better when the client asks again.
            let checkout_url = match billing::checkout(&app.accounts, intent, &base).await {
                Ok(checkout) => checkout.url,
                Err(error) => {
                    tracing::warn!(%error, %intent, "no checkout for a signup yet");
                    format!("{base}/v1/billing/checkout?intent_id={intent}")
                }
            };
            SignedUp::Intent(NewIntent {
                intent_id: intent.get(),
                project_name: applicant.project_name,
                tier: applicant.tier,
                checkout_url,
            })
        }
    };
    let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(([no_store], Json(signed_up)).into_response())
}

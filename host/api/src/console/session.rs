//! Who is signed in: a key, sealed in a cookie that no script can read.
//!
//! The service keeps no session: every node opens the cookie with the instance's secret, and asks
//! of the key in it what the API asks, so that a revoked key ends at once.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequestParts, Request};
use axum::response::{IntoResponse as _, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};

use super::notice;
use super::render;
use super::visitor::Visitor;
use crate::app::App;
use crate::base::base_url;
use crate::context::{Ctx, admit};
use crate::error::ApiError;
use crate::input;
use crate::origin;
use crate::scope::Scope;
use orbweaver_accounts::random;

const COOKIE: &str = "orbweaver_session";
/// What the cookie is sealed for.
const PURPOSE: &str = "console session";
/// How long a sign-in lasts, in seconds.
const LASTS: i64 = 12 * 3_600;
/// Largest form, in bytes.
const MAX_FORM: usize = 1 << 20;
/// Fields of one form that are read.
const MAX_FIELDS: usize = 1_000;

/// What the cookie holds.
#[derive(Serialize, Deserialize)]
struct Session {
    key: String,
    /// Stands in every form of this sign-in.
    csrf: String,
    /// Seconds since 1970.
    at: i64,
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        match visitor(parts, app).await {
            Ok(Some(visitor)) => Ok(visitor),
            // To the sign-in.
            Ok(None) => Err(Redirect::to("/").into_response()),
            Err(error) => Err(refusal(app, error)),
        }
    }
}

impl OptionalFromRequestParts<App> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Option<Self>, Infallible> {
        Ok(visitor(parts, app).await.ok().flatten())
    }
}

async fn visitor(parts: &mut Parts, app: &App) -> Result<Option<Visitor>, ApiError> {
    let Some(session) = open(app, &parts.headers) else {
        return Ok(None);
    };
    let Some(scope) = parts.extensions.get::<Scope>().cloned() else {
        return Err(ApiError::internal(&"the scope layer is missing"));
    };
    let principal = admit(app, &scope, &session.key).await?;
    Ok(Some(Visitor {
        base: base_url(app, &scope, &parts.headers),
        warnings: notice::read(app, parts.uri.query()),
        csrf: session.csrf,
        ctx: Ctx {
            app: app.clone(),
            principal,
            scope,
            idempotency_key: None,
            path: parts.uri.path().to_owned(),
        },
    }))
}

/// For a key that may not: back to the sign-in where it is not valid any more.
fn refusal(app: &App, error: ApiError) -> Response {
    if error.status() != http::StatusCode::UNAUTHORIZED {
        return render::error(&error.into());
    }
    let mut response = Redirect::to("/").into_response();
    end(app, &mut response);
    response
}

/// Signs in: checks the key and sets the cookie.
///
/// # Errors
/// 401 for a key that is not valid, and what else a request with it would be refused for.
pub(super) async fn begin(
    app: &App,
    scope: &Scope,
    key: &str,
    response: &mut Response,
) -> Result<(), ApiError> {
    admit(app, scope, key).await?;
    let token: [u8; 16] = random::bytes().map_err(|error| ApiError::internal(&error))?;
    let session = Session {
        key: key.to_owned(),
        csrf: hex::encode(token),
        at: app.clock.now().timestamp(),
    };
    let text = serde_json::to_string(&session).map_err(|error| ApiError::internal(&error))?;
    let sealed = app.accounts.seal.seal(&text, PURPOSE);
    let sealed = sealed.map_err(|error| ApiError::internal(&error))?;
    set(app, response, &URL_SAFE_NO_PAD.encode(sealed), LASTS);
    Ok(())
}

/// Signs out.
pub(super) fn end(app: &App, response: &mut Response) {
    set(app, response, "", 0);
}

fn set(app: &App, response: &mut Response, value: &str, seconds: i64) {
    let public = app.settings.public_url.as_ref();
    let is_secure =
        app.settings.serves_tls || public.is_some_and(|url| url.base().starts_with("https://"));
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

fn open(app: &App, headers: &HeaderMap) -> Option<Session> {
    let cookie = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))?;
    let sealed = URL_SAFE_NO_PAD.decode(cookie).ok()?;
    let text = app.accounts.seal.open(&sealed, PURPOSE)?;
    let session: Session = serde_json::from_str(&text).ok()?;
    let age = app.clock.now().timestamp() - session.at;
    (0..LASTS).contains(&age).then_some(session)
}

/// A form that a signed-in visitor sent from one of our pages.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) visitor: Visitor,
    fields: Vec<(String, String)>,
}

impl Form {
    /// The first field of this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut named = self.fields.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.as_str())
    }
}

impl FromRequest<App> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visitor =
            <Visitor as FromRequestParts<App>>::from_request_parts(&mut parts, app).await?;
        let fields = fields(Request::from_parts(parts, body), app)
            .await
            .map_err(|error| render::error(&error.into()))?;
        let form = Self { visitor, fields };
        let token = form.get("csrf").unwrap_or_default();
        if !is_same(token.as_bytes(), form.visitor.csrf.as_bytes()) {
            let error = ApiError::forbidden(
                "the form is not of this sign-in; open the page again and send it once more",
            );
            return Err(render::error(&error.into()));
        }
        Ok(form)
    }
}

/// The fields of a form that one of our pages sent.
///
/// # Errors
/// 403 for a page of another site, 413 for too much.
pub(super) async fn fields(request: Request, app: &App) -> Result<Vec<(String, String)>, ApiError> {
    origin::check(app, request.headers())?;
    let body: Bytes = input::body(request, app, MAX_FORM).await?;
    Ok(form_urlencoded::parse(&body)
        .into_owned()
        .take(MAX_FIELDS)
        .collect())
}

/// Compares in a time that does not tell where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

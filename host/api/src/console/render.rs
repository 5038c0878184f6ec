//! Pages from templates.

use std::sync::LazyLock;

use axum::response::{Html, IntoResponse as _, Response};
use http::{HeaderValue, header};
use minijinja::{Environment, Value, context};

use crate::error::ApiError;

/// Files of this server alone, and no inline script or style.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// All templates; what they print is escaped, since their names end in `.html`.
const TEMPLATES: [(&str, &str); 2] = [
    ("layout.html", include_str!("templates/layout.html")),
    ("welcome.html", include_str!("templates/welcome.html")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    for (name, source) in TEMPLATES {
        if let Err(error) = environment.add_template(name, source) {
            tracing::error!(name, %error, "a template of the console is wrong");
        }
    }
    environment
});

/// A page of the console.
///
/// # Errors
/// 500 where a template is wrong.
pub(super) fn page(template: &str, values: Value) -> Result<Response, ApiError> {
    let common = context! { version => env!("CARGO_PKG_VERSION"), ..values };
    let html = ENVIRONMENT
        .get_template(template)
        .and_then(|template| template.render(common))
        .map_err(|error| ApiError::internal(&format!("{error:#}")))?;
    let mut response = Html(html).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

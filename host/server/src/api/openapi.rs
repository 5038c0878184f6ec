//! `/openapi.json` and `/docs`.

use axum::Router;
use axum::routing::{MethodRouter, get};
use http::header::CONTENT_TYPE;
use utoipa::Modify;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::error::{Code, ErrorBody};
use crate::app::App;

/// Version of the description, as the contract states it.
const VERSION: &str = "0.4.1";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Orbweaver",
        description = "Crawl, scan and extract the web. Every request but the public ones \
                       carries `Authorization: Bearer <API_KEY>`; every error wears the same \
                       envelope; every answer has an `X-Request-Id`. What is marked \
                       `x-extension` goes beyond the contract.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "/", description = "This server")),
    security(("bearer" = [])),
    components(schemas(ErrorBody, Code)),
    modifiers(&Bearer),
    tags(
        (name = "Health", description = "Liveness and readiness; public."),
        (name = "Crawls", description = "Whole sites, in the background: runs, their pages and links."),
        (name = "Monitors", description = "Crawls that recur by a schedule and are compared with the run before."),
        (name = "Webhooks", description = "What was told of a run's end, to whom, and how it went."),
        (name = "Scan", description = "One page, or up to a hundred, at once."),
        (name = "Cloud", description = "Browser, proxy pools, an upstream provider; search."),
        (name = "Robots", description = "robots.txt, llms.txt and what AI crawlers may do."),
        (name = "Keys and secrets", description = "The project's keys, and what signs its webhooks."),
        (name = "Signup and billing", description = "How strangers get a project; public."),
        (name = "Usage and logs", description = "What the project asked and what it cost."),
    )
)]
struct Base;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("`orb_` and 32 characters of base64url"))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

pub(super) fn base() -> OpenApi {
    Base::openapi()
}

/// What only the whole document has.
pub(super) fn complete(mut document: OpenApi) -> OpenApi {
    document.info.version = VERSION.to_owned();
    document
}

/// Serves the document; serialised once.
pub(super) fn route(document: &OpenApi) -> MethodRouter<App> {
    let text = document.to_pretty_json().unwrap_or_else(|error| {
        tracing::error!(%error, "the OpenAPI document does not serialise");
        "{}".to_owned()
    });
    let text = bytes::Bytes::from(text);
    get(async move || ([(CONTENT_TYPE, "application/json")], text))
}

/// The API reference, all assets inside the binary.
pub(super) fn docs() -> Router<App> {
    SwaggerUi::new("/docs")
        .config(Config::from("/openapi.json"))
        .into()
}

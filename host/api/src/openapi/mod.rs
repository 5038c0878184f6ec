//! `/openapi.json` and `/docs`.

mod list_forms;
mod published;
mod webhooks;

pub(crate) use list_forms::{describe_forms, with_forms};

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use orbweaver_engine::PluginInfo;
use parking_lot::Mutex;
use serde_json::Value;
use utoipa::Modify;
use utoipa::OpenApi as _;
use utoipa::PartialSchema as _;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Header, OpenApi, PathItem, RefOr};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::error::{Code, ErrorBody};
use crate::app::App;

/// Version of the description, as the contract states it.
const VERSION: &str = "0.4.1";

/// How long the document waits for plugins that are still being compiled.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(5);

/// The header's name as the document has it; see [`WARNINGS`](crate::warnings::WARNINGS).
const WARNINGS_SHOWN: &str = "Orbweaver-Warnings";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Orbweaver",
        description = "Crawl, scan and extract the web. Every request but the public ones \
                       carries `Authorization: Bearer <API_KEY>`; every error has the same \
                       JSON form; every answer has an `X-Request-Id`. Fields and query \
                       parameters that an operation does not know fail no request: they are \
                       named, each with the known name that is nearest, in the header \
                       `Orbweaver-Warnings`, and in the member `warnings` (an array of \
                       strings) of answers that are JSON objects and not streamed, as are options \
                       without effect and results that are cut. What is marked \
                       `x-extension` goes beyond the contract.",
        contact(name = "The Orbweaver contributors"),
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
        (name = "Webhooks", description = "Deliveries of the webhooks of ended runs."),
        (name = "Scan", description = "One page, or up to a hundred, at once."),
        (name = "Actors", description = "Analyses of pages and sites, each a plugin."),
        (name = "Cloud", description = "Browser, proxy pools, an upstream provider; search; fetchers of well-known sites."),
        (name = "Robots", description = "robots.txt, llms.txt and what AI crawlers may do."),
        (name = "Keys and secrets", description = "The project's keys, and the secret that signs its webhooks."),
        (name = "Signup and billing", description = "Self-service signup; public."),
        (name = "Plugins", description = "Administration of plugins."),
        (name = "MCP", description = "The endpoints and actors as tools of an agent."),
        (name = "Console", description = "The web console; public, with a sign-in of its own."),
        (name = "Usage and logs", description = "Requests of the project, and their cost."),
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
    webhooks::describe(document.components.get_or_insert_default());
    // The router's notation of a parameter that may hold slashes is not OpenAPI's.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths
        .into_iter()
        .map(|(path, mut item)| {
            operations(&mut item).for_each(warns);
            (path.replace("{*", "{"), item)
        })
        .collect();
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        delete,
        patch,
        ..
    } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

/// Describes the header that names unknown fields of the request.
fn warns(operation: &mut Operation) {
    let responses = &mut operation.responses.responses;
    for (_, response) in responses
        .iter_mut()
        .filter(|(status, _)| status.starts_with('2'))
    {
        if let RefOr::T(response) = response {
            let mut header = Header::new(String::schema());
            header.description = Some(
                "Names that the request has and the operation does not know, options without \
                 effect, and what is cut; a list of strings (RFC 9651), absent where there is nothing \
                 to say"
                    .to_owned(),
            );
            response
                .headers
                .insert(WARNINGS_SHOWN.to_owned(), RefOr::T(header));
        }
    }
}

/// The document as JSON.
pub(super) fn value(document: &OpenApi) -> Value {
    serde_json::to_value(document).unwrap_or_else(|error| {
        tracing::error!(%error, "the OpenAPI document does not serialise");
        Value::Null
    })
}

/// Serves the document; made anew when the plugins have changed, since every actor that is
/// loaded is an operation of its own.
pub(super) fn route(document: &OpenApi) -> MethodRouter<App> {
    let document = value(document);
    let made: Arc<Mutex<Option<(u64, Bytes)>>> = Arc::default();
    get(async move |State(app): State<App>| {
        let engine = &app.pipeline.engine;
        // On a first start, actors that are not compiled by then come with the next look.
        let _ = tokio::time::timeout(COMPILE_TIMEOUT, engine.await_all()).await;
        // Counted before the list is read: a change meanwhile makes it anew next time.
        let changes = *engine.changes().borrow();
        let kept = made.lock().clone().filter(|(at, _)| *at == changes);
        let text = match kept {
            Some((_, text)) => text,
            None => {
                let text = Bytes::from(with_actors(&document, &engine.plugins()));
                *made.lock() = Some((changes, text.clone()));
                text
            }
        };
        ([(CONTENT_TYPE, "application/json")], text)
    })
}

fn with_actors(document: &Value, plugins: &[PluginInfo]) -> String {
    let mut document = document.clone();
    let generic = document
        .pointer("/paths/~1v1~1actors~1{name}/post")
        .cloned();
    if let Some(generic) = generic
        && let Some(paths) = document
            .pointer_mut("/paths")
            .and_then(Value::as_object_mut)
    {
        let described = super::actors::operations(plugins, &generic);
        paths.extend(described.paths);
        if let Some(schemas) = document
            .pointer_mut("/components/schemas")
            .and_then(Value::as_object_mut)
        {
            schemas.extend(described.schemas);
        }
    }
    document["webhooks"] = webhooks::section();
    published::publish(&mut document);
    format!("{document:#}")
}

/// The API reference, all assets inside the binary.
pub(super) fn docs() -> Router<App> {
    SwaggerUi::new("/docs")
        .config(Config::from("/openapi.json"))
        .into()
}

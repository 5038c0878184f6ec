//! The API: all its operations, for clients and for the faces of this process.

use axum::Router;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::context::Ctx;
use crate::error::ApiError;
use crate::inside::Inside;
use crate::warnings::Operations;
use crate::{
    actors, billing, cloud, crawls, crons, deliveries, fetchers, health, keys, llms, logs, map,
    openapi, plugins, robots, scan, secrets, signup, usage, webhook,
};

/// The operations.
pub(crate) fn operations() -> OpenApiRouter<App> {
    let mut router = OpenApiRouter::with_openapi(openapi::base())
        .merge(health::routes())
        .merge(crawls::routes())
        .merge(crons::routes())
        .merge(deliveries::routes())
        .merge(scan::routes())
        .merge(cloud::routes())
        .merge(map::routes())
        .merge(robots::routes())
        .merge(logs::routes())
        .merge(usage::routes())
        .merge(keys::routes())
        .merge(webhook::routes())
        .merge(signup::routes())
        .merge(billing::routes())
        .merge(actors::routes())
        .merge(llms::routes())
        .merge(fetchers::routes())
        .merge(plugins::routes())
        .merge(secrets::routes());
    openapi::describe_forms(&mut router.get_openapi_mut().paths);
    router
}

/// The API alone, for the faces of this process.
pub(crate) fn inside(app: &App) -> Inside {
    let (router, document) = operations().split_for_parts();
    let operations = Operations::from_document(&openapi::value(&document));
    let document = openapi::value(&openapi::complete(document));
    let limit = app.settings.request_timeout;
    Inside::new(finished(router, app), operations, document, limit)
}

/// Adds the envelope for unknown paths and methods.
pub(crate) fn finished(router: Router<App>, app: &App) -> Router {
    router
        .method_not_allowed_fallback(async |key| nothing(key, ApiError::method_not_allowed()))
        .fallback(async |key| nothing(key, ApiError::no_such_path()))
        .with_state(app.clone())
}

/// 404 or 405 where there is no endpoint. A valid key is logged and counts towards its rate limit.
fn nothing(key: Result<Ctx, ApiError>, why: ApiError) -> ApiError {
    match key {
        Err(error) if error.status() == StatusCode::TOO_MANY_REQUESTS => error,
        _ => why,
    }
}

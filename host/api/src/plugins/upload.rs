//! PUT /v1/plugins/{name}.

use axum::Json;
use axum::extract::{Path, Request};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{StatusCode, header};
use utoipa::IntoParams;

use super::item::PluginItem;
use super::{administrator, name};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input;
use orbweaver_actors::plugins::{UploadError, UploadGrants};

/// Components of interpreted languages have some 20 MiB.
const MAX_BYTES: usize = 64 << 20;

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "a schema; the query is read by hand, as it repeats names"
)]
pub(super) struct Params {
    /// What it is granted of what its manifest asks: `all`, `http`, `http=PATTERN`, `render`,
    /// `crawl-data`, `wasi=CAPABILITY`. Repeatable; by default what the configuration says,
    /// else nothing beyond `log` and `extract`.
    grant: Option<Vec<String>>,
}

/// Uploads a plugin, which serves on every node within two seconds. It stands in front of a
/// plugin of the folder of its kind and name. Administrator's keys only.
#[utoipa::path(
    put,
    path = "/v1/plugins/{name}",
    tag = "Plugins",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "The name in its manifest, with or without the prefix of its file"),
        Params,
    ),
    request_body(content = Vec<u8>, content_type = "application/wasm", description = "A component with its manifest"),
    responses(
        (status = 200, description = "It replaced an earlier upload", body = PluginItem),
        (status = 201, description = "It is new", body = PluginItem),
        (status = 400, description = "The body ended before its end", body = ErrorBody),
        (status = 403, description = "The key is not the administrator's", body = ErrorBody),
        (status = 408, description = "The body took too long", body = ErrorBody),
        (status = 413, description = "The body is larger than 64 MiB", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn upload_plugin(
    ctx: Ctx,
    Path(given): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    administrator(&ctx)?;
    let granted = grants(request.uri().query().unwrap_or_default())?;
    let content_type = request.headers().get(header::CONTENT_TYPE);
    if !content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/wasm")) {
        return Err(ApiError::invalid(
            "Content-Type",
            "must be application/wasm",
        ));
    }
    let uploads = &ctx.app.actors.uploads;
    let _turn = uploads.acquire(ctx.principal.project).await?;
    let component: Bytes = input::body(request, &ctx.app, MAX_BYTES).await?;
    let engine = &ctx.app.pipeline.engine;
    let found = engine
        .inspect(&component)
        .map_err(|error| ApiError::invalid("body", error))?;
    let manifest = &found.manifest;
    if !name::means(&given, manifest.kind, &manifest.name) {
        return Err(ApiError::invalid(
            "name",
            format!(
                "the component is {} `{}`, not `{given}`",
                manifest.kind, manifest.name
            ),
        ));
    }
    let uploaded = ctx
        .app
        .actors
        .overlay
        .upload(
            &ctx.app.store,
            engine,
            ctx.app.clock.now(),
            component,
            &granted,
        )
        .await;
    let uploaded = uploaded.map_err(|error| match error {
        UploadError::Load(error) => ApiError::invalid("body", error),
        UploadError::Store(error) => error.into(),
    })?;
    let status = if uploaded.replaced {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok((status, Json(PluginItem::from(uploaded.plugin))).into_response())
}

fn grants(query: &str) -> Result<UploadGrants, ApiError> {
    let names = form_urlencoded::parse(query.as_bytes())
        .filter(|(key, _)| key == "grant")
        .map(|(_, value)| value.into_owned())
        .collect();
    UploadGrants::parse(names).map_err(ApiError::breaks)
}

//! PUT /v1/plugins/{name}.

use axum::Json;
use axum::extract::{Path, Request};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{StatusCode, header};
use utoipa::IntoParams;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};

use super::item::PluginItem;
use super::name;
use super::scope::{Scope, ScopeWord};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input;
use orbweaver_actors::plugins::{Upload, UploadGrants, upload};
use orbweaver_engine::{Kind, PluginInfo, Rival};

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
    /// `crawl-data`, `state`, `secret`, `secret=NAME`, `wasi`, `wasi=CAPABILITY`. Repeatable; by
    /// default what the configuration says, else nothing beyond `log` and `extract`. One that the
    /// manifest does not ask for has no effect: `warnings` name it.
    #[param(schema_with = grants_schema)]
    grant: Option<Vec<String>>,
    /// `instance`: it serves all projects, for administrator's keys only. `project`: it serves the
    /// caller's project alone. By default `instance` for an administrator's key, else `project`.
    #[param(value_type = Option<ScopeWord>, inline, example = "project")]
    scope: Option<String>,
}

/// `grant` for the OpenAPI document.
fn grants_schema() -> Schema {
    let grant = ObjectBuilder::new().schema_type(Type::String).pattern(Some(
        "^(all|log|extract|http|http=.+|extract=.+|render|crawl-data|state|secret|secret=.+|wasi|wasi=.+)$",
    ));
    ArrayBuilder::new().items(grant).into()
}

/// Uploads a plugin, which serves on every node within two seconds. With an administrator's key it
/// serves all projects, and stands in front of a plugin of the folder of its kind and name. With
/// another key it serves that key's project alone, where the project's tier allows that
/// (`tiers.NAME.plugins`): it stands in front of the instance's plugin of its kind and name, takes
/// the roles and domains that its manifest lists, and nobody else sees or calls it. It gets at most
/// the permissions, CPU time and memory of the tier. Earlier versions are kept.
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
        (status = 400, description = "The body is incomplete", body = ErrorBody),
        (status = 403, description = "The key may not manage these plugins", body = ErrorBody),
        (status = 408, description = "The body took too long", body = ErrorBody),
        (status = 413, description = "The body is larger than 64 MiB, or than the project's tier allows", body = ErrorBody),
        (status = 429, description = "The project, or all projects together, have as many plugins as they may", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn upload_plugin(
    ctx: Ctx,
    Path(given): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let query = request.uri().query().unwrap_or_default();
    let scope = values(query, "scope").next();
    let scope = Scope::check(&ctx, scope.as_deref()).await?;
    let granted = UploadGrants::parse(values(query, "grant").collect());
    let granted = granted.map_err(ApiError::breaks)?;
    let named = granted.clone();
    let content_type = request.headers().get(header::CONTENT_TYPE);
    if !content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/wasm")) {
        return Err(ApiError::invalid(
            "Content-Type",
            "must be application/wasm",
        ));
    }
    let (turns, max_bytes) = match scope {
        Scope::Instance => (&ctx.app.actors.uploads, MAX_BYTES),
        Scope::Project(_, caps) => {
            let most = caps.component_mib.saturating_mul(1 << 20);
            let most = usize::try_from(most).unwrap_or(MAX_BYTES);
            (&ctx.app.actors.project_uploads, most.min(MAX_BYTES))
        }
    };
    let turn = turns.acquire(ctx.principal.project).await?;
    let component: Bytes = input::body(request, &ctx.app, max_bytes).await?;
    let engine = &ctx.app.pipeline.engine;
    let found = engine.inspect_aside(component.clone()).await;
    let found = found.map_err(|error| ApiError::invalid("body", error))?;
    let manifest = found.manifest;
    if !name::means(&given, manifest.kind, &manifest.name) {
        return Err(ApiError::invalid(
            "name",
            format!(
                "the component is {} `{}`, not `{given}`",
                manifest.kind, manifest.name
            ),
        ));
    }
    // A project keeps its turn until the component is compiled, which bounds what all of them hold
    // in memory. An administrator's upload must not wait for a slow compilation of another.
    let turn = match scope {
        Scope::Instance => {
            drop(turn);
            None
        }
        Scope::Project(..) => Some(turn),
    };
    let uploaded = upload(
        &ctx.app.actors,
        Upload {
            project: scope.owner(),
            component,
            kind: manifest.kind,
            name: manifest.name,
            granted,
            turn,
        },
    )
    .await?;
    let status = if uploaded.replaced {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    warn(&ctx, scope, &named, &uploaded.plugin);
    let item = PluginItem::uploaded(uploaded.plugin, uploaded.number);
    Ok((status, Json(item)).into_response())
}

/// Says what of an upload has no effect.
fn warn(ctx: &Ctx, scope: Scope, named: &UploadGrants, plugin: &PluginInfo) {
    for grant in named.in_vain(&plugin.asked) {
        let rule = "has no effect, because the manifest does not ask for it";
        ctx.scope.warn(format!("grant: `{grant}` {rule}"));
    }
    if plugin.kind != Kind::Fetcher {
        return;
    }
    for rival in scope.engine(ctx).rivals(&plugin.name) {
        let Rival { domain, name, .. } = &rival;
        let serving = if rival.serves { name } else { &plugin.name };
        ctx.scope.warn(format!(
            "fetcher.domains: the fetcher `{name}` lists {domain} as well; `{serving}` serves it"
        ));
    }
}

/// The values of a parameter that may be repeated.
fn values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    form_urlencoded::parse(query.as_bytes())
        .filter(move |(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

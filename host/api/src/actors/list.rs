//! GET /v1/actors.

use axum::Json;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::input::published;
use crate::answer::JsonAnswer;
use crate::context::Ctx;
use crate::error::CommonErrors;
use orbweaver_actors as actors;

/// An actor that can be called.
#[derive(Serialize, ToSchema)]
pub(super) struct Actor {
    /// Its name.
    name: String,
    /// Where it is called.
    #[schema(example = "/v1/actors/check-links")]
    path: String,
    /// Its own version.
    version: String,
    /// What it does.
    description: String,
    /// JSON Schema of its input; null where any object will do. An optional member may be null.
    #[schema(value_type = Option<Object>)]
    input_schema: Option<Value>,
    /// JSON Schema of `data` in its answer.
    #[schema(value_type = Option<Object>)]
    output_schema: Option<Value>,
}

/// The actors that are loaded.
#[derive(Serialize, ToSchema)]
pub(super) struct ActorList {
    /// By name.
    items: Vec<Actor>,
}

/// The actors that are loaded, with the JSON Schemas of what they take and give.
#[utoipa::path(
    get,
    path = "/v1/actors",
    tag = "Actors",
    extensions(("x-extension" = json!(true))),
    responses(
        (status = 200, description = "The actors", body = ActorList),
        CommonErrors,
    )
)]
pub(super) async fn list_actors(ctx: Ctx) -> JsonAnswer<ActorList> {
    let actor = |plugin: orbweaver_engine::PluginInfo| Actor {
        path: format!("/v1/actors/{}", plugin.name),
        name: plugin.name,
        version: plugin.version,
        description: plugin.description,
        input_schema: plugin.input_schema.as_ref().map(published),
        output_schema: plugin.output_schema,
    };
    let engine = ctx.engine();
    engine.await_all().await;
    let items = actors::directory(&engine).into_iter().map(actor).collect();
    Ok(Json(ActorList { items }))
}

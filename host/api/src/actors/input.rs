//! The input of an actor: what is taken of it, and what the API says of it.

use orbweaver_actors as actors;
use orbweaver_core::json_number;
use orbweaver_engine::{Engine, Kind, PluginInfo};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::context::Ctx;
use crate::error::ApiError;
use crate::validate::shown;
use crate::warnings::unknown_members;

/// Keywords that may refuse null whatever `type` and `enum` say.
const OTHERS: [&str; 6] = ["$ref", "allOf", "anyOf", "const", "not", "oneOf"];

/// Checks that the actor is loaded and takes this input. Members that are null and not required are
/// taken out of it: null is an optional field that is not given, as in all other bodies. Whole
/// numbers are written as such, as in all other bodies.
///
/// # Errors
/// 404 for an unknown actor, 500 for one of the project that could not be loaded; 422 for an input that its schema or the guard refuses.
pub(super) async fn accepted(ctx: &Ctx, name: &str, input: &mut Value) -> Result<(), ApiError> {
    let engine = ctx.engine();
    engine.await_plugin(Kind::Actor, name).await;
    let actor = engine.actor(name);
    let actor = actor.ok_or_else(|| missing(&engine, name))?;
    if let Some(schema) = &actor.input_schema {
        ctx.scope.note_unknown(unknown_members(schema, input));
        drop_absent(schema, input);
    }
    json_number::write_integers(input);
    check(&ctx.app, &engine, &actor, input).await
}

/// An actor's input schema as the API takes it: an optional member may be null.
pub(crate) fn published(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let required: Vec<String> = required(&schema).map(str::to_owned).collect();
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, member) in members.into_iter().flatten() {
        if !required.contains(name) {
            allow_null(member);
        }
    }
    schema
}

fn allow_null(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    if OTHERS.iter().any(|name| keywords.contains_key(*name)) {
        let told = ["title", "description", "default"];
        let mut either: Map<String, Value> = told
            .iter()
            .filter_map(|name| keywords.remove_entry(*name))
            .collect();
        let variants = json!([schema.take(), {"type": "null"}]);
        either.insert("anyOf".to_owned(), variants);
        *schema = Value::Object(either);
        return;
    }
    match keywords.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&json!("null")) => types.push(json!("null")),
        Some(one @ Value::String(_)) if one != "null" => *one = json!([one.take(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(words)) = keywords.get_mut("enum")
        && !words.contains(&Value::Null)
    {
        words.push(Value::Null);
    }
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn drop_absent(schema: &Value, input: &mut Value) {
    if let Some(members) = input.as_object_mut() {
        members.retain(|name, value| !value.is_null() || required(schema).any(|one| one == name));
    }
}

/// The schema, then the guard: both before an Idempotency-Key is claimed.
async fn check(
    app: &App,
    engine: &Engine,
    actor: &PluginInfo,
    input: &Value,
) -> Result<(), ApiError> {
    engine
        .check_input(actor.kind, &actor.name, input)
        .await
        .map_err(|error| ApiError::breaks(error.to_string()))?;
    actors::check_urls(&app.actors, actor, input).map_err(ApiError::breaks)
}

fn missing(engine: &Engine, name: &str) -> ApiError {
    if let Some(error) = engine.unloaded(Kind::Actor, name) {
        return ApiError::plugin_failed(error.to_string());
    }
    let names: Vec<String> = actors::directory(engine)
        .into_iter()
        .map(|actor| actor.name)
        .collect();
    let there = if names.is_empty() {
        "no actor is loaded".to_owned()
    } else {
        format!("loaded are {}", names.join(", "))
    };
    ApiError::not_found(format!("there is no actor `{}`: {there}", shown(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_takes_null_where_the_api_does() {
        let schema = json!({"type": "object", "required": ["url"], "properties": {
            "url": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "any": {"description": "Anything"},
            "either": {"type": ["string", "null"]},
            "part": {"$ref": "#/$defs/part", "description": "A part"},
            "never": false,
        }});
        let properties = json!({
            "url": {"type": "string"},
            "limit": {"type": ["integer", "null"], "minimum": 1},
            "mode": {"type": ["string", "null"], "enum": ["a", "b", null]},
            "any": {"description": "Anything"},
            "either": {"type": ["string", "null"]},
            "part": {"description": "A part",
                "anyOf": [{"$ref": "#/$defs/part"}, {"type": "null"}]},
            "never": false,
        });
        let published = published(&schema);
        assert_eq!(published["properties"], properties);
        assert_eq!(published["required"], schema["required"]);
    }

    #[test]
    fn null_is_dropped_unless_the_member_is_required() {
        let schema = json!({"required": ["url"], "properties": {"url": {}, "n": {}}});
        let mut input = json!({"url": null, "n": null, "odd": null, "m": 0});
        drop_absent(&schema, &mut input);
        assert_eq!(input, json!({"url": null, "m": 0}));
    }
}

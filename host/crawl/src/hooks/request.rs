//! The field `hooks` of a crawl request, and its rules.

use orbweaver_core::json_number;
use orbweaver_engine::{Kind, PluginError};
use orbweaver_pipeline::Pipeline;
use orbweaver_pipeline::rules::InvalidField;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Most hooks of one crawl.
const MAX_HOOKS: usize = 8;
/// Longest configuration of a hook as JSON, in bytes.
const MAX_CONFIG_BYTES: usize = 64 << 10;

/// A hook to use for a crawl.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(as = CrawlHook)]
pub struct HookRequest {
    /// The hook's name.
    #[schema(example = "section-priority")]
    pub name: String,
    /// Its configuration: an object that satisfies the hook's schema; by default an empty one.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Value>,
    /// What happens if it fails on a page: the page and its links stay as they are and the failure
    /// is listed (`keep`), or the run ends as failed (`fail`).
    #[schema(default = "keep")]
    pub on_error: Option<OnError>,
}

/// What happens if a hook fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = HookOnError)]
pub enum OnError {
    /// The page and its links stay as they are; the failure is counted and listed.
    #[default]
    Keep,
    /// The run ends as failed, with the reason.
    Fail,
}

/// A checked hook of a crawl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookSpec {
    /// The hook's name.
    pub name: String,
    /// Its configuration, an object.
    pub config: Value,
    /// What happens if it fails.
    pub on_error: OnError,
}

/// Checks the hooks of a crawl request.
///
/// # Errors
/// The field and the rule: too many hooks, one that is not loaded or is named twice, or a
/// configuration that breaks its schema.
#[crate::boxed]
pub async fn check(
    pipeline: &Pipeline,
    hooks: Vec<HookRequest>,
) -> Result<Vec<HookSpec>, InvalidField> {
    if hooks.len() > MAX_HOOKS {
        return Err(InvalidField::new("hooks", "must be at most 8 hooks"));
    }
    let mut specs: Vec<HookSpec> = Vec::with_capacity(hooks.len());
    for (index, hook) in hooks.into_iter().enumerate() {
        let name = format!("hooks[{index}].name");
        if specs.iter().any(|earlier| earlier.name == hook.name) {
            return Err(InvalidField::new(&name, "is given twice"));
        }
        let config = config(&format!("hooks[{index}].config"), hook.config)?;
        pipeline.engine.await_plugin(Kind::Hook, &hook.name).await;
        let checked = pipeline
            .engine
            .check_input(Kind::Hook, &hook.name, &config)
            .await;
        match checked {
            Ok(()) => {}
            Err(PluginError::NotFound { .. }) => {
                return Err(InvalidField::new(&name, not_loaded(pipeline, &hook.name)));
            }
            Err(error @ PluginError::NotLoaded { .. }) => {
                return Err(InvalidField::new(&name, error));
            }
            Err(error) => {
                let field = format!("hooks[{index}].config");
                let Some(message) = error.invalid_input() else {
                    return Err(InvalidField::new(&field, error));
                };
                let (field, rule) = message.split_once(": ").unwrap_or(("body", message));
                let field = match field {
                    "body" => format!("hooks[{index}].config"),
                    inner => format!("hooks[{index}].config.{inner}"),
                };
                return Err(InvalidField::new(&field, rule));
            }
        }
        specs.push(HookSpec {
            name: hook.name,
            config,
            on_error: hook.on_error.unwrap_or_default(),
        });
    }
    Ok(specs)
}

fn config(field: &str, given: Option<Value>) -> Result<Value, InvalidField> {
    let mut config = match given {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(config @ Value::Object(_)) => config,
        Some(_) => return Err(InvalidField::new(field, "must be an object")),
    };
    json_number::write_integers(&mut config);
    if config.to_string().len() > MAX_CONFIG_BYTES {
        return Err(InvalidField::new(
            field,
            "must be at most 65536 bytes of JSON",
        ));
    }
    Ok(config)
}

fn not_loaded(pipeline: &Pipeline, name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
    let loaded: Vec<String> = pipeline
        .engine
        .plugins()
        .into_iter()
        .filter(|plugin| plugin.kind == Kind::Hook)
        .map(|plugin| plugin.name)
        .collect();
    let loaded = if loaded.is_empty() {
        "none".to_owned()
    } else {
        loaded.join(", ")
    };
    format!("hook `{name}` is not loaded; loaded: {loaded}")
}

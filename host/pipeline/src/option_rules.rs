//! The rules of the field `extractor_options` of requests.

use std::collections::BTreeMap;

use orbweaver_core::json_number;
use orbweaver_engine::Kind;
use serde_json::Value;

use crate::extractor_options::ExtractorOptions;
use crate::pipeline::Pipeline;
use crate::rules::{InvalidField, MAX_OPTIONS_BYTES};

/// Most extractors with options in one request.
const MAX_NAMES: usize = 32;

impl Pipeline {
    /// Checks the options of a request against the extractors' schemas. `is_run` says whether the
    /// request runs a role.
    ///
    /// # Errors
    /// The field and the rule: a role that is not loaded or not run, options that are no object,
    /// too long, or break the schema.
    #[crate::boxed]
    pub async fn check_extractor_options(
        &self,
        given: BTreeMap<String, Value>,
        is_run: &(dyn for<'a> Fn(&'a str) -> bool + Sync),
    ) -> Result<ExtractorOptions, InvalidField> {
        if given.len() > MAX_NAMES {
            let rule = format!("must name at most {MAX_NAMES} extractors");
            return Err(InvalidField::new("extractor_options", rule));
        }
        let mut checked = ExtractorOptions::new();
        for (role, mut options) in given {
            json_number::write_integers(&mut options);
            let shown: String = role.chars().filter(|c| !c.is_control()).take(64).collect();
            let field = format!("extractor_options.{shown}");
            self.engine.await_role(&role).await;
            let Some(plugin) = self.engine.role(&role) else {
                if let Some(error) = self.engine.unloaded_role(&role) {
                    return Err(InvalidField::new(&field, error));
                }
                return Err(InvalidField::new(
                    &field,
                    "is not an extractor that is loaded",
                ));
            };
            if !is_run(&role) {
                let rule = "is not run by this request; name it in `extractors`";
                return Err(InvalidField::new(&field, rule));
            }
            if !options.is_object() {
                return Err(InvalidField::new(&field, "must be an object"));
            }
            let text = options.to_string();
            if text.len() > MAX_OPTIONS_BYTES {
                let rule = format!("must be at most {MAX_OPTIONS_BYTES} bytes of JSON");
                return Err(InvalidField::new(&field, rule));
            }
            let check = self
                .engine
                .check_input(Kind::Extractor, &plugin.name, &options);
            match check.await {
                Ok(()) => {}
                Err(error) => {
                    let Some(message) = error.invalid_input() else {
                        return Err(InvalidField::new(&field, error));
                    };
                    let (inner, rule) = message.split_once(": ").unwrap_or(("body", message));
                    let field = match inner {
                        "body" => field,
                        inner => format!("{field}.{inner}"),
                    };
                    return Err(InvalidField::new(&field, rule));
                }
            }
            checked.insert(role, text);
        }
        Ok(checked)
    }
}

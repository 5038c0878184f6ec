//! The `selectors` role: fields that a request describes by CSS selectors.
//!
//! The options are the rules (`selectors`) and a JSON Schema (`schema`). `rules` checks and
//! compiles them, `read` applies them to the page, `element` says what an element's value is,
//! `convert` makes it a value of the field's type, and the result is validated against the schema.

mod convert;
mod element;
mod numbers;
mod read;
mod rules;

use orbweaver_schema::{Schema, Violation};
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::{Error, Page};
use serde_json::Value;

use read::Reader;
use rules::Rules;

orbweaver_sdk::extractor! { roles: { "selectors" => extract } }

/// Most errors that are reported.
const MAX_ERRORS: usize = 50;

/// `{"data": {…}, "errors": [{"field", "message"}]}`: the fields, and what went wrong with them:
/// a value that is not of its type, or that breaks the schema.
///
/// With `data` in place of rules, that is validated against the schema, and nothing of the page is
/// read.
///
/// # Errors
/// [`Code::InvalidInput`](orbweaver_sdk::Code::InvalidInput) names the option that is wrong, such as `selectors.price.regex`.
pub fn extract(page: &Page<'_>, options: &str) -> Result<String, Error> {
    let options: Value = serde_json::from_str(options)
        .map_err(|error| Error::invalid(format!("options: {error}")))?;
    let schema = options.get("schema").filter(|schema| !schema.is_null());
    let schema = match schema {
        Some(schema) => Some(Schema::new(schema).map_err(|fault| {
            let dot = if fault.path.is_empty() { "" } else { "." };
            Error::invalid(format!("schema{dot}{}: {}", fault.path, fault.rule))
        })?),
        None => None,
    };
    if let Some(data) = options.get("data") {
        let errors = schema.map(|schema| schema.validate(data));
        return Ok(answer(data, &errors.unwrap_or_default()));
    }
    let rules = Rules::parse(options.get("selectors"), schema.map(|schema| schema.root()))?;
    let mut reader = Reader::new(page)?;
    let data = reader.read(&rules);
    let mut errors = reader.into_errors();
    if let Some(schema) = schema {
        for violation in schema.validate(&data) {
            // That it is missing follows from the error that is there already.
            if errors.iter().all(|known| known.path != violation.path) {
                errors.push(violation);
            }
        }
    }
    Ok(answer(&data, &errors))
}

fn answer(data: &Value, errors: &[Violation]) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        w.key("data").value(data);
        w.key("errors").array(|w| {
            for error in errors.iter().take(MAX_ERRORS) {
                w.object(|w| {
                    w.key("field").string(&error.path);
                    w.key("message").string(&error.rule);
                });
            }
        });
    });
    w.finish()
}

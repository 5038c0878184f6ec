//! The field `extract` of requests: fields that a request describes, as one JSON object per page.
//!
//! The extractor of the role `selectors` reads them; `extract_check` checks the field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The role that reads the fields.
pub const SELECTORS_ROLE: &str = "selectors";
/// The key under which a crawled page's extensions have its fields. It can't be the name of a
/// role, which has no `$`.
pub const STORED_KEY: &str = "$extract";

/// Fields to extract from each page: `extracted` of its answer.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(example = json!({
    "schema": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "price": {"type": "number"}}},
    "selectors": {"name": "h1", "price": {"selector": ".price", "type": "number"},
        "links": {"selector": "main a", "attribute": "href", "type": "url", "list": true}}
}))]
pub struct ExtractRequest {
    /// For each field a CSS selector, whose first element's text is the value, or an object with
    /// some of:
    ///
    /// - `selector`: a CSS selector, or a list of them, of which the first that matches counts. It
    ///   may end in `::attr(name)`.
    /// - `attribute`: the attribute to read.
    /// - `take`: `text`, `lines` (the text with line breaks), `html` or `exists` (true or false).
    /// - `regex`: its first group, or else its match, is the value. Linear time: without look-around
    ///   and back-references.
    /// - `type`: `string`, `integer`, `number`, `boolean`, `url` (made absolute) or `date` (ISO
    ///   8601); by default what the schema says.
    /// - `decimal`: the sign before the fraction of numbers, `.` or `,`; by default it is guessed.
    /// - `list`: all elements, not the first one; `limit`: how many at most (1 to 10000).
    /// - `fields`: rules of the fields of an object, relative to the element.
    /// - `default`: the value where nothing matches.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub selectors: Option<Value>,
    /// What to extract, in words, in place of `selectors`: the configured language model reads the
    /// page's text. In scans and bulk scans. `extract_usage` has its tokens and cost.
    #[schema(min_length = 1, max_length = 4_000)]
    pub prompt: Option<String>,
    /// A JSON Schema of the result. What breaks it is listed in `extract_errors`, by field.
    #[schema(value_type = Option<Object>)]
    pub schema: Option<Value>,
}

/// A checked [`ExtractRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExtractSpec {
    /// Options of the role, as JSON text; empty with a prompt.
    pub options: String,
    /// What a language model is asked.
    #[serde(default)]
    pub prompt: Option<PromptSpec>,
}

/// What a language model is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PromptSpec {
    /// What to extract.
    pub prompt: String,
    /// The JSON Schema of the answer, as JSON text.
    pub schema: Option<String>,
}

/// A field that could not be extracted, or that breaks the schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ExtractError)]
pub struct FieldError {
    /// Path of the field, such as `reviews[2].stars`; empty for the whole object.
    #[schema(example = "reviews[2].stars")]
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// The fields of a page, as the role answers.
#[derive(Clone, Debug, Deserialize)]
pub struct Extracted<'a> {
    /// The fields: a JSON object.
    #[serde(borrow)]
    pub data: &'a RawValue,
    /// What is wrong with them.
    pub errors: Vec<FieldError>,
}

impl<'a> Extracted<'a> {
    /// Reads the role's answer; `None` for another answer, such as the null of a failed plugin.
    pub fn read(answer: &'a RawValue) -> Option<Self> {
        serde_json::from_str(answer.get()).ok()
    }
}

/// Options with which the role validates data, as JSON text, against a schema.
pub(crate) fn validation_options(schema: &str, data: &str) -> String {
    format!(r#"{{"schema":{schema},"data":{data}}}"#)
}

/// A stored page's extensions without its fields, and the fields.
pub fn split_stored(extensions: Option<&str>) -> (Option<Box<RawValue>>, Option<Box<RawValue>>) {
    let Some(text) = extensions else {
        return (None, None);
    };
    let whole = || RawValue::from_string(text.to_owned()).ok();
    if !text.contains(STORED_KEY) {
        return (whole(), None);
    }
    let members: Result<BTreeMap<&str, &RawValue>, _> = serde_json::from_str(text);
    let Ok(mut members) = members else {
        return (whole(), None);
    };
    let extracted = members.remove(STORED_KEY).map(ToOwned::to_owned);
    let rest = match members.is_empty() {
        true => None,
        false => serde_json::value::to_raw_value(&members).ok(),
    };
    (rest, extracted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_fields_are_taken_out_of_the_extensions() {
        let text = |json: &Option<Box<RawValue>>| json.as_ref().map(|json| json.get().to_owned());
        let (rest, fields) = split_stored(Some(r#"{"$extract":{"data":{}},"good":1}"#));
        assert_eq!(text(&rest).as_deref(), Some(r#"{"good":1}"#));
        assert_eq!(text(&fields).as_deref(), Some(r#"{"data":{}}"#));
        let (rest, fields) = split_stored(Some(r#"{"$extract":null}"#));
        assert_eq!(
            (text(&rest), text(&fields).as_deref()),
            (None, Some("null"))
        );
        let (rest, fields) = split_stored(Some(r#"{"good":"$extract"}"#));
        assert_eq!(text(&rest).as_deref(), Some(r#"{"good":"$extract"}"#));
        assert_eq!(text(&fields), None);
    }
}

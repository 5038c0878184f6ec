//! Checks the field `extract` of requests: the extractor does it, in its sandbox and on an empty
//! page, so that a caller's schema costs the host nothing.

use orbweaver_engine::{Page, RoleCall};
use serde_json::{Value, json};

use crate::extract_fields::{
    ExtractRequest, ExtractSpec, PromptSpec, SELECTORS_ROLE, validation_options,
};
use crate::pipeline::Pipeline;
use crate::rules::{InvalidField, MAX_EXTRACT_BYTES, MAX_PROMPT};

/// The page on which rules are checked.
const EMPTY_PAGE: &str = "https://example.com/";

impl Pipeline {
    /// Checks the field `extract` of a request.
    ///
    /// # Errors
    /// The field and the rule, such as `extract.selectors.price.regex`.
    #[crate::boxed]
    pub async fn check_extract(
        &self,
        given: Option<ExtractRequest>,
    ) -> Result<Option<ExtractSpec>, InvalidField> {
        let Some(given) = given else {
            return Ok(None);
        };
        let spec = spec(given)?;
        self.engine.await_role(SELECTORS_ROLE).await;
        if self.engine.role(SELECTORS_ROLE).is_none() {
            let rule = format!("needs the extractor `{SELECTORS_ROLE}`, which is not loaded");
            return Err(InvalidField::new("extract", rule));
        }
        let call = RoleCall {
            role: SELECTORS_ROLE.to_owned(),
            options: match &spec.prompt {
                Some(PromptSpec {
                    schema: Some(schema),
                    ..
                }) => validation_options(schema, "{}"),
                Some(_) => return Ok(Some(spec)),
                None => spec.options.clone(),
            },
        };
        let page = Page::from_html(EMPTY_PAGE, "");
        let answer = self.engine.extract(&page, vec![call]).await.pop();
        match answer {
            Some(Err(error)) => match error.invalid_input() {
                Some(message) => {
                    let (inner, rule) = message.split_once(": ").unwrap_or(("", message));
                    let dot = if inner.is_empty() { "" } else { "." };
                    Err(InvalidField::new(&format!("extract{dot}{inner}"), rule))
                }
                None => Err(InvalidField::new("extract", error)),
            },
            Some(Ok(_)) | None => Ok(Some(spec)),
        }
    }
}

/// The fields that can be checked without the extractor.
fn spec(given: ExtractRequest) -> Result<ExtractSpec, InvalidField> {
    let ExtractRequest {
        selectors,
        prompt,
        schema,
    } = given;
    let schema = schema.filter(|schema| !schema.is_null());
    if schema.as_ref().is_some_and(|schema| !schema.is_object()) {
        return Err(InvalidField::new("extract.schema", "must be an object"));
    }
    let bounded = |json: String| {
        let rule = format!("must be at most {MAX_EXTRACT_BYTES} bytes of JSON");
        let is_short = json.len() <= MAX_EXTRACT_BYTES;
        is_short
            .then_some(json)
            .ok_or_else(|| InvalidField::new("extract", rule))
    };
    match (selectors, prompt) {
        (Some(_), Some(_)) => {
            let rule = "cannot be combined with selectors";
            Err(InvalidField::new("extract.prompt", rule))
        }
        (None, None) => {
            let rule = "is required, or a prompt";
            Err(InvalidField::new("extract.selectors", rule))
        }
        (Some(selectors), None) => {
            let mut options = json!({ "selectors": selectors });
            if let (Some(schema), Value::Object(members)) = (schema, &mut options) {
                members.insert("schema".to_owned(), schema);
            }
            Ok(ExtractSpec {
                options: bounded(options.to_string())?,
                prompt: None,
            })
        }
        (None, Some(prompt)) => {
            let length = prompt.chars().count();
            if prompt.trim().is_empty() || length > MAX_PROMPT {
                let rule = format!("must be 1 to {MAX_PROMPT} characters, not all blank");
                return Err(InvalidField::new("extract.prompt", rule));
            }
            let schema = schema
                .map(|schema| bounded(schema.to_string()))
                .transpose()?;
            Ok(ExtractSpec {
                options: String::new(),
                prompt: Some(PromptSpec { prompt, schema }),
            })
        }
    }
}

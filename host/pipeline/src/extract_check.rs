//! Checks the field `extract` of requests: the extractor does it, in its sandbox and on an empty
//! page, so that a caller's schema costs the host nothing.

use orbweaver_engine::{Page, PluginError, RoleCall};
use serde_json::{Value, json};

use crate::extract_fields::{ExtractRequest, ExtractSpec, SELECTORS_ROLE};
use crate::pipeline::Pipeline;
use crate::rules::InvalidField;

/// Longest rules and schema together as JSON, in bytes.
const MAX_BYTES: usize = 64 << 10;
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
        let Some(ExtractRequest { selectors, schema }) = given else {
            return Ok(None);
        };
        let Some(selectors) = selectors else {
            return Err(InvalidField::new("extract.selectors", "is required"));
        };
        let mut options = json!({ "selectors": selectors });
        if let (Some(schema), Value::Object(members)) = (schema, &mut options) {
            members.insert("schema".to_owned(), schema);
        }
        let options = options.to_string();
        if options.len() > MAX_BYTES {
            let rule = format!("must be at most {MAX_BYTES} bytes of JSON");
            return Err(InvalidField::new("extract", rule));
        }
        self.engine.await_role(SELECTORS_ROLE).await;
        if self.engine.role(SELECTORS_ROLE).is_none() {
            let rule = format!("needs the extractor `{SELECTORS_ROLE}`, which is not loaded");
            return Err(InvalidField::new("extract", rule));
        }
        let call = RoleCall {
            role: SELECTORS_ROLE.to_owned(),
            options: options.clone(),
        };
        let page = Page::from_html(EMPTY_PAGE, "");
        let answer = self.engine.extract(&page, vec![call]).await.pop();
        match answer {
            Some(Err(PluginError::InvalidInput(message))) => {
                let (inner, rule) = message.split_once(": ").unwrap_or(("", &message));
                let dot = if inner.is_empty() { "" } else { "." };
                Err(InvalidField::new(&format!("extract{dot}{inner}"), rule))
            }
            Some(Err(error)) => Err(InvalidField::new("extract", error)),
            Some(Ok(_)) | None => Ok(Some(ExtractSpec { options })),
        }
    }
}

//! Converts a page to the requested format: raw, Markdown or plain text.

use std::sync::Arc;

use orbweaver_core::content::Kind;
use orbweaver_core::markdown::plain_text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::blocking::sized;
use crate::document::Document;
use crate::error::ScanError;
use crate::pipeline::Pipeline;
use crate::roles::RoleRequest;

/// Format of a page's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ReturnFormat)]
pub enum Format {
    /// Markdown with links.
    Markdown,
    /// The HTML as received.
    Raw,
    /// Plain text.
    Text,
    /// Same as `markdown`.
    Commonmark,
}

impl Format {
    /// Name in requests and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Raw => "raw",
            Self::Text => "text",
            Self::Commonmark => "commonmark",
        }
    }
}

impl Pipeline {
    /// Converts a page, or the HTML of a document, with the plugins of the roles. `main`: only its main content, if it has
    /// any. A page that has content never yields an empty answer.
    ///
    /// # Errors
    /// When the body is not text, or a plugin failed.
    #[crate::boxed]
    pub async fn convert(
        &self,
        document: &mut Document,
        format: Format,
        main: bool,
    ) -> Result<String, ScanError> {
        let kind = document.kind;
        match kind {
            Kind::Html => {}
            Kind::Document if format != Format::Raw && self.readable(document).await? => {}
            Kind::Text | Kind::Document | Kind::Other => return source(document).await,
        }
        match format {
            Format::Raw => Ok(document.page().await?.parts().html.to_string()),
            Format::Markdown | Format::Commonmark => self.markdown(document, main).await,
            // Not the article's text, which leaves the headline to its field `title`.
            Format::Text => {
                let markdown = self.markdown(document, main).await?;
                sized(markdown.len(), move || plain_text(&markdown)).await
            }
        }
    }

    async fn markdown(&self, document: &mut Document, main: bool) -> Result<String, ScanError> {
        if main {
            let options = r#"{"only_main_content":true}"#;
            let text: String = self.role(document, "markdown", options).await?;
            if !text.trim().is_empty() {
                return Ok(text);
            }
        }
        let options = r#"{"only_main_content":false}"#;
        self.role(document, "markdown", options).await
    }

    /// Runs one role and parses its answer. `null`, of a page that has none, is the default: no text, no links.
    ///
    /// # Errors
    /// When the plugin fails, or its answer has the wrong shape.
    pub async fn role<T: serde::de::DeserializeOwned + Default + Send + 'static>(
        &self,
        document: &mut Document,
        role: &str,
        options: &str,
    ) -> Result<T, ScanError> {
        let outcome = self
            .extract(document, &[RoleRequest::new(role, options)])
            .await?;
        let failed = |plugin: Option<&str>, why: &str| {
            let name = plugin.map(|name| format!(" `{name}`")).unwrap_or_default();
            ScanError::Plugin(format!("the {role} extractor{name} failed: {why}"))
        };
        let answer = outcome.answer(role).map(Arc::clone);
        match (answer, outcome.errors.first()) {
            (Some(json), _) => {
                let parse = move || serde_json::from_str::<Option<T>>(json.get());
                let parsed = sized(outcome.size(), parse).await?;
                let parsed = parsed.map(Option::unwrap_or_default);
                parsed.map_err(|error| failed(None, &error.to_string()))
            }
            (None, Some(error)) => Err(failed(error.plugin.as_deref(), &error.message)),
            (None, None) => Err(failed(None, "it gave no answer")),
        }
    }
}

/// The body as it is, if it is text.
async fn source(document: &mut Document) -> Result<String, ScanError> {
    let page = document.page().await?;
    let text = &page.parts().html;
    if document.kind == Kind::Text || !text.is_empty() {
        return Ok(text.to_string());
    }
    let what = document.header("content-type").unwrap_or("binary data");
    let why = match document.conversion() {
        Some(Err(why)) => why,
        _ => "it has no text to return",
    };
    Err(ScanError::Refused(format!("the target is {what}: {why}")))
}

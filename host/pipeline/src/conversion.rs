//! Documents that are no HTML (PDF, DOCX, ODT, feeds): a plugin converts them, and every role then
//! reads the HTML.

use std::sync::Arc;

use orbweaver_core::content::{self, Kind};
use orbweaver_dom::text::push_escaped_html;
use orbweaver_engine::{Engine, Json, Page, PluginError, RoleCall};
use serde::Deserialize;

use crate::blocking::blocking_of;
use crate::document::Document;
use crate::error::ScanError;
use crate::extract::log_failure;
use crate::extractor_cache::Keys;
use crate::pipeline::Pipeline;
use crate::roles::RoleRequest;

/// The role that converts a document.
pub const DOCUMENT_ROLE: &str = "document-html";

/// A converted document.
#[derive(Clone, Debug, Deserialize)]
pub struct ConvertedDocument {
    /// The document as HTML.
    pub html: Arc<str>,
    /// What was converted, and what is missing.
    pub notice: String,
    /// Whether a role failed that the converter needs: another conversion may have another result.
    #[serde(skip)]
    pub(crate) is_partial: bool,
}

/// Converts a document, without the cache. An error says why there is no HTML.
///
/// # Errors
/// No plugin serves the role, or it failed on this document.
#[crate::boxed]
pub async fn convert_document(
    engine: &Engine,
    page: &Arc<Page>,
) -> Result<ConvertedDocument, String> {
    let json = run(engine, page).await?;
    read(&json, json.is_partial())
}

/// The page with the HTML of its document, or with its text as HTML that shows it; the page itself
/// if it is neither, or could not be converted.
#[crate::boxed]
pub async fn readable_page(engine: &Engine, page: Arc<Page>) -> Arc<Page> {
    let parts = page.parts();
    let content_type = parts
        .headers
        .iter()
        .find(|(name, _)| name == "content-type");
    let content_type = content_type.map(|(_, value)| value.as_str());
    match content::sniff(content_type, &parts.body).kind {
        Kind::Document => match convert_document(engine, &page).await {
            Ok(converted) => page.with_html(converted.html),
            Err(_) => page,
        },
        // Without a type it is what a plugin made, which is HTML.
        Kind::Text if content_type.is_some() => {
            let (source, engine) = (Arc::clone(&page), engine.clone());
            let shown = move || engine.measure(|| shown_as_it_is(&source.parts().html));
            match blocking_of(page.parts().html.len(), shown).await {
                Ok(html) => page.with_html(html),
                Err(_) => page,
            }
        }
        _ => page,
    }
}

/// HTML whose text is this text: nothing in it is markup. A line end after `<pre>` is no content.
fn shown_as_it_is(text: &str) -> Arc<str> {
    let mut html = String::with_capacity(text.len() + text.len() / 16 + 16);
    html.push_str("<pre>\n");
    push_escaped_html(text, &mut html);
    html.push_str("</pre>");
    html.into()
}

async fn run(engine: &Engine, page: &Arc<Page>) -> Result<Json, String> {
    engine.await_role(DOCUMENT_ROLE).await;
    let Some(plugin) = engine.role(DOCUMENT_ROLE) else {
        let unloaded = engine.unloaded_role(DOCUMENT_ROLE);
        return Err(unloaded.map_or_else(
            || format!("no plugin serves the role {DOCUMENT_ROLE}"),
            |error| error.to_string(),
        ));
    };
    let call = RoleCall {
        role: DOCUMENT_ROLE.to_owned(),
        options: String::new(),
    };
    match engine.extract(page, vec![call]).await.pop() {
        Some(Ok(json)) => Ok(json),
        Some(Err(PluginError::Reported(error))) => Err(error.message),
        Some(Err(error)) => {
            log_failure(DOCUMENT_ROLE, Some(&plugin), None, &error);
            Err(match error {
                PluginError::Limit(limit) => format!("its conversion costs too much: {limit}"),
                PluginError::Trap(_) => "the converter failed on this file".to_owned(),
                error => error.to_string(),
            })
        }
        None => Err("the plugin gave no answer".to_owned()),
    }
}

fn read(json: &str, is_partial: bool) -> Result<ConvertedDocument, String> {
    let read: Result<ConvertedDocument, _> = serde_json::from_str(json);
    let converted = read.map_err(|error| format!("the plugin's answer is wrong: {error}"))?;
    Ok(ConvertedDocument {
        is_partial,
        ..converted
    })
}

impl Pipeline {
    /// Whether roles can read the document: it is HTML, or it was converted to HTML. Converts it
    /// on first use; the result is cached.
    ///
    /// # Errors
    /// When the stored body cannot be read.
    #[crate::boxed]
    pub async fn readable(&self, document: &mut Document) -> Result<bool, ScanError> {
        if document.kind == Kind::Document && document.conversion().is_none() {
            let conversion = self.conversion(document).await?;
            document.set_conversion(conversion);
        }
        Ok(document.is_readable())
    }

    async fn conversion(
        &self,
        document: &mut Document,
    ) -> Result<Result<ConvertedDocument, String>, ScanError> {
        self.engine.await_role(DOCUMENT_ROLE).await;
        let plugin = self.engine.role(DOCUMENT_ROLE);
        let request = RoleRequest::new(DOCUMENT_ROLE, "");
        let key = plugin
            .as_ref()
            .map(|plugin| Keys::new(document, None).role(&request, plugin));
        let known = plugin.as_ref().zip(key);
        if let Some(json) = known.and_then(|(plugin, key)| self.results_of(plugin).get(&key)) {
            return Ok(read(json.get(), false));
        }
        let page = document.page().await?;
        let json = match run(&self.engine, &page).await {
            Ok(json) => json,
            Err(why) => return Ok(Err(why)),
        };
        let converted = read(&json, json.is_partial());
        if converted.as_ref().is_ok_and(|one| !one.is_partial)
            && let (Some(plugin), Some(key)) = (plugin, key)
            && self.engine.role(DOCUMENT_ROLE).as_ref() == Some(&plugin)
        {
            self.results_of(&plugin).insert(key, json.into_shared());
        }
        Ok(converted)
    }

    /// The page that roles read: of a document, its HTML. `None` if there is none.
    ///
    /// # Errors
    /// When the stored body cannot be read.
    #[crate::boxed]
    pub async fn content_page(
        &self,
        document: &mut Document,
    ) -> Result<Option<Arc<Page>>, ScanError> {
        match self.readable(document).await? {
            true => document.content_page().await.map(Some),
            false => Ok(None),
        }
    }
}

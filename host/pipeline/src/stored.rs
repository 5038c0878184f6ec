//! A stored page's content, extracted when it is asked for.

use orbweaver_core::content::Kind;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::Store;
use orbweaver_store::crawl::PageRecord;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::error::ScanError;
use crate::json::Object;
use crate::pipeline::Pipeline;
use crate::roles::{RoleError, RoleRequest};

/// What of a stored page is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The HTML.
    pub html: bool,
    /// Markdown with links.
    pub markdown: bool,
    /// The main content, as text and as HTML.
    pub article: bool,
    /// Signals.
    pub signals: bool,
    /// The hash of the visible content.
    pub content_hash: bool,
}

/// Why there is no content.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The page was stored without its body.
    #[error("the page was stored without its HTML (store_html was false)")]
    NoBody,
    /// As of a scan.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// What a crawl keeps of a page without a body.
#[derive(Deserialize)]
struct Kept<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
    #[serde(borrow)]
    signals: &'a RawValue,
}

#[derive(Deserialize)]
struct Article<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
    #[serde(borrow)]
    html: &'a RawValue,
}

const NULL: &str = "null";

impl Pipeline {
    /// The answer of GET /v1/pages/{id}: JSON.
    ///
    /// # Errors
    /// [`StoredError::NoBody`] where what is asked for needs one; a fault of ours.
    pub async fn stored(
        &self,
        store: &Store,
        project: ProjectId,
        record: PageRecord,
        parts: Parts,
    ) -> Result<String, StoredError> {
        let PageRecord {
            metadata,
            extensions,
            page,
            ..
        } = record;
        let mut out = Object::with_capacity(16_384);
        out.value("id", &page.id);
        out.value("url", &page.url);
        out.value("status", &page.status);
        out.value("bytes", &page.bytes);
        out.value("fetched_at", &page.fetched_at);
        let Some(mut document) = Document::from_store(store, project, page) else {
            let needs_body = parts.html || parts.markdown || parts.article;
            let kept = metadata
                .as_deref()
                .and_then(|json| serde_json::from_str::<Kept<'_>>(json).ok())
                .filter(|_| parts.signals && !needs_body)
                .ok_or(StoredError::NoBody)?;
            out.raw("metadata", kept.metadata.get());
            out.raw("signals", kept.signals.get());
            push_extensions(&mut out, extensions.as_deref());
            return Ok(out.finish());
        };
        let outcome = self.extract(&mut document, &parts.roles()).await?;
        let mut errors: Vec<RoleError> = outcome.errors.clone();
        if parts.html {
            let html = match document.kind {
                Kind::Html | Kind::Text => Some(document.page().await?),
                Kind::Other => None,
            };
            out.value("html", &html.as_ref().map(|page| &*page.parts().html));
        }
        if parts.markdown {
            out.raw("markdown", outcome.role("markdown").unwrap_or(NULL));
        }
        if parts.article {
            let article = outcome.role("article").and_then(|json| {
                serde_json::from_str::<Article<'_>>(json)
                    .inspect_err(|error| {
                        errors.push(RoleError {
                            role: "article".to_owned(),
                            plugin: None,
                            message: format!("its answer is no article: {error}"),
                        });
                    })
                    .ok()
            });
            out.raw(
                "article_text",
                article.as_ref().map_or(NULL, |a| a.text.get()),
            );
            out.raw(
                "article_html",
                article.as_ref().map_or(NULL, |a| a.html.get()),
            );
        }
        out.raw("metadata", outcome.role("metadata").unwrap_or(NULL));
        if parts.signals {
            out.raw("signals", outcome.role("signals").unwrap_or(NULL));
        }
        if parts.content_hash {
            out.value("content_hash", &document.content_hash);
        }
        push_extensions(&mut out, extensions.as_deref());
        if !errors.is_empty() {
            out.value("errors", &errors);
        }
        Ok(out.finish())
    }
}

impl Parts {
    fn roles(self) -> Vec<RoleRequest> {
        let mut roles = vec![RoleRequest::new("metadata", "")];
        if self.markdown {
            // As a scan asks for it, so that both share what is cached.
            roles.push(RoleRequest::new(
                "markdown",
                r#"{"only_main_content":false}"#,
            ));
        }
        if self.article {
            roles.push(RoleRequest::new("article", ""));
        }
        if self.signals {
            roles.push(RoleRequest::new("signals", ""));
        }
        roles
    }
}

fn push_extensions(out: &mut Object, extensions: Option<&str>) {
    if let Some(extensions) = extensions {
        out.raw("extensions", extensions);
    }
}

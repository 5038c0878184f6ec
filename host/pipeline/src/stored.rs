//! Content of stored pages, extracted on request.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_store::Store;
use orbweaver_store::crawl::PageRecord;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::answer::{Article, to_json};
use crate::document::Document;
use crate::error::ScanError;
use crate::pipeline::Pipeline;
use crate::roles::{RoleError, RoleRequest};

/// The requested parts of a stored page.
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

/// Why the content cannot be returned.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The page was stored without its body.
    #[error("the page was stored without its HTML (store_html was false)")]
    NoBody,
    /// Same failures as a scan.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// A stored page; the members present depend on `format`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Page)]
pub struct PageContent<'a> {
    /// The page's global id.
    #[schema(value_type = i64)]
    pub id: PageId,
    /// The URL as it was found.
    pub url: &'a str,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
    /// When the response arrived.
    pub fetched_at: DateTime<Utc>,
    /// With `html`, `both`, `full`; null if the body is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub html: Option<Option<&'a str>>,
    /// With `markdown`, `both`, `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub markdown: Option<Option<&'a RawValue>>,
    /// With `article`, `both`, `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub article_text: Option<Option<&'a RawValue>>,
    /// With `article`, `both`, `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub article_html: Option<Option<&'a RawValue>>,
    /// `article`, `both`, `full`: what type of page it is, and how sure that is, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>, extensions(("x-extension" = json!(true))))]
    pub page_type: Option<&'a RawValue>,
    /// Title, description, Open Graph …
    #[schema(required = true, value_type = Option<Value>)]
    pub metadata: Option<&'a RawValue>,
    /// With `signals`, `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>)]
    pub signals: Option<Option<&'a RawValue>>,
    /// With `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub content_hash: Option<&'a str>,
    /// Outputs of the extractors that the crawl named.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, value_type = Option<Value>, extensions(("x-extension" = json!(true))))]
    pub extensions: Option<&'a RawValue>,
    /// Extractors that failed; their members are null.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub errors: Vec<RoleError>,
    /// Why there is no content, if the body is not HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub notice: Option<String>,
}

/// Content kept in the row of a page that a crawl stores without its body, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptContent<'a> {
    /// The metadata role's answer; null where the plugin failed.
    #[serde(borrow)]
    pub metadata: &'a RawValue,
    /// The signals role's answer; null where the plugin failed.
    #[serde(borrow)]
    pub signals: &'a RawValue,
}

impl Pipeline {
    /// The answer of GET /v1/pages/{id}: JSON.
    ///
    /// # Errors
    /// [`StoredError::NoBody`] where what is asked for needs one; a fault of ours.
    #[crate::boxed]
    pub async fn stored(
        &self,
        store: &Store,
        project: ProjectId,
        record: PageRecord,
        parts: Parts,
    ) -> Result<Bytes, StoredError> {
        let PageRecord {
            metadata,
            extensions,
            page,
            ..
        } = record;
        let extensions: Option<&RawValue> = extensions
            .as_deref()
            .and_then(|json| serde_json::from_str(json).ok());
        let (url, id, fetched_at) = (page.url.clone(), page.id, page.fetched_at);
        let mut answer = PageContent {
            id,
            url: &url,
            status: page.status,
            bytes: page.bytes,
            fetched_at,
            html: None,
            markdown: None,
            article_text: None,
            article_html: None,
            page_type: None,
            metadata: None,
            signals: None,
            content_hash: None,
            extensions,
            errors: Vec::new(),
            notice: None,
        };
        let Some(mut document) = Document::from_store(store, project, page) else {
            let needs_body = parts.html || parts.markdown || parts.article;
            let kept = metadata
                .as_deref()
                .and_then(|json| serde_json::from_str::<KeptContent<'_>>(json).ok())
                .filter(|_| parts.signals && !needs_body)
                .ok_or(StoredError::NoBody)?;
            answer.metadata = Some(kept.metadata);
            answer.signals = Some(Some(kept.signals));
            return Ok(to_json(&answer, 4_096)?);
        };
        answer.notice = document.notice();
        let outcome = self.extract(&mut document, &parts.roles()).await?;
        answer.errors.clone_from(&outcome.errors);
        let page = match document.kind {
            Kind::Html | Kind::Text if parts.html => Some(document.page().await?),
            _ => None,
        };
        if parts.html {
            answer.html = Some(page.as_ref().map(|page| &*page.parts().html));
        }
        if parts.markdown {
            answer.markdown = Some(outcome.role("markdown"));
        }
        if parts.article {
            let article = Article::read(&outcome, &mut answer.errors);
            answer.article_text = Some(article.as_ref().map(|article| article.text));
            answer.article_html = Some(article.as_ref().map(|article| article.html));
            answer.page_type = article.as_ref().and_then(|article| article.page_type);
        }
        answer.metadata = outcome.role("metadata");
        if parts.signals {
            answer.signals = Some(outcome.role("signals"));
        }
        if parts.content_hash {
            answer.content_hash = Some(&document.content_hash);
        }
        let size = outcome.size() + page.as_ref().map_or(0, |page| page.parts().html.len());
        Ok(to_json(&answer, size + 4_096)?)
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

//! Content of stored pages, extracted on request.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_engine::Page;
use orbweaver_store::Store;
use orbweaver_store::crawl::PageRecord;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::answer::{Article, to_json};
use crate::blocking::sized;
use crate::document::{Document, joined};
use crate::error::ScanError;
use crate::extract_fields::{Extracted, FieldError, split_stored};
use crate::extractor_options::{ExtractorOptions, options_of};
use crate::pipeline::Pipeline;
use crate::roles::{Outcome, RoleError, RoleRequest};

/// The requested parts of a stored page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The HTML.
    pub html: bool,
    /// Markdown with links.
    pub markdown: bool,
    /// Whether the Markdown is without navigation, footer and sidebars.
    pub main_content: bool,
    /// The main content, as text and as HTML.
    pub article: bool,
    /// Metadata.
    pub metadata: bool,
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
    /// With `html`, `both`, `full`: the body as text; null if it is not text, as that of a PDF.
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
    /// `article`, `both`, `full`: what type of page it is, and how sure that is, 0 to 1; absent where
    /// the page has too little to judge by.
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
    /// The fields that the crawl's `extract` describes; null where they could not be extracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>, extensions(("x-extension" = json!(true))))]
    pub extracted: Option<Option<&'a RawValue>>,
    /// Fields that are not as `extract` describes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub extract_errors: Option<Vec<FieldError>>,
    /// Outputs of the extractors that the crawl named.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, value_type = Option<Value>, extensions(("x-extension" = json!(true))))]
    pub extensions: Option<&'a RawValue>,
    /// What the crawl's hooks made of the page, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub records: Vec<HookRecord>,
    /// Extractors that failed; their members are null.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub errors: Vec<RoleError>,
    /// That the page is incomplete; and what was converted to HTML, or why there is no content, if the body is
    /// not HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub notice: Option<String>,
}

/// A record that a hook made of a page.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PageRecord)]
pub struct HookRecord {
    /// The hook's name.
    pub hook: String,
    /// The record: any JSON.
    #[schema(value_type = Value)]
    pub data: Box<RawValue>,
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

/// Content of a stored page, as far as it was requested.
#[derive(Debug, Default)]
pub struct StoredContent {
    outcome: Outcome,
    page: Option<Arc<Page>>,
    /// Metadata and signals kept at crawl time: a [`KeptContent`].
    kept: Option<Box<RawValue>>,
    /// Extractors that failed.
    pub errors: Vec<RoleError>,
    /// That the page is incomplete; and what was converted to HTML, or why there is no content, if the body is
    /// not HTML.
    pub notice: Option<String>,
}

impl StoredContent {
    /// The HTML as text; `None` if the body is not text.
    pub fn html(&self) -> Option<&str> {
        self.page.as_ref().map(|page| &*page.parts().html)
    }

    /// The answer of a role: `markdown`, `metadata` or `signals`.
    pub fn role(&self, role: &str) -> Option<&RawValue> {
        let Some(kept) = &self.kept else {
            return self.outcome.role(role);
        };
        let kept: KeptContent<'_> = serde_json::from_str(kept.get()).ok()?;
        match role {
            "metadata" => Some(kept.metadata),
            "signals" => Some(kept.signals),
            _ => None,
        }
    }

    /// The article as text and as HTML.
    pub fn article(&self) -> Option<(&RawValue, &RawValue)> {
        let article = Article::read(&self.outcome)?;
        Some((article.text, article.html))
    }

    /// Total bytes of all content.
    fn size(&self) -> usize {
        self.outcome.size() + self.html().map_or(0, str::len)
    }
}

impl Pipeline {
    /// The answer of GET /v1/pages/{id}: JSON.
    ///
    /// # Errors
    /// [`StoredError::NoBody`] if the requested content needs the body; an internal error.
    #[crate::boxed]
    pub async fn stored(
        &self,
        store: &Store,
        project: ProjectId,
        mut record: PageRecord,
        parts: Parts,
        options: &ExtractorOptions,
    ) -> Result<Bytes, StoredError> {
        let (extensions, fields) = split_stored(record.extensions.take().as_deref());
        let records = match record.run {
            Some(_) => records(store, project, record.page.id).await?,
            None => Vec::new(),
        };
        let (url, id) = (record.page.url.clone(), record.page.id);
        let (status, bytes) = (record.page.status, record.page.bytes);
        let fetched_at = record.page.fetched_at;
        let content_hash = record.page.content_hash.clone();
        let content = self
            .stored_content(store, project, record, parts, options)
            .await?;
        let size = content.size();
        let write = move || {
            let extracted = fields.as_deref().and_then(Extracted::read);
            let has_body = content.kept.is_none();
            let article = match parts.article {
                true => Article::read(&content.outcome),
                false => None,
            };
            let answer = PageContent {
                id,
                url: &url,
                status,
                bytes,
                fetched_at,
                html: parts.html.then(|| content.html()),
                markdown: parts.markdown.then(|| content.role("markdown")),
                article_text: parts
                    .article
                    .then(|| article.as_ref().map(|article| article.text)),
                article_html: parts
                    .article
                    .then(|| article.as_ref().map(|article| article.html)),
                page_type: article.as_ref().and_then(|article| article.page_type),
                metadata: content.role("metadata"),
                signals: parts.signals.then(|| content.role("signals")),
                content_hash: content_hash
                    .as_deref()
                    .filter(|_| parts.content_hash && has_body),
                extracted: fields
                    .is_some()
                    .then(|| extracted.as_ref().map(|fields| fields.data)),
                extract_errors: extracted.as_ref().map(|fields| fields.errors.clone()),
                extensions: extensions.as_deref(),
                records,
                errors: content.errors.clone(),
                notice: content.notice.clone(),
            };
            to_json(&answer, size + 4_096)
        };
        Ok(sized(size, write).await??)
    }

    /// The requested content of a stored page; `content_hash` is a part of its row. `options` are
    /// those of its extractors, by role.
    ///
    /// # Errors
    /// [`StoredError::NoBody`] if the requested content needs the body; an internal error.
    #[crate::boxed]
    pub async fn stored_content(
        &self,
        store: &Store,
        project: ProjectId,
        record: PageRecord,
        parts: Parts,
        options: &ExtractorOptions,
    ) -> Result<StoredContent, StoredError> {
        let lack = Document::lack_without_body(&record.page);
        let why_none = Document::never_had_content(&record.page);
        let Some(mut document) = Document::from_store(store, project, record.page) else {
            if parts.html || parts.markdown || parts.article {
                return Err(StoredError::NoBody);
            }
            let kept = record
                .metadata
                .filter(|json| is_kept_content(json))
                .and_then(|json| RawValue::from_string(json).ok());
            // What has no content has none without its body either.
            let why_none = why_none.filter(|_| kept.is_none());
            if kept.is_none() && why_none.is_none() {
                return Err(StoredError::NoBody);
            }
            return Ok(StoredContent {
                kept,
                notice: joined(lack, why_none),
                ..StoredContent::default()
            });
        };
        let pipeline = self.of_project(project);
        let outcome = pipeline
            .extract(&mut document, &parts.roles(options))
            .await?;
        let page = match document.kind {
            Kind::Html | Kind::Text | Kind::Document if parts.html => Some(document.page().await?),
            _ => None,
        };
        // A document that is no text, such as a PDF, has none.
        let page =
            page.filter(|page| document.kind != Kind::Document || !page.parts().html.is_empty());
        Ok(StoredContent {
            errors: outcome.errors.clone(),
            outcome,
            page,
            kept: None,
            notice: document.notice(),
        })
    }
}

fn is_kept_content(json: &str) -> bool {
    serde_json::from_str::<KeptContent<'_>>(json).is_ok()
}

async fn records(
    store: &Store,
    project: ProjectId,
    page: PageId,
) -> Result<Vec<HookRecord>, StoredError> {
    let records = store.page_records(project, page).await;
    let records = records.map_err(ScanError::from)?;
    let records = records.into_iter().filter_map(|(hook, data)| {
        let data = RawValue::from_string(data).ok()?;
        Some(HookRecord { hook, data })
    });
    Ok(records.collect())
}

impl Parts {
    /// About how many bytes the content of a page with a body of `bytes` bytes takes, and its JSON:
    /// its text, and of each part as much.
    pub fn memory(self, bytes: u64) -> u64 {
        let of_article = 2 * u64::from(self.article);
        let parts = u64::from(self.html) + u64::from(self.markdown) + of_article;
        bytes.saturating_mul(1 + parts)
    }

    /// Whether a role is run for these parts.
    pub fn runs(self, role: &str) -> bool {
        let none = ExtractorOptions::new();
        self.roles(&none).iter().any(|request| request.role == role)
    }

    fn roles(self, options: &ExtractorOptions) -> Vec<RoleRequest> {
        let mut roles = Vec::new();
        if self.metadata {
            roles.push(RoleRequest::new("metadata", ""));
        }
        if self.markdown {
            // The options of a scan, so that both share cached results.
            let options = match self.main_content {
                true => r#"{"only_main_content":true}"#,
                false => r#"{"only_main_content":false}"#,
            };
            roles.push(RoleRequest::new("markdown", options));
        }
        if self.article {
            roles.push(RoleRequest::new("article", ""));
        }
        if self.signals {
            roles.push(RoleRequest::new("signals", ""));
        }
        for request in &mut roles {
            request.options = options_of(&request.role, &request.options, options);
        }
        roles
    }
}

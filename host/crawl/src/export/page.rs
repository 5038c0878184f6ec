//! A page of an export.

use chrono::{DateTime, SecondsFormat, Utc};
use orbweaver_core::ids::PageId;
use orbweaver_pipeline::{Extracted, FieldError, RoleError, StoredContent, split_stored};
use orbweaver_store::StoredPage;
use orbweaver_store::crawl::PageSummary;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::include::Include;

/// A field that is there only if it is included, and then may be null.
type Included<T> = Option<Option<T>>;

/// A page of an export; besides the first five, it has the members that `include` names.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportedPage {
    /// The page's global id: the next export continues behind it with `after`.
    #[schema(value_type = i64)]
    pub id: PageId,
    /// The URL.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
    /// When the response arrived.
    pub fetched_at: DateTime<Utc>,
    /// With `title`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub title: Included<String>,
    /// With `final_url`: the URL that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub final_url: Option<String>,
    /// With `depth`: number of links from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<u32>)]
    pub depth: Included<u32>,
    /// With `content_type`: the header as received.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub content_type: Included<String>,
    /// With `content_hash`: hash of the visible content.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub content_hash: Included<String>,
    /// With `elapsed_ms`: duration of the fetch, redirects included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<u64>)]
    pub elapsed_ms: Included<u64>,
    /// With `redirects`: those that led to the page, each with `url` and `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Vec<Value>)]
    pub redirects: Option<Box<RawValue>>,
    /// With `inlinks`: number of other pages of the run that link to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub inlinks: Option<u32>,
    /// With `markdown`; null if the body is not HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub markdown: Included<Box<RawValue>>,
    /// With `article`: the main content as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub article_text: Included<Box<RawValue>>,
    /// With `article`: the main content as HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub article_html: Included<Box<RawValue>>,
    /// With `html`; null if the body is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub html: Included<String>,
    /// With `metadata`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>)]
    pub metadata: Included<Box<RawValue>>,
    /// With `signals`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>)]
    pub signals: Included<Box<RawValue>>,
    /// With `extensions`: outputs of the extractors that the crawl named.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>)]
    pub extensions: Included<Box<RawValue>>,
    /// With `extracted`: the fields that the crawl's `extract` describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>)]
    pub extracted: Included<Box<RawValue>>,
    /// With `extracted`: fields that are not as `extract` describes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub extract_errors: Option<Vec<FieldError>>,
    /// Content that could not be extracted; its members are null.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, nullable = false)]
    pub errors: Vec<RoleError>,
    /// That the page is incomplete; and what was converted to HTML, or why there is no content, if the body is
    /// not HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub notice: Option<String>,
    /// What a WARC record is written from.
    #[serde(skip)]
    #[schema(ignore)]
    pub(super) stored: Option<Response>,
    /// The page's row.
    #[serde(skip)]
    #[schema(ignore)]
    pub(super) summary: PageSummary,
}

/// A stored response.
#[derive(Debug)]
pub(super) struct Response {
    /// Its row.
    pub(super) page: StoredPage,
    /// The decoded body; `None` if it is not stored.
    pub(super) body: Option<Vec<u8>>,
}

impl ExportedPage {
    /// A page without content; members of its content are null.
    pub(super) fn new(summary: PageSummary, include: &Include, inlinks: Option<u32>) -> Self {
        let null = |is_asked: bool| is_asked.then_some(None);
        let redirects = include.redirects.then(|| {
            let json = summary.redirects.clone();
            json.and_then(|json| RawValue::from_string(json).ok())
                .unwrap_or_else(no_redirects)
        });
        Self {
            id: summary.item.id,
            url: summary.item.url.clone(),
            status: summary.item.status,
            bytes: summary.item.bytes,
            fetched_at: summary.item.fetched_at,
            title: include.title.then(|| summary.title.clone()),
            final_url: include.final_url.then(|| summary.final_url.clone()),
            depth: include.depth.then_some(summary.depth),
            content_type: include.content_type.then(|| summary.content_type.clone()),
            content_hash: include.content_hash.then(|| summary.content_hash.clone()),
            elapsed_ms: include.elapsed_ms.then_some(summary.elapsed_ms),
            redirects,
            inlinks,
            markdown: null(include.markdown),
            article_text: null(include.article),
            article_html: null(include.article),
            html: include.html.then_some(None),
            metadata: null(include.metadata),
            signals: null(include.signals),
            extensions: null(include.extensions),
            extracted: null(include.extracted),
            extract_errors: include.extracted.then(Vec::new),
            errors: Vec::new(),
            notice: None,
            stored: None,
            summary,
        }
    }

    /// Adds what was extracted.
    pub(super) fn fill(&mut self, include: &Include, content: StoredContent) {
        let role = |name| Some(content.role(name).map(ToOwned::to_owned));
        if include.markdown {
            self.markdown = role("markdown");
        }
        if include.metadata {
            self.metadata = role("metadata");
        }
        if include.signals {
            self.signals = role("signals");
        }
        if include.html {
            self.html = Some(content.html().map(str::to_owned));
        }
        if include.article
            && let Some((text, html)) = content.article()
        {
            self.article_text = Some(Some(text.to_owned()));
            self.article_html = Some(Some(html.to_owned()));
        }
        self.errors = content.errors;
        self.notice = content.notice;
    }

    /// The cells of a line of CSV: those of every list, then one for each of
    /// [`Include::columns`].
    pub(super) fn cells(&self, columns: &[&str]) -> Vec<String> {
        let fixed = [
            self.id.to_string(),
            self.url.clone(),
            self.status.to_string(),
            self.bytes.to_string(),
            self.fetched_at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        ];
        let included = columns.iter().map(|name| self.cell(name));
        fixed.into_iter().chain(included).collect()
    }

    fn cell(&self, name: &str) -> String {
        let text = |value: &Included<String>| value.clone().flatten().unwrap_or_default();
        let number = |value: Option<u64>| value.map(|n| n.to_string()).unwrap_or_default();
        match name {
            "title" => text(&self.title),
            "final_url" => self.final_url.clone().unwrap_or_default(),
            "depth" => number(self.depth.flatten().map(u64::from)),
            "content_type" => text(&self.content_type),
            "content_hash" => text(&self.content_hash),
            "elapsed_ms" => number(self.elapsed_ms.flatten()),
            "redirects" => self.redirects.as_deref().map(json_cell).unwrap_or_default(),
            "inlinks" => number(self.inlinks.map(u64::from)),
            "markdown" => text_cell(&self.markdown),
            "article_text" => text_cell(&self.article_text),
            "article_html" => text_cell(&self.article_html),
            "html" => text(&self.html),
            "metadata" => included_json(&self.metadata),
            "signals" => included_json(&self.signals),
            "extensions" => included_json(&self.extensions),
            "extracted" => included_json(&self.extracted),
            "extract_errors" => self.error_cell(),
            _ => String::new(),
        }
    }

    /// What is wrong with the extracted fields, as JSON; empty where nothing is.
    fn error_cell(&self) -> String {
        let errors = self.extract_errors.as_ref();
        let errors = errors.filter(|errors| !errors.is_empty());
        errors
            .and_then(|errors| serde_json::to_string(errors).ok())
            .unwrap_or_default()
    }

    /// Adds what the crawl's extractors made of the page.
    pub(super) fn extend(&mut self, include: &Include, extensions: Option<&str>) {
        let (extensions, fields) = split_stored(extensions);
        if include.extensions {
            self.extensions = Some(extensions);
        }
        if include.extracted
            && let Some(fields) = fields.as_deref().and_then(Extracted::read)
        {
            self.extracted = Some(Some(fields.data.to_owned()));
            self.extract_errors = Some(fields.errors);
        }
    }

    /// The Markdown as text.
    pub(super) fn markdown_text(&self) -> Option<String> {
        text_of(&self.markdown)
    }
}

fn no_redirects() -> Box<RawValue> {
    RawValue::from_string("[]".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn json_cell(json: &RawValue) -> String {
    json.get().to_owned()
}

fn included_json(value: &Included<Box<RawValue>>) -> String {
    let json = value.as_ref().and_then(Option::as_deref);
    json.map(json_cell).unwrap_or_default()
}

/// The text of a JSON string; `None` if it is none.
pub(super) fn text_of(value: &Included<Box<RawValue>>) -> Option<String> {
    serde_json::from_str(value.as_ref()?.as_deref()?.get()).ok()
}

fn text_cell(value: &Included<Box<RawValue>>) -> String {
    text_of(value).unwrap_or_default()
}

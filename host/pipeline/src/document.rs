//! A page in the pipeline: its facts, and its body, loaded when needed.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use orbweaver_core::content::{self, Kind};
use orbweaver_core::ids::{BlobId, ProjectId};
use orbweaver_core::page;
use orbweaver_core::page_source::page_source;
use orbweaver_engine::{Hop, Page, PageParts};
use orbweaver_fetch::{INCOMPLETE, Response};
use orbweaver_store::{BodyEncoding, Store, StoredBody, StoredPage};
use sha2::{Digest as _, Sha256};

use crate::blocking::blocking_of;
use crate::cloud::detect::{Verdict, judge_stored};
use crate::conversion::ConvertedDocument;
use crate::error::ScanError;

/// A page that was fetched, or loaded from the store.
#[derive(Debug)]
pub struct Document {
    /// The URL asked for.
    pub url: String,
    /// The URL that answered.
    pub final_url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
    /// When the response arrived.
    pub fetched_at: DateTime<Utc>,
    /// Hash of the visible content, lower-case hex.
    pub content_hash: String,
    /// Kind of the body.
    pub kind: Kind,
    /// SHA-256 of the decoded body.
    pub body_hash: [u8; 32],
    /// Response headers except cookies; names in lower case.
    pub headers: Vec<(String, String)>,
    redirects: Vec<Hop>,
    page: Option<Arc<Page>>,
    stored: Option<Stored>,
    conversion: Option<Conversion>,
}

/// A document's HTML, or why there is none.
#[derive(Debug)]
struct Conversion {
    result: Result<ConvertedDocument, String>,
    page: Option<Arc<Page>>,
}

/// Where a stored body is.
#[derive(Debug)]
struct Stored {
    store: Store,
    project: ProjectId,
    blob: BlobId,
    /// It, if it was read ahead.
    ahead: Option<StoredBody>,
}

/// Response headers that are not kept.
const DROPPED: [&str; 2] = ["set-cookie", "set-cookie2"];

impl Document {
    /// Processes a response: text, kind, hashes, and the body to store. CPU-bound.
    pub fn from_response(response: Response, fetched_at: DateTime<Utc>) -> (Self, StoredBody) {
        let content_type = response.content_type().map(str::to_owned);
        let headers: Vec<(String, String)> = response
            .headers
            .iter()
            .filter(|(name, _)| !DROPPED.contains(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let redirects: Vec<Hop> = response
            .redirects
            .iter()
            .map(|hop| Hop {
                url: hop.url.clone(),
                status: hop.status,
            })
            .collect();
        let body = response.body;
        let kind = content::sniff(content_type.as_deref(), &body).kind;
        let html = text(kind, &body, content_type.as_deref());
        let content_hash = hash(kind, &html, &response.final_url, &body);
        let stored = keep(&body, response.raw);
        let mut document = Self {
            url: response.url,
            final_url: response.final_url,
            status: response.status,
            bytes: body.len() as u64,
            fetched_at,
            content_hash,
            kind,
            body_hash: stored.hash,
            headers,
            redirects,
            page: None,
            stored: None,
            conversion: None,
        };
        document.page = Some(document.make_page(&body, html));
        (document, stored)
    }

    /// A response as a page for plugins, without the work of storing it; `cost_usd` is its
    /// cost. CPU-bound.
    pub fn page_without_storing(response: Response, cost_usd: f64) -> Arc<Page> {
        Self::page_of(PageParts {
            headers: response
                .headers
                .iter()
                .filter(|(name, _)| !DROPPED.contains(name))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            redirects: response
                .redirects
                .into_iter()
                .map(|hop| Hop {
                    url: hop.url,
                    status: hop.status,
                })
                .collect(),
            url: response.url,
            final_url: response.final_url,
            status: response.status,
            body: Arc::from(&*response.body),
            html: Arc::default(),
            cost_usd,
        })
    }

    /// A page whose text is not decoded yet: `html` is what the body and its `content-type` make
    /// it. CPU-bound.
    pub fn page_of(mut parts: PageParts) -> Arc<Page> {
        let is_type = |(name, _): &&(String, String)| name == "content-type";
        let content_type = parts.headers.iter().find(is_type);
        let content_type = content_type.map(|(_, value)| value.as_str());
        let kind = content::sniff(content_type, &parts.body).kind;
        parts.html = text(kind, &parts.body, content_type);
        if let Some(body) = PageParts::text_as_body(&parts.body, &parts.html) {
            parts.body = body;
        }
        Page::new(parts)
    }

    /// A file as the page of a URL: a document or a binary format by its first bytes, else treated as
    /// HTML whatever its name. CPU-bound.
    pub fn from_file(url: &str, body: Vec<u8>, read_at: DateTime<Utc>) -> Self {
        Self::from_bytes(url, body, None, read_at)
    }

    /// The same for text that is decoded already, such as a field of JSON: a `meta charset` in it says
    /// how it was once encoded, and is ignored. CPU-bound.
    pub fn from_text(url: &str, text: String, read_at: DateTime<Utc>) -> Self {
        let decoded = Some("text/html; charset=utf-8");
        Self::from_bytes(url, text.into_bytes(), decoded, read_at)
    }

    fn from_bytes(
        url: &str,
        body: Vec<u8>,
        content_type: Option<&str>,
        read_at: DateTime<Utc>,
    ) -> Self {
        let kind = match content::sniff(None, &body).kind {
            Kind::Document => Kind::Document,
            // Text that is decoded already is none, whatever it begins with.
            Kind::Other if content_type.is_none() => Kind::Other,
            _ => Kind::Html,
        };
        let html = text(kind, &body, content_type);
        let mut document = Self {
            url: url.to_owned(),
            final_url: url.to_owned(),
            status: 0,
            bytes: body.len() as u64,
            fetched_at: read_at,
            content_hash: hash(kind, &html, url, &body),
            kind,
            body_hash: Sha256::digest(&body).into(),
            headers: Vec::new(),
            redirects: Vec::new(),
            page: None,
            stored: None,
            conversion: None,
        };
        document.page = Some(document.make_page(&body, html));
        document
    }

    /// What the page lacks, what was converted to HTML, or why a body that is not HTML has no content; `None`
    /// for HTML that is whole.
    pub fn notice(&self) -> Option<String> {
        joined(self.lack(), self.conversion_notice())
    }

    /// What the page lacks, if it is incomplete.
    pub(crate) fn lack(&self) -> Option<String> {
        self.header(INCOMPLETE).map(lacking)
    }

    /// What was converted to HTML, or why a body that is not HTML has no content; `None` for HTML.
    fn conversion_notice(&self) -> Option<String> {
        if self.kind == Kind::Html {
            return None;
        }
        let conversion = self.conversion.as_ref().map(|one| &one.result);
        if let Some(Ok(converted)) = conversion {
            return Some(converted.notice.clone());
        }
        let declared = self.header("content-type");
        let media_type = match &self.page {
            Some(page) => content::sniff(declared, &page.parts().body).media_type,
            None => essence(declared),
        };
        Some(match conversion {
            Some(Err(why)) => format!("the body is {media_type}, which has no content: {why}"),
            _ => not_content(&media_type, self.bytes),
        })
    }

    /// Why a page stored without its body never had content: `None` for HTML and documents.
    pub(crate) fn never_had_content(stored: &StoredPage) -> Option<String> {
        match stored.kind {
            Kind::Html | Kind::Document => return None,
            Kind::Text | Kind::Other => {}
        }
        let declared = stored_header(stored, "content-type");
        Some(not_content(&essence(declared.as_deref()), stored.bytes))
    }

    /// What a page stored without its body lacks.
    pub(crate) fn lack_without_body(stored: &StoredPage) -> Option<String> {
        match stored.body {
            Some(_) => None,
            None => stored_header(stored, INCOMPLETE).as_deref().map(lacking),
        }
    }

    /// A page of the store; its body stays there until it is needed. None where the row
    /// has no body.
    pub fn from_store(store: &Store, project: ProjectId, stored: StoredPage) -> Option<Self> {
        let (blob, body_hash) = stored.body?;
        Some(Self {
            url: stored.url,
            final_url: stored.final_url,
            status: stored.status,
            bytes: stored.bytes,
            fetched_at: stored.fetched_at,
            content_hash: stored.content_hash?,
            kind: stored.kind,
            body_hash,
            headers: serde_json::from_str(&stored.headers).ok()?,
            redirects: Vec::new(),
            page: None,
            stored: Some(Stored {
                store: store.clone(),
                project,
                blob,
                ahead: stored.ahead,
            }),
            conversion: None,
        })
    }

    /// The page for plugins; its body is read from the store on first use.
    ///
    /// # Errors
    /// When the stored body cannot be read.
    #[crate::boxed]
    pub async fn page(&mut self) -> Result<Arc<Page>, ScanError> {
        if let Some(page) = &self.page {
            return Ok(Arc::clone(page));
        }
        let missing = || ScanError::Internal("a stored body is missing".to_owned());
        let Stored {
            store,
            project,
            blob,
            ahead,
        } = self.stored.as_mut().ok_or_else(missing)?;
        let stored = match ahead.take() {
            Some(stored) => stored,
            None => store.body(*project, *blob).await?.ok_or_else(missing)?,
        };
        let content_type = self.header("content-type").map(str::to_owned);
        let kind = self.kind;
        let (body, html) = blocking_of(stored.size as usize, move || {
            let body = stored.unpack()?;
            let html = text(kind, &body, content_type.as_deref());
            Ok::<_, ScanError>((body, html))
        })
        .await??;
        let page = self.make_page(&body, html);
        self.page = Some(Arc::clone(&page));
        Ok(page)
    }

    /// What a browser would be needed for, by the rules of `auto`, of a page that was not rendered.
    pub(crate) async fn verdict(&mut self) -> Result<Verdict, ScanError> {
        let (page, kind) = (self.page().await?, self.kind);
        let bytes = page.parts().html.len();
        blocking_of(bytes, move || judge_stored(page.parts(), kind)).await
    }

    /// The conversion's result, once there is one.
    pub(crate) fn conversion(&self) -> Option<&Result<ConvertedDocument, String>> {
        self.conversion.as_ref().map(|one| &one.result)
    }

    pub(crate) fn set_conversion(&mut self, result: Result<ConvertedDocument, String>) {
        self.conversion = Some(Conversion { result, page: None });
    }

    /// Whether roles can read it: it is HTML, or was converted to HTML.
    pub(crate) fn is_readable(&self) -> bool {
        self.kind == Kind::Html || matches!(self.conversion(), Some(Ok(_)))
    }

    /// The page that roles read: with the HTML that it was converted to, if it was.
    pub(crate) async fn content_page(&mut self) -> Result<Arc<Page>, ScanError> {
        let page = self.page().await?;
        match &mut self.conversion {
            Some(Conversion {
                result: Ok(converted),
                page: made,
            }) => {
                let html = || page.with_html(Arc::clone(&converted.html));
                Ok(Arc::clone(made.get_or_insert_with(html)))
            }
            _ => Ok(page),
        }
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The redirects that led to this page; empty for a stored page.
    pub fn redirects(&self) -> &[Hop] {
        &self.redirects
    }

    fn make_page(&self, body: &[u8], html: Arc<str>) -> Arc<Page> {
        Page::new(PageParts {
            url: self.url.clone(),
            final_url: self.final_url.clone(),
            status: self.status,
            headers: self.headers.clone(),
            redirects: self.redirects.clone(),
            body: PageParts::text_as_body(body, &html).unwrap_or_else(|| Arc::from(body)),
            html,
            ..PageParts::default()
        })
    }
}

/// The first value of a header of a stored page.
fn stored_header(stored: &StoredPage, name: &str) -> Option<String> {
    let headers: Vec<(String, String)> = serde_json::from_str(&stored.headers).ok()?;
    let found = headers.into_iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value)
}

/// Says that a page is incomplete; `why` is the value of its header [`INCOMPLETE`].
pub(crate) fn lacking(why: &str) -> String {
    format!("the page is incomplete: {why}")
}

/// Two parts of a notice as one.
pub(crate) fn joined(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    }
}

/// The media type that a `content-type` declares.
fn essence(declared: Option<&str>) -> String {
    let essence = declared.and_then(|value| value.split(';').next());
    essence.unwrap_or("no HTML").trim().to_ascii_lowercase()
}

/// Why a body of this type and size has no content.
fn not_content(media_type: &str, bytes: u64) -> String {
    if bytes == 0 {
        return "the response has no body".to_owned();
    }
    format!(
        "the body is {media_type}: only HTML and documents have Markdown, an article, metadata and \
         signals"
    )
}

/// The body as text; empty if it is not text. A feed is.
fn text(kind: Kind, body: &[u8], content_type: Option<&str>) -> Arc<str> {
    let is_text = match kind {
        Kind::Html | Kind::Text => true,
        Kind::Document => content::is_text_type(&content::sniff(content_type, body).media_type),
        Kind::Other => false,
    };
    match is_text {
        true => Arc::from(page_source(body, content_type)),
        false => Arc::from(""),
    }
}

fn hash(kind: Kind, html: &str, final_url: &str, body: &[u8]) -> String {
    match kind {
        Kind::Html => page::page_pass(html, final_url).content_hash,
        Kind::Text | Kind::Document | Kind::Other => content::bytes_hash(body),
    }
}

/// The body as received, if it is one complete compressed stream, else compressed here.
fn keep(decoded: &[u8], raw: Option<orbweaver_fetch::Raw>) -> StoredBody {
    match raw.and_then(|raw| Some((raw.encoding.parse::<BodyEncoding>().ok()?, raw.bytes))) {
        Some((encoding, bytes)) => StoredBody::received(decoded, encoding, owned(bytes)),
        None => StoredBody::pack(decoded),
    }
}

/// Copies the bytes: a slice would keep its whole read buffer in memory.
fn owned(bytes: Bytes) -> Bytes {
    Bytes::copy_from_slice(&bytes)
}

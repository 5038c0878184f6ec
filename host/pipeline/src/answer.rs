//! A scan's answer.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use orbweaver_fetch::CUT;
use orbweaver_store::CloudMode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::cloud::{Answered, ModelUsage};
use crate::document::Document;
use crate::error::ScanError;
use crate::extract_fields::{Extracted, FieldError, SELECTORS_ROLE};
use crate::roles::{Outcome, RoleError};
use crate::shapes::{Link, Metadata, Signals};
use crate::site::Site;
use crate::spec::Content;

/// A screenshot: in base64, or why there is none.
pub type Picture = Result<String, String>;

/// Result of a scan. A field whose extractor failed is null, and `errors` says why. A PDF, DOCX,
/// ODT or feed is converted to HTML first. Another body that is not HTML (an image, plain text)
/// has no Markdown, article, metadata or signals.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScanResult<'a> {
    /// The URL asked for.
    #[schema(format = "uri")]
    pub url: &'a str,
    /// The URL that answered, after redirects.
    #[schema(format = "uri")]
    pub final_url: &'a str,
    /// HTTP status of the target.
    pub status: u16,
    /// How the page was fetched: `none` (plain HTTP), `browser` or `unblocker`. With `auto`
    /// this is the mode that succeeded.
    #[schema(value_type = String, extensions(("x-extension" = json!(true))))]
    pub cloud_mode: &'static str,
    /// Length of the decoded body.
    #[schema(minimum = 0)]
    pub bytes: u64,
    /// Lower-case hex SHA-256 of the visible text, title and canonical URL; of the raw
    /// bytes if the body is not HTML.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub content_hash: &'a str,
    /// The page as Markdown, with its links.
    #[schema(required = true, value_type = Option<String>)]
    pub markdown: Option<&'a RawValue>,
    /// The main content as plain text.
    #[schema(required = true, value_type = Option<String>)]
    pub article: Option<&'a RawValue>,
    /// The main content as HTML.
    #[schema(required = true, value_type = Option<String>)]
    pub article_html: Option<&'a RawValue>,
    /// What type of page it is (`article`, `collection`, `documentation`, `forum`, `listing`,
    /// `product` or `service`), and how sure that is, 0 to 1; absent where the page has too little to
    /// judge by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>, extensions(("x-extension" = json!(true))))]
    pub page_type: Option<&'a RawValue>,
    /// Title, description and other metadata of the page.
    #[schema(required = true, value_type = Option<Metadata>)]
    pub metadata: Option<&'a RawValue>,
    /// Signals that search engines use.
    #[schema(required = true, value_type = Option<Signals>)]
    pub signals: Option<&'a RawValue>,
    /// Maps each AI crawler to `allowed`, `partial` or `disallowed`; null if robots.txt could
    /// not be fetched.
    #[schema(required = true, value_type = Option<BTreeMap<String, String>>)]
    pub ai_bot_policy: Option<&'a RawValue>,
    /// The site's llms.txt, if it has one.
    #[schema(required = true)]
    pub llms_txt: Option<&'a str>,
    /// The site's llms-full.txt, if it has one.
    #[schema(required = true)]
    pub llms_full_txt: Option<&'a str>,
    /// The page's links; present with `include_links`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Vec<Link>>)]
    pub links: Option<Option<&'a RawValue>>,
    /// In base64; present with `screenshot_inline` or `screenshot`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub screenshot: Option<Option<&'a str>>,
    /// Why there is no screenshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub screenshot_error: Option<&'a str>,
    /// Says that a screenshot shows only the beginning of the page: it has at most 4096 x 16384
    /// pixels, and 20971520 in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub screenshot_notice: Option<&'static str>,
    /// The screenshots of `actions` in base64, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub screenshots: Vec<String>,
    /// The fields that `extract` describes; present with `extract`. A field whose selector matches
    /// nothing is null, or left out where the schema does not allow null.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<Value>, extensions(("x-extension" = json!(true))))]
    pub extracted: Option<Option<&'a RawValue>>,
    /// Fields that are not as `extract` describes them; present with `extract`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub extract_errors: Option<Vec<FieldError>>,
    /// What the language model cost; present with `extract.prompt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, value_type = Option<ModelUsage>, extensions(("x-extension" = json!(true))))]
    pub extract_usage: Option<&'a ModelUsage>,
    /// Outputs of additional extractors, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false, value_type = BTreeMap<String, Value>, extensions(("x-extension" = json!(true))))]
    pub extensions: BTreeMap<&'a str, &'a RawValue>,
    /// Extractors that failed. With `cloud_mode` as the role: why `auto` did not render a page that
    /// needs it (`cap`: the cap of cloud pages, `not-configured`: there is no browser, `failed`).
    #[schema(extensions(("x-extension" = json!(true))))]
    pub errors: Vec<RoleError>,
    /// That the page is incomplete; and what was converted to HTML, or why there is no content, if the body is
    /// not HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, extensions(("x-extension" = json!(true))))]
    pub notice: Option<String>,
}

/// The fields of the article extractor's answer that are returned. The engine has checked that they are there.
#[derive(Debug, Deserialize)]
pub(crate) struct Article<'a> {
    #[serde(borrow)]
    pub(crate) text: &'a RawValue,
    #[serde(borrow)]
    pub(crate) html: &'a RawValue,
    #[serde(borrow, default)]
    pub(crate) page_type: Option<&'a RawValue>,
}

impl<'a> Article<'a> {
    /// Reads the article from an outcome.
    pub(crate) fn read(outcome: &'a Outcome) -> Option<Self> {
        serde_json::from_str(outcome.role("article")?.get()).ok()
    }
}

/// What an answer has besides the page's content.
#[derive(Debug, Default)]
pub struct Besides {
    /// The screenshot, if one was requested.
    pub picture: Option<Picture>,
    /// The screenshots of actions.
    pub screenshots: Vec<Bytes>,
    /// Whether one of these shows only the beginning of what it is of.
    pub is_cut: bool,
    /// What a language model extracted, if it was asked.
    pub prompted: Option<Answered>,
    /// Why `auto` did not render a page that needs it.
    pub unrendered: Option<RoleError>,
}

/// The role under which the language model's failure is reported.
const PROMPT_ROLE: &str = "extract.prompt";

/// `[]` for a body without HTML; `None` where the plugin failed.
fn no_links(document: &Document) -> Option<&'static RawValue> {
    let none = if document.is_readable() { "null" } else { "[]" };
    serde_json::from_str(none).ok()
}

/// The answer of `POST /v1/scan` as JSON. `mode`: how the page was fetched.
///
/// # Errors
/// An internal error.
pub fn assemble(
    document: &Document,
    mode: CloudMode,
    content: &Content,
    outcome: &Outcome,
    site: &Site,
    besides: &Besides,
) -> Result<Bytes, ScanError> {
    let mut errors: Vec<RoleError> = outcome.errors.clone();
    errors.extend(besides.unrendered.clone());
    let article = Article::read(outcome);
    let asks = content.extract.is_some();
    let mut extracted = outcome.role(SELECTORS_ROLE).and_then(Extracted::read);
    match besides.prompted.as_ref().map(|prompted| &prompted.result) {
        Some(Ok(prompted)) => {
            extracted = Some(Extracted {
                data: &prompted.data,
                errors: prompted.errors.clone(),
            });
        }
        Some(Err(message)) => errors.push(RoleError {
            role: PROMPT_ROLE.to_owned(),
            plugin: None,
            code: "failed".into(),
            message: message.clone(),
        }),
        None => {}
    }
    let (screenshot, screenshot_error) = match &besides.picture {
        Some(Ok(png)) => (Some(Some(png.as_str())), None),
        Some(Err(why)) => (Some(None), Some(why.as_str())),
        None => (None, None),
    };
    let result = ScanResult {
        url: &document.url,
        final_url: &document.final_url,
        status: document.status,
        cloud_mode: mode.as_str(),
        bytes: document.bytes,
        content_hash: &document.content_hash,
        markdown: outcome.role("markdown"),
        article: article.as_ref().map(|article| article.text),
        article_html: article.as_ref().map(|article| article.html),
        page_type: article.as_ref().and_then(|article| article.page_type),
        metadata: outcome.role("metadata"),
        signals: outcome.role("signals"),
        ai_bot_policy: site.policy.as_deref(),
        llms_txt: site.llms.as_deref(),
        llms_full_txt: site.llms_full.as_deref(),
        links: content
            .include_links
            .then(|| outcome.role("links").or_else(|| no_links(document))),
        screenshot,
        screenshot_error,
        screenshot_notice: besides.is_cut.then_some(CUT),
        screenshots: besides
            .screenshots
            .iter()
            .map(|one| STANDARD.encode(one))
            .collect(),
        extracted: asks.then(|| extracted.as_ref().map(|fields| fields.data)),
        extract_usage: besides.prompted.as_ref().map(|prompted| &prompted.usage),
        extract_errors: asks.then(|| {
            extracted
                .as_ref()
                .map_or_else(Vec::new, |f| f.errors.clone())
        }),
        extensions: outcome.extensions().collect(),
        errors,
        notice: document.notice(),
    };
    to_json(&result, outcome.size() + 4_096)
}

/// Serialises an answer of about `size` bytes.
///
/// # Errors
/// An internal error.
pub(crate) fn to_json<T: Serialize>(answer: &T, size: usize) -> Result<Bytes, ScanError> {
    let mut json = Vec::with_capacity(size);
    serde_json::to_writer(&mut json, answer)
        .map_err(|error| ScanError::Internal(format!("cannot serialise an answer: {error}")))?;
    Ok(json.into())
}

//! The `extract-article` actor: a page's main content as Markdown or plain text, its reading time,
//! its metadata, and its readers' comments. Content, Markdown and metadata come from other plugins'
//! roles.

pub mod comments;

use orbweaver_sdk::{Error, Page, extract, http, text};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use comments::Comment;

orbweaver_sdk::actor! { run: run }

/// Default reading speed in words per minute: for English prose Brysbaert (2019) finds 238 in
/// silent reading, here lower for screens.
pub const DEFAULT_WPM: u32 = 220;

/// The actor's input.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// URL of the page.
    pub url: String,
    /// Format of the content.
    #[serde(default)]
    pub format: Format,
    /// Whether to look for comments.
    #[serde(default)]
    pub include_comments: bool,
    /// Reading speed in words per minute.
    #[serde(default)]
    pub wpm: Option<u32>,
}

/// Format of the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// CommonMark.
    #[default]
    Markdown,
    /// Plain text, one line per paragraph.
    Text,
}

/// The article.
#[derive(Debug, Serialize)]
pub struct Output {
    /// Status of the page's response: an error page has content, too.
    pub status_code: u16,
    /// The requested format.
    pub format: Format,
    /// The main content; empty if the page has none.
    pub content: String,
    /// Number of words of the content.
    pub word_count: u64,
    /// Reading time in seconds, rounded up.
    pub reading_time_seconds: u64,
    /// Metadata of the page.
    pub metadata: Map<String, Value>,
    /// The comments in document order; empty if they were not requested.
    pub comments: Vec<Comment>,
}

/// The fields used of the `article` role's answer.
#[derive(Default, Deserialize)]
struct Article {
    text: Option<String>,
    html: Option<String>,
    title: Option<String>,
    byline: Option<String>,
    published: Option<String>,
    lang: Option<String>,
    excerpt: Option<String>,
}

/// Fetches the page and extracts its article. The caller asks for this page, so robots.txt does not
/// apply.
pub async fn run(input: Input) -> Result<Output, Error> {
    let page = http::fetch(http::Request::get(&input.url).respect_robots(false)).await?;
    let article: Article = answer("article", &page).await?;
    let plain = article.text.as_deref().unwrap_or("");
    let word_count = text::word_count(plain);
    let content = match (input.format, article.html.as_deref()) {
        (Format::Text, _) => plain.to_owned(),
        (Format::Markdown, Some(html)) => markdown(&page, html).await?,
        (Format::Markdown, None) => String::new(),
    };
    let metadata = metadata(&page, &article).await?;
    let comments = match input.include_comments {
        true => comments::of(&page, plain)?,
        false => Vec::new(),
    };
    Ok(Output {
        status_code: page.status(),
        format: input.format,
        content,
        word_count,
        reading_time_seconds: reading_time(word_count, input.wpm.unwrap_or(DEFAULT_WPM)),
        metadata,
        comments,
    })
}

/// Reading time in seconds, rounded up.
pub fn reading_time(words: u64, wpm: u32) -> u64 {
    words.saturating_mul(60).div_ceil(u64::from(wpm.max(1)))
}

/// The article's HTML as Markdown, without the removed parts of the page.
async fn markdown(page: &Page<'_>, html: &str) -> Result<String, Error> {
    let article = Page::from_html(page.final_url(), html);
    Ok(serde_json::from_str(
        &extract("markdown", &article, "{}").await?,
    )?)
}

/// A role's answer; of a page that has none (`null`), an empty one.
async fn answer<T: DeserializeOwned + Default>(role: &str, page: &Page<'_>) -> Result<T, Error> {
    let answer: Option<T> = serde_json::from_str(&extract(role, page, "{}").await?)?;
    Ok(answer.unwrap_or_default())
}

/// The `metadata` role's answer; missing fields are filled from the article.
async fn metadata(page: &Page<'_>, article: &Article) -> Result<Map<String, Value>, Error> {
    let mut metadata: Map<String, Value> = answer("metadata", page).await?;
    for (key, value) in [
        ("title", &article.title),
        ("author", &article.byline),
        ("published", &article.published),
        ("lang", &article.lang),
        ("description", &article.excerpt),
    ] {
        let slot = metadata.entry(key).or_insert(Value::Null);
        if let (Value::Null, Some(value)) = (&*slot, value) {
            *slot = Value::String(value.clone());
        }
    }
    Ok(metadata)
}

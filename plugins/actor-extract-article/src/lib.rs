//! The `extract-article` actor: one page's main content as Markdown or plain text, how long
//! it takes to read, what the page says about itself, and its readers' comments. Content,
//! Markdown and metadata are other plugins' work, asked by role.

pub mod comments;

use orbweaver_sdk::{Error, Page, extract, http, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use comments::Comment;

orbweaver_sdk::actor! { run: run }

/// Words a minute where the caller names no speed: what adults read of English prose
/// (Brysbaert 2019 finds 238 in silence) rounded down for the screen.
pub const DEFAULT_WPM: u32 = 220;

/// What the caller gives.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// The page.
    pub url: String,
    /// What the content is written in.
    #[serde(default)]
    pub format: Format,
    /// Look for comments, too.
    #[serde(default)]
    pub include_comments: bool,
    /// Words a minute.
    #[serde(default)]
    pub wpm: Option<u32>,
}

/// What the content is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// CommonMark.
    #[default]
    Markdown,
    /// One line a paragraph.
    Text,
}

/// The article.
#[derive(Debug, Serialize)]
pub struct Output {
    /// As asked.
    pub format: Format,
    /// The main content; empty where the page has none.
    pub content: String,
    /// Words of the content's text.
    pub word_count: u64,
    /// Seconds it takes to read, rounded up.
    pub reading_time_seconds: u64,
    /// What the page says about itself.
    pub metadata: Map<String, Value>,
    /// The comments in document order; empty where they were not asked for.
    pub comments: Vec<Comment>,
}

/// What is read of the `article` role's answer.
#[derive(Deserialize)]
struct Article {
    text: Option<String>,
    html: Option<String>,
    title: Option<String>,
    byline: Option<String>,
    published: Option<String>,
    lang: Option<String>,
    excerpt: Option<String>,
}

/// Fetches the page and reads it. The caller names one page, so that robots.txt, which
/// speaks to crawlers, is not asked.
pub async fn run(input: Input) -> Result<Output, Error> {
    let page = http::fetch(http::Request::get(&input.url).respect_robots(false)).await?;
    let article: Article = serde_json::from_str(&extract("article", &page, "{}")?)?;
    let plain = article.text.as_deref().unwrap_or("");
    let word_count = text::word_count(plain);
    let content = match (input.format, article.html.as_deref()) {
        (Format::Text, _) => plain.to_owned(),
        (Format::Markdown, Some(html)) => markdown(&page, html)?,
        (Format::Markdown, None) => String::new(),
    };
    let metadata = metadata(&page, &article)?;
    let comments = match input.include_comments {
        true => comments::of(&page)?,
        false => Vec::new(),
    };
    Ok(Output {
        format: input.format,
        content,
        word_count,
        reading_time_seconds: reading_time(word_count, input.wpm.unwrap_or(DEFAULT_WPM)),
        metadata,
        comments,
    })
}

/// Seconds to read so many words, rounded up.
pub fn reading_time(words: u64, wpm: u32) -> u64 {
    words.saturating_mul(60).div_ceil(u64::from(wpm.max(1)))
}

/// The article's own HTML as Markdown: what was cut away stays away.
fn markdown(page: &Page<'_>, html: &str) -> Result<String, Error> {
    let article = Page::from_html(page.final_url(), html);
    Ok(serde_json::from_str(&extract("markdown", &article, "{}")?)?)
}

/// The `metadata` role's answer; what it leaves open, the article may know.
fn metadata(page: &Page<'_>, article: &Article) -> Result<Map<String, Value>, Error> {
    let mut metadata: Map<String, Value> = serde_json::from_str(&extract("metadata", page, "{}")?)?;
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

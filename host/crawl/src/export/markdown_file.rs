//! A page as a Markdown file.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::page::ExportedPage;

/// The page's Markdown behind a front matter of URL, title and time; `None` for a redirect, an
/// error page, or a page without Markdown. The page has to include `markdown`.
pub fn markdown_file(page: &ExportedPage) -> Option<String> {
    let markdown = page.markdown_text().filter(|_| page.status < 300)?;
    let title = page.summary.title.as_deref().unwrap_or_default();
    Some(with_front_matter(
        &page.url,
        title,
        page.fetched_at,
        &markdown,
    ))
}

/// Markdown behind a front matter (YAML) of URL, title and time.
pub fn with_front_matter(
    url: &str,
    title: &str,
    fetched_at: DateTime<Utc>,
    markdown: &str,
) -> String {
    // JSON strings are valid double-quoted YAML strings.
    format!(
        "---\nurl: {}\ntitle: {}\nfetched_at: {}\n---\n\n{}\n",
        Value::from(url),
        Value::from(title),
        fetched_at.to_rfc3339(),
        markdown.trim_end()
    )
}

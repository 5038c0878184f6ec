//! A page as a Markdown file.

use serde_json::Value;

use super::page::ExportedPage;

/// The page's Markdown behind a front matter of URL, title and time; `None` for a redirect, an
/// error page, or a page without Markdown. The page has to include `markdown`.
pub fn markdown_file(page: &ExportedPage) -> Option<String> {
    let markdown = page.markdown_text().filter(|_| page.status < 300)?;
    let title = page.summary.title.as_deref().unwrap_or_default();
    // JSON strings are valid double-quoted YAML strings.
    Some(format!(
        "---\nurl: {}\ntitle: {}\nfetched_at: {}\n---\n\n{}\n",
        Value::from(page.url.as_str()),
        Value::from(title),
        page.fetched_at.to_rfc3339(),
        markdown.trim_end()
    ))
}

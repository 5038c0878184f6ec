//! The `article` role: the main content of a page as plain text and as clean HTML, found by
//! the `orbweaver-content` crate, and what the page says about it.

mod article;
mod meta;

use orbweaver_sdk::json::Writer;
use orbweaver_sdk::{Error, Page};

pub use article::{Article, article};
pub use meta::Meta;
pub use orbweaver_content::{Kind, PageType};

/// The content as `{"text", "html", "title", "byline", "published", "lang", "excerpt"}`,
/// each null where the page has none, and `page_type`, `{"name", "confidence"}`, null where the page
/// has too little to judge by. No options.
///
/// `text` has one line a paragraph and does not begin with the page's headline. `html`
/// holds no more than plain structural elements, with absolute `http` and `https`
/// addresses.
pub fn extract(page: &Page<'_>, _options: &str) -> Result<String, Error> {
    let article = article(page)?;
    let Article {
        text,
        html,
        meta,
        page_type,
        ..
    } = article;
    let mut w = Writer::with_capacity(text.len() + html.len() + 1024);
    w.object(|w| {
        w.key("text").string_or_null(filled(&text));
        w.key("html").string_or_null(filled(&html));
        w.key("title").string_or_null(meta.title.as_deref());
        w.key("byline").string_or_null(meta.byline.as_deref());
        w.key("published").string_or_null(meta.published.as_deref());
        w.key("lang").string_or_null(meta.lang.as_deref());
        w.key("excerpt").string_or_null(meta.excerpt.as_deref());
        w.key("page_type");
        match page_type {
            Some((page_type, confidence)) => w.object(|w| {
                w.key("name").string(page_type.name());
                w.key("confidence").raw(&format!("{confidence:.2}"));
            }),
            None => w.null(),
        };
    });
    Ok(w.finish())
}

fn filled(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

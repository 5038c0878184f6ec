//! The extraction itself, on a parsed page.

use orbweaver_content::{Content, Kind, PageType};
use orbweaver_sdk::{Error, Page};

use crate::meta::{self, Meta};

/// The content found in a page.
#[derive(Clone, Debug)]
pub struct Article {
    /// Plain text, one line a block.
    pub text: String,
    /// The same as HTML of plain elements.
    pub html: String,
    /// What the page says about it.
    pub meta: Meta,
    /// What kind of page the rules take it for.
    pub kind: Kind,
    /// What type of page it is, and how sure that is, 0 to 1; `None` where there is nothing to judge
    /// by.
    pub page_type: Option<(PageType, f32)>,
}

/// Finds the content of a page and what the page says about it. Fails as [`Page::view`].
pub fn article(page: &Page<'_>) -> Result<Article, Error> {
    let (view, url) = (page.view()?, page.final_url());
    let content = Content::of(view, url);
    let text = content.text(view);
    Ok(Article {
        html: content.html(view, page.base()),
        meta: meta::collect(page, view, page.json_ld()?, &text),
        text,
        kind: content.kind,
        page_type: content.page_type,
    })
}

//! The `markdown` role: a page as CommonMark with GFM's tables, strikethrough and task
//! lists, its links and images kept.

mod anchors;
mod code;
mod destinations;
mod escape;
mod images;
mod language;
mod lists;
mod marks;
mod math;
mod media;
mod noscript;
mod plan;
mod table;
mod walk;
mod writer;

use orbweaver_content::Content;
use orbweaver_sdk::dom::View;
use orbweaver_sdk::json::Writer as Json;
use orbweaver_sdk::urls::Base;
use orbweaver_sdk::{Error, Page, Parts};

use crate::plan::Plan;
use crate::walk::Walker;

/// What of a page is converted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Only the headline and what the `article` role gives as the page's content: the same words,
    /// without navigation, the page's header and footer, sidebars and the like.
    pub only_main_content: bool,
}

/// The page as Markdown, a JSON string. Options: `{"only_main_content": bool}`; unknown
/// fields are ignored.
pub fn extract(page: &Page<'_>, options: &str) -> Result<String, Error> {
    let options = orbweaver_sdk::Options::parse(options)?;
    let options = Options {
        only_main_content: options.flag("only_main_content")?,
    };
    let markdown = convert(page.view()?, page.final_url(), page.base(), &options);
    let mut json = Json::with_capacity(markdown.len() + markdown.len() / 16 + 16);
    json.string(&markdown);
    Ok(json.finish())
}

/// The document as Markdown. Relative references are resolved against the document's
/// `<base href>` or else `base_url`; where neither is an `http` or `https` URL, they stay as
/// written.
pub fn markdown(view: &View<'_>, base_url: &str, options: &Options) -> String {
    let parts = Parts {
        url: base_url,
        final_url: base_url,
        status: 0,
        headers: &[],
        html: "",
        view,
    };
    convert(view, base_url, Page::from_parts(parts).base(), options)
}

/// Visible Markdown shorter than this may be a page whose content waits for a script.
const SUSPICIOUSLY_SHORT: usize = 200;
/// Hidden content this long is taken for the page's own in that case.
const PLAUSIBLY_CONTENT: usize = 2_000;

fn convert(view: &View<'_>, url: &str, base: Option<&Base>, options: &Options) -> String {
    if options.only_main_content {
        let main = Content::of(view, url).rendered(view, |view, content| {
            Walker::new(view, base, &Plan::of_content(view, content)).run()
        });
        if has_words(&main) {
            return main;
        }
    }
    let whole = Walker::new(view, base, &Plan::of_whole(view)).run();
    if has_words(&whole) && whole.len() >= SUSPICIOUSLY_SHORT {
        return whole;
    }
    // Next to nothing is to be seen: content that is hidden until a script runs is better
    // than an empty answer.
    let all = Walker::new(view, base, &Plan::of_everything(view)).run();
    if all.len() >= PLAUSIBLY_CONTENT || !has_words(&whole) {
        all
    } else {
        whole
    }
}

fn has_words(markdown: &str) -> bool {
    markdown.chars().any(char::is_alphanumeric)
}

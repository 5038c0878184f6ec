//! The extraction itself, on a parsed page.

use orbweaver_sdk::dom::View;
use orbweaver_sdk::urls::Base;

use crate::kind::{self, Kind};
use crate::meta::{self, Meta};
use crate::{choose, clean, html, measure, sections, text};

/// The content found in a page.
pub struct Article {
    /// Plain text, one line a block.
    pub text: String,
    /// The same as HTML of plain elements.
    pub html: String,
    /// What the page says about it.
    pub meta: Meta,
    /// What kind of page it was taken for.
    pub kind: Kind,
}

/// Share of running text above which a page that says nothing of its kind is one text.
const RUNNING: f32 = 0.7;

/// Finds the content of a page.
pub fn article(view: &View<'_>, url: &str, base: Option<&Base>) -> Article {
    let mut measured = measure::measure(view);
    let kind = kind::votes(view, url).winner();
    choose::sum_up(view, &mut measured, kind);
    let focus = choose::focus(view, &measured);
    let body = view.body().map_or(0, |b| b.id());
    let all = measure::get(&measured.info, body);
    let kind = kind.unwrap_or_else(|| {
        if all.prose as f32 > all.left as f32 * RUNNING { Kind::Article } else { Kind::Other }
    });
    let root = match kind {
        Kind::Article | Kind::Documentation => {
            sections::drop_announced(view, &mut measured, focus, kind);
            clean::focused(view, &mut measured, focus, kind);
            focus
        }
        _ => {
            let root = choose::broad(view, &measured);
            sections::drop_announced(view, &mut measured, root, kind);
            clean::broad(view, &mut measured, root, Some(kind));
            root
        }
    };
    let text = text::render(view, &measured.info, root);
    let html = html::render(view, &measured.info, root, base);
    let meta = meta::collect(view, &measured.info, &text);
    Article {
        text,
        html,
        meta,
        kind,
    }
}

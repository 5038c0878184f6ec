//! The extraction itself, on a parsed page.

use orbweaver_sdk::dom::View;
use orbweaver_sdk::urls::Base;

use crate::kind::{self, Kind};
use crate::measure::Measured;
use crate::meta::{self, Meta};
use crate::{choose, clean, html, measure, raw, sections, text};

/// The content found in a page.
#[derive(Clone, Debug)]
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

/// Characters that are content enough on any page.
const ENOUGH: u32 = 250;

/// How far the rules are trusted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// In everything.
    Full,
    /// Not in what class names and ids say.
    Elements,
    /// Nor in what is hidden: a script may show it.
    Nothing,
}

/// Finds the content of a page. Where the rules leave nearly nothing of a page that has
/// text, it is searched again with fewer of them.
pub fn article(view: &View<'_>, url: &str, base: Option<&Base>) -> Article {
    let votes = kind::votes(view, url).winner();
    let mut found = Found::of(view, votes, Trust::Full);
    for trust in [Trust::Elements, Trust::Nothing] {
        if found.is_enough() {
            break;
        }
        let other = Found::of(view, votes, trust);
        if other.kept > found.kept * 2 {
            found = other;
        }
    }
    let info = &found.measured.info;
    let text = text::render(view, info, found.root);
    let html = html::render(view, info, found.root, base);
    let mut meta = meta::collect(view, url, &text);
    // Without scripts the page may be another: forums that are applications keep their
    // threads in a `noscript`.
    if let Some(snapshot) = raw::noscript(view, text.len())
        && let Ok(view) = snapshot.view()
    {
        let other = Found::of(&view, votes, Trust::Full);
        if other.kept > found.kept * 2 {
            let info = &other.measured.info;
            let text = text::render(&view, info, other.root);
            meta.excerpt = meta.excerpt.or_else(|| meta::first_paragraph(&text));
            let html = html::render(&view, info, other.root, base);
            return Article {
                text,
                html,
                meta,
                kind: other.kind,
            };
        }
    }
    Article {
        text,
        html,
        meta,
        kind: found.kind,
    }
}

/// A page's content before it is written.
struct Found {
    measured: Measured,
    root: u32,
    kind: Kind,
    /// Characters of the whole page, and those kept.
    all: u32,
    kept: u32,
}

impl Found {
    fn of(view: &View<'_>, votes: Option<Kind>, trust: Trust) -> Self {
        let one_text = matches!(votes, Some(Kind::Article | Kind::Documentation));
        let max_words = if one_text { 4 } else { 3 };
        let mut measured = measure::measure(view, trust == Trust::Nothing, max_words);
        choose::sum_up(view, &mut measured, votes, trust == Trust::Full);
        let body = view.body().map_or(0, |b| b.id());
        let all = measure::get(&measured.info, body);
        let kind = votes.unwrap_or(if all.prose as f32 > all.left as f32 * RUNNING {
            Kind::Article
        } else {
            Kind::Other
        });
        let root = match kind {
            Kind::Article | Kind::Documentation => {
                let root = choose::focus(view, &measured);
                sections::drop_announced(view, &mut measured, root, kind);
                clean::focused(view, &mut measured, root, kind);
                root
            }
            _ => {
                let root = choose::broad(view, &measured);
                sections::drop_announced(view, &mut measured, root, kind);
                clean::broad(view, &mut measured, root, kind);
                if kind == Kind::Forum {
                    clean::thread(view, &mut measured, root);
                }
                root
            }
        };
        let mut kept = text::count(view, &measured.info, root);
        let mut root = root;
        if kept == 0 && trust == Trust::Nothing {
            // Better all of the text than none.
            root = body;
            for me in &mut measured.info {
                me.state &= !measure::DROP;
            }
            kept = text::count(view, &measured.info, root);
        }
        Self {
            measured,
            root,
            kind,
            all: all.chars,
            kept,
        }
    }

    fn is_enough(&self) -> bool {
        self.kept >= ENOUGH || self.kept > self.all / 4
    }
}

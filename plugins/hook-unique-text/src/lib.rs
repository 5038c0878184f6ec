//! Stores one page of those with the same main text, over a whole run.

mod digest;
mod seen;

use orbweaver_sdk::dom::{View, tag};
use orbweaver_sdk::hook::{self, Hook, Made, RecordVerdict, Visit};
use orbweaver_sdk::{Error, Page, inputs, text};
use serde::Deserialize;

use digest::Digest;

orbweaver_sdk::hook! { hook: UniqueText }

/// The configuration.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// Shorter texts are not compared.
    #[serde(default = "default_min_chars")]
    pub min_chars: usize,
}

fn default_min_chars() -> usize {
    200
}

/// What the role `article` says.
#[derive(Deserialize)]
struct Article {
    text: Option<String>,
}

/// The hook.
pub struct UniqueText;

impl Hook for UniqueText {
    type Config = Config;

    fn record(
        config: &Config,
        visit: &Visit,
        page: &Page<'_>,
        _made: &Made,
    ) -> Result<RecordVerdict, Error> {
        // Error pages are alike, and say nothing of what is stored.
        if !(200..300).contains(&visit.status) {
            return Ok(RecordVerdict::Keep);
        }
        let view = page.view()?;
        let digest = match inputs::get::<Article>("article")?.text {
            Some(text) => Digest::of(without_headline(view, &text)),
            None => Digest::of(&view.body().map(text::lines).unwrap_or_default()),
        };
        if digest.chars < config.min_chars {
            return Ok(RecordVerdict::Keep);
        }
        let run = hook::run_id().unwrap_or_default();
        Ok(match seen::first_with(run, &digest, &visit.url)? {
            None => RecordVerdict::Keep,
            Some(url) => RecordVerdict::Drop(format!("its text is that of {url}")),
        })
    }
}

/// A text without a first line that is a headline of the page: whether the main content begins with it differs
/// between pages that are otherwise alike.
fn without_headline<'a>(view: &View<'_>, text: &'a str) -> &'a str {
    match text.split_once('\n') {
        Some((first, rest)) if is_headline(view, first) => rest,
        _ => text,
    }
}

fn is_headline(view: &View<'_>, line: &str) -> bool {
    // Few pages have more than one; thousands inside each other would cost much.
    const MAX_HEADLINES: usize = 20;
    let headlines = view.tagged(|id| id == tag::H1);
    headlines
        .take(MAX_HEADLINES)
        .any(|headline| text::line(headline) == line)
}

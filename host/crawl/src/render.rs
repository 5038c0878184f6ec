//! Rendering in crawls: the mode, and what a run learns about its hosts.

use std::collections::HashMap;

use orbweaver_urls::Resolved;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::entry::host_key;

/// Which pages of a crawl a browser renders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RenderMode {
    /// None.
    #[default]
    Never,
    /// Those whose content is made by scripts, and those that answer with a challenge.
    Auto,
    /// All.
    Always,
}

/// What a run has learnt about its hosts.
#[derive(Debug, Default)]
pub(crate) struct Rendering(Mutex<HashMap<String, HostPages>>);

/// Pages of a host that were fetched without a browser.
#[derive(Clone, Copy, Debug, Default)]
struct HostPages {
    /// Those that need a browser.
    shells: u32,
    /// The others.
    whole: u32,
}

impl Rendering {
    /// Whether a page is rendered without being fetched before: so far, every page of its host
    /// that was fetched needed a browser.
    pub(crate) fn is_first(&self, mode: RenderMode, url: &str) -> bool {
        match mode {
            RenderMode::Never => false,
            RenderMode::Always => true,
            RenderMode::Auto => {
                let hosts = self.0.lock();
                let known =
                    Resolved::parse(url).and_then(|url| hosts.get(&host_key(&url)).copied());
                known.is_some_and(|known| known.shells > 0 && known.whole == 0)
            }
        }
    }

    /// Counts a page that was fetched without a browser.
    pub(crate) fn note(&self, url: &str, needs_browser: bool) {
        let Some(url) = Resolved::parse(url) else {
            return;
        };
        let mut hosts = self.0.lock();
        let known = hosts.entry(host_key(&url)).or_default();
        match needs_browser {
            true => known.shells = known.shells.saturating_add(1),
            false => known.whole = known.whole.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_whose_pages_all_need_a_browser_is_rendered_at_once() {
        let rendering = Rendering::default();
        let page = "https://e.org/a";
        assert!(rendering.is_first(RenderMode::Always, page));
        assert!(!rendering.is_first(RenderMode::Auto, page));
        rendering.note("https://e.org/", true);
        assert!(rendering.is_first(RenderMode::Auto, page));
        assert!(!rendering.is_first(RenderMode::Never, page));
        assert!(!rendering.is_first(RenderMode::Auto, "https://other.org/"));
        rendering.note("https://e.org/b", false);
        assert!(!rendering.is_first(RenderMode::Auto, page));
    }
}

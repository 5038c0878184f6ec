//! The price of a call, in pages.

use orbweaver_engine::{Engine, Source};
use orbweaver_store::Amount;

/// Name of the actor that reads sitemaps.
const SITEMAP_AUDIT: &str = "sitemap-audit";

/// How pages are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tariff {
    /// Name of the call in usage events.
    pub(super) call: &'static str,
    pub(super) count: Count,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// One page per call once any response arrived, however many it fetched. With `render`,
    /// also one cloud page once a browser returned a page.
    Page {
        /// Whether the actor uses a browser.
        render: bool,
    },
    /// One cloud page per call once any response arrived, and one for every rendered page beyond the
    /// first.
    CloudPage,
    /// One page per successful call; the actor fetches nothing.
    Success,
    /// A page for every distinct URL that responded, and at least `least` for a successful call;
    /// a cloud page for every render and every request through a proxy pool.
    Urls {
        /// Minimum number of pages.
        least: u64,
    },
}

impl Tariff {
    /// Tariff of the instance's per-domain fetchers.
    const FETCHER: Self = Self {
        call: "cloud-fetch",
        count: Count::CloudPage,
    };

    /// Tariff of actors that are not built in, and of a project's own, whatever their name.
    const THIRD_PARTY: Self = Self {
        call: "actor",
        count: Count::Urls { least: 1 },
    };

    /// Whether a file is free by what it is read for; `None` where its response tells. The sitemap
    /// audit looks for sitemaps in spite of robots.txt, and for the URLs that they list only as far as
    /// it allows. So a missing sitemap and a feed are free, and a listed URL is not, whatever is there.
    pub(super) fn frees(self, respects_robots: bool) -> Option<bool> {
        (self.call == SITEMAP_AUDIT).then_some(!respects_robots)
    }

    /// Tariff of an actor. Built-in actors have their own; a plugin that replaces one keeps its
    /// tariff.
    fn of_actor(name: &str) -> Self {
        let (call, count) = match name {
            "extract-article" => ("extract-article", Count::Page { render: false }),
            "audit-onpage" => ("audit-onpage", Count::Page { render: false }),
            "structured-data" => ("structured-data", Count::Page { render: false }),
            "render-diff" => ("render-diff", Count::Page { render: true }),
            "check-links" => ("check-links", Count::Urls { least: 0 }),
            SITEMAP_AUDIT => (SITEMAP_AUDIT, Count::Urls { least: 0 }),
            "internal-link-graph" => ("internal-link-graph", Count::Success),
            _ => return Self::THIRD_PARTY,
        };
        Self { call, count }
    }

    /// Tariff of the actor that an engine's project calls by this name.
    pub(super) fn of_called(engine: &Engine, name: &str) -> Self {
        match engine.actor(name).map(|actor| actor.source) {
            Some(Source::Project(_)) => Self::THIRD_PARTY,
            _ => Self::of_actor(name),
        }
    }

    /// Tariff of the fetcher that an engine's project calls for this domain. A project's own costs what it fetches.
    pub(super) fn of_fetcher(engine: &Engine, domain: &str) -> Self {
        match engine.fetcher_for(domain).map(|fetcher| fetcher.source) {
            Some(Source::Project(_)) => Self {
                call: Self::FETCHER.call,
                ..Self::THIRD_PARTY
            },
            _ => Self::FETCHER,
        }
    }

    /// Pages reserved before the call starts; further ones are reserved during the call.
    pub(super) const fn first(self) -> Amount {
        let (pages, cloud_pages) = match self.count {
            Count::Page { render } => (1, render as u64),
            Count::CloudPage => (0, 1),
            Count::Success => (1, 0),
            Count::Urls { least } => (least, 0),
        };
        Amount { pages, cloud_pages }
    }
}

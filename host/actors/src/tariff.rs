//! What a call costs, whichever way it goes about its work.

use orbweaver_store::Amount;

/// How pages are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tariff {
    /// The word in usage events.
    pub(super) call: &'static str,
    pub(super) count: Count,
}

/// What a call counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// One page whatever it fetches, once anything answered, and with `render` one cloud page
    /// more once a browser did.
    Page {
        /// A browser takes part.
        render: bool,
    },
    /// One cloud page, once anything answered.
    CloudPage,
    /// One page for a success: it fetches nothing.
    Success,
    /// A page for every distinct URL that answered, at least so many for a success; a cloud
    /// page for every render and every request through a proxy pool.
    Urls {
        /// The least.
        least: u64,
    },
}

impl Tariff {
    /// Of a per-domain fetcher.
    pub(super) const FETCHER: Self = Self {
        call: "cloud-fetch",
        count: Count::CloudPage,
    };

    /// Of an actor. The contract's own have prices of their own; whoever replaces one of them
    /// by another plugin of its name keeps its price.
    pub(super) fn of_actor(name: &str) -> Self {
        let (call, count) = match name {
            "extract-article" => ("extract-article", Count::Page { render: false }),
            "audit-onpage" => ("audit-onpage", Count::Page { render: false }),
            "structured-data" => ("structured-data", Count::Page { render: false }),
            "render-diff" => ("render-diff", Count::Page { render: true }),
            "check-links" => ("check-links", Count::Urls { least: 0 }),
            "sitemap-audit" => ("sitemap-audit", Count::Urls { least: 0 }),
            "internal-link-graph" => ("internal-link-graph", Count::Success),
            _ => ("actor", Count::Urls { least: 1 }),
        };
        Self { call, count }
    }

    /// What is set aside before the call begins; the rest as it comes.
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

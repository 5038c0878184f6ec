//! What a crawl is asked to do: a request that passed validation, defaults filled in.
//!
//! The run keeps it as JSON, so a field that is added later needs a serde default.

use std::fmt;

use orbweaver_core::webhook::Event;
use orbweaver_fetch::{InvalidProxy, ProxyPool, ProxyUrl};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Page rows of one run, at most.
pub const MAX_PAGES: u32 = 100_000;
/// Links followed from the seed, at most.
pub const MAX_DEPTH: u32 = 50;
/// Longest delay between two requests to a host: an hour.
pub const MAX_DELAY_MS: u64 = 3_600_000;
/// Requests at once of an aggressive run.
pub const AGGRESSIVE_CONCURRENCY: u32 = 32;

/// A validated crawl.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlSpec {
    /// Seed: absolute, http or https, as it was asked for.
    pub url: String,
    /// Page rows after which the run ends: 1 to [`MAX_PAGES`].
    pub max_pages: u32,
    /// Links followed from the seed, whose depth is 0: 1 to [`MAX_DEPTH`].
    pub depth: u32,
    /// Requests at once, at least 1; none: as many as the origin takes.
    pub concurrency: Option<u32>,
    /// Delay between two requests to a host, in milliseconds, up to [`MAX_DELAY_MS`].
    pub delay_ms: u64,
    /// Subdomains of the seed's host (less a leading `www.`) are in scope.
    pub subdomains: bool,
    /// Obey robots.txt.
    pub respect_robots: bool,
    /// Keep bodies. Without them a page has its row and metadata only.
    pub store_html: bool,
    /// What the seed is.
    pub seed_kind: SeedKind,
    /// Sent with every request; none of those that frame a message.
    pub headers: Vec<(String, String)>,
    /// Sent with every request: `k=v; k=v`.
    pub cookies: Option<String>,
    /// Path patterns, compiled by [`PathPatterns`](crate::patterns::PathPatterns): what matches one is skipped.
    pub exclude_paths: Vec<String>,
    /// Path patterns: with any, only what matches one is crawled. The seed is exempt.
    pub include_paths: Vec<String>,
    /// Where the end of the run is announced.
    pub webhook_url: Option<String>,
    /// What is announced; at least one event, none twice.
    pub webhook_events: Vec<Event>,
    /// Monitors only: no announcement of a run that found no change.
    pub return_only_changed: bool,
    /// User agent as asked for; none, or one with the internal prefix, is rotated.
    pub user_agent: Option<String>,
    /// Proxy of every request, with its credentials; wins over the pool.
    pub proxy_url: Option<String>,
    /// Pool that proxies are taken from.
    pub proxy_pool: Option<ProxyPool>,
    /// ISO 3166-1 alpha-2 code, upper case; only with a pool.
    pub proxy_country: Option<String>,
    /// Made without delay, with [`AGGRESSIVE_CONCURRENCY`], robots.txt ignored.
    pub aggressive: bool,
    /// Extractors beyond the contract's, for every page.
    #[serde(default)]
    pub extractors: Vec<String>,
    /// Links that their page does not vouch for are not followed.
    #[serde(default)]
    pub respect_nofollow: bool,
}

/// What a crawl starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeedKind {
    /// A page, whose links are followed.
    #[default]
    Url,
    /// An origin, a sitemap or a sitemap index; only what it lists is fetched.
    Sitemap,
}

impl CrawlSpec {
    /// A crawl of `url` with every default of the contract.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            max_pages: 1_000,
            depth: 5,
            concurrency: None,
            delay_ms: 250,
            subdomains: false,
            respect_robots: true,
            store_html: true,
            seed_kind: SeedKind::Url,
            headers: Vec::new(),
            cookies: None,
            exclude_paths: Vec::new(),
            include_paths: Vec::new(),
            webhook_url: None,
            webhook_events: vec![Event::Done],
            return_only_changed: false,
            user_agent: None,
            proxy_url: None,
            proxy_pool: None,
            proxy_country: None,
            aggressive: false,
            extractors: Vec::new(),
            respect_nofollow: false,
        }
    }

    /// This crawl through the project's proxy, where it names neither proxy nor pool.
    #[must_use]
    pub fn with_project_proxy(mut self, proxy: Option<&str>) -> Self {
        if self.proxy_url.is_none() && self.proxy_pool.is_none() {
            self.proxy_url = proxy.map(str::to_owned);
        }
        self
    }

    /// The fixed proxy; none for a direct connection or a pool.
    ///
    /// # Errors
    /// When the project's default, which is not checked with the request, is no proxy.
    pub fn proxy(&self) -> Result<Option<ProxyUrl>, InvalidProxy> {
        self.proxy_url.as_deref().map(str::parse).transpose()
    }
}

impl fmt::Debug for CrawlSpec {
    /// Without headers, cookies, addresses that may carry secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrawlSpec")
            .field("url", &self.url)
            .field("max_pages", &self.max_pages)
            .field("depth", &self.depth)
            .field("seed_kind", &self.seed_kind)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_comes_back_from_its_json() {
        let mut spec = CrawlSpec::new("https://example.com/");
        spec.headers.push(("x-key".to_owned(), "v".to_owned()));
        spec.proxy_pool = Some(ProxyPool::Isp);
        spec.webhook_events.push(Event::DiffDetected);
        let json = serde_json::to_string(&spec).unwrap();
        assert!(
            json.contains(r#"["crawl.done","crawl.diff_detected"]"#),
            "{json}"
        );
        assert!(json.contains(r#""proxy_pool":"isp""#), "{json}");
        assert_eq!(serde_json::from_str::<CrawlSpec>(&json).unwrap(), spec);
    }

    #[test]
    fn the_projects_proxy_serves_where_none_is_named() {
        let project = Some("http://project.example:3128");
        let spec = CrawlSpec::new("https://example.com/");
        let with = spec.clone().with_project_proxy(project);
        assert_eq!(with.proxy_url.as_deref(), project);
        let pool = CrawlSpec {
            proxy_pool: Some(ProxyPool::Mobile),
            ..spec
        };
        assert_eq!(pool.with_project_proxy(project).proxy_url, None);
    }

    #[test]
    fn secrets_stay_out_of_debug_output() {
        let spec = CrawlSpec {
            cookies: Some("session=hunter2".to_owned()),
            proxy_url: Some("http://u:hunter2@p".to_owned()),
            ..CrawlSpec::new("https://example.com/")
        };
        assert!(!format!("{spec:?}").contains("hunter2"));
    }
}

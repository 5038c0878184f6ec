//! The specification of a crawl: a validated request with the defaults filled in.
//!
//! It is stored as JSON, so a field that is added later needs a serde default.

use std::fmt;

use orbweaver_core::webhook::Event;
use orbweaver_fetch::{Action, InvalidProxy, ProxyPool, ProxyUrl};
use orbweaver_pipeline::browsing::WaitSpec;
use orbweaver_pipeline::{ExtractSpec, ExtractorOptions};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::hooks::request::HookSpec;
use crate::render::RenderMode;

/// Maximum page rows of one run.
pub const MAX_PAGES: u32 = 100_000;
/// Maximum number of links from the seed.
pub const MAX_DEPTH: u32 = 50;
/// Longest delay between two requests to a host: an hour.
pub const MAX_DELAY_MS: u64 = 3_600_000;
/// Concurrent requests of an aggressive run.
pub const AGGRESSIVE_CONCURRENCY: u32 = 32;

/// A validated crawl.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlSpec {
    /// Seed: absolute, http or https, as requested.
    pub url: String,
    /// Page rows after which the run ends: 1 to [`MAX_PAGES`].
    pub max_pages: u32,
    /// Maximum number of links from the seed, whose depth is 0: 1 to [`MAX_DEPTH`].
    pub depth: u32,
    /// Concurrent requests, at least 1; none: as many as the origin can handle.
    pub concurrency: Option<u32>,
    /// Delay between two requests to a host, in milliseconds, up to [`MAX_DELAY_MS`].
    pub delay_ms: u64,
    /// Whether subdomains of the seed's host (without a leading `www.`) are in scope.
    pub subdomains: bool,
    /// Whether robots.txt is obeyed.
    pub respect_robots: bool,
    /// Whether bodies are stored. Without its body a page has only its row and metadata.
    pub store_html: bool,
    /// The kind of the seed.
    pub seed_kind: SeedKind,
    /// Headers of every request; none of those that frame a message.
    pub headers: Vec<(String, String)>,
    /// Cookies of every request: `k=v; k=v`.
    pub cookies: Option<String>,
    /// Path patterns, compiled by [`PathPatterns`](crate::patterns::PathPatterns): what matches one is skipped.
    pub exclude_paths: Vec<String>,
    /// Path patterns: with any, only what matches one is crawled. The seed is exempt.
    pub include_paths: Vec<String>,
    /// The webhook that the end of the run is sent to.
    pub webhook_url: Option<String>,
    /// The events to send; at least one, each once.
    pub webhook_events: Vec<Event>,
    /// Monitors only: nothing is sent for a run that found no change.
    pub return_only_changed: bool,
    /// User agent as requested; if none, or one with the internal prefix, it is rotated.
    pub user_agent: Option<String>,
    /// Proxy of every request, with its credentials; has precedence over the pool.
    pub proxy_url: Option<String>,
    /// Pool that proxies are taken from.
    pub proxy_pool: Option<ProxyPool>,
    /// ISO 3166-1 alpha-2 code, upper case; only with a pool.
    pub proxy_country: Option<String>,
    /// No delay, [`AGGRESSIVE_CONCURRENCY`] concurrent requests, robots.txt ignored.
    pub aggressive: bool,
    /// Extractors besides the documented ones, for every page.
    #[serde(default)]
    pub extractors: Vec<String>,
    /// Options of extractors as JSON text, by role.
    #[serde(default)]
    pub extractor_options: ExtractorOptions,
    /// Whether nofollow links are not followed.
    #[serde(default)]
    pub respect_nofollow: bool,
    /// Whether refreshes are followed as redirects.
    #[serde(default)]
    pub follow_refresh: bool,
    /// Whether the run has a list of URLs, which are in its frontier from the beginning: only
    /// these are fetched, wherever they are. `url` is the first of them.
    #[serde(default)]
    pub list: bool,
    /// What the request for the list was answered with.
    #[serde(default)]
    pub batch: Option<BatchNote>,
    /// Which pages a browser renders.
    #[serde(default)]
    pub render: RenderMode,
    /// When a rendered page counts as loaded; by default at its load event.
    #[serde(default)]
    pub wait_for: Option<WaitSpec>,
    /// What is done in a rendered page.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// The name of the session whose cookies rendered pages share.
    #[serde(default)]
    pub session: Option<String>,
    /// Fields that are extracted from every page.
    #[serde(default)]
    pub extract: Option<ExtractSpec>,
    /// Hooks that decide what is followed and stored, in their order.
    #[serde(default)]
    pub hooks: Vec<HookSpec>,
}

/// The kind of a crawl's seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeedKind {
    /// A page, whose links are followed.
    #[default]
    Url,
    /// An origin, a sitemap or a sitemap index; only the listed URLs are fetched.
    Sitemap,
}

/// What a request for a run of a list was answered with, for requests that repeat it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchNote {
    /// SHA-256 of the request's body in hexadecimal.
    pub digest: String,
    /// Number of URLs that are fetched.
    pub accepted: usize,
    /// Number of URLs that may not be fetched.
    pub refused: usize,
    /// Number of URLs left out as repeats.
    pub duplicates: usize,
}

impl CrawlSpec {
    /// A crawl of `url` with every documented default.
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
            extractor_options: ExtractorOptions::new(),
            respect_nofollow: false,
            follow_refresh: false,
            list: false,
            batch: None,
            render: RenderMode::Never,
            wait_for: None,
            actions: Vec::new(),
            session: None,
            extract: None,
            hooks: Vec::new(),
        }
    }

    /// This crawl with the project's proxy if it names neither proxy nor pool.
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
    /// If the project's default proxy, which is not checked with the request, is invalid.
    pub fn proxy(&self) -> Result<Option<ProxyUrl>, InvalidProxy> {
        self.proxy_url.as_deref().map(str::parse).transpose()
    }
}

impl fmt::Debug for CrawlSpec {
    /// Omits headers, cookies and addresses, which may have secrets.
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
    fn a_spec_round_trips_through_json() {
        let mut spec = CrawlSpec::new("https://example.com/");
        spec.headers.push(("x-key".to_owned(), "v".to_owned()));
        spec.proxy_pool = Some(ProxyPool::Isp);
        spec.webhook_events.push(Event::DiffDetected);
        spec.render = RenderMode::Auto;
        spec.wait_for = Some(WaitSpec {
            selector: Some("#app".to_owned()),
            ..WaitSpec::default()
        });
        let json = serde_json::to_string(&spec).unwrap();
        assert!(
            json.contains(r#"["crawl.done","crawl.diff_detected"]"#),
            "{json}"
        );
        assert!(json.contains(r#""proxy_pool":"isp""#), "{json}");
        assert_eq!(serde_json::from_str::<CrawlSpec>(&json).unwrap(), spec);
    }

    #[test]
    fn the_projects_proxy_is_the_default() {
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
    fn debug_output_has_no_secrets() {
        let spec = CrawlSpec {
            cookies: Some("session=hunter2".to_owned()),
            proxy_url: Some("http://u:hunter2@p".to_owned()),
            ..CrawlSpec::new("https://example.com/")
        };
        assert!(!format!("{spec:?}").contains("hunter2"));
    }
}

//! The body of POST /v1/crawls.

mod check;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use orbweaver_core::webhook::Event;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};

use crate::hooks::request::HookRequest;
use crate::render::RenderMode;
use crate::spec::{CrawlSpec, SeedKind};
use orbweaver_core::json_number::whole;
use orbweaver_fetch::{Action, ProxyPool};
use orbweaver_pipeline::ExtractRequest;
use orbweaver_pipeline::browsing::WaitRequest;
use orbweaver_pipeline::rules::InvalidField;

/// A site to crawl.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(
    as = CrawlRequest,
    example = json!({"url": "https://example.com/", "max_pages": 20, "depth": 2})
)]
pub struct CrawlRequest {
    /// The URL to start from: absolute, http or https, public, and not blocked.
    #[schema(
        format = "uri",
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://",
        example = "https://example.com/"
    )]
    pub url: String,
    /// Maximum number of pages.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 100_000, default = 1_000)]
    pub max_pages: Option<u64>,
    /// Maximum number of links from the seed, whose depth is 0.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 50, default = 5)]
    pub depth: Option<u64>,
    /// Concurrent requests; by default as many as the site can handle.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub concurrency: Option<u64>,
    /// Milliseconds between two requests to a host.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 3_600_000, default = 250)]
    pub delay_ms: Option<u64>,
    /// Follow links into subdomains of the seed's host.
    #[schema(default = false)]
    pub subdomains: Option<bool>,
    /// Obey robots.txt.
    #[schema(default = true)]
    pub respect_robots: Option<bool>,
    /// Keep the pages' HTML. Without it a page has its metadata and signals
    /// (`format=signals`), and no Markdown or article.
    #[schema(default = true)]
    pub store_html: Option<bool>,
    /// `url`: a page whose links are followed. `sitemap`: an origin, a sitemap or a sitemap
    /// index; what it lists is fetched, and no links are followed.
    #[schema(default = "url")]
    pub seed_kind: Option<SeedKind>,
    /// Sent with every request of the crawl to the seed's site, and not to another site to which the
    /// seed redirects.
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    pub headers: Option<IndexMap<String, String>>,
    /// Cookies, `k=v; k=v`, sent with the same requests as `headers`.
    #[schema(max_length = 16_384, example = "consent=yes; lang=en")]
    pub cookies: Option<String>,
    /// Regular expressions over path and query as they are sent, percent-encoded (`%C3%A4` for `ä`, `%20`
    /// for a space): a URL that matches one is skipped.
    #[schema(max_items = 100)]
    pub exclude_paths: Option<Vec<String>>,
    /// Regular expressions over path and query, as for `exclude_paths`: only URLs that match one are
    /// crawled. The seed is exempt.
    #[schema(max_items = 100)]
    pub include_paths: Option<Vec<String>>,
    /// Receives a POST request when the run is done or failed.
    #[schema(format = "uri")]
    pub webhook_url: Option<String>,
    /// The events to send; by default `crawl.done`.
    #[schema(schema_with = events_schema)]
    pub webhook_events: Option<Vec<Event>>,
    /// Monitors only: send nothing if nothing changed.
    #[schema(default = false)]
    pub return_only_changed: Option<bool>,
    /// A run of this URL, `seed_kind` and `follow_refresh` that was done less than this many seconds ago is
    /// returned instead.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 315_360_000)]
    pub max_age_seconds: Option<u64>,
    /// User agent to send; by default, and if it begins with `Orbweaver/`, one of current
    /// browsers.
    #[schema(max_length = 1_024, pattern = "^[ -~]*$")]
    pub user_agent: Option<String>,
    /// The proxy to use (http, https or socks5); by default the project's.
    pub proxy_url: Option<String>,
    /// Pool to take proxies from; `proxy_url` has precedence.
    pub proxy_pool: Option<ProxyPool>,
    /// Country of the proxy (ISO 3166-1 alpha-2); only with `proxy_pool`.
    #[schema(pattern = "^[A-Za-z]{2}$", example = "DE")]
    pub proxy_country: Option<String>,
    /// Five fields in UTC: creates a monitor that crawls on this schedule instead of one run.
    #[schema(example = "0 6 * * 1")]
    pub cron: Option<String>,
    /// No delay, 32 concurrent requests, robots.txt ignored. Tiers agency and above; not with
    /// `cron`.
    #[schema(default = false)]
    pub aggressive: Option<bool>,
    /// If the project has its maximum of concurrent crawls, wait for a slot instead of
    /// being refused with 429; in the order of arrival, at most 1,000. A monitor's runs always
    /// wait.
    #[schema(default = false, extensions(("x-extension" = json!(true))))]
    pub queue: Option<bool>,
    /// Further extractors for every page; their outputs are under `extensions`.
    #[schema(max_items = 16, extensions(("x-extension" = json!(true))))]
    pub extractors: Option<Vec<String>>,
    /// Options of these extractors, by role: objects that satisfy their schemas.
    #[schema(
        value_type = Option<std::collections::HashMap<String, Object>>,
        extensions(("x-extension" = json!(true)))
    )]
    pub extractor_options: Option<BTreeMap<String, Value>>,
    /// Do not follow links that their page does not vouch for: `rel` nofollow, ugc or
    /// sponsored, robots meta tags and `X-Robots-Tag`. They are recorded either way.
    #[schema(default = false, extensions(("x-extension" = json!(true))))]
    pub respect_nofollow: Option<bool>,
    /// Follow a `Refresh` header or a page's `meta` refresh of at most 100 seconds, at once and as a
    /// redirect. Otherwise the page is stored as it is; `refresh` of its signals names the target.
    #[schema(default = false, extensions(("x-extension" = json!(true))))]
    pub follow_refresh: Option<bool>,
    /// Render pages in a browser: none (`never`), those that need it (`auto`; the run remembers
    /// which hosts do) or all (`always`). Links, hash and stored HTML are those of the rendered
    /// page, and it is billed as a cloud page. Headers and cookies of the request are sent to the
    /// seed's site only.
    #[schema(default = "never", extensions(("x-extension" = json!(true))))]
    pub render: Option<RenderMode>,
    /// When a rendered page counts as loaded: `load` (default), `domcontentloaded`,
    /// `networkidle`, or an object of `event`, `selector` and `milliseconds`.
    #[schema(extensions(("x-extension" = json!(true))))]
    pub wait_for: Option<WaitRequest>,
    /// What is done in every rendered page once it has loaded, in this order, within a minute.
    /// There are no screenshots in crawls.
    #[schema(max_items = 50, extensions(("x-extension" = json!(true))))]
    pub actions: Option<Vec<Action>>,
    /// The name of a session: rendered pages share its cookies, also with those of other requests.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", extensions(("x-extension" = json!(true))))]
    pub session: Option<String>,
    /// Fields to extract from every page by CSS selectors: `extracted` of the page.
    #[schema(extensions(("x-extension" = json!(true))))]
    pub extract: Option<ExtractRequest>,
    /// Hooks, in their order: plugins that decide which links are followed and with which
    /// priority, what is stored of a page, and how requests are sent.
    #[schema(max_items = 8, extensions(("x-extension" = json!(true))))]
    pub hooks: Option<Vec<HookRequest>>,
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// 422: a field is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    /// 501: names the setting to configure.
    #[error("{0}")]
    NotConfigured(String),
    /// An internal error.
    #[error("{0}")]
    Internal(String),
}

impl CheckedCrawl {
    /// Whether it cannot be done without a browser.
    pub fn needs_browser(&self) -> bool {
        self.spec.render != RenderMode::Never
    }
}

/// A request that passed validation.
#[derive(Clone, Debug)]
pub struct CheckedCrawl {
    /// What to crawl.
    pub spec: CrawlSpec,
    /// The schedule of a monitor, as given.
    pub cron: Option<String>,
    /// The oldest run that may answer, in seconds.
    pub max_age_seconds: Option<u64>,
    /// Whether the run waits for a slot if the project's limit is reached.
    pub may_wait: bool,
}

/// `webhook_events` for the OpenAPI document.
pub fn events_schema() -> Schema {
    let event = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(Event::ALL.map(Event::as_str)));
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .description(Some("The events to send; by default `crawl.done`."))
        .items(event)
        .min_items(Some(1))
        .into()
}

//! The rules of the body of POST /v1/crawls, in the documented order of its fields.

use std::collections::BTreeMap;

use orbweaver_core::country;
use orbweaver_core::cron::Schedule;
use orbweaver_core::webhook::Event;
use orbweaver_fetch::{Action, ProxyPool};
use orbweaver_pipeline::browsing::{self, WaitRequest, WaitSpec};
use orbweaver_pipeline::rules::{self, InvalidField};
use orbweaver_pipeline::{ExtractRequest, ExtractSpec, ExtractorOptions, Pipeline, blocking_of};
use serde_json::Value;

use super::{CheckedCrawl, CrawlRequest, RequestError};
use crate::hooks;
use crate::page::KEPT_ROLES;
use crate::patterns::PathPatterns;
use crate::render::RenderMode;
use crate::spec::{AGGRESSIVE_CONCURRENCY, CrawlSpec, MAX_DELAY_MS, MAX_DEPTH, MAX_PAGES};

impl CrawlRequest {
    /// Checks every field for a project of this tier; `may_be_aggressive` allows `aggressive`.
    ///
    /// # Errors
    /// 422 with the first invalid field, in the documented order; 501 if all fields are valid
    /// and the proxy pool is not configured.
    #[crate::boxed]
    pub async fn check(
        self,
        pipeline: &Pipeline,
        may_be_aggressive: bool,
        tier: &str,
    ) -> Result<CheckedCrawl, RequestError> {
        // Spaces behind a URL are no part of it; before it they are refused.
        let url = self.url.trim_end_matches(' ').to_owned();
        rules::url(pipeline, "url", &url)?;
        let limits = self.check_limits()?;
        let headers = rules::headers(self.headers.unwrap_or_default())?;
        rules::cookies(self.cookies.as_deref())?;
        let (include_paths, exclude_paths) = patterns(
            self.include_paths.unwrap_or_default(),
            self.exclude_paths.unwrap_or_default(),
        )
        .await?;
        if let Some(url) = &self.webhook_url {
            rules::url(pipeline, "webhook_url", url)?;
        }
        let webhook_events = events(self.webhook_events)?;
        rules::max_age(self.max_age_seconds)?;
        rules::user_agent(self.user_agent.as_deref())?;
        if let Some(proxy) = &self.proxy_url {
            rules::proxy(pipeline, "proxy_url", proxy)?;
        }
        let proxy_country = proxy_country(self.proxy_country, self.proxy_pool)?;
        let aggressive = self.aggressive.unwrap_or(false);
        if aggressive {
            check_aggressive(may_be_aggressive, tier, self.cron.as_deref())?;
        }
        let browsing = BrowsingFields {
            render: self.render,
            wait_for: self.wait_for,
            actions: self.actions,
        };
        let browsing = browsing.check(self.session.as_deref())?;
        let extraction = ExtractionFields {
            extractors: self.extractors,
            store_html: self.store_html,
            options: self.extractor_options,
            extract: self.extract,
        };
        let extraction = extraction.check(pipeline).await?;
        let hooks = hooks::request::check(pipeline, self.hooks.unwrap_or_default()).await?;
        if let Some(cron) = &self.cron {
            Schedule::parse(cron).map_err(|rule| InvalidField::new("cron", rule))?;
        }
        if let (None, Some(pool)) = (&self.proxy_url, self.proxy_pool) {
            check_pool(pipeline, pool, proxy_country.is_some())?;
        }
        let mut spec = CrawlSpec {
            max_pages: limits.max_pages,
            depth: limits.depth,
            concurrency: self.concurrency.map(narrow),
            delay_ms: limits.delay_ms,
            subdomains: self.subdomains.unwrap_or(false),
            respect_robots: self.respect_robots.unwrap_or(true),
            store_html: extraction.store_html,
            seed_kind: self.seed_kind.unwrap_or_default(),
            headers,
            cookies: self.cookies,
            exclude_paths,
            include_paths,
            webhook_url: self.webhook_url,
            webhook_events,
            return_only_changed: self.return_only_changed.unwrap_or(false),
            user_agent: self.user_agent,
            proxy_url: self.proxy_url,
            proxy_pool: self.proxy_pool,
            proxy_country,
            aggressive,
            extractors: extraction.extractors,
            extractor_options: extraction.options,
            respect_nofollow: self.respect_nofollow.unwrap_or(false),
            follow_refresh: self.follow_refresh.unwrap_or(false),
            render: browsing.render,
            wait_for: browsing.wait_for,
            actions: browsing.actions,
            session: self.session,
            extract: extraction.extract,
            hooks,
            ..CrawlSpec::new(url)
        };
        if aggressive {
            spec.delay_ms = 0;
            spec.concurrency = Some(AGGRESSIVE_CONCURRENCY);
            spec.respect_robots = false;
        }
        Ok(CheckedCrawl {
            spec,
            cron: self.cron,
            max_age_seconds: self.max_age_seconds,
            may_wait: self.queue.unwrap_or(false),
        })
    }

    fn check_limits(&self) -> Result<Limits, InvalidField> {
        let max_pages = within("max_pages", self.max_pages, 1, MAX_PAGES.into(), 1_000)?;
        let depth = within("depth", self.depth, 1, MAX_DEPTH.into(), 5)?;
        rules::concurrency(self.concurrency)?;
        let delay_ms = within("delay_ms", self.delay_ms, 0, MAX_DELAY_MS, 250)?;
        Ok(Limits {
            max_pages: narrow(max_pages),
            depth: narrow(depth),
            delay_ms,
        })
    }
}

/// Bounds of a run.
struct Limits {
    max_pages: u32,
    depth: u32,
    delay_ms: u64,
}

/// The fields that need a browser, as given.
struct BrowsingFields {
    render: Option<RenderMode>,
    wait_for: Option<WaitRequest>,
    actions: Option<Vec<Action>>,
}

/// The fields that need a browser, checked.
struct Browsing {
    render: RenderMode,
    wait_for: Option<WaitSpec>,
    actions: Vec<Action>,
}

impl BrowsingFields {
    fn check(self, session: Option<&str>) -> Result<Browsing, InvalidField> {
        let render = self.render.unwrap_or_default();
        let needing = [
            ("wait_for", self.wait_for.is_some()),
            ("actions", self.actions.is_some()),
            ("session", session.is_some()),
        ];
        let wait_for = self.wait_for.map(WaitRequest::check).transpose()?;
        let actions = self.actions.unwrap_or_default();
        browsing::check_actions(&actions)?;
        no_screenshots(&actions)?;
        browsing::check_session(session)?;
        if render == RenderMode::Never
            && let Some((field, _)) = needing.iter().find(|(_, is_given)| *is_given)
        {
            let rule = "needs a browser: set render to auto or always";
            return Err(InvalidField::new(field, rule));
        }
        Ok(Browsing {
            render,
            wait_for,
            actions,
        })
    }
}

/// The fields about extractors, as given.
struct ExtractionFields {
    extractors: Option<Vec<String>>,
    store_html: Option<bool>,
    options: Option<BTreeMap<String, Value>>,
    extract: Option<ExtractRequest>,
}

/// The fields about extractors, checked.
struct Extraction {
    extractors: Vec<String>,
    store_html: bool,
    options: ExtractorOptions,
    extract: Option<ExtractSpec>,
}

impl ExtractionFields {
    async fn check(self, pipeline: &Pipeline) -> Result<Extraction, InvalidField> {
        let extractors = self.extractors.unwrap_or_default();
        for name in extractors.iter().take(rules::MAX_EXTRACTORS) {
            pipeline.engine.await_role(name).await;
        }
        rules::extractors(pipeline, &extractors)?;
        let store_html = self.store_html.unwrap_or(true);
        let runs = |role: &str| {
            let kept = !store_html && KEPT_ROLES.contains(&role);
            kept || extractors
                .iter()
                .chain(pipeline.extras())
                .any(|name| name == role)
        };
        let options = self.options.unwrap_or_default();
        let options = pipeline.check_extractor_options(options, &runs).await?;
        let extract = pipeline.check_extract(self.extract).await?;
        if extract
            .as_ref()
            .is_some_and(|extract| extract.prompt.is_some())
        {
            let rule = "is for scans and bulk scans only; a crawl takes selectors";
            return Err(InvalidField::new("extract.prompt", rule));
        }
        Ok(Extraction {
            extractors,
            store_html,
            options,
            extract,
        })
    }
}

fn check_aggressive(allowed: bool, tier: &str, cron: Option<&str>) -> Result<(), InvalidField> {
    if !allowed {
        let rule = format!("needs a tier of agency or above, and this project's is {tier}");
        return Err(InvalidField::new("aggressive", rule));
    }
    if cron.is_some() {
        return Err(InvalidField::new(
            "aggressive",
            "cannot be combined with cron",
        ));
    }
    Ok(())
}

/// 501 if the pool has no proxies, or none that can choose a country where one is wanted.
fn check_pool(pipeline: &Pipeline, pool: ProxyPool, country: bool) -> Result<(), RequestError> {
    let name = pool.as_str();
    if !pipeline.fetcher.has_pool(pool) {
        return Err(RequestError::NotConfigured(format!(
            "proxy_pool: no proxies are configured for {name}; set fetch.proxy_pools.{name}"
        )));
    }
    if country && !pipeline.fetcher.has_countries(pool) {
        return Err(RequestError::NotConfigured(format!(
            "proxy_country: no proxy of {name} can choose a country; put {{country}} into a URL \
             of fetch.proxy_pools.{name}"
        )));
    }
    Ok(())
}

fn within(
    field: &str,
    value: Option<u64>,
    least: u64,
    most: u64,
    default: u64,
) -> Result<u64, InvalidField> {
    let value = value.unwrap_or(default);
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(InvalidField::new(
            field,
            format!("must be between {least} and {most}"),
        ))
    }
}

/// Refuses screenshots, which a crawl has no place for.
fn no_screenshots(actions: &[Action]) -> Result<(), InvalidField> {
    let found = actions
        .iter()
        .position(|action| matches!(action, Action::Screenshot {}));
    match found {
        Some(index) => {
            let rule = "a crawl takes no screenshots";
            Err(InvalidField::new(&format!("actions[{index}].type"), rule))
        }
        None => Ok(()),
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Compiles the patterns once, on the pool for blocking work.
async fn patterns(
    include: Vec<String>,
    exclude: Vec<String>,
) -> Result<(Vec<String>, Vec<String>), RequestError> {
    if include.is_empty() && exclude.is_empty() {
        return Ok((include, exclude));
    }
    let work = PathPatterns::work(&include, &exclude);
    let compile = move || PathPatterns::compile(&include, &exclude).map(|_| (include, exclude));
    let compiled = blocking_of(work, compile)
        .await
        .map_err(|error| RequestError::Internal(error.to_string()))?;
    Ok(compiled?)
}

fn events(given: Option<Vec<Event>>) -> Result<Vec<Event>, InvalidField> {
    let Some(given) = given else {
        return Ok(vec![Event::Done]);
    };
    let mut events: Vec<Event> = Vec::new();
    for event in given {
        if !events.contains(&event) {
            events.push(event);
        }
    }
    if events.is_empty() {
        return Err(InvalidField::new(
            "webhook_events",
            "must name at least one of crawl.done, crawl.diff_detected, crawl.page",
        ));
    }
    Ok(events)
}

fn proxy_country(
    given: Option<String>,
    pool: Option<ProxyPool>,
) -> Result<Option<String>, InvalidField> {
    let Some(code) = given else { return Ok(None) };
    if !country::is_iso2(&code) {
        return Err(InvalidField::new(
            "proxy_country",
            "must be an ISO 3166-1 alpha-2 country code such as DE",
        ));
    }
    if pool.is_none() {
        return Err(InvalidField::new("proxy_country", "needs proxy_pool"));
    }
    Ok(Some(code.to_ascii_uppercase()))
}

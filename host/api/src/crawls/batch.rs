//! POST /v1/batch.

use axum::Json;
use axum::response::Response;
use http::StatusCode;
use indexmap::IndexMap;
use orbweaver_core::json_number::whole;
use orbweaver_core::webhook::Event;
use orbweaver_crawl::list::{MAX_URLS, UrlList};
use orbweaver_crawl::render::RenderMode;
use orbweaver_crawl::request::{CrawlRequest, events_schema};
use orbweaver_crawl::spec::BatchNote;
use orbweaver_crawl::submit::{self, Origin};
use orbweaver_fetch::{Action, ProxyPool};
use orbweaver_pipeline::ExtractRequest;
use orbweaver_pipeline::browsing::WaitRequest;
use orbweaver_pipeline::cloud::backend::NO_BROWSER;
use orbweaver_store::Amount;
use orbweaver_store::crawl::{Created, KeyUse, Run};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::create::{self, Reference};
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::idempotency::IdempotencyHeader;
use crate::input::{OfPages, Payload};

/// URLs to fetch; the other fields are those of a crawl.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(
    example = json!({"urls": ["https://example.com/", "https://example.org/"], "delay_ms": 0})
)]
pub(super) struct BatchRequest {
    /// Absolute, http or https. Repeats count once. A URL that may not be fetched is among the
    /// run's errors.
    #[schema(min_items = 1, max_items = 100_000)]
    urls: Vec<String>,
    /// Concurrent requests; by default as many as the sites can handle.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    concurrency: Option<u64>,
    /// Milliseconds between two requests to a host.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 3_600_000, default = 250)]
    delay_ms: Option<u64>,
    /// Obey robots.txt.
    #[schema(default = true)]
    respect_robots: Option<bool>,
    /// Keep the pages' HTML.
    #[schema(default = true)]
    store_html: Option<bool>,
    /// Sent with the requests for the URLs of the list, and not to other hosts.
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    headers: Option<IndexMap<String, String>>,
    /// Cookies, `k=v; k=v`, sent like the headers.
    #[schema(max_length = 16_384)]
    cookies: Option<String>,
    /// Receives a POST request when the run is done or failed.
    #[schema(format = "uri")]
    webhook_url: Option<String>,
    /// The events to send; by default `crawl.done`.
    #[schema(schema_with = events_schema)]
    webhook_events: Option<Vec<Event>>,
    /// User agent to send; by default one of current browsers.
    #[schema(max_length = 1_024, pattern = "^[ -~]*$")]
    user_agent: Option<String>,
    /// The proxy to use (http, https or socks5); by default the project's.
    proxy_url: Option<String>,
    /// Pool to take proxies from; `proxy_url` has precedence.
    proxy_pool: Option<ProxyPool>,
    /// Country of the proxy (ISO 3166-1 alpha-2); only with `proxy_pool`.
    #[schema(pattern = "^[A-Za-z]{2}$")]
    proxy_country: Option<String>,
    /// No delay, 32 concurrent requests, robots.txt ignored. Tiers agency and above.
    #[schema(default = false)]
    aggressive: Option<bool>,
    /// Wait for a slot instead of being refused with 429.
    #[schema(default = false)]
    queue: Option<bool>,
    /// Further extractors for every page; their outputs are under `extensions`.
    #[schema(max_items = 16)]
    extractors: Option<Vec<String>>,
    /// Which pages are rendered in a browser.
    #[schema(default = "never")]
    render: Option<RenderMode>,
    /// Follow a `Refresh` header or a page's `meta` refresh of at most 100 seconds, at once and as a
    /// redirect.
    #[schema(default = false)]
    follow_refresh: Option<bool>,
    /// When a rendered page counts as loaded.
    wait_for: Option<WaitRequest>,
    /// What is done in every rendered page once it has loaded, in this order, within a minute.
    #[schema(max_items = 50)]
    actions: Option<Vec<Action>>,
    /// The name of a session: rendered pages share its cookies.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    session: Option<String>,
    /// Fields to extract from every page by CSS selectors: `extracted` of the page.
    extract: Option<ExtractRequest>,
}

/// The run of a batch.
#[derive(Serialize, ToSchema)]
pub(super) struct BatchReference {
    #[serde(flatten)]
    run: Reference,
    /// Number of URLs that are fetched.
    accepted: usize,
    /// Number of URLs that may not be fetched; `GET /v1/crawls/{id}/errors` lists them.
    refused: usize,
    /// Number of URLs left out as repeats.
    duplicates: usize,
}

impl BatchRequest {
    /// The list, and a crawl with the other fields.
    fn split(self) -> Result<(Vec<String>, CrawlRequest), ApiError> {
        if self.urls.is_empty() || self.urls.len() > MAX_URLS {
            let rule = format!("must be between 1 and {MAX_URLS} URLs");
            return Err(ApiError::invalid("urls", rule));
        }
        let crawl = CrawlRequest {
            concurrency: self.concurrency,
            delay_ms: self.delay_ms,
            respect_robots: self.respect_robots,
            store_html: self.store_html,
            headers: self.headers,
            cookies: self.cookies,
            webhook_url: self.webhook_url,
            webhook_events: self.webhook_events,
            user_agent: self.user_agent,
            proxy_url: self.proxy_url,
            proxy_pool: self.proxy_pool,
            proxy_country: self.proxy_country,
            aggressive: self.aggressive,
            queue: self.queue,
            extractors: self.extractors,
            render: self.render,
            follow_refresh: self.follow_refresh,
            wait_for: self.wait_for,
            actions: self.actions,
            session: self.session,
            extract: self.extract,
            ..CrawlRequest::default()
        };
        Ok((self.urls, crawl))
    }
}

/// Fetches up to 100,000 URLs in the background: a run that follows no links.
///
/// It is read like a crawl, below `/v1/crawls/{id}`, and billed like one: a page for every page
/// stored. A request with the Idempotency-Key and the body of an earlier one gets the earlier one's
/// run; 409 if the earlier one had another body, or was a crawl.
#[utoipa::path(
    post,
    path = "/v1/batch",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(IdempotencyHeader),
    request_body = BatchRequest,
    responses(
        (status = 202, description = "The run is queued", body = BatchReference,
            headers(("Location" = String, description = "URL of the run"))),
        (status = 403, description = "The project is suspended", body = ErrorBody),
        (status = 409, description = "The Idempotency-Key was used with another body, or for a crawl",
            body = ErrorBody),
        (status = 501, description = "The proxy pool, or a browser, is not configured", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn create_batch(
    ctx: Ctx,
    payload: Payload<BatchRequest, OfPages>,
) -> Result<Response, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    let digest = hex::encode(payload.digest());
    let idem_key = ctx.idempotency_key.map(|key| key.to_string());
    if let Some(key) = &idem_key {
        match app.store.key_use(project, key, app.clock.now()).await? {
            Some(KeyUse::Run(run) | KeyUse::Reused(run)) => return again(&run, &digest),
            Some(KeyUse::Monitor(monitor)) => {
                return Err(create::key_taken("monitor", monitor.id));
            }
            None => {}
        }
    }
    let (urls, mut crawl) = payload.value.split()?;
    let list = UrlList::check(&app.crawls, urls).await?;
    let Some(first) = list.urls.first() else {
        let why = list.refused.first().map(|refused| refused.message.as_str());
        let rule = format!("none of them may be fetched: {}", why.unwrap_or_default());
        return Err(ApiError::invalid("urls", rule));
    };
    crawl.url.clone_from(&first.url);
    let tier = app.accounts.quota.caps(project).await?;
    let checked = crawl
        .check(&ctx.pipeline(), tier.aggressive, &ctx.principal.tier)
        .await?;
    if checked.needs_browser() && !app.cloud.has_browser() {
        return Err(ApiError::not_configured(format!("render: {NO_BROWSER}")));
    }
    // A run needs a page at least; the reservation goes back at once.
    let page = Amount::pages(1);
    drop(app.accounts.quota.reserve(project, page).await?);
    let mut spec = checked
        .spec
        .with_project_proxy(ctx.principal.proxy_url.as_deref());
    spec.list = true;
    spec.max_pages = u32::try_from(list.urls.len()).unwrap_or(u32::MAX);
    let note = BatchNote {
        digest,
        accepted: list.urls.len(),
        refused: list.refused.len(),
        duplicates: list.duplicates,
    };
    spec.batch = Some(note.clone());
    let origin = Origin {
        idem_key,
        may_wait: checked.may_wait,
        ..Origin::default()
    };
    let cap = tier.concurrent_runs.0;
    match submit::submit_list(&app.crawls, project, &spec, origin, cap, &list).await? {
        Created::New(run) => answer(&run, &note),
        Created::Replayed(run) => again(&run, &note.digest),
        Created::Monitor(monitor) => Err(create::key_taken("monitor", monitor.id)),
        Created::CapReached => Err(create::cap_reached(cap, &ctx.principal.tier)),
    }
}

fn answer(run: &Run, note: &BatchNote) -> Result<Response, ApiError> {
    let body = BatchReference {
        run: Reference::new(run),
        accepted: note.accepted,
        refused: note.refused,
        duplicates: note.duplicates,
    };
    create::located(StatusCode::ACCEPTED, run, Json(body))
}

/// The answer of the request that used the Idempotency-Key first, if it was the same request.
fn again(run: &Run, digest: &str) -> Result<Response, ApiError> {
    let spec = create::spec_of(run)?;
    if !spec.list {
        return Err(create::key_taken("crawl", run.id));
    }
    match spec.batch {
        Some(note) if note.digest == digest => {
            let mut response = answer(run, &note)?;
            create::mark_replayed(&mut response);
            Ok(response)
        }
        _ => Err(ApiError::conflict(format!(
            "Idempotency-Key: this key was used with another body within 24 hours, for the batch {}",
            run.id
        ))),
    }
}

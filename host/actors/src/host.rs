//! The host side of a plugin's requests, made for one project and billed to it.

mod crawl_data;
mod free;
mod job;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_accounts::random;
use orbweaver_core::limits::MAX_SITEMAP_BYTES;
use orbweaver_engine::{
    CodedError, CrawlDataHost, ErrorCode, ExtractionHost, FetchRequest, Host, HostWork, HttpHost,
    JobHost, Page, PluginError, ProxyChoice, RenderingHost, StateHost, WaitFor,
};
use orbweaver_fetch::{
    FetchError, HopVerdict, Kind as FetchKind, Method, ProxyPool, Request, Response, SubKind,
};
use orbweaver_store::Principal;
use parking_lot::Mutex;

use free::is_free;

use super::graph::Graph;
use super::ledger::{Ended, Ledger};
use crate::caller::Caller;
use crate::context::Actors;
use crate::secrets::Secrets;
use crate::state::ProjectValues;
use orbweaver_accounts::quota::{CapReached, QuotaError};
use orbweaver_pipeline::cloud::backend::{NO_BROWSER, project_proxy};
use orbweaver_pipeline::cloud::{traffic_micros, usd};
use orbweaver_pipeline::{
    FailureKind, ScanError, blocking_of, fetch_code, page_without, readable_page,
};

/// Number of refusals recorded for one call; the first ones explain its failure.
const MOST_REFUSALS: usize = 64;

/// Why the host refused a plugin's call, if the client can do something about it.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// A backend is not configured; says what to set.
    NotConfigured(String),
    /// A cap is reached.
    Capped(CapReached),
    /// The guard or robots.txt refuses a target; says which rule.
    Target(String),
    /// A run or page of the input does not exist.
    Missing(String),
}

/// The host of one call.
pub(super) struct CallHost {
    actors: Actors,
    principal: Arc<Principal>,
    ledger: Ledger,
    caller: Caller,
    /// The first refusals, one of each kind; the plugin may have continued after them.
    refusals: Mutex<Vec<Refusal>>,
    /// A finished run of the project, the last one whose pages the plugin read.
    finished_run: Mutex<Option<i64>>,
    /// The graph of the run whose links the plugin reads.
    graph: tokio::sync::OnceCell<Graph>,
    values: ProjectValues,
}

impl CallHost {
    pub(super) fn new(
        actors: Actors,
        principal: Arc<Principal>,
        ledger: Ledger,
        caller: Caller,
    ) -> Self {
        let values = actors.values.of_call(principal.project);
        Self {
            actors,
            principal,
            ledger,
            caller,
            refusals: Mutex::new(Vec::new()),
            finished_run: Mutex::new(None),
            graph: tokio::sync::OnceCell::new(),
            values,
        }
    }

    pub(super) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The host refusal that caused the failure, if one did. A missing backend or an exceeded quota
    /// explains any later failure; a refused target explains only a failure whose error reports it.
    pub(super) fn reason(&self, failure: &PluginError) -> Option<Refusal> {
        let PluginError::Reported(error) = failure else {
            return None;
        };
        let is_input = error.code == ErrorCode::InvalidInput;
        let refusals = self.refusals.lock();
        let explains = |refusal: &&Refusal| match refusal {
            Refusal::NotConfigured(_) | Refusal::Capped(_) => !is_input && !error.code.is_fetch(),
            Refusal::Target(why) | Refusal::Missing(why) => error.message.contains(why.as_str()),
        };
        refusals.iter().find(explains).cloned()
    }

    /// The cap for which nothing was fetched that is not free. An answer of the plugin would only say
    /// so for each URL.
    pub(super) fn capped(&self) -> Option<CapReached> {
        if !self.ledger.is_free_so_far() {
            return None;
        }
        let refusals = self.refusals.lock();
        refusals.iter().find_map(|refusal| match refusal {
            Refusal::Capped(cap) => Some(*cap),
            _ => None,
        })
    }

    fn refuse(&self, refusal: Refusal, error: CodedError) -> CodedError {
        self.remember(refusal);
        error
    }

    fn refuse_target(&self, code: ErrorCode, why: String) -> CodedError {
        self.refuse(Refusal::Target(why.clone()), CodedError::new(code, why))
    }

    fn not_configured(&self, what: String) -> CodedError {
        let error = CodedError::new(ErrorCode::NotConfigured, what.clone());
        self.refuse(Refusal::NotConfigured(what), error)
    }

    fn missing(&self, what: String) -> CodedError {
        self.remember(Refusal::Missing(what.clone()));
        CodedError::invalid(what)
    }

    fn remember(&self, refusal: Refusal) {
        let mut refusals = self.refusals.lock();
        if refusals.len() < MOST_REFUSALS {
            refusals.push(refusal);
        }
    }

    fn quota(&self, error: QuotaError) -> CodedError {
        match error {
            QuotaError::Capped(cap) => {
                let error = CodedError {
                    retry_after_ms: Some(cap.retry_after_seconds.saturating_mul(1_000)),
                    ..CodedError::new(ErrorCode::Quota, cap.to_string())
                };
                self.refuse(Refusal::Capped(cap), error)
            }
            error @ QuotaError::Suspended => {
                CodedError::new(ErrorCode::NotGranted, error.to_string())
            }
            QuotaError::Store(error) => internal(&error),
        }
    }

    /// The pool that a plugin chose, and its price.
    fn pool(&self, choice: &ProxyChoice) -> Result<(ProxyPool, f64), CodedError> {
        let ProxyChoice { pool, country } = choice;
        let named: ProxyPool = serde_json::from_value(pool.as_str().into()).map_err(|_| {
            CodedError::invalid(format!("proxy_pool: `{pool}` is not a proxy pool"))
        })?;
        let fetcher = &self.actors.pipeline.fetcher;
        let there = match country {
            Some(_) => fetcher.has_countries(named),
            None => fetcher.has_pool(named),
        };
        if there {
            return Ok((named, self.actors.prices.gigabyte(named)));
        }
        let what = format!("the proxy pool {pool} is not configured; set fetch.proxy_pools.{pool}");
        Err(self.not_configured(what))
    }

    /// Fetches through the chosen pool, else through the project's own proxy if it has one. The outer
    /// error is one before anything was sent.
    async fn send(
        &self,
        request: Request,
        way: Option<(ProxyPool, Option<&str>)>,
    ) -> Result<Result<Response, FetchError>, CodedError> {
        let fetcher = self
            .actors
            .pipeline
            .fetcher
            .of_project(self.principal.project);
        let Some((pool, country)) = way else {
            let proxy = project_proxy(&self.principal).map_err(|error| internal(&error))?;
            // Boxed: the fetch's state is large, and a call may run many at once.
            return Ok(Box::pin(fetcher.fetch(Request { proxy, ..request })).await);
        };
        let random = random::bytes().map_err(|error| internal(&error))?;
        let session = u64::from_le_bytes(random);
        Ok(Box::pin(fetcher.fetch_through(pool, country, session, request)).await)
    }

    /// Converts a fetch's failure into a plugin's error.
    fn failure(&self, error: FetchError) -> CodedError {
        match error.kind {
            FetchKind::Refused => self.refuse_target(ErrorCode::BlockedAddress, error.message),
            FetchKind::Robots => self.refuse_target(ErrorCode::Robots, error.message),
            FetchKind::Scope => CodedError::new(ErrorCode::NotGranted, error.message),
            FetchKind::InvalidRequest => CodedError::invalid(error.message),
            FetchKind::Internal | FetchKind::Dns if error.sub == Some(SubKind::Busy) => {
                busy(error.message)
            }
            FetchKind::Internal => internal(&error.message),
            kind => CodedError::new(fetch_code(kind), error.message),
        }
    }
}

impl Host for CallHost {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }

    fn rendering(&self) -> Option<&dyn RenderingHost> {
        Some(self)
    }

    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        Some(self)
    }

    fn crawl_data(&self) -> Option<&dyn CrawlDataHost> {
        Some(self)
    }

    fn state(&self) -> Option<&dyn StateHost> {
        Some(&self.values)
    }

    fn job(&self) -> Option<&dyn JobHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for CallHost {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        let secrets = Secrets::of(&self.actors, self.principal.project, &request).await?;
        let choice = request.proxy.clone();
        let pool = choice.as_ref().map(|one| self.pool(one)).transpose()?;
        let usd_per_gb = pool.map_or(0.0, |(_, price)| price);
        let frees = self.ledger.frees(request.respect_robots);
        let ticket = if pool.is_some() {
            self.ledger.cloud_page(false).await
        } else {
            let may_be_free = request.method == "GET" && frees != Some(false);
            self.ledger.page(&request.url, may_be_free).await
        }
        .map_err(|error| self.quota(error))?;
        let method: Method = request
            .method
            .parse()
            .map_err(|_| CodedError::invalid("method: must be GET, HEAD or POST".to_owned()))?;
        let allowed = Arc::clone(&request.allowed);
        let secret_hosts = secrets.hosts();
        let mut headers = request.headers;
        headers.extend(secrets.headers.iter().cloned());
        let limit = self.actors.max_body_bytes.max(match frees {
            // A sitemap may be larger than a page.
            Some(true) => MAX_SITEMAP_BYTES as u64,
            _ => 0,
        });
        let longest = self.actors.max_fetch_time;
        let asked = Request {
            headers,
            body: request.body.map(Into::into),
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
            timeout: request
                .timeout_ms
                .map(|ms| Duration::from_millis(ms.into()).min(longest)),
            max_bytes: Some(request.max_bytes.min(limit)),
            hop_check: Some(Arc::new(move |next: &str| {
                if !secret_hosts.iter().all(|hosts| hosts.allows(next)) {
                    // The redirect is the answer: the secrets go nowhere else.
                    HopVerdict::Stop
                } else if allowed.allows(next) {
                    HopVerdict::Follow
                } else {
                    HopVerdict::Refuse(allowed.denial(next))
                }
            })),
            ..Request::new(method, &request.url)
        };
        let country = choice.as_ref().and_then(|one| one.country.as_deref());
        let way = pool.map(|(pool, _)| (pool, country));
        let fetched = self.send(asked, way).await?;
        let cost_usd = |wire_bytes| usd(traffic_micros(wire_bytes, usd_per_gb));
        let ended = match &fetched {
            Ok(response) => Ended {
                answered: true,
                free: frees.unwrap_or_else(|| is_free(response)),
                cost_usd: cost_usd(response.wire_bytes),
            },
            // The proxy's traffic is paid for, whatever came of it.
            Err(error) => Ended {
                cost_usd: cost_usd(error.wire_bytes),
                ..Ended::default()
            },
        };
        let settled = ticket.settle(ended);
        settled.map_err(|cap| self.quota(QuotaError::Capped(cap)))?;
        let response = fetched.map_err(|error| secrets.masked_error(self.failure(error)))?;
        let bytes = response.body.len();
        let values = secrets.values();
        let page = move || page_without(&values, response, ended.cost_usd);
        blocking_of(bytes, page)
            .await
            .map_err(|error| internal(&error))
    }
}

#[async_trait]
impl RenderingHost for CallHost {
    async fn render(&self, url: &str, wait_for: WaitFor) -> Result<Arc<Page>, CodedError> {
        let cloud = &self.actors.cloud;
        if !cloud.has_browser() {
            return Err(self.not_configured(NO_BROWSER.to_owned()));
        }
        let ticket = self
            .ledger
            .cloud_page(true)
            .await
            .map_err(|error| self.quota(error))?;
        let rendered = Box::pin(cloud.render(&self.principal, url, wait_for)).await;
        let ended = Ended {
            answered: rendered.is_ok(),
            ..Ended::default()
        };
        let settled = ticket.settle(ended);
        settled.map_err(|cap| self.quota(QuotaError::Capped(cap)))?;
        rendered.map_err(|error| match error {
            ScanError::Refused(why) => self.refuse_target(ErrorCode::BlockedAddress, why),
            ScanError::Fetch {
                kind: FailureKind::Fetch(FetchKind::Robots),
                message,
            } => self.refuse_target(ErrorCode::Robots, message),
            ScanError::Fetch { kind, message } => {
                let code = match kind {
                    FailureKind::Fetch(kind) => fetch_code(kind),
                    FailureKind::Vendor | FailureKind::Search => ErrorCode::BadResponse,
                };
                CodedError::new(code, message)
            }
            ScanError::NotConfigured(what) => self.not_configured(what.to_string()),
            ScanError::Busy {
                message,
                retry_after,
            } => CodedError {
                retry_after_ms: Some(retry_after.saturating_mul(1_000)),
                ..busy(message)
            },
            ScanError::Quota(error) => self.quota(error),
            ScanError::Unavailable(cause) => internal(&cause),
            other => internal(&other),
        })
    }
}

#[async_trait]
impl ExtractionHost for CallHost {
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
        account: &HostWork,
    ) -> Result<String, CodedError> {
        let engine = &self.actors.pipeline.engine;
        // The plugin asks on a task that is no part of the request's.
        let engine = engine.of_call(self.principal.project, &self.context());
        let engine = engine.spending(account);
        let page = readable_page(&engine, page).await;
        engine.extract_for_plugin(role, &page, options).await
    }
}

/// All browsers, or all memory for large bodies, are in use.
fn busy(message: String) -> CodedError {
    CodedError {
        retry_after_ms: Some(5_000),
        ..CodedError::new(ErrorCode::Quota, message)
    }
}

/// Logs the cause and tells the plugin only that there was an error.
fn internal(cause: &dyn std::fmt::Display) -> CodedError {
    tracing::error!(error = %cause, "internal error in a plugin's request");
    CodedError::failed("the host failed".to_owned())
}

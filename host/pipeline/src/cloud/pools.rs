//! The configured proxy pools. If a proxy fails, the next one of its pool is tried.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use orbweaver_accounts::random;
use orbweaver_core::ids::ProjectId;
use orbweaver_fetch::{
    Candidate, FetchError, Fetcher, Kind, PROXY_TRIES, Personal, PersonalOf, ProxyPool,
    RenderRequest, Renderer, Request, Traffic,
};

use super::backend::{
    Backend, Capabilities, Job, Loaded, NO_BROWSER, fetch_plain, loaded, plain_request,
    render_request,
};
use super::money::traffic_micros;
use crate::config::Prices;
use crate::error::ScanError;

/// Pools from the hardest to detect to the easiest.
const STEALTHIEST: [ProxyPool; 4] = [
    ProxyPool::Residential,
    ProxyPool::Mobile,
    ProxyPool::Isp,
    ProxyPool::Datacenter,
];
/// Pools from the cheapest to the most expensive.
const CHEAPEST: [ProxyPool; 4] = [
    ProxyPool::Datacenter,
    ProxyPool::Isp,
    ProxyPool::Residential,
    ProxyPool::Mobile,
];

/// The proxy backend.
pub(super) struct Pools {
    fetcher: Fetcher,
    renderer: Renderer,
    prices: Prices,
    sessions: AtomicU64,
}

impl Pools {
    pub(super) fn new(fetcher: Fetcher, renderer: Renderer, prices: Prices) -> Self {
        Self {
            fetcher,
            renderer,
            prices,
            sessions: AtomicU64::new(random::seed() >> 16),
        }
    }

    /// The configured pools that suit a job, the hardest to detect first.
    pub(super) fn stealthiest(&self, job: &Job) -> Vec<ProxyPool> {
        self.usable(&STEALTHIEST, job)
    }

    /// The configured pools that suit a job, the cheapest first.
    pub(super) fn cheapest(&self, job: &Job) -> Vec<ProxyPool> {
        self.usable(&CHEAPEST, job)
    }

    fn usable(&self, order: &[ProxyPool], job: &Job) -> Vec<ProxyPool> {
        order
            .iter()
            .copied()
            .filter(|&pool| match job.country {
                Some(_) => self.fetcher.has_countries(pool),
                None => self.fetcher.has_pool(pool),
            })
            .collect()
    }

    async fn through(
        &self,
        project: ProjectId,
        job: &Job,
        candidate: &Candidate,
        traffic: &Traffic,
        personal: &PersonalOf,
    ) -> Result<Loaded, FetchError> {
        let (proxy, traffic) = (Some(candidate.proxy.clone()), traffic.clone());
        if let Some(wait_for) = job.render {
            let request = RenderRequest {
                traffic,
                ..render_request(project, job, wait_for, proxy)
            };
            return Ok(loaded(self.renderer.render(request).await?, self.name()));
        }
        let request = Request {
            traffic,
            personal: Some(Arc::clone(personal)),
            ..plain_request(job, proxy)
        };
        fetch_plain(&self.fetcher, project, request, self.name()).await
    }
}

#[async_trait]
impl Backend for Pools {
    fn name(&self) -> &'static str {
        "proxy"
    }

    fn capabilities(&self) -> Capabilities {
        let available = CHEAPEST.iter().any(|&pool| self.fetcher.has_pool(pool));
        let browser = available && self.renderer.is_available();
        Capabilities {
            available,
            render: browser,
            picture: browser,
            country: CHEAPEST
                .iter()
                .any(|&pool| self.fetcher.has_countries(pool)),
            unblock: browser,
        }
    }

    fn missing(&self, job: &Job) -> Option<Cow<'static, str>> {
        let pool = job.pool.unwrap_or(ProxyPool::Isp);
        let name = pool.as_str();
        if !self.fetcher.has_pool(pool) {
            return Some(
                format!("proxy pool `{name}` is not configured: set fetch.proxy_pools.{name}")
                    .into(),
            );
        }
        if job.country.is_some() && !self.fetcher.has_countries(pool) {
            return Some(
                format!(
                    "proxy pool `{name}` does not support a country: put {{country}} into a URL of \
                     fetch.proxy_pools.{name}"
                )
                .into(),
            );
        }
        let needs_browser = job.render.is_some() || job.picture;
        (needs_browser && !self.renderer.is_available()).then_some(NO_BROWSER.into())
    }

    async fn load(&self, project: ProjectId, job: &Job) -> Result<Loaded, ScanError> {
        let pool = job.pool.unwrap_or(ProxyPool::Isp);
        let session = self.sessions.fetch_add(1, Ordering::Relaxed);
        let candidates = self
            .fetcher
            .pool_candidates(pool, job.country.as_deref(), session)?;
        let own = Personal::by_pool(pool, job.country.as_deref(), session).everywhere();
        let price = self.prices.gigabyte(pool);
        let (mut last, mut cost_micros) = (None, 0_u64);
        for candidate in candidates.into_iter().take(PROXY_TRIES) {
            let traffic = Traffic::default();
            let cost = || traffic_micros(traffic.bytes(), price);
            let passing = job.spent.under_way(cost);
            let page = self.through(project, job, &candidate, &traffic, &own).await;
            passing.end();
            let received = match &page {
                Ok(page) => page.response.wire_bytes,
                Err(_) => traffic.bytes(),
            };
            let cost = traffic_micros(received, price);
            job.spent.add(cost);
            cost_micros = cost_micros.saturating_add(cost);
            match page {
                Ok(page) => {
                    self.fetcher.report(&candidate, true);
                    return Ok(Loaded {
                        pool: Some(pool),
                        cost_micros,
                        ..page
                    });
                }
                Err(error) if may_be_the_proxy(&error) => {
                    tracing::warn!(
                        proxy = %candidate.proxy,
                        pool = pool.as_str(),
                        "a proxy failed, trying the next one: {error}"
                    );
                    self.fetcher.report(&candidate, false);
                    last = Some(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(last.map_or_else(
            || ScanError::Internal("a configured pool has no proxy".to_owned()),
            ScanError::from,
        ))
    }
}

/// Whether another proxy may succeed where this failure occurred.
fn may_be_the_proxy(error: &FetchError) -> bool {
    matches!(
        error.kind,
        Kind::Proxy
            | Kind::Connect
            | Kind::Reset
            | Kind::Timeout
            | Kind::IncompleteBody
            | Kind::Protocol
            | Kind::Slow
    )
}

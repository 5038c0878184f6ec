//! The fetch loop: checks before each step, redirects and retries.

mod download;
mod next;
mod refresh;
mod robots;

pub use download::Download;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use http::header::SET_COOKIE;
use orbweaver_core::guard::{Host, HostList, Policy, Refusal, Target};
use orbweaver_core::ids::ProjectId;
use orbweaver_core::user_agent;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::bodies::{Bodies, Receipt};
use crate::classify;
use crate::client::{Client, Clients, ConfigError, Connections};
use crate::config::{FetchConfig, Limits};
use crate::error::{Fault, FetchError, Kind, SubKind};
use crate::exchange::{self, Bounds, Received};
use crate::hop_state::HopState;
use crate::lookups;
use crate::pools::{Candidate, Pools};
use crate::proxy::{ProxyPool, ProxyUrl};
use crate::proxy_answer;
use crate::request::{HopVerdict, Request};
use crate::resolve::{Resolver, SystemResolver};
use crate::response::{ENDED_EARLY, Headers, Response, Timings};
use crate::site::{Personal, SiteFiles};
use next::{header_target, location};

/// Most proxies of a pool tried for one request.
pub const PROXY_TRIES: usize = 4;

/// Sends every outgoing request. Clones share connections, caches and limits.
#[derive(Clone)]
pub struct Fetcher(Arc<Inner>, Option<ProjectId>);

struct Inner {
    config: FetchConfig,
    policy: Policy,
    blocklist: Arc<ArcSwap<HostList>>,
    clients: Clients,
    files: SiteFiles,
    pools: Pools,
    bodies: Arc<Bodies>,
    /// Number of requests so far that named no user agent: each has the next one of the list.
    rotation: AtomicU64,
}

impl Fetcher {
    /// Creates a fetcher that uses the system's resolver.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn new(config: FetchConfig) -> Result<Self, ConfigError> {
        Self::with_resolver(config, Arc::new(SystemResolver))
    }

    /// Creates a fetcher that uses `resolver`.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn with_resolver(
        config: FetchConfig,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, ConfigError> {
        let blocklist: Arc<ArcSwap<HostList>> = Arc::default();
        let clients = Clients::new(&config, resolver, Arc::clone(&blocklist))?;
        let policy = Policy::with_nets(config.allow_nets.clone());
        let pools = Pools::new(config.proxy_pools.clone());
        let most = config.limits.max_bodies_mib.saturating_mul(1 << 20);
        let failed = config.limits.failed_mib_per_hour;
        let bodies = Bodies::new(most, config.limits.max_body_bytes, failed);
        let inner = Inner {
            config,
            policy,
            blocklist,
            clients,
            files: SiteFiles::new(),
            pools,
            bodies,
            rotation: AtomicU64::new(0),
        };
        Ok(Self(Arc::new(inner), None))
    }

    /// The same fetcher for the requests of a project: their large bodies and their name lookups count
    /// as the project's, which has its share of the memory and of the threads for them.
    #[must_use]
    pub fn of_project(&self, project: ProjectId) -> Self {
        Self(Arc::clone(&self.0), Some(project))
    }

    /// The limits in use.
    pub fn limits(&self) -> &Limits {
        &self.0.config.limits
    }

    /// Whose requests these are.
    pub(crate) fn project(&self) -> Option<ProjectId> {
        self.1
    }

    /// The HTTP clients, shared with the browser's filters.
    pub(crate) fn clients(&self) -> &Clients {
        &self.0.clients
    }

    /// robots.txt and llms.txt, cached per origin.
    pub fn site_files(&self) -> &SiteFiles {
        &self.0.files
    }

    /// Checks a URL as a fetch would, without DNS: for validation before anything is queued.
    /// # Errors
    /// The rule that it breaks.
    pub fn judge(&self, url: &str) -> Result<Target, Refusal> {
        self.0
            .policy
            .judge_url(url)?
            .unless_listed(&self.0.blocklist.load())
    }

    /// Replaces the blocklist. From then on its hosts are refused: as targets, redirect targets,
    /// proxies, and as addresses that names resolve to.
    pub fn set_blocklist(&self, blocklist: HostList) {
        self.0.blocklist.store(Arc::new(blocklist));
    }

    /// Checks a proxy by its URL, without DNS: its address or name, its port, and whether its
    /// host is on the blocklist.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn judge_proxy(&self, proxy: &ProxyUrl) -> Result<(), Refusal> {
        self.0.clients.guarded().judge_proxy(proxy)
    }

    /// Checks a URL and, if its host is a name, the addresses it resolves to now. A fetch
    /// checks again the addresses that it connects to.
    ///
    /// # Errors
    /// A refusal, or a DNS failure.
    #[crate::boxed]
    pub async fn judge_resolved(&self, url: &str) -> Result<Target, FetchError> {
        let target = self
            .judge(url)
            .map_err(|refusal| Fault::from(refusal).at(url, Vec::new()))?;
        lookups::asked_by(self.1, self.lookup(&target))
            .await
            .map_err(|fault| fault.at(url, Vec::new()))?;
        Ok(target)
    }

    /// The user agent to send: the requested one, or a browser's picked by `random` if none is
    /// requested or the requested one names this crawler.
    pub fn user_agent<'a>(&'a self, asked: Option<&'a str>, random: u64) -> &'a str {
        user_agent::choose(asked, &self.0.config.user_agents, random)
    }

    /// Whether a proxy pool is configured.
    pub fn has_pool(&self, pool: ProxyPool) -> bool {
        !self.0.pools.proxies(pool).is_empty()
    }

    /// Whether a pool has proxies with a `{country}` placeholder.
    pub fn has_countries(&self, pool: ProxyPool) -> bool {
        self.0.pools.has_countries(pool)
    }

    /// The proxies of `pool` in the order of trying; empty if the pool is not configured, or
    /// has no proxy that suits `country`. `session` fills a placeholder.
    ///
    /// # Errors
    /// When `country` is not an ISO-2 code.
    pub fn pool_candidates(
        &self,
        pool: ProxyPool,
        country: Option<&str>,
        session: u64,
    ) -> Result<Vec<Candidate>, FetchError> {
        let found = self.0.pools.candidates(pool, country, session);
        found.map_err(|error| {
            Fault::new(Kind::InvalidRequest, None, error.to_string()).at("", Vec::new())
        })
    }

    /// Records the outcome of a request through a pool's proxy; failed proxies are tried last.
    pub fn report(&self, candidate: &Candidate, worked: bool) {
        self.0.pools.report(candidate, worked);
    }

    /// Fetches through a pool: if a proxy does not connect, the next one is tried.
    ///
    /// # Errors
    /// Why there is no response; the last proxy's error if all failed.
    #[crate::boxed]
    pub async fn fetch_through(
        &self,
        pool: ProxyPool,
        country: Option<&str>,
        session: u64,
        request: Request,
    ) -> Result<Response, FetchError> {
        let name = pool.as_str();
        let mut last = Fault::new(
            Kind::InvalidRequest,
            None,
            format!("no proxy of pool `{name}` is configured that fits the request"),
        )
        .at(&request.url, Vec::new());
        let candidates = self.pool_candidates(pool, country, session)?;
        let mut personal = request.personal.clone();
        if request.respect_robots && personal.is_none() {
            // That of the pool, which all of its proxies share.
            personal = Some(Personal::by_pool(pool, country, session).everywhere());
        }
        for candidate in candidates.into_iter().take(PROXY_TRIES) {
            let through = Request {
                proxy: Some(candidate.proxy.clone()),
                personal: personal.clone(),
                ..request.clone()
            };
            // Boxed: the fetch's state is large.
            match Box::pin(self.fetch(through)).await {
                Err(error) if matches!(error.kind, Kind::Proxy | Kind::Connect) => {
                    tracing::warn!(
                        proxy = %candidate.proxy,
                        pool = name,
                        "a proxy did not connect, trying the next one: {error}"
                    );
                    self.report(&candidate, false);
                    last = error;
                }
                result => {
                    if result.is_ok() {
                        self.report(&candidate, true);
                    }
                    return result;
                }
            }
        }
        Err(last)
    }

    /// Fetches. A response with any status is a success. Redirects are followed here; each
    /// target is checked like the first URL.
    ///
    /// # Errors
    /// Why there is no response; see [`Kind`].
    #[crate::boxed]
    pub async fn fetch(&self, request: Request) -> Result<Response, FetchError> {
        let started = Instant::now();
        let receipt = Receipt::new(&self.0.bodies, self.1, &request.traffic);
        let result = lookups::asked_by(self.1, self.run(&request, started, &receipt)).await;
        match &result {
            Ok(response) => {
                receipt.waive();
                metrics::counter!("orbweaver_fetch_total", "outcome" => "response").increment(1);
                metrics::counter!("orbweaver_fetch_bytes_total").increment(response.wire_bytes);
                metrics::histogram!("orbweaver_fetch_seconds")
                    .record(started.elapsed().as_secs_f64());
            }
            Err(error) => {
                // It is this service that had no room.
                if (error.kind, error.sub) == (Kind::Internal, Some(SubKind::Busy)) {
                    receipt.waive();
                }
                metrics::counter!("orbweaver_fetch_total", "outcome" => error.kind.as_str())
                    .increment(1);
                tracing::debug!(
                    kind = error.kind.as_str(),
                    sub = error.sub.map(SubKind::as_str),
                    "fetch failed: {error}"
                );
            }
        }
        result
    }

    async fn run(
        &self,
        request: &Request,
        started: Instant,
        receipt: &Receipt,
    ) -> Result<Response, FetchError> {
        let bounds = self.bounds(request, started, receipt);
        let mut hop = self
            .begin(request)
            .map_err(|fault| fault.at(&request.url, Vec::new()))?;
        let url = hop.target.url.to_string();
        loop {
            let step = timeout_at(bounds.deadline, self.step(request, &mut hop, &bounds)).await;
            match step.unwrap_or_else(|_| Err(bounds.late())) {
                Ok(Some(response)) => return Ok(Response { url, ..response }),
                Ok(None) => {}
                Err(fault) => {
                    let error = fault.at(hop.target.url.as_str(), hop.redirects);
                    return Err(FetchError {
                        wire_bytes: receipt.bytes(),
                        ..error
                    });
                }
            }
        }
    }

    /// The limits of a request that began then.
    fn bounds<'a>(
        &'a self,
        request: &Request,
        started: Instant,
        receipt: &'a Receipt,
    ) -> Bounds<'a> {
        let inner = &self.0;
        let limits = &inner.config.limits;
        let total = request.timeout.unwrap_or(limits.total_ms.as_duration());
        Bounds {
            limits,
            started,
            first_byte: request
                .first_byte
                .unwrap_or(limits.first_byte_ms.as_duration()),
            deadline: started + total,
            total,
            max_bytes: request.max_bytes.unwrap_or(limits.max_body_bytes),
            oversize: request.oversize,
            bodies: &inner.bodies,
            project: self.1,
            receipt,
        }
    }

    fn begin(&self, request: &Request) -> Result<HopState, Fault> {
        let target = self.judge(&request.url)?;
        let agent = request.user_agent.as_deref().unwrap_or_else(|| {
            self.user_agent(None, self.0.rotation.fetch_add(1, Ordering::Relaxed))
        });
        HopState::new(request, target, agent)
    }

    /// Makes one exchange. `Ok(None)`: a redirect was followed and `hop` has its target.
    async fn step(
        &self,
        request: &Request,
        hop: &mut HopState,
        bounds: &Bounds<'_>,
    ) -> Result<Option<Response>, Fault> {
        if request.respect_robots {
            self.check_robots(request, &hop.target).await?;
        }
        if let Some(proxy) = &request.proxy {
            self.0.clients.judge_behind(proxy, &hop.target).await?;
        }
        let mut connections = Connections::of(&hop.headers);
        let answer = loop {
            let clients = &self.0.clients;
            let client = clients
                .get(request.proxy.as_ref(), connections, self.1)
                .await?;
            match self.attempt(&client, request, hop, bounds).await {
                // An idle connection may close just as it is reused, and a stream may be reset.
                // Retried once on a new connection, for safe methods only.
                Err(fault)
                    if fault.stale && connections == Connections::Kept && hop.method.is_safe() =>
                {
                    connections = Connections::Fresh;
                    metrics::counter!("orbweaver_fetch_retries_total").increment(1);
                }
                Err(fault) => return Err(fault),
                Ok(answer) => break answer,
            }
        };
        let Some(response) = answer else {
            return Ok(None);
        };
        if request.follow_refresh && self.follow_refresh(request, hop, &response).await? {
            return Ok(None);
        }
        Ok(Some(Response {
            redirects: std::mem::take(&mut hop.redirects),
            ..response
        }))
    }

    /// Makes one request; the errors lack URL and redirects. `Ok(None)`: as in
    /// [`step`](Self::step).
    async fn attempt(
        &self,
        client: &Client,
        request: &Request,
        hop: &mut HopState,
        bounds: &Bounds<'_>,
    ) -> Result<Option<Response>, Fault> {
        let head = exchange::send(client, hop.request()?, bounds)
            .await
            .map_err(|fault| proxy_answer::connecting(request.proxy.as_ref(), fault))?;
        let first_byte = bounds.started.elapsed();
        let (status, remote_addr) = (head.status, head.remote_addr);
        if let Some(proxy) = &request.proxy
            && let Some(fault) =
                proxy_answer::refusal(proxy, &hop.target.url, status, &head.headers)
        {
            return Err(fault);
        }
        let cookies = head.headers.get_all(SET_COOKIE).iter();
        hop.jar.store(
            &hop.target.url,
            cookies.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok()),
        );
        if request.follow_redirects && matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            let location = location(&head.headers, status.as_u16())?;
            let followed = header_target(&hop.target.url, &location)
                .and_then(|next| self.go_on(request, hop, next, status.as_u16()));
            match followed {
                Ok(HopVerdict::Follow) => return Ok(None),
                Ok(_) => {}
                Err(fault) if request.stops_at_refused && fault.kind == Kind::Refused => {}
                Err(fault) => return Err(fault),
            }
        }
        if status.as_u16() == 304 && !hop.is_conditional() {
            return Err(Fault::new(
                Kind::Protocol,
                SubKind::NotModified,
                "304 to a request without validators",
            ));
        }
        let mut headers = Headers::from_map(&head.headers);
        let received = if request.discard_body {
            Received::default()
        } else {
            head.read(bounds).await?
        };
        if received.truncated {
            headers.say_incomplete(ENDED_EARLY);
        }
        Ok(Some(Response {
            url: String::new(),
            final_url: hop.target.url.to_string(),
            status: status.as_u16(),
            headers,
            redirects: Vec::new(),
            body: received.body,
            raw: received.raw,
            truncated: received.truncated,
            wire_bytes: received.wire_bytes,
            timings: Timings {
                first_byte,
                total: bounds.started.elapsed(),
            },
            remote_addr,
        }))
    }

    /// Checks the target of a redirect or refresh and, if it is to be followed, moves
    /// `hop` to it.
    fn go_on(
        &self,
        request: &Request,
        hop: &mut HopState,
        mut next: Url,
        status: u16,
    ) -> Result<HopVerdict, Fault> {
        let from = &hop.target.url;
        if next.fragment().is_none() {
            next.set_fragment(from.fragment());
        }
        let limit = request
            .max_redirects
            .unwrap_or(self.0.config.limits.max_redirects);
        if u32::try_from(hop.redirects.len()).is_ok_and(|followed| followed >= limit) {
            let message = format!("more than {limit} redirects");
            return Err(Fault::new(Kind::BadRedirect, SubKind::TooMany, message));
        }
        let target = self
            .0
            .policy
            .judge(next)?
            .unless_listed(&self.0.blocklist.load())?;
        let verdict = request
            .hop_check
            .as_ref()
            .map_or(HopVerdict::Follow, |check| check(target.url.as_str()));
        match &verdict {
            HopVerdict::Follow => hop.turn(target, status),
            HopVerdict::Stop => {}
            HopVerdict::Refuse(message) => {
                return Err(Fault::new(Kind::Scope, None, message.clone()));
            }
        }
        Ok(verdict)
    }

    async fn lookup(&self, target: &Target) -> Result<(), Fault> {
        let Host::Name(name) = &target.host else {
            return Ok(());
        };
        let found = self.0.clients.guarded().lookup(name).await;
        found
            .map(|_| ())
            .map_err(|error| classify::lookup_fault(&error))
    }
}

//! The fetch: redirects, retries, and what is asked before each step.

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::header::{HeaderMap, LOCATION, SET_COOKIE};
use orbweaver_core::guard::{Host, HostList, Policy, Refusal, Target};
use orbweaver_core::page::{Refresh, page_pass};
use orbweaver_core::{charset, content, user_agent};
use tokio::time::{Instant, timeout_at};

use crate::classify;
use crate::client::{Clients, ConfigError, Connections};
use crate::config::{FetchConfig, Limits};
use crate::course::Course;
use crate::error::{Fault, FetchError, Kind};
use crate::exchange::{self, Bounds, Received};
use crate::pools::{Candidate, Pools};
use crate::proxy::{Pool, ProxyUrl};
use crate::proxy_answer;
use crate::request::{HopVerdict, Request};
use crate::resolve::{Resolver, SystemResolver};
use crate::response::{Headers, Response, Timings, text};
use crate::site::SiteFiles;

/// Proxies of a pool that are tried for one request.
pub const PROXY_TRIES: usize = 4;

/// The one way out. Clones share connections, caches and limits.
#[derive(Clone)]
pub struct Fetcher(Arc<Inner>);

struct Inner {
    config: FetchConfig,
    policy: Policy,
    blocklist: ArcSwap<HostList>,
    clients: Clients,
    files: SiteFiles,
    pools: Pools,
}

impl Fetcher {
    /// A fetcher that resolves names through the system.
    ///
    /// # Errors
    /// A setting that can't be used.
    pub fn new(config: FetchConfig) -> Result<Self, ConfigError> {
        Self::with_resolver(config, Arc::new(SystemResolver))
    }

    /// A fetcher that resolves names through `resolver`.
    ///
    /// # Errors
    /// A setting that can't be used.
    pub fn with_resolver(
        config: FetchConfig,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, ConfigError> {
        let clients = Clients::new(&config, resolver)?;
        let policy = Policy::with_nets(config.allow_nets.clone());
        let pools = Pools::new(config.proxy_pools.clone());
        Ok(Self(Arc::new(Inner {
            config,
            policy,
            blocklist: ArcSwap::default(),
            clients,
            files: SiteFiles::new(),
            pools,
        })))
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.0.config.limits
    }

    /// The clients, for the browser's proxies.
    pub(crate) fn clients(&self) -> &Clients {
        &self.0.clients
    }

    /// robots.txt and llms.txt, cached per origin.
    pub fn site_files(&self) -> &SiteFiles {
        &self.0.files
    }

    /// Judges a URL as a fetch would, without a lookup: for validation before anything is queued.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn judge(&self, url: &str) -> Result<Target, Refusal> {
        self.0
            .policy
            .judge_url(url)?
            .unless_listed(&self.0.blocklist.load())
    }

    /// Replaces the blocklist: its hosts are refused from here on, as targets and as where
    /// redirects lead.
    pub fn set_blocklist(&self, blocklist: HostList) {
        self.0.blocklist.store(Arc::new(blocklist));
    }

    /// Judges a proxy's address by its form, without a lookup.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn judge_proxy(&self, proxy: &ProxyUrl) -> Result<(), Refusal> {
        match proxy.host() {
            url::Host::Domain(name) => self.0.policy.judge_name(name.trim_end_matches('.')),
            url::Host::Ipv4(ip) => self.0.policy.judge_ip(ip.into()),
            url::Host::Ipv6(ip) => self.0.policy.judge_ip(ip.into()),
        }
    }

    /// Judges a URL and, where its host is a name, what the name resolves to now. A fetch
    /// judges again whatever it then connects to.
    ///
    /// # Errors
    /// A refusal, or DNS.
    pub async fn judge_resolved(&self, url: &str) -> Result<Target, FetchError> {
        let target = self
            .judge(url)
            .map_err(|refusal| Fault::from(refusal).at(url, Vec::new()))?;
        self.lookup(&target)
            .await
            .map_err(|fault| fault.at(url, Vec::new()))?;
        Ok(target)
    }

    /// The user agent to send: the one asked for, or a browser's picked by `random` where
    /// none is or where it names our crawler.
    pub fn user_agent<'a>(&'a self, asked: Option<&'a str>, random: u64) -> &'a str {
        user_agent::choose(asked, &self.0.config.user_agents, random)
    }

    /// Whether a proxy pool is configured.
    pub fn has_pool(&self, pool: Pool) -> bool {
        !self.0.pools.proxies(pool).is_empty()
    }

    /// Whether a country can be asked of a proxy pool.
    pub fn has_countries(&self, pool: Pool) -> bool {
        self.0.pools.has_countries(pool)
    }

    /// The proxies of `pool` in the order in which to try them; none where the pool is not
    /// configured, or has none that a country can be asked of. `session` fills a placeholder.
    ///
    /// # Errors
    /// A country that is no ISO-2 code.
    pub fn pool_candidates(
        &self,
        pool: Pool,
        country: Option<&str>,
        session: u64,
    ) -> Result<Vec<Candidate>, FetchError> {
        let found = self.0.pools.candidates(pool, country, session);
        found.map_err(|error| {
            Fault::new(Kind::InvalidRequest, None, error.to_string()).at("", Vec::new())
        })
    }

    /// Says how a request through a pool's proxy went, so that those which fail come last.
    pub fn report(&self, candidate: &Candidate, worked: bool) {
        self.0.pools.report(candidate, worked);
    }

    /// Fetches through a pool: where a proxy gives no connection, through the next one.
    ///
    /// # Errors
    /// Why there is no response, the last proxy's where all failed.
    pub async fn fetch_through(
        &self,
        pool: Pool,
        country: Option<&str>,
        session: u64,
        request: Request,
    ) -> Result<Response, FetchError> {
        let name = pool.as_str();
        let mut last = Fault::new(
            Kind::InvalidRequest,
            None,
            format!("no proxy of pool `{name}` is configured that fits"),
        )
        .at(&request.url, Vec::new());
        let candidates = self.pool_candidates(pool, country, session)?;
        for candidate in candidates.into_iter().take(PROXY_TRIES) {
            let through = Request {
                proxy: Some(candidate.proxy.clone()),
                ..request.clone()
            };
            // Boxed: the fetch's state is large.
            match Box::pin(self.fetch(through)).await {
                Err(error) if matches!(error.kind, Kind::Proxy | Kind::Connect) => {
                    tracing::warn!(
                        proxy = %candidate.proxy,
                        pool = name,
                        "a proxy gave no connection, the next one is tried: {error}"
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

    /// Fetches. A response of any status is a success; redirects are followed here, each
    /// judged like the first URL.
    ///
    /// # Errors
    /// Why there is no response; see [`Kind`].
    pub async fn fetch(&self, request: Request) -> Result<Response, FetchError> {
        let started = Instant::now();
        let result = self.run(&request, started).await;
        match &result {
            Ok(response) => {
                metrics::counter!("orbweaver_fetch_total", "outcome" => "response").increment(1);
                metrics::counter!("orbweaver_fetch_bytes_total").increment(response.wire_bytes);
                metrics::histogram!("orbweaver_fetch_seconds")
                    .record(started.elapsed().as_secs_f64());
            }
            Err(error) => {
                metrics::counter!("orbweaver_fetch_total", "outcome" => error.kind.code())
                    .increment(1);
                tracing::debug!(
                    kind = error.kind.code(),
                    sub = error.sub,
                    "fetch failed: {error}"
                );
            }
        }
        result
    }

    async fn run(&self, request: &Request, started: Instant) -> Result<Response, FetchError> {
        let inner = &self.0;
        let total = request
            .timeout
            .unwrap_or_else(|| inner.config.limits.total());
        let bounds = Bounds {
            limits: &inner.config.limits,
            started,
            deadline: started + total,
            total,
            max_bytes: request
                .max_bytes
                .unwrap_or(inner.config.limits.max_body_bytes),
            oversize: request.oversize,
        };
        let mut course = self
            .begin(request)
            .map_err(|fault| fault.at(&request.url, Vec::new()))?;
        let url = course.target.url.to_string();
        loop {
            let step = timeout_at(bounds.deadline, self.step(request, &mut course, &bounds)).await;
            match step.unwrap_or_else(|_| Err(bounds.late())) {
                Ok(Some(response)) => return Ok(Response { url, ..response }),
                Ok(None) => {}
                Err(fault) => return Err(fault.at(course.target.url.as_str(), course.redirects)),
            }
        }
    }

    fn begin(&self, request: &Request) -> Result<Course, Fault> {
        let target = self.judge(&request.url)?;
        let agent = request
            .user_agent
            .as_deref()
            .unwrap_or_else(|| self.user_agent(None, 0));
        Course::new(request, target, agent)
    }

    /// One exchange. `Ok(None)`: a redirect was followed and `course` points at its target.
    async fn step(
        &self,
        request: &Request,
        course: &mut Course,
        bounds: &Bounds<'_>,
    ) -> Result<Option<Response>, Fault> {
        if request.respect_robots {
            self.check_robots(&course.target).await?;
        }
        if request.proxy.is_some() {
            // The proxy resolves the name itself; what it will find is judged by what we find.
            self.lookup(&course.target).await?;
        }
        let mut connections = Connections::Kept;
        let answer = loop {
            let clients = &self.0.clients;
            let client = clients.get(request.proxy.as_ref(), connections).await?;
            match self.attempt(&client, request, course, bounds).await {
                // A kept-alive connection may close just as it is used again, and a stream
                // may be reset; a connection of its own tells. Once, and only what is safe to
                // repeat.
                Err(fault)
                    if fault.stale
                        && connections == Connections::Kept
                        && course.method.is_safe() =>
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
        if request.follow_refresh
            && let Some(target) = refresh_target(&response)
            && self.go_on(request, course, &target, response.status)? == HopVerdict::Follow
        {
            return Ok(None);
        }
        Ok(Some(Response {
            redirects: std::mem::take(&mut course.redirects),
            ..response
        }))
    }

    /// One request and its response, URL and redirects left out. `Ok(None)`: as in
    /// [`step`](Self::step).
    async fn attempt(
        &self,
        client: &reqwest::Client,
        request: &Request,
        course: &mut Course,
        bounds: &Bounds<'_>,
    ) -> Result<Option<Response>, Fault> {
        let head = exchange::send(client, course.request()?, bounds).await?;
        let first_byte = bounds.started.elapsed();
        let (status, remote_addr) = (head.status, head.remote_addr);
        if let Some(proxy) = &request.proxy
            && let Some(fault) =
                proxy_answer::refusal(proxy, &course.target.url, status, &head.headers)
        {
            return Err(fault);
        }
        let cookies = head.headers.get_all(SET_COOKIE).iter();
        course.jar.store(
            &course.target.url,
            cookies.filter_map(|value| value.to_str().ok()),
        );
        if request.follow_redirects && matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            let location = location(&head.headers, status.as_u16())?;
            if self.go_on(request, course, &location, status.as_u16())? == HopVerdict::Follow {
                return Ok(None);
            }
        }
        if status.as_u16() == 304 && !course.is_conditional() {
            return Err(Fault::new(
                Kind::Protocol,
                "not_modified",
                "304 to a request without validators",
            ));
        }
        let headers = Headers::from_map(&head.headers);
        let received = if request.discard_body {
            Received::default()
        } else {
            head.read(bounds).await?
        };
        Ok(Some(Response {
            url: String::new(),
            final_url: course.target.url.to_string(),
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

    /// Judges where a response sends us and, if it is to be followed, turns `course` there.
    fn go_on(
        &self,
        request: &Request,
        course: &mut Course,
        location: &str,
        status: u16,
    ) -> Result<HopVerdict, Fault> {
        let bad = |sub, message: String| Fault::new(Kind::BadRedirect, sub, message);
        let from = &course.target.url;
        let mut next = from.join(location.trim()).map_err(|error| {
            bad(
                "invalid_location",
                format!("the target is not a URL: {error}"),
            )
        })?;
        if next.fragment().is_none() {
            next.set_fragment(from.fragment());
        }
        let limit = request
            .max_redirects
            .unwrap_or(self.0.config.limits.max_redirects);
        if u32::try_from(course.redirects.len()).is_ok_and(|followed| followed >= limit) {
            return Err(bad("too_many", format!("more than {limit} redirects")));
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
            HopVerdict::Follow => course.turn(target, status),
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

    async fn check_robots(&self, target: &Target) -> Result<(), Fault> {
        let answer = self.0.files.robots(self, &target.url).await;
        if answer.rules.allows_url(&target.url) {
            return Ok(());
        }
        if answer.robots.is_unreachable() {
            let message = format!(
                "robots.txt of {} can't be had, which disallows everything",
                target.host
            );
            return Err(Fault::new(Kind::Robots, "unreachable", message).retryable());
        }
        let message = format!("robots.txt of {} disallows it", target.host);
        Err(Fault::new(Kind::Robots, "disallowed", message))
    }
}

/// The one Location of a redirect.
fn location(headers: &HeaderMap, status: u16) -> Result<String, Fault> {
    let mut locations = headers.get_all(LOCATION).iter();
    match (locations.next(), locations.next()) {
        (Some(location), None) if !location.as_bytes().trim_ascii().is_empty() => {
            Ok(text(location.as_bytes()))
        }
        (Some(_), Some(_)) => Err(Fault::new(
            Kind::BadRedirect,
            "ambiguous_location",
            "a redirect with several Locations",
        )),
        _ => Err(Fault::new(
            Kind::BadRedirect,
            "no_location",
            format!("{status} without a Location"),
        )),
    }
}

/// Where a page refreshes to: its Refresh header, else its `meta`. A page that refreshes
/// itself goes nowhere.
fn refresh_target(response: &Response) -> Option<String> {
    if !(200..300).contains(&response.status) {
        return None;
    }
    if let Some(refresh) = response.headers.get("refresh").and_then(Refresh::parse) {
        return refresh.url;
    }
    let content_type = response.content_type();
    if content::sniff(content_type, &response.body).kind != content::Kind::Html {
        return None;
    }
    let page = charset::decode(&response.body, content_type, charset::Limits::default());
    page_pass(&page.text, &response.final_url).refresh?.url
}

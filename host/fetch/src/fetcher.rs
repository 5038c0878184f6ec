//! The fetch: redirects, retries, and what is asked before each step.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, AUTHORIZATION, COOKIE, HeaderMap, HeaderName,
    HeaderValue, LOCATION, SET_COOKIE, USER_AGENT,
};
use http::{Method, StatusCode};
use orbweaver_core::guard::{Host, Policy, Refusal, Target};
use orbweaver_core::user_agent;
use tokio::time::Instant;
use url::Url;

use crate::client::{Clients, ConfigError};
use crate::config::{FetchConfig, Limits};
use crate::cookies::CookieJar;
use crate::error::{Fault, FetchError, Kind};
use crate::exchange::{self, Bounds, Head};
use crate::proxy::{Pool, ProxyUrl};
use crate::request::{HopVerdict, Request};
use crate::resolve::{Resolver, SystemResolver};
use crate::response::{Headers, Hop, Response, Timings, text};
use crate::site::SiteFiles;

/// The one way out. Clones share connections, caches and limits.
#[derive(Clone)]
pub struct Fetcher(Arc<Inner>);

struct Inner {
    config: FetchConfig,
    policy: Policy,
    clients: Clients,
    files: SiteFiles,
}

/// A fetch on its way.
struct Course {
    target: Target,
    method: Method,
    body: Option<Bytes>,
    headers: HeaderMap,
    cookies: Option<String>,
    jar: CookieJar,
    redirects: Vec<Hop>,
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
        Ok(Self(Arc::new(Inner {
            config,
            policy,
            clients,
            files: SiteFiles::new(),
        })))
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.0.config.limits
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
        self.0.policy.judge_url(url)
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
        self.0
            .config
            .proxy_pools
            .get(&pool)
            .is_some_and(|proxies| !proxies.is_empty())
    }

    /// A proxy of `pool`, picked by `random`; `None` where the pool is not configured.
    ///
    /// # Errors
    /// A country that is no ISO-2 code.
    pub fn pool_proxy(
        &self,
        pool: Pool,
        country: Option<&str>,
        random: u64,
    ) -> Result<Option<ProxyUrl>, FetchError> {
        let Some(proxies) = self
            .0
            .config
            .proxy_pools
            .get(&pool)
            .filter(|proxies| !proxies.is_empty())
        else {
            return Ok(None);
        };
        let at = usize::try_from(random % proxies.len() as u64).unwrap_or(0);
        let Some(proxy) = proxies.get(at) else {
            return Ok(None);
        };
        proxy.filled(country, random).map(Some).map_err(|error| {
            Fault::new(Kind::InvalidRequest, None, error.to_string()).at("", Vec::new())
        })
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
            let step = self.step(request, &mut course, &bounds, started).await;
            match step {
                Ok(Some(response)) => return Ok(Response { url, ..response }),
                Ok(None) => {}
                Err(fault) => return Err(fault.at(course.target.url.as_str(), course.redirects)),
            }
        }
    }

    fn begin(&self, request: &Request) -> Result<Course, Fault> {
        let target = self.0.policy.judge_url(&request.url)?;
        Ok(Course {
            target,
            method: request.method.clone(),
            body: request.body.clone(),
            headers: self.headers(request)?,
            cookies: request
                .cookies
                .clone()
                .filter(|cookies| !cookies.is_empty()),
            jar: request.jar.clone().unwrap_or_default(),
            redirects: Vec::new(),
        })
    }

    fn headers(&self, request: &Request) -> Result<HeaderMap, Fault> {
        let mut headers = HeaderMap::new();
        let agent = match &request.user_agent {
            Some(agent) => agent.as_str(),
            None => self.user_agent(None, 0),
        };
        headers.insert(USER_AGENT, header_value("user-agent", agent)?);
        headers.insert(
            ACCEPT,
            HeaderValue::from_static(
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            ),
        );
        headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("en-US,en;q=0.9"));
        headers.insert(
            ACCEPT_ENCODING,
            HeaderValue::from_static("gzip, deflate, br, zstd"),
        );
        let mut given: Vec<HeaderName> = Vec::new();
        for (name, value) in &request.headers {
            let invalid = || {
                Fault::new(
                    Kind::InvalidRequest,
                    None,
                    format!("{name:?} is not a header that can be set"),
                )
            };
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            if is_framing(&name) {
                return Err(invalid());
            }
            let value = header_value(name.as_str(), value)?;
            if given.contains(&name) {
                headers.append(name, value);
            } else {
                headers.insert(name.clone(), value);
                given.push(name);
            }
        }
        Ok(headers)
    }

    /// One exchange. `Ok(None)`: a redirect was followed and `course` points at its target.
    async fn step(
        &self,
        request: &Request,
        course: &mut Course,
        bounds: &Bounds<'_>,
        started: Instant,
    ) -> Result<Option<Response>, Fault> {
        if request.respect_robots {
            self.check_robots(&course.target, bounds).await?;
        }
        if request.proxy.is_some() {
            // The proxy resolves the name itself; what it will find is judged by what we find.
            self.lookup(&course.target).await?;
        }
        let client = self.0.clients.get(request.proxy.as_ref()).await?;
        let mut retried = false;
        let (head, received) = loop {
            let attempt = self.attempt(&client, request, course, bounds).await;
            match attempt {
                // A kept-alive connection may close just as it is used again, and a stream
                // may be reset; another connection tells. Once, and only what is safe to repeat.
                Err(fault)
                    if fault.stale
                        && !retried
                        && course.method.is_safe()
                        && Instant::now() < bounds.deadline =>
                {
                    retried = true;
                    metrics::counter!("orbweaver_fetch_retries_total").increment(1);
                }
                Err(fault) => return Err(fault),
                Ok(Attempt::Redirected) => return Ok(None),
                Ok(Attempt::Response(head, received)) => break (head, received),
            }
        };
        let (status, headers, remote_addr, first_byte) = head;
        if status == StatusCode::NOT_MODIFIED && !is_conditional(&course.headers) {
            return Err(Fault::new(
                Kind::Protocol,
                "not_modified",
                "304 to a request without validators",
            ));
        }
        Ok(Some(Response {
            url: String::new(),
            final_url: course.target.url.to_string(),
            status: status.as_u16(),
            headers: Headers::from_map(&headers),
            redirects: std::mem::take(&mut course.redirects),
            body: received.body,
            raw: received.raw,
            truncated: received.truncated,
            wire_bytes: received.wire_bytes,
            timings: Timings {
                first_byte,
                total: started.elapsed(),
            },
            remote_addr,
        }))
    }

    async fn attempt(
        &self,
        client: &reqwest::Client,
        request: &Request,
        course: &mut Course,
        bounds: &Bounds<'_>,
    ) -> Result<Attempt, Fault> {
        let sent = Instant::now();
        let head = exchange::send(client, course.request()?, bounds).await?;
        let first_byte = sent.elapsed();
        // Within a tunnel the site speaks; without one the proxy may.
        if request.proxy.is_some()
            && course.target.url.scheme() == "http"
            && head.status.as_u16() == 407
        {
            return Err(Fault::new(
                Kind::Proxy,
                "auth",
                "the proxy refuses our credentials",
            ));
        }
        course.jar.store(
            &course.target.url,
            head.headers
                .get_all(SET_COOKIE)
                .iter()
                .filter_map(|value| value.to_str().ok()),
        );
        if request.follow_redirects && is_redirect(head.status) {
            match self.follow(request, course, &head)? {
                HopVerdict::Follow => return Ok(Attempt::Redirected),
                HopVerdict::Stop => {}
                HopVerdict::Refuse(message) => return Err(Fault::new(Kind::Scope, None, message)),
            }
        }
        let parts = (
            head.status,
            head.headers.clone(),
            head.remote_addr,
            first_byte,
        );
        let received = head.read(bounds).await?;
        Ok(Attempt::Response(parts, received))
    }

    /// Judges a redirect and, if it is to be followed, turns `course` to its target.
    fn follow(
        &self,
        request: &Request,
        course: &mut Course,
        head: &Head,
    ) -> Result<HopVerdict, Fault> {
        let bad = |sub, message: String| Fault::new(Kind::BadRedirect, sub, message);
        let mut locations = head.headers.get_all(LOCATION).iter();
        let location = match (locations.next(), locations.next()) {
            (Some(location), None) if !location.as_bytes().trim_ascii().is_empty() => {
                text(location.as_bytes())
            }
            (Some(_), Some(_)) => {
                return Err(bad(
                    "ambiguous_location",
                    "a redirect with several Locations".into(),
                ));
            }
            _ => {
                return Err(bad(
                    "no_location",
                    format!("{} without a Location", head.status.as_u16()),
                ));
            }
        };
        let from = &course.target.url;
        let mut next = from.join(location.trim()).map_err(|error| {
            bad(
                "invalid_location",
                format!("the Location is not a URL: {error}"),
            )
        })?;
        if next.fragment().is_none() {
            next.set_fragment(from.fragment());
        }
        let limit = self.0.config.limits.max_redirects;
        if course.redirects.len() >= usize::try_from(limit).unwrap_or(usize::MAX) {
            return Err(bad("too_many", format!("more than {limit} redirects")));
        }
        let target = self.0.policy.judge(next)?;
        if let Some(check) = &request.hop_check {
            let verdict = check(target.url.as_str());
            if verdict != HopVerdict::Follow {
                return Ok(verdict);
            }
        }
        course.turn(target, head.status);
        Ok(HopVerdict::Follow)
    }

    async fn lookup(&self, target: &Target) -> Result<(), Fault> {
        let Host::Name(name) = &target.host else {
            return Ok(());
        };
        let found = self.0.clients.guarded().lookup(name).await;
        found
            .map(|_| ())
            .map_err(|error| crate::classify::lookup_fault(&error))
    }

    async fn check_robots(&self, target: &Target, bounds: &Bounds<'_>) -> Result<(), Fault> {
        let answer =
            tokio::time::timeout_at(bounds.deadline, self.0.files.robots(self, &target.url)).await;
        let Ok(answer) = answer else {
            return Err(
                Fault::new(Kind::Timeout, "total", "robots.txt did not come in time").retryable(),
            );
        };
        if answer.rules.allows_url(&target.url) {
            return Ok(());
        }
        Err(Fault::new(
            Kind::Robots,
            None,
            format!("robots.txt of {} disallows it", target.host),
        ))
    }
}

/// Status, headers, peer and time to the first byte.
type Parts = (
    StatusCode,
    HeaderMap,
    Option<std::net::SocketAddr>,
    Duration,
);

enum Attempt {
    Redirected,
    Response(Parts, exchange::Received),
}

impl Course {
    fn request(&self) -> Result<reqwest::Request, Fault> {
        let mut request = reqwest::Request::new(self.method.clone(), self.target.url.clone());
        *request.headers_mut() = self.headers.clone();
        if let Some(cookies) = self.cookie_header() {
            request
                .headers_mut()
                .insert(COOKIE, header_value("cookie", &cookies)?);
        }
        *request.body_mut() = self.body.clone().map(Into::into);
        Ok(request)
    }

    /// The caller's cookies and the jar's; the caller's win.
    fn cookie_header(&self) -> Option<String> {
        let kept = self.jar.header(&self.target.url);
        match (&self.cookies, kept) {
            (None, kept) => kept,
            (Some(given), None) => Some(given.clone()),
            (Some(given), Some(kept)) => {
                let names: Vec<&str> = given.split(';').map(cookie_name).collect();
                let rest = kept
                    .split("; ")
                    .filter(|pair| !names.contains(&cookie_name(pair)));
                Some(rest.fold(
                    given.trim_end_matches([';', ' ']).to_owned(),
                    |all, pair| all + "; " + pair,
                ))
            }
        }
    }

    /// Goes on to a redirect's target: method and body as the Fetch standard says, and
    /// nothing that was meant for one site to another.
    fn turn(&mut self, target: Target, status: StatusCode) {
        let from = std::mem::replace(&mut self.target, target);
        let (here, there) = (&from.url, &self.target.url);
        self.redirects.push(Hop {
            url: here.to_string(),
            status: status.as_u16(),
            downgrade: here.scheme() == "https" && there.scheme() == "http",
        });
        let becomes_get = match status.as_u16() {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            let content: Vec<HeaderName> = self
                .headers
                .keys()
                .filter(|name| name.as_str().starts_with("content-"))
                .cloned()
                .collect();
            for name in content {
                self.headers.remove(name);
            }
        }
        if !is_same_site(here, there) {
            self.cookies = None;
            let personal: Vec<HeaderName> = self
                .headers
                .keys()
                .filter(|name| !is_impersonal(name))
                .cloned()
                .collect();
            for name in personal {
                self.headers.remove(name);
            }
        }
    }
}

fn cookie_name(pair: &str) -> &str {
    pair.split('=').next().unwrap_or(pair).trim()
}

/// Whether credentials for `from` may go to `to`: the same origin, or the same host's step
/// up from http to https on the default ports.
fn is_same_site(from: &Url, to: &Url) -> bool {
    let upgrade = from.scheme() == "http"
        && to.scheme() == "https"
        && from.port().is_none()
        && to.port().is_none();
    from.host() == to.host()
        && (upgrade
            || (from.scheme() == to.scheme()
                && from.port_or_known_default() == to.port_or_known_default()))
}

/// Headers that say nothing about who asks: all others stay with the site they were given
/// for, since an `x-api-key` is as secret as an `authorization`.
fn is_impersonal(name: &HeaderName) -> bool {
    *name != AUTHORIZATION
        && matches!(
            name.as_str(),
            "user-agent"
                | "accept"
                | "accept-language"
                | "accept-encoding"
                | "cache-control"
                | "pragma"
                | "dnt"
                | "content-type"
                | "content-language"
                | "upgrade-insecure-requests"
                | "save-data"
        )
}

/// Headers that frame the message or speak to the connection.
fn is_framing(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("proxy-")
        || matches!(
            name,
            "host"
                | "content-length"
                | "transfer-encoding"
                | "connection"
                | "keep-alive"
                | "te"
                | "trailer"
                | "upgrade"
                | "expect"
                | "http2-settings"
        )
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn is_conditional(headers: &HeaderMap) -> bool {
    ["if-none-match", "if-modified-since"]
        .iter()
        .any(|name| headers.contains_key(*name))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, Fault> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        Fault::new(
            Kind::InvalidRequest,
            None,
            format!("the value of {name} can't be sent in a header"),
        )
    })
}

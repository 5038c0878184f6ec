//! robots.txt of a run's hosts: asked for before their first URL, and matched with bounded work.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt as _;
use orbweaver_core::retry_after::retry_after;
use orbweaver_fetch::{Kind, RobotsAnswer, RobotsFailure, RobotsRead, RobotsVerdict};
use orbweaver_urls::Resolved;
use tokio::time::Instant;
use url::Url;

use super::host::{Host, Robots};
use super::pace::HostPoll;
use super::state::Crawler;
use crate::entry::host_key;

/// How long a run goes by the robots.txt that it has, before it asks the cache again.
const ROBOTS_LIFE: Duration = Duration::from_secs(600);
/// Files of robots.txt that a run asks for at the same time.
const MAX_ROBOTS: usize = 64;
/// Crawl-delays from which on the run tells of them.
const LONG_DELAY_MS: u64 = 5_000;
/// Steps of matching robots.txt, of a nanosecond or a few, that the links of a page, a piece of a sitemap
/// or a round of hosts may take: the run's own task matches them, for about ten milliseconds.
const MAX_ROBOTS_STEPS: u64 = 8 << 20;

impl Crawler {
    /// Whether more URLs may be matched against robots.txt now.
    pub(super) fn has_robots_steps(&self) -> bool {
        self.robots_steps <= MAX_ROBOTS_STEPS
    }

    /// Until when a host waits for its robots.txt; `None` if that is known. Asks for it where it is
    /// not.
    pub(super) fn lacks_robots(&mut self, host: usize, now: Instant) -> Option<HostPoll> {
        let Some(known) = self.hosts.get_mut(host) else {
            return Some(HostPoll::Waits);
        };
        let (load, usable, tries) = match &known.robots {
            Robots::Unknown => (true, false, 0),
            Robots::Loading(tries) => (false, false, *tries),
            Robots::PutOff(_, at) if *at > now => return Some(HostPoll::At(*at)),
            Robots::PutOff(tries, _) => (true, false, *tries),
            Robots::Known(_, since) => (now.duration_since(*since) > ROBOTS_LIFE, true, 0),
        };
        let load = load && self.robots.len() < MAX_ROBOTS;
        if load && let Some(url) = self.window.peek(host).and_then(|e| Url::parse(&e.url).ok()) {
            match &mut known.robots {
                Robots::Known(_, since) => *since = now,
                other => *other = Robots::Loading(tries),
            }
            let shared = Arc::clone(&self.shared);
            self.robots.spawn(async move {
                let asked = AssertUnwindSafe(shared.robots(&url, tries > 0));
                // Without an answer the host's URLs would wait as long as the run may take.
                let robots = asked.catch_unwind().await.unwrap_or_else(|_| RobotsRead {
                    answer: Arc::new(RobotsAnswer::unanswered()),
                    is_fresh: true,
                });
                (host, robots)
            });
        }
        (!usable).then_some(HostPoll::Waits)
    }

    /// Whether a URL is disallowed by its origin's robots.txt, as far as that is known and the steps for it
    /// last. What is not seen here is seen when it is its turn to be fetched.
    pub(super) fn is_disallowed(&mut self, url: &Resolved) -> bool {
        if !self.shared.spec.respect_robots || !self.has_robots_steps() {
            return false;
        }
        let host = self.host_index.get(&host_key(url));
        match host.and_then(|host| self.hosts.get(*host)) {
            Some(Host {
                robots: Robots::Known(answer, _),
                ..
            }) => matches!(
                left_out_because(answer, url.as_str(), &mut self.robots_steps),
                Some(LeftOut::Disallowed(_))
            ),
            _ => false,
        }
    }

    pub(super) fn take_robots(&mut self, host: usize, read: RobotsRead) {
        let RobotsRead { answer, is_fresh } = read;
        let config = &self.shared.crawls.config;
        let (retries, max_wait) = (config.retries, config.max_wait_ms.as_duration());
        let tries = match self.hosts.get(host).map(|known| &known.robots) {
            Some(Robots::Loading(tries)) => Some(*tries),
            _ => None,
        };
        // As a page with such an answer is.
        let put_off = tries.filter(|tries| answer.may_pass() && *tries < retries);
        let clock = SystemTime::from(self.shared.crawls.clock.now());
        let put_off = put_off.map(|tries| {
            let asked = answer.retry_after.as_deref();
            let asked = asked.and_then(|value| retry_after(value, clock));
            let wait = self.backoff(tries, asked.unwrap_or_default());
            Robots::PutOff(tries + 1, Instant::now() + wait)
        });
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        // The last known robots.txt applies while the file cannot be fetched.
        if matches!(&known.robots, Robots::Known(old, _) if !old.robots.is_unreachable())
            && answer.robots.is_unreachable()
        {
            return;
        }
        let asked = answer.rules.crawl_delay.unwrap_or(0.0).max(0.0);
        let asked = Duration::try_from_secs_f64(asked).unwrap_or(Duration::MAX);
        let now = Instant::now();
        let asked = asked.min(max_wait);
        if is_fresh {
            known.turn.ask(asked, now);
        } else {
            known.turn.set_delay(asked);
        }
        known.robots = put_off.unwrap_or(Robots::Known(answer, now));
        known.allowed = None;
        self.note_delay(asked);
    }

    /// Notes a long Crawl-delay, so that whoever waits for the run learns why.
    fn note_delay(&mut self, asked: Duration) {
        let asked = u64::try_from(asked.as_millis()).unwrap_or(u64::MAX);
        if asked >= LONG_DELAY_MS && self.notes.crawl_delay_ms.is_none_or(|known| known < asked) {
            self.notes.crawl_delay_ms = Some(asked);
            self.note();
        }
    }
}

/// Why a URL is not asked for.
pub(super) enum LeftOut {
    /// Its origin's robots.txt disallows it.
    Disallowed(String),
    /// Its host gave no answer, or none that counts, when it was asked for robots.txt: nothing is
    /// known of the URL.
    Unanswered(Kind, String),
}

/// Why a URL is not asked for, by what its origin's robots.txt came to; `None` where it may
/// be fetched. Adds the work of matching to `steps`.
pub(super) fn left_out_because(
    robots: &RobotsAnswer,
    url: &str,
    steps: &mut u64,
) -> Option<LeftOut> {
    let disallowed = || Some(LeftOut::Disallowed("robots.txt disallows it".to_owned()));
    let Ok(url) = Url::parse(url) else {
        return disallowed();
    };
    if robots.rules.allows_counted(url.as_str(), steps) {
        return None;
    }
    if !robots.robots.is_unreachable() {
        return disallowed();
    }
    match robots.verdict(&url) {
        RobotsVerdict::Allowed => None,
        RobotsVerdict::Disallowed => disallowed(),
        RobotsVerdict::Unavailable(RobotsFailure::Host(error)) => {
            Some(LeftOut::Unanswered(error.kind, error.to_string()))
        }
        RobotsVerdict::Unavailable(cause) => Some(LeftOut::Unanswered(
            Kind::Robots,
            format!("robots.txt is unavailable, which disallows everything: {cause}"),
        )),
    }
}

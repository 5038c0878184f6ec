//! Choice of a pool's proxy: round robin, with recently failed proxies last. No proxy is
//! excluded, because the site may have caused the failure.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::proxy::{InvalidProxy, ProxyPool, ProxyUrl};

/// Failures in a row after which the pause of a proxy grows no more.
const MAX_FAILURES: u32 = 8;
const FIRST_BREAK: Duration = Duration::from_secs(1);

/// A proxy to use, with its placeholders filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its URL.
    pub proxy: ProxyUrl,
    entry: (ProxyPool, usize),
}

/// The configured pools and the health of their proxies.
pub(crate) struct Pools {
    proxies: BTreeMap<ProxyPool, Vec<ProxyUrl>>,
    turn: AtomicUsize,
    health: Mutex<HashMap<(ProxyPool, usize), Health>>,
}

struct Health {
    failures: u32,
    until: Instant,
}

impl Pools {
    pub fn new(proxies: BTreeMap<ProxyPool, Vec<ProxyUrl>>) -> Self {
        Self {
            proxies,
            turn: AtomicUsize::new(0),
            health: Mutex::default(),
        }
    }

    /// All proxies of a pool.
    pub fn proxies(&self, pool: ProxyPool) -> &[ProxyUrl] {
        self.proxies.get(&pool).map_or(&[], Vec::as_slice)
    }

    /// Whether a pool has proxies with a `{country}` placeholder.
    pub fn has_countries(&self, pool: ProxyPool) -> bool {
        self.proxies(pool).iter().any(ProxyUrl::takes_country)
    }

    /// The proxies of a pool in the order of trying. With a country: those with the placeholder.
    /// Without: those without it, or all if there are none.
    pub fn candidates(
        &self,
        pool: ProxyPool,
        country: Option<&str>,
        session: u64,
    ) -> Result<Vec<Candidate>, InvalidProxy> {
        let proxies = self.proxies(pool);
        let wanted: Vec<usize> = (0..proxies.len())
            .filter(|&at| {
                proxies
                    .get(at)
                    .is_some_and(|proxy| proxy.takes_country() == country.is_some())
            })
            .collect();
        let mut order = match (wanted.is_empty(), country) {
            (false, _) => wanted,
            (true, None) => (0..proxies.len()).collect(),
            (true, Some(_)) => Vec::new(),
        };
        if order.is_empty() {
            return Ok(Vec::new());
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % order.len();
        order.rotate_left(turn);
        {
            let health = self.health.lock();
            let now = Instant::now();
            order.sort_by_key(|&at| {
                let ill = health.get(&(pool, at)).filter(|ill| ill.until > now);
                ill.map_or(0, |ill| ill.failures)
            });
        }
        order
            .into_iter()
            .filter_map(|at| Some((at, proxies.get(at)?)))
            .map(|(at, proxy)| {
                Ok(Candidate {
                    proxy: proxy.filled(country, session)?,
                    entry: (pool, at),
                })
            })
            .collect()
    }

    /// Records the outcome of a request through a proxy.
    pub fn report(&self, candidate: &Candidate, worked: bool) {
        let mut health = self.health.lock();
        if worked {
            health.remove(&candidate.entry);
            return;
        }
        let now = Instant::now();
        let ill = health.entry(candidate.entry).or_insert(Health {
            failures: 0,
            until: now,
        });
        ill.failures = (ill.failures + 1).min(MAX_FAILURES);
        ill.until = now + FIRST_BREAK.saturating_mul(1 << ill.failures.saturating_sub(1));
        metrics::counter!("orbweaver_proxy_failures_total", "pool" => candidate.entry.0.as_str())
            .increment(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(urls: &[&str]) -> Pools {
        let proxies = urls.iter().map(|url| url.parse().unwrap()).collect();
        Pools::new([(ProxyPool::Isp, proxies)].into())
    }

    fn shown(pools: &Pools, country: Option<&str>) -> Vec<String> {
        let found = pools.candidates(ProxyPool::Isp, country, 7).unwrap();
        found
            .into_iter()
            .map(|candidate| candidate.proxy.expose().to_owned())
            .collect()
    }

    #[test]
    fn proxies_take_turns_and_failed_ones_come_last() {
        let pools = pools(&["http://a", "http://b", "http://c"]);
        let firsts: Vec<String> = (0..3).map(|_| shown(&pools, None).remove(0)).collect();
        assert_eq!(firsts, ["http://a", "http://b", "http://c"]);
        let all = pools.candidates(ProxyPool::Isp, None, 0).unwrap();
        let b = all
            .iter()
            .find(|one| one.proxy.expose() == "http://b")
            .unwrap();
        pools.report(b, false);
        for _ in 0..3 {
            assert_eq!(shown(&pools, None)[2], "http://b");
        }
        pools.report(b, true);
        let firsts: Vec<String> = (0..3).map(|_| shown(&pools, None).remove(0)).collect();
        assert!(firsts.contains(&"http://b".to_owned()));
    }

    #[test]
    fn a_country_uses_only_proxies_with_the_placeholder() {
        let both = pools(&["http://plain", "http://u-{country}:p@gate"]);
        assert_eq!(shown(&both, Some("DE")), ["http://u-de:p@gate"]);
        assert_eq!(shown(&both, None), ["http://plain"]);
        let plain = pools(&["http://plain"]);
        assert!(shown(&plain, Some("DE")).is_empty());
        assert!(!plain.has_countries(ProxyPool::Isp) && both.has_countries(ProxyPool::Isp));
        assert!(both.candidates(ProxyPool::Isp, Some("x/"), 0).is_err());
        assert!(shown(&both, None).len() == 1 && both.proxies(ProxyPool::Mobile).is_empty());
    }
}

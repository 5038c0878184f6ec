//! Rate limits: of a project's keys together, and per address for all requests and for those without
//! a valid key.
//!
//! Each limit is a bucket of `burst` requests that refills at `per_second` (GCRA). Answers state
//! the rest in the header fields of draft-ietf-httpapi-ratelimit-headers-10.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use governor::clock::{Clock as _, MonotonicClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use http::{HeaderMap, HeaderName, HeaderValue};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use orbweaver_accounts::customer_address::customer;
use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;

use crate::config::{RateConfig, RateLimit};
use crate::error::ApiError;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit");
/// Buckets in memory for one limit. The least recently used one is dropped first; its client then
/// starts with a full bucket.
const MAX_BUCKETS: u64 = 50_000;
/// After this time without use a bucket is full again, with every sensible setting.
const KEPT: Duration = Duration::from_secs(600);

struct Bucket {
    limiter: RateLimiter<NotKeyed, InMemoryState, MonotonicClock, StateInformationMiddleware>,
    /// After a refusal: the time until which it refuses.
    empty_until: Mutex<Option<Instant>>,
}

/// The limits of one process. Cheap to clone.
#[derive(Clone)]
pub struct Rates(Arc<Limits>);

struct Limits {
    key: Option<Limit<ProjectId>>,
    address: Option<Limit<IpAddr>>,
    keyless: Option<Limit<IpAddr>>,
}

/// One limit, with a bucket for each `K`.
struct Limit<K> {
    name: &'static str,
    quota: Quota,
    per_second: u32,
    /// `RateLimit-Policy`.
    policy: HeaderValue,
    clock: MonotonicClock,
    buckets: Cache<K, Arc<Bucket>>,
}

/// The verdict of a limit on a request.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    name: &'static str,
    policy: HeaderValue,
    /// Requests that the bucket still holds.
    remaining: u32,
    /// Seconds until the bucket is full, or, of a refused request, until it holds one.
    reset: u64,
}

impl Rates {
    /// As configured.
    pub fn new(config: &RateConfig) -> Self {
        Self(Arc::new(Limits {
            key: Limit::new("key", config.key),
            address: Limit::new("address", config.address),
            keyless: Limit::new("keyless", config.keyless),
        }))
    }

    /// Counts a request with a key of this project. Its keys share a bucket: else each rotation with a
    /// grace period would give another one.
    ///
    /// # Errors
    /// The verdict, if the project is over its limit.
    pub(super) fn count_project(&self, project: ProjectId) -> Result<Option<Verdict>, Verdict> {
        self.0
            .key
            .as_ref()
            .map(|limit| limit.count(project))
            .transpose()
    }

    /// Counts a request from this address.
    ///
    /// # Errors
    /// The verdict, if the address is over its limit.
    pub(super) fn count_address(&self, ip: IpAddr) -> Result<Option<Verdict>, Verdict> {
        let limit = self.0.address.as_ref();
        limit.map(|limit| limit.count(customer(ip))).transpose()
    }

    /// Counts a request without a valid key from this address.
    ///
    /// # Errors
    /// The verdict, where the address has asked too much.
    pub(super) fn count_keyless(&self, ip: IpAddr) -> Result<Option<Verdict>, Verdict> {
        let limit = self.0.keyless.as_ref();
        limit.map(|limit| limit.count(customer(ip))).transpose()
    }

    /// Whether the next request without a valid key from this address would be refused, after an
    /// earlier refusal. Counts nothing.
    pub(super) fn is_keyless_empty(&self, ip: IpAddr) -> bool {
        let limit = self.0.keyless.as_ref();
        limit.is_some_and(|limit| limit.is_empty(customer(ip)))
    }
}

impl<K: std::hash::Hash + Eq + Send + Sync + 'static> Limit<K> {
    /// None where the limit is off.
    fn new(name: &'static str, limit: RateLimit) -> Option<Self> {
        let per_second = NonZeroU32::new(limit.per_second)?;
        let burst = NonZeroU32::new(limit.burst.max(1))?;
        let window = burst.get().div_ceil(per_second.get());
        let policy = HeaderValue::from_str(&format!("\"{name}\";q={burst};w={window}")).ok()?;
        Some(Self {
            name,
            quota: Quota::per_second(per_second).allow_burst(burst),
            per_second: per_second.get(),
            policy,
            clock: MonotonicClock,
            buckets: Cache::builder()
                .max_capacity(MAX_BUCKETS)
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(KEPT)
                .build(),
        })
    }

    fn count(&self, key: K) -> Result<Verdict, Verdict> {
        let bucket = match self.buckets.get(&key) {
            Some(bucket) => bucket,
            None => self.buckets.get_with(key, || {
                let limiter = RateLimiter::direct_with_clock(self.quota, MonotonicClock);
                Arc::new(Bucket {
                    limiter: limiter.with_middleware::<StateInformationMiddleware>(),
                    empty_until: Mutex::new(None),
                })
            }),
        };
        match bucket.limiter.check() {
            Ok(state) => {
                let remaining = state.remaining_burst_capacity();
                let missing = self.quota.burst_size().get().saturating_sub(remaining);
                let reset = u64::from(missing.div_ceil(self.per_second));
                Ok(self.verdict(remaining, reset))
            }
            Err(refused) => {
                let wait = refused.wait_time_from(self.clock.now());
                *bucket.empty_until.lock() = Some(Instant::now() + wait);
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                Err(self.verdict(0, seconds.max(1)))
            }
        }
    }

    /// Whether a bucket that refused a request would refuse the next one, too.
    fn is_empty(&self, key: K) -> bool {
        let bucket = self.buckets.get(&key);
        let until = bucket.and_then(|bucket| *bucket.empty_until.lock());
        until.is_some_and(|until| until > Instant::now())
    }

    fn verdict(&self, remaining: u32, reset: u64) -> Verdict {
        Verdict {
            name: self.name,
            policy: self.policy.clone(),
            remaining,
            reset,
        }
    }
}

impl Verdict {
    /// 429, for a verdict that refuses.
    pub(super) fn refusal(&self) -> ApiError {
        let message = match self.name {
            "key" => "too many requests with the project's keys; http.rate.key sets how many",
            "address" => "too many requests from this address; http.rate.address sets how many",
            _ => {
                "too many requests without a valid key from this address; http.rate.keyless sets \
                 how many"
            }
        };
        ApiError::rate_limited(message, self.reset)
    }

    /// Adds `RateLimit-Policy` and `RateLimit`.
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(POLICY, self.policy.clone());
        let text = format!("\"{}\";r={};t={}", self.name, self.remaining, self.reset);
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(REMAINING, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(per_second: u32, burst: u32) -> Option<Limit<IpAddr>> {
        Limit::new("address", RateLimit { per_second, burst })
    }

    #[test]
    fn a_bucket_is_used_up_and_tells_so_by_the_draft() {
        let limit = limit(1, 3).unwrap();
        let ip: IpAddr = "192.0.2.1".parse().unwrap();
        let mut headers = HeaderMap::new();
        limit.count(ip).unwrap().write(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"address\";q=3;w=3");
        assert_eq!(headers["ratelimit"], "\"address\";r=2;t=1");
        limit.count(ip).unwrap();
        limit.count(ip).unwrap();
        let refused = limit.count(ip).unwrap_err();
        assert_eq!((refused.remaining, refused.reset), (0, 1));
        // Another address has a bucket of its own.
        limit.count("192.0.2.2".parse().unwrap()).unwrap();
    }

    #[test]
    fn a_limit_of_0_is_off() {
        assert!(limit(0, 100).is_none());
    }

    #[test]
    fn an_address_that_asked_too_much_is_known_without_counting() {
        let limit = limit(1, 1).unwrap();
        let ip: IpAddr = "192.0.2.1".parse().unwrap();
        assert!(!limit.is_empty(ip));
        limit.count(ip).unwrap();
        assert!(!limit.is_empty(ip), "it has refused nothing yet");
        limit.count(ip).unwrap_err();
        assert!(limit.is_empty(ip));
        assert!(!limit.is_empty("192.0.2.2".parse().unwrap()));
    }

    #[test]
    fn buckets_are_bounded_in_number() {
        let limit = limit(1, 3).unwrap();
        for number in 0..(MAX_BUCKETS as u32 + 5_000) {
            limit.count(IpAddr::from(number.to_be_bytes())).unwrap();
        }
        limit.buckets.run_pending_tasks();
        assert!(limit.buckets.entry_count() <= MAX_BUCKETS);
    }

    #[test]
    fn an_ipv6_network_has_one_bucket() {
        let rates = Rates::new(&RateConfig {
            keyless: RateLimit {
                per_second: 1,
                burst: 1,
            },
            ..RateConfig::default()
        });
        rates.count_keyless("2001:db8::1".parse().unwrap()).unwrap();
        rates
            .count_keyless("2001:db8::2".parse().unwrap())
            .unwrap_err();
    }
}

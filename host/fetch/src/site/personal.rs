//! How an origin's files are asked for by a caller: what the requests carry, and which way they take.

use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use sha2::{Digest as _, Sha256};

use crate::proxy::{ProxyPool, ProxyUrl};
use crate::request::{PersonalOf, Request};

/// The way of requests for an origin's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// From this service's own address.
    #[default]
    Direct,
    /// By a proxy of the caller's, which may answer in the origin's place.
    Proxy(ProxyUrl),
    /// By a pool of the operator's.
    Pool {
        /// The pool.
        pool: ProxyPool,
        /// ISO-2 code of the country that its proxies choose.
        country: Option<String>,
        /// Fills a placeholder of its URLs.
        session: u64,
    },
}

/// What a caller's requests for an origin's files have of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Personal {
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Cookies: `k=v; k=v`.
    pub cookies: Option<String>,
    /// The way that they take.
    pub way: Way,
}

/// Who gets the same answers: a digest of what the requests have of their own.
pub(super) type Key = [u8; 32];

impl Personal {
    /// By this proxy of the caller's, or directly.
    pub fn by(proxy: Option<ProxyUrl>) -> Self {
        Self {
            way: proxy.map_or(Way::Direct, Way::Proxy),
            ..Self::default()
        }
    }

    /// By a pool of the operator's.
    pub fn by_pool(pool: ProxyPool, country: Option<&str>, session: u64) -> Self {
        Self {
            way: Way::Pool {
                pool,
                country: country.map(str::to_owned),
                session,
            },
            ..Self::default()
        }
    }

    /// The same for every origin.
    pub fn everywhere(self) -> PersonalOf {
        Arc::new(move |_| self.clone())
    }

    /// Whether there is nothing: the answer is the same for everybody.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.cookies.is_none() && self.way == Way::Direct
    }

    /// A request that sends this, too.
    pub(super) fn on(&self, mut request: Request) -> Request {
        let is_given = |name: &str| {
            let mut given = self.headers.iter();
            given.any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        request.headers.retain(|(name, _)| !is_given(name));
        request.headers.extend(self.headers.iter().cloned());
        request.cookies = self.cookies.clone();
        request
    }

    /// Who gets the same answers as this project, with this user agent. Those of the operator's pools are
    /// for all projects.
    pub(super) fn key(&self, project: Option<ProjectId>, agent: Option<&str>) -> Key {
        let is_callers =
            !self.headers.is_empty() || self.cookies.is_some() || matches!(self.way, Way::Proxy(_));
        let owner = project.filter(|_| is_callers);
        let owner = owner.map(|project| project.0.to_string());
        let (proxy, pool, country) = match &self.way {
            Way::Direct => (None, None, None),
            Way::Proxy(proxy) => (Some(proxy.expose()), None, None),
            Way::Pool { pool, country, .. } => (None, Some(pool.as_str()), country.as_deref()),
        };
        let given = [owner.as_deref(), agent, self.cookies.as_deref()];
        let headers = self.headers.iter();
        let headers = headers.flat_map(|(name, value)| [Some(name.as_str()), Some(value.as_str())]);
        let parts = given.into_iter().chain([proxy, pool, country]);
        let mut digest = Sha256::new();
        for part in parts.chain(headers) {
            // Its length before it, so that no two lists of parts are the same bytes.
            let length = part.map_or(0, |part| part.len() as u64 + 1);
            digest.update(length.to_be_bytes());
            digest.update(part.unwrap_or_default());
        }
        digest.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_asks_in_the_same_way_has_the_same_key() {
        let proxy = |url: &str| Personal::by(Some(url.parse().unwrap()));
        let sent = |cookies: Option<&str>, headers: &[(&str, &str)]| Personal {
            cookies: cookies.map(str::to_owned),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Personal::default()
        };
        let pool = |country| Personal::by_pool(ProxyPool::Isp, country, 7);
        let all = [
            Personal::default(),
            proxy("http://a:b@p"),
            proxy("http://a:c@p"),
            pool(None),
            pool(Some("de")),
            sent(Some("a=b"), &[]),
            sent(None, &[("a", "b")]),
            sent(None, &[("a", "b"), ("c", "d")]),
            sent(None, &[("a", "bcd")]),
        ];
        let (one, other) = (Some(ProjectId(1)), Some(ProjectId(2)));
        for (at, personal) in all.iter().enumerate() {
            for agent in [None, Some("A"), Some("")] {
                for (with, against) in all.iter().enumerate() {
                    let key = personal.key(one, agent);
                    assert_eq!(key == against.key(one, agent), at == with, "{at} {with}");
                }
            }
            assert_ne!(personal.key(one, None), personal.key(one, Some("")));
            let is_shared = matches!(personal.way, Way::Pool { .. }) || personal.is_empty();
            let is_same = personal.key(one, None) == personal.key(other, None);
            assert_eq!(is_same, is_shared, "{personal:?}");
        }
        let session = Personal::by_pool(ProxyPool::Isp, None, 8);
        assert_eq!(session.key(one, None), pool(None).key(other, None));
    }
}

//! A fetcher for loopback, with short limits.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use orbweaver_fetch::{
    FetchConfig, FetchError, Fetcher, Limits, Request, ResolveError, Resolver, Response, SubKind,
};

/// Scripted DNS answers: each lookup of a name takes its next answer; the last one repeats.
#[derive(Default)]
pub struct Names(Mutex<HashMap<String, Vec<Answer>>>);

type Answer = Result<Vec<IpAddr>, ResolveError>;

impl Names {
    /// A name's answer from here on.
    pub fn then(&self, name: &str, addresses: &[&str]) -> &Self {
        self.push(
            name,
            Ok(addresses.iter().map(|ip| ip.parse().unwrap()).collect()),
        )
    }

    /// A name's failure from here on.
    pub fn fail(&self, name: &str, error: ResolveError) -> &Self {
        self.push(name, Err(error))
    }

    fn push(&self, name: &str, answer: Answer) -> &Self {
        self.0
            .lock()
            .unwrap()
            .entry(name.to_owned())
            .or_default()
            .push(answer);
        self
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let answer = {
            let mut names = self.0.lock().unwrap();
            let answers = names.get_mut(name).ok_or(ResolveError::NxDomain)?;
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            }
        };
        if answer == Err(ResolveError::Timeout) {
            std::future::pending::<()>().await;
        }
        answer
    }
}

/// The default configuration of these tests: loopback allowed, one second for slow steps.
pub fn config() -> FetchConfig {
    FetchConfig {
        allow_nets: vec!["127.0.0.0/8".parse().unwrap()],
        limits: Limits {
            max_body_bytes: 1 << 20,
            ..Limits::default()
        },
        ..FetchConfig::default()
    }
}

/// With these limits changed.
pub fn config_with(change: impl FnOnce(&mut Limits)) -> FetchConfig {
    let mut config = config();
    change(&mut config.limits);
    config
}

/// A fetcher for loopback, whose names are `secure.example`, `a.example` and `b.example`.
pub fn fetcher() -> Fetcher {
    with_config(config())
}

/// Same as [`fetcher`], with another configuration.
pub fn with_config(config: FetchConfig) -> Fetcher {
    let names = Names::default();
    for name in ["secure.example", "a.example", "b.example"] {
        names.then(name, &["127.0.0.1"]);
    }
    with_names(config, names)
}

/// Same as [`fetcher`], with other names.
pub fn with_names(config: FetchConfig, names: Names) -> Fetcher {
    Fetcher::with_resolver(config, Arc::new(names)).unwrap()
}

/// Fetches by GET.
pub async fn get(fetcher: &Fetcher, url: &str) -> Result<Response, FetchError> {
    fetcher.fetch(Request::get(url)).await
}

/// Kind and sub-kind of a failed fetch.
pub async fn failure(fetcher: &Fetcher, url: &str) -> (&'static str, Option<&'static str>) {
    let error = get(fetcher, url).await.expect_err("the fetch fails");
    assert!(!error.message.is_empty());
    (error.kind.as_str(), error.sub.map(SubKind::as_str))
}

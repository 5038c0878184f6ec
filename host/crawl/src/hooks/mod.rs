//! Hooks of a run: plugins that decide what it follows and stores.
//!
//! - `request` checks the field `hooks` of a crawl request.
//! - `page` passes a fetched page, or the URLs of a sitemap, through the run's hooks.
//! - `outgoing` lets hooks change a request, `deliver` the payloads of webhooks.
//! - `verdict` and `report` are what the run's task takes from them: what becomes of a page and its
//!   links; notes, counts, and a reason to end the run.

pub(crate) mod deliver;
pub(crate) mod outgoing;
pub(crate) mod page;
pub(crate) mod report;
pub mod request;
pub(crate) mod verdict;

use std::collections::HashSet;
use std::sync::Arc;

use orbweaver_core::key_hash::BuildKeyHasher;
use orbweaver_engine::{Engine, HookPoint, HookPoints, HookUse};
use parking_lot::Mutex;

use request::{HookSpec, OnError};

/// The hooks of one run.
#[derive(Default)]
pub(crate) struct Hooks {
    pub uses: Vec<HookUse>,
    /// Names of the hooks whose failure ends the run.
    strict: HashSet<String>,
    /// Hashes of the URLs that the run has taken up: hooks do not judge links to them again.
    known: Mutex<HashSet<u64, BuildKeyHasher>>,
}

impl Hooks {
    pub fn new(specs: &[HookSpec]) -> Self {
        let uses = specs.iter().map(|spec| HookUse {
            name: spec.name.clone(),
            config: Arc::from(spec.config.to_string()),
        });
        let strict = specs.iter().filter(|spec| spec.on_error == OnError::Fail);
        Self {
            uses: uses.collect(),
            strict: strict.map(|spec| spec.name.clone()).collect(),
            known: Mutex::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Which functions the hooks have now: a plugin may be replaced while the run goes on.
    pub fn points(&self, engine: &Engine) -> HookPoints {
        if self.is_empty() {
            return HookPoints::NONE;
        }
        engine.hook_points(&self.uses)
    }

    /// Whether hooks need the content of pages.
    pub fn need_pages(&self, engine: &Engine) -> bool {
        let points = self.points(engine);
        [HookPoint::Response, HookPoint::Record, HookPoint::Discover]
            .into_iter()
            .any(|point| points.has(point))
    }

    /// Whether a failure of this hook ends the run.
    pub fn is_strict(&self, hook: &str) -> bool {
        self.strict.contains(hook)
    }

    /// Records that the run has taken up a URL.
    pub fn know(&self, hash: u64) {
        if !self.is_empty() {
            self.known.lock().insert(hash);
        }
    }

    /// The links that the run does not know yet, of (hash, index) pairs.
    pub fn unknown(&self, found: &[(u64, u32)]) -> Vec<(u64, u32)> {
        let known = self.known.lock();
        let unknown = found.iter().filter(|(hash, _)| !known.contains(hash));
        unknown.copied().collect()
    }
}

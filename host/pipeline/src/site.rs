//! robots.txt and llms.txt of a site, and the AI-crawler policy derived from them.

use std::sync::Arc;

use orbweaver_core::robots::{ai_crawlers, ai_policy};
use orbweaver_fetch::{RobotsAnswer, TextFile};
use serde_json::value::RawValue;

use crate::CACHE_IDLE;
use crate::blocking::blocking_of;

/// Judging a byte of a robots.txt for every known crawler takes as long as so many bytes of a page.
pub const JUDGE_COST: usize = 32;
/// Memory for policies, and for the robots.txt that each entry keeps alive, in bytes.
const MAX_CACHED_BYTES: u64 = 32 << 20;
/// Estimated memory of an entry besides its texts, in bytes.
const ENTRY_BYTES: usize = 256;

/// What a site's robots.txt, llms.txt and llms-full.txt say.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// AI-crawler policy as JSON; `None` if robots.txt could not be fetched.
    pub(crate) policy: Option<Arc<RawValue>>,
    /// llms.txt.
    pub(crate) llms: TextFile,
    /// llms-full.txt.
    pub(crate) llms_full: TextFile,
}

impl Site {
    /// Whether both hold the same responses of the site.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        same(&self.policy, &other.policy)
            && same(&self.llms, &other.llms)
            && same(&self.llms_full, &other.llms_full)
    }
}

/// Whether both are the same allocation, or both `None`.
fn same<T: ?Sized>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

/// Cache of policies: judging 160 bots in every scan of a site would be slow.
#[derive(Clone, Debug)]
pub struct Policies(moka::future::Cache<usize, (Arc<RobotsAnswer>, Arc<RawValue>)>);

impl Default for Policies {
    fn default() -> Self {
        Self(
            moka::future::Cache::builder()
                .max_capacity(MAX_CACHED_BYTES)
                .weigher(|_, (robots, policy): &(Arc<RobotsAnswer>, Arc<RawValue>)| {
                    let bytes = policy.get().len() + robots.held_bytes() + ENTRY_BYTES;
                    u32::try_from(bytes).unwrap_or(u32::MAX)
                })
                // An entry keeps its robots.txt, also after the site's own cache has dropped it.
                .time_to_idle(CACHE_IDLE)
                .build(),
        )
    }
}

impl Policies {
    /// Bytes held. What was displaced or has expired is freed before.
    pub(crate) async fn held_bytes(&self) -> u64 {
        self.0.run_pending_tasks().await;
        self.0.weighted_size()
    }

    /// The policy as JSON; none where robots.txt could not be asked for.
    pub(crate) async fn policy(&self, robots: &Arc<RobotsAnswer>) -> Option<Arc<RawValue>> {
        robots.status?;
        // The entry keeps the answer alive, so its address cannot be reused.
        let address = Arc::as_ptr(robots).addr();
        // Many wildcards against every known crawler: a second of work at worst.
        let judged = self.0.try_get_with(address, {
            let robots = Arc::clone(robots);
            let text = robots.text.as_ref().map_or(0, String::len);
            blocking_of(text.saturating_mul(JUDGE_COST), move || {
                let policy = ai_policy(&robots.robots, ai_crawlers().iter().map(String::as_str));
                let json = serde_json::value::to_raw_value(&policy)
                    .unwrap_or_else(|_| RawValue::NULL.to_owned());
                (robots, Arc::from(json))
            })
        });
        match judged.await {
            Ok((_, policy)) => Some(policy),
            Err(error) => {
                tracing::error!(%error, "cannot judge a robots.txt");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Policies;
    use crate::CACHE_IDLE;

    #[test]
    fn policies_that_nobody_asks_for_are_dropped() {
        let policy = Policies::default().0.policy();
        assert_eq!(policy.time_to_idle(), Some(CACHE_IDLE));
    }
}

//! Authentication: finds the project of a bearer key.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use moka::sync::Cache;
use orbweaver_store::{KeyHash, Principal, Store, StoreError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::key;
use super::registry::Registry;

/// How long a looked-up key is cached. A change to it takes effect earlier, see [`Registry`].
const REMEMBERED: Duration = Duration::from_secs(60);
/// How long, and for how many keys, it is remembered that a key was valid once (and is no guess).
const SEEN: Duration = Duration::from_secs(86_400);
const MAX_SEEN: u64 = 50_000;
/// How often a key's last use is written at most.
const TOUCH_EVERY_MS: i64 = 30_000;

/// Looks keys up, with a cache in front of the database.
///
/// No code compares keys: the SHA-256 of a key is looked up, so the time of a look-up tells
/// nothing about existing keys. Unknown keys are not cached, so a new key works at once.
/// Cached entries are valid until any project or key changes. Changes by this process count
/// at once, changes by other processes half a second later.
#[derive(Clone, Debug)]
pub struct Keys {
    store: Store,
    registry: Registry,
    known: Cache<KeyHash, Arc<KnownKey>>,
    seen: Cache<KeyHash, ()>,
    doubtful: Arc<Semaphore>,
}

#[derive(Debug)]
struct KnownKey {
    generation: u64,
    principal: Arc<Principal>,
    touched_ms: AtomicI64,
}

impl Keys {
    /// Creates it with an empty cache.
    pub fn new(store: Store, registry: Registry) -> Self {
        let known = Cache::builder()
            .max_capacity(10_000)
            .time_to_live(REMEMBERED)
            .build();
        let seen = Cache::builder()
            .max_capacity(MAX_SEEN)
            .time_to_live(SEEN)
            .build();
        Self {
            store,
            registry,
            known,
            seen,
            doubtful: Arc::new(Semaphore::new(1)),
        }
    }

    /// Invalidates the cache, because this process changed a key or a project.
    pub fn changed(&self) {
        self.registry.changed();
    }

    /// Whether this key was valid in this process within the last day.
    pub fn has_seen(&self, key: &str) -> bool {
        self.seen.contains_key(&KeyHash::digest(key))
    }

    /// Waits for the turn of a key that is probably a guess; to be held while it is looked up.
    #[crate::boxed]
    pub async fn doubtful_turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.doubtful).acquire_owned().await.ok()
    }

    /// Whom this key speaks for; `None` for one that is malformed, unknown, revoked or
    /// expired.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn authenticate(
        &self,
        key: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Arc<Principal>>, StoreError> {
        if !key::is_well_formed(key) {
            return Ok(None);
        }
        let hash = KeyHash::digest(key);
        let generation = self.registry.generation().await?;
        let known = self.known.get(&hash);
        let known = match known.filter(|known| known.generation == generation) {
            Some(known) => known,
            None => {
                let Some(principal) = self.store.principal(&hash, now).await? else {
                    return Ok(None);
                };
                let known = Arc::new(KnownKey {
                    generation,
                    principal: Arc::new(principal),
                    touched_ms: AtomicI64::new(0),
                });
                self.known.insert(hash, Arc::clone(&known));
                self.seen.insert(hash, ());
                known
            }
        };
        if known.principal.expires_at.is_some_and(|end| end <= now) {
            return Ok(None);
        }
        let now_ms = now.timestamp_millis();
        if now_ms - known.touched_ms.load(Ordering::Relaxed) >= TOUCH_EVERY_MS {
            known.touched_ms.store(now_ms, Ordering::Relaxed);
            self.store.touch_key(known.principal.key, now);
        }
        Ok(Some(Arc::clone(&known.principal)))
    }
}

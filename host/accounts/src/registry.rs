//! Whether what this process remembers of projects and keys still holds.
//!
//! Every change to a project or a key counts a number in the database up, in the same
//! transaction. Whoever is about to use something remembered asks [`Registry::generation`],
//! which looks at that number again once the last look is `FRESH` old: a change made by
//! another process (another node, or the command line) is seen that much later at most, and
//! a look costs nothing while nobody asks. This process notes its own changes at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use orbweaver_store::{Store, StoreError};
use tokio::sync::Mutex;

/// How old the last look may be.
const FRESH: Duration = Duration::from_millis(400);

/// Cheap to clone; clones share what they know.
#[derive(Clone, Debug)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    started: Instant,
    /// Of the last look, in microseconds since `started`; -1 before the first.
    looked: AtomicI64,
    /// What the database said then.
    version: Mutex<Option<i64>>,
    generation: AtomicU64,
}

impl Registry {
    /// Nothing is known yet.
    pub fn new(store: Store) -> Self {
        Self(Arc::new(Inner {
            store,
            started: Instant::now(),
            looked: AtomicI64::new(-1),
            version: Mutex::new(None),
            generation: AtomicU64::new(0),
        }))
    }

    /// A number that changes whenever projects or keys did. What was read from the database
    /// after this call holds for as long as the number is the same.
    ///
    /// # Errors
    /// When the database cannot be asked: then nothing remembered may be trusted.
    #[crate::boxed]
    pub async fn generation(&self) -> Result<u64, StoreError> {
        if !self.is_fresh() {
            let mut version = self.0.version.lock().await;
            // Another request may have looked meanwhile.
            if !self.is_fresh() {
                let at = self.elapsed();
                let now = self.0.store.accounts_version().await?;
                if *version != Some(now) {
                    *version = Some(now);
                    self.changed();
                }
                self.0.looked.store(at, Ordering::Release);
            }
        }
        Ok(self.0.generation.load(Ordering::Acquire))
    }

    /// Notes that this process changed a project or a key: nothing remembered holds.
    pub fn changed(&self) {
        self.0.generation.fetch_add(1, Ordering::AcqRel);
    }

    fn is_fresh(&self) -> bool {
        let looked = self.0.looked.load(Ordering::Acquire);
        let fresh = i64::try_from(FRESH.as_micros()).unwrap_or(0);
        looked >= 0 && self.elapsed().saturating_sub(looked) < fresh
    }

    fn elapsed(&self) -> i64 {
        i64::try_from(self.0.started.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

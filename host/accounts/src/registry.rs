//! Invalidation of cached projects and keys.
//!
//! Every change to a project or a key increments a number in the database, in the same
//! transaction. Code that wants to use a cached entry calls [`Registry::generation`], which
//! reads that number again if the last read is older than `FRESH`. So a change by another
//! process (another node, or the command line) is seen at most that much later, on PostgreSQL with
//! the node's notice of it, within milliseconds; and an idle
//! process does not query the database. Changes by this process count at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use orbweaver_store::{Store, StoreError, Topic};
use tokio::sync::{Mutex, watch};

/// How long a read of the number stays valid.
const FRESH: Duration = Duration::from_millis(400);

/// The generation of projects and keys. Cheap to clone; clones share their state.
#[derive(Clone, Debug)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    started: Instant,
    /// Time of the last read, in microseconds since `started`; -1 before the first.
    looked: AtomicI64,
    /// Notices of other nodes, as of the last read.
    notices: watch::Receiver<u64>,
    told: AtomicU64,
    /// The number that was read then.
    version: Mutex<Option<i64>>,
    generation: AtomicU64,
}

impl Registry {
    /// Creates it without reading the database.
    pub fn new(store: Store) -> Self {
        Self(Arc::new(Inner {
            notices: store.notices(Topic::Accounts),
            told: AtomicU64::new(0),
            store,
            started: Instant::now(),
            looked: AtomicI64::new(-1),
            version: Mutex::new(None),
            generation: AtomicU64::new(0),
        }))
    }

    /// A number that changes whenever a project or a key changes. Data read from the database
    /// after this call is valid for as long as the number stays the same.
    ///
    /// # Errors
    /// When the database cannot be read: then no cached entry may be used.
    #[crate::boxed]
    pub async fn generation(&self) -> Result<u64, StoreError> {
        if !self.is_fresh() {
            let mut version = self.0.version.lock().await;
            // Another request may have read it meanwhile.
            if !self.is_fresh() {
                let at = self.elapsed();
                let told = *self.0.notices.borrow();
                let store = &self.0.store;
                // Every request with a key comes here: they are not to wait for a database that is down.
                store.reach().await?;
                let read = store.accounts_version().await;
                let now = read.inspect_err(|error| store.doubt(error))?;
                if *version != Some(now) {
                    *version = Some(now);
                    self.changed();
                }
                self.0.told.store(told, Ordering::Release);
                self.0.looked.store(at, Ordering::Release);
            }
        }
        Ok(self.0.generation.load(Ordering::Acquire))
    }

    /// Invalidates all caches, because this process changed a project or a key.
    pub fn changed(&self) {
        self.0.generation.fetch_add(1, Ordering::AcqRel);
    }

    fn is_fresh(&self) -> bool {
        let looked = self.0.looked.load(Ordering::Acquire);
        let fresh = i64::try_from(FRESH.as_micros()).unwrap_or(0);
        let is_told = *self.0.notices.borrow() != self.0.told.load(Ordering::Acquire);
        looked >= 0 && !is_told && self.elapsed().saturating_sub(looked) < fresh
    }

    fn elapsed(&self) -> i64 {
        i64::try_from(self.0.started.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

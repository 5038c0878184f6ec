//! What arrives from the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that arrive for a request, counted as they come: who stops waiting for it knows what has come
/// until then. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<AtomicU64>);

impl Traffic {
    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The sum so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

//! Memory of large bodies: one bound for all that are under way or still held by anybody.
//!
//! Small bodies are not counted. So a flood of large pages fails for want of memory, while
//! everybody's usual pages are fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::error::{Fault, Kind, SubKind};

/// Bodies up to this size are not counted, in bytes: nearly all pages are smaller.
const SMALL: u64 = 1 << 20;

/// What large bodies may take together.
#[derive(Debug)]
pub(crate) struct Bodies {
    most: u64,
    held: AtomicU64,
}

impl Bodies {
    /// At most so many bytes; one body of `largest` bytes fits, as received and decoded.
    pub fn new(most: u64, largest: u64) -> Arc<Self> {
        Arc::new(Self {
            most: most.max(largest.saturating_mul(2)),
            held: AtomicU64::new(0),
        })
    }
}

/// What one body takes; given back when it and all its copies are dropped.
#[derive(Debug)]
pub(crate) struct Share {
    bodies: Arc<Bodies>,
    bytes: u64,
}

impl Share {
    pub fn new(bodies: &Arc<Bodies>) -> Self {
        Self {
            bodies: Arc::clone(bodies),
            bytes: 0,
        }
    }

    /// Takes what the body has grown to.
    ///
    /// # Errors
    /// All large bodies together would take more than they may.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Fault> {
        let Some(more @ 1..) = bytes.checked_sub(self.bytes.max(SMALL)) else {
            return Ok(());
        };
        let more = if self.bytes == 0 { bytes } else { more };
        let grown = |held: u64| Some(held + more).filter(|held| *held <= self.bodies.most);
        let taken = self
            .bodies
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
        if taken.is_err() {
            let message = "too many large bodies at once (setting fetch.limits.max_bodies_mib)";
            return Err(Fault::new(Kind::Internal, SubKind::Busy, message).retryable());
        }
        self.bytes += more;
        Ok(())
    }

    /// The bytes, which keep this share until their last copy is dropped.
    pub fn keep(self: Arc<Self>, bytes: Bytes) -> Bytes {
        if self.bytes == 0 || bytes.is_empty() {
            return bytes;
        }
        Bytes::from_owner(CountedBytes {
            bytes,
            _share: self,
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.bodies.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct CountedBytes {
    bytes: Bytes,
    _share: Arc<Share>,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bodies_are_bounded_together_and_small_ones_are_not() {
        let bodies = Bodies::new(5 << 20, 1 << 20);
        let mut first = Share::new(&bodies);
        first.grow(100).unwrap();
        first.grow(SMALL).unwrap();
        assert_eq!(bodies.held.load(Ordering::Relaxed), 0);
        first.grow(2 << 20).unwrap();
        first.grow(3 << 20).unwrap();
        assert_eq!(bodies.held.load(Ordering::Relaxed), 3 << 20);
        let mut second = Share::new(&bodies);
        second.grow(SMALL).unwrap();
        second.grow(2 << 20).unwrap();
        assert!(second.grow((2 << 20) + 1).is_err());
        Share::new(&bodies).grow(SMALL).unwrap();
        drop(second);
        let kept = Arc::new(first).keep(Bytes::from_static(b"abc"));
        let copy = kept.slice(1..);
        drop(kept);
        assert_eq!(bodies.held.load(Ordering::Relaxed), 3 << 20);
        assert_eq!(&copy[..], b"bc");
        drop(copy);
        assert_eq!(bodies.held.load(Ordering::Relaxed), 0);
    }
}

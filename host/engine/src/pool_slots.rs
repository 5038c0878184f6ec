//! Bounds the instances in the pool: threads wait for a slot before they make one, where wasmtime would fail.

use parking_lot::{Condvar, Mutex};

/// Slots for instances in the pool. A thread that has one waits for no other thread's, so that each is freed.
pub(crate) struct PoolSlots {
    free: Mutex<u32>,
    freed: Condvar,
}

/// A slot; dropping it frees it. To be dropped after the instances that are made with it.
pub(crate) struct PoolSlot<'s>(&'s PoolSlots);

impl PoolSlots {
    pub const fn new(slots: u32) -> Self {
        Self {
            free: Mutex::new(slots),
            freed: Condvar::new(),
        }
    }

    /// Blocks the calling thread until a slot is free. One slot is for one instance at a time.
    pub fn acquire(&self) -> PoolSlot<'_> {
        let mut free = self.free.lock();
        self.freed.wait_while(&mut free, |free| *free == 0);
        *free -= 1;
        PoolSlot(self)
    }
}

impl Drop for PoolSlot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}

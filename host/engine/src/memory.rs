//! The memory budget of one call: the guest's linear memory, and data held by the host for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Limit, StopReason};

/// Bytes that one call may use. Shared by the guest's memory limiter and by all data that the
/// host holds for the guest: pages, snapshots, requests in progress.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

impl MemoryBudget {
    /// A budget of `limit` unused bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        })
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The largest number of bytes in use so far.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Takes `bytes` permanently: linear memory never shrinks.
    ///
    /// # Errors
    /// [`Limit::Memory`] if they exceed the limit; then nothing is taken.
    pub fn grow(&self, bytes: u64) -> Result<(), StopReason> {
        let grown = |used: u64| used.checked_add(bytes).filter(|total| *total <= self.limit);
        let before = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .map_err(|_| StopReason::Limit(Limit::Memory(self.limit)))?;
        self.peak
            .fetch_max(before.saturating_add(bytes), Ordering::Relaxed);
        Ok(())
    }

    /// Takes `bytes` until the returned value is dropped.
    ///
    /// # Errors
    /// Same as [`MemoryBudget::grow`].
    pub fn charge(self: &Arc<Self>, bytes: u64) -> Result<MemoryCharge, StopReason> {
        self.grow(bytes)?;
        Ok(MemoryCharge {
            budget: Arc::clone(self),
            bytes,
        })
    }
}

/// Bytes taken from a [`MemoryBudget`]; dropping it returns them.
#[derive(Debug)]
pub(crate) struct MemoryCharge {
    budget: Arc<MemoryBudget>,
    bytes: u64,
}

impl MemoryCharge {
    /// Changes the number of bytes taken.
    ///
    /// # Errors
    /// Same as [`MemoryBudget::grow`]; then the charge is unchanged.
    pub fn resize(&mut self, bytes: u64) -> Result<(), StopReason> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            self.budget.grow(more)?;
        } else {
            self.budget
                .used
                .fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What the host has made for a guest, with the memory that it takes until the guest has it.
#[derive(Debug)]
pub(crate) struct Charged<T> {
    value: T,
    charge: MemoryCharge,
}

impl<T> Charged<T> {
    /// A value, and what was taken for it.
    pub fn new(value: T, charge: MemoryCharge) -> Self {
        Self { value, charge }
    }

    /// The value alone, for who passes it on at once.
    pub fn into_inner(self) -> T {
        drop(self.charge);
        self.value
    }
}

impl<T> std::ops::Deref for Charged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_refused_beyond_the_limit_and_returned_on_drop() {
        let budget = MemoryBudget::new(100);
        let first = budget.charge(60).unwrap();
        let refused = budget.charge(41).unwrap_err();
        assert_eq!(refused, StopReason::Limit(Limit::Memory(100)));
        drop(first);
        let mut second = budget.charge(100).unwrap();
        assert!(second.resize(101).is_err());
        second.resize(10).unwrap();
        budget.grow(90).unwrap();
        assert!(budget.grow(1).is_err());
        assert_eq!(budget.peak(), 100);
    }

    #[test]
    fn a_charge_near_the_largest_number_does_not_overflow() {
        let budget = MemoryBudget::new(u64::MAX);
        let _most = budget.charge(u64::MAX).unwrap();
        assert!(budget.charge(1).is_err());
    }
}

//! Memory of large bodies: one bound for all that are under way or still held by anybody, with a
//! share for each project.
//!
//! Small bodies are not counted. So a flood of large pages fails for want of memory, while
//! everybody's usual pages are fetched. A project may hold three times what is left free, as with
//! other shared work: one that takes all it can leaves a quarter to the next one. Requests without a
//! project (the instance's own) count as one more.
//!
//! What a fetch receives and then fails is free, so each project may receive so much of it in an hour.
//! Then its large bodies fail: usual pages go on, and what a failure costs is no more than a small body.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::allowance::Allowance;
use crate::error::{Fault, Kind, SubKind};
use crate::traffic::Traffic;

/// Bodies up to this size are not counted, in bytes: nearly all pages are smaller.
const SMALL: u64 = 1 << 20;
/// A project may hold up to this many times the bytes that are free.
const SHARE: u64 = 3;

/// Limits of the memory of large bodies together, and of the bytes that projects receive for failed fetches.
#[derive(Debug)]
pub(crate) struct Bodies {
    most: u64,
    held: Mutex<Held>,
    /// In MiB an hour.
    failed_most: u32,
    failed: Allowance,
}

#[derive(Debug, Default)]
struct Held {
    all: u64,
    /// Those that hold some.
    projects: HashMap<Option<ProjectId>, u64>,
}

impl Bodies {
    /// At most so many bytes; one body of `largest` bytes, as received and decoded, fits into the
    /// share of a project. `failed`: MiB that a project may receive in vain in an hour; 0: no bound.
    pub fn new(most: u64, largest: u64, failed: u32) -> Arc<Self> {
        let one = largest.saturating_mul(2);
        Arc::new(Self {
            most: most.max(one.saturating_add(one.div_ceil(SHARE))),
            held: Mutex::default(),
            failed_most: failed,
            failed: Allowance::new(failed.into()),
        })
    }

    /// Whether a project may have large bodies now.
    ///
    /// # Errors
    /// Its failed fetches have received all that they may.
    fn check_failed(&self, project: Option<ProjectId>) -> Result<(), Fault> {
        let is_over = |project| self.failed.wait(project, Instant::now()).is_some();
        if !project.is_some_and(is_over) {
            return Ok(());
        }
        let message = format!(
            "failed fetches of this project have received {} MiB, the most in an hour (setting \
             fetch.limits.failed_mib_per_hour): until there is room again, its bodies have at most 1 MiB",
            self.failed_most
        );
        Err(Fault::new(Kind::Internal, SubKind::Busy, message).retryable())
    }

    /// Takes more for a project, unless that exceeds its share; says whether it was taken.
    fn take(&self, project: Option<ProjectId>, more: u64) -> bool {
        let mut held = self.held.lock();
        let Some(all) = held.all.checked_add(more).filter(|all| *all <= self.most) else {
            return false;
        };
        let own = held.projects.get(&project).copied().unwrap_or(0) + more;
        let free = self.most - all;
        if own > free.saturating_mul(SHARE) {
            return false;
        }
        held.all = all;
        held.projects.insert(project, own);
        true
    }

    fn give_back(&self, project: Option<ProjectId>, bytes: u64) {
        let mut held = self.held.lock();
        held.all = held.all.saturating_sub(bytes);
        if let Some(own) = held.projects.get_mut(&project) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.projects.remove(&project);
            }
        }
    }
}

/// What one body takes; given back when it and all its copies are dropped.
#[derive(Debug)]
pub(crate) struct Share {
    bodies: Arc<Bodies>,
    project: Option<ProjectId>,
    bytes: u64,
}

impl Share {
    pub fn new(bodies: &Arc<Bodies>, project: Option<ProjectId>) -> Self {
        Self {
            bodies: Arc::clone(bodies),
            project,
            bytes: 0,
        }
    }

    /// Takes what the body has grown to.
    ///
    /// # Errors
    /// The large bodies of the project, or all together, would take more than they may, or too many of
    /// the project's failed.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Fault> {
        let Some(more @ 1..) = bytes.checked_sub(self.bytes.max(SMALL)) else {
            return Ok(());
        };
        let is_first = self.bytes == 0;
        if is_first {
            self.bodies.check_failed(self.project)?;
        }
        let more = if is_first { bytes } else { more };
        if !self.bodies.take(self.project, more) {
            let message = "too many large bodies at once (setting fetch.limits.max_bodies_mib, of which \
                           each project has a share)";
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
        if self.bytes > 0 {
            self.bodies.give_back(self.project, self.bytes);
        }
    }
}

/// Counts what a fetch receives. When dropped, also because nobody waits for the fetch any more, it counts
/// as received in vain.
#[derive(Debug)]
pub(crate) struct Receipt {
    bodies: Arc<Bodies>,
    project: Option<ProjectId>,
    bytes: AtomicU64,
    /// Counts for the caller, whatever comes of it.
    traffic: Traffic,
}

impl Receipt {
    pub fn new(bodies: &Arc<Bodies>, project: Option<ProjectId>, traffic: &Traffic) -> Self {
        Self {
            bodies: Arc::clone(bodies),
            project,
            bytes: AtomicU64::new(0),
            traffic: traffic.clone(),
        }
    }

    pub fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.traffic.add(bytes as u64);
    }

    /// What has arrived so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// It was not in vain, or not for a reason of the project's.
    pub fn waive(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        let bytes = self.bytes();
        // Requests of the instance itself are nobody's.
        let Some(project) = self.project.filter(|_| bytes > 0) else {
            return;
        };
        #[expect(clippy::cast_precision_loss, reason = "exact up to 9 PB")]
        let mib = bytes as f64 / f64::from(1 << 20);
        self.bodies.failed.add(project, mib, Instant::now());
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

    const A: Option<ProjectId> = Some(ProjectId(1));
    const B: Option<ProjectId> = Some(ProjectId(2));

    fn held(bodies: &Bodies) -> u64 {
        bodies.held.lock().all
    }

    #[test]
    fn large_bodies_are_bounded_together_and_small_ones_are_not() {
        let bodies = Bodies::new(8 << 20, 1 << 20, 0);
        let mut first = Share::new(&bodies, A);
        first.grow(100).unwrap();
        first.grow(SMALL).unwrap();
        assert_eq!(held(&bodies), 0);
        first.grow(2 << 20).unwrap();
        first.grow(4 << 20).unwrap();
        assert_eq!(held(&bodies), 4 << 20);
        let mut second = Share::new(&bodies, A);
        second.grow(SMALL).unwrap();
        second.grow(2 << 20).unwrap();
        assert!(second.grow((2 << 20) + 1).is_err());
        Share::new(&bodies, A).grow(SMALL).unwrap();
        drop(second);
        let kept = Arc::new(first).keep(Bytes::from_static(b"abc"));
        let copy = kept.slice(1..);
        drop(kept);
        assert_eq!(held(&bodies), 4 << 20);
        assert_eq!(&copy[..], b"bc");
        drop(copy);
        assert_eq!(held(&bodies), 0);
        assert!(bodies.held.lock().projects.is_empty());
    }

    #[test]
    fn a_project_that_takes_all_it_can_leaves_room_for_the_next_one() {
        let bodies = Bodies::new(256 << 20, 20 << 20, 0);
        let take_all = |project| {
            let mut shares = Vec::new();
            loop {
                let mut share = Share::new(&bodies, project);
                if share.grow(2 << 20).is_err() {
                    return shares;
                }
                shares.push(share);
            }
        };
        let first = take_all(A);
        assert_eq!(first.len(), 96);
        Share::new(&bodies, B).grow(40 << 20).unwrap();
        let second = take_all(B);
        assert_eq!(second.len(), 24);
        Share::new(&bodies, None).grow(2 << 20).unwrap();
        drop((first, second));
        assert_eq!(held(&bodies), 0);
    }

    #[test]
    fn a_project_can_hold_the_largest_body_whatever_the_setting() {
        let bodies = Bodies::new(0, 20 << 20, 0);
        Share::new(&bodies, A).grow(40 << 20).unwrap();
    }

    #[test]
    fn a_project_whose_fetches_fail_has_small_bodies_alone() {
        let bodies = Bodies::new(256 << 20, 20 << 20, 8);
        let receive = |project| {
            let receipt = Receipt::new(&bodies, project, &Traffic::default());
            receipt.add(6 << 20);
            receipt
        };
        let large = |project| Share::new(&bodies, project).grow(2 << 20);
        receive(A).waive();
        drop(receive(A));
        large(A).unwrap();
        drop((receive(A), receive(None), receive(None)));
        let refused = large(A).unwrap_err();
        assert_eq!(refused.sub, Some(SubKind::Busy));
        assert!(refused.message.contains("fetch.limits.failed_mib_per_hour"));
        Share::new(&bodies, A).grow(SMALL).unwrap();
        large(B).unwrap();
        large(None).unwrap();
    }
}

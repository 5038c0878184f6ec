//! Memory of large bodies: one bound for all that are under way or still held by anybody, with a
//! share for each project.
//!
//! Small bodies are not counted. So a flood of large pages fails for want of memory, while
//! everybody's usual pages are fetched. A project may hold three times what is left free, as with
//! other shared work: one that takes all it can leaves a quarter to the next one. Requests without a
//! project (the instance's own) count as one more.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;

use crate::error::{Fault, Kind, SubKind};

/// Bodies up to this size are not counted, in bytes: nearly all pages are smaller.
const SMALL: u64 = 1 << 20;
/// A project may hold up to this many times the bytes that are free.
const SHARE: u64 = 3;

/// What large bodies may take together.
#[derive(Debug)]
pub(crate) struct Bodies {
    most: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: u64,
    /// Those that hold some.
    projects: HashMap<Option<ProjectId>, u64>,
}

impl Bodies {
    /// At most so many bytes; one body of `largest` bytes, as received and decoded, fits into the
    /// share of a project.
    pub fn new(most: u64, largest: u64) -> Arc<Self> {
        let one = largest.saturating_mul(2);
        Arc::new(Self {
            most: most.max(one.saturating_add(one.div_ceil(SHARE))),
            held: Mutex::default(),
        })
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
    /// The large bodies of the project, or all together, would take more than they may.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Fault> {
        let Some(more @ 1..) = bytes.checked_sub(self.bytes.max(SMALL)) else {
            return Ok(());
        };
        let more = if self.bytes == 0 { bytes } else { more };
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
        let bodies = Bodies::new(8 << 20, 1 << 20);
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
        let bodies = Bodies::new(256 << 20, 20 << 20);
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
        let bodies = Bodies::new(0, 20 << 20);
        Share::new(&bodies, A).grow(40 << 20).unwrap();
    }
}

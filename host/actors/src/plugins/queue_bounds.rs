//! Bounds of a queue in memory: its records and bytes, in all and for each project, so that no project
//! takes the places of others.

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;

/// Bounds of what waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Records.
    pub(super) records: usize,
    /// Bytes.
    pub(super) bytes: usize,
}

impl Bounds {
    /// What one project has of them.
    const fn share(self) -> Self {
        Self {
            records: self.records / 4,
            bytes: self.bytes / 4,
        }
    }
}

/// What waits.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    records: usize,
    bytes: usize,
}

impl Taken {
    const fn has_room(self, bytes: usize, bounds: Bounds) -> bool {
        self.records < bounds.records && self.bytes.saturating_add(bytes) <= bounds.bytes
    }

    const fn add(&mut self, bytes: usize) {
        self.records += 1;
        self.bytes += bytes;
    }

    const fn remove(&mut self, bytes: usize) {
        self.records -= 1;
        self.bytes -= bytes;
    }
}

#[derive(Debug, Default)]
struct Waiting {
    all: Taken,
    projects: HashMap<ProjectId, Taken>,
}

/// The bounds of a queue, and what it holds. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct QueueBounds {
    bounds: Bounds,
    waiting: Arc<Mutex<Waiting>>,
}

/// A record's place; dropping it frees it.
#[derive(Debug)]
pub(super) struct Place {
    waiting: Arc<Mutex<Waiting>>,
    project: ProjectId,
    bytes: usize,
}

impl QueueBounds {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            waiting: Arc::default(),
        }
    }

    /// A place for a record of a project; `None` if there is no room. A project has a quarter of all, and
    /// one record of any size that there is room for.
    pub(super) fn place(&self, project: ProjectId, bytes: usize) -> Option<Place> {
        let mut waiting = self.waiting.lock();
        let own = waiting.projects.get(&project).copied().unwrap_or_default();
        let has_share = own.records == 0 || own.has_room(bytes, self.bounds.share());
        if !has_share || !waiting.all.has_room(bytes, self.bounds) {
            return None;
        }
        waiting.all.add(bytes);
        waiting.projects.entry(project).or_default().add(bytes);
        Some(Place {
            waiting: Arc::clone(&self.waiting),
            project,
            bytes,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock();
        waiting.all.remove(self.bytes);
        if let Some(own) = waiting.projects.get_mut(&self.project) {
            own.remove(self.bytes);
            if own.records == 0 {
                waiting.projects.remove(&self.project);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        records: 8,
        bytes: 100,
    };

    #[test]
    fn a_project_has_a_quarter_and_leaves_the_rest_to_others() {
        let room = QueueBounds::new(BOUNDS);
        let [a, b] = [ProjectId(1), ProjectId(2)];
        let first = room.place(a, 20).unwrap();
        assert!(room.place(a, 6).is_none(), "more bytes than its share");
        let second = room.place(a, 5).unwrap();
        assert!(room.place(a, 0).is_none(), "more records than its share");
        let other = room.place(b, 25).unwrap();
        drop(first);
        let third = room.place(a, 20).unwrap();
        drop((second, third, other));
        assert!(room.waiting.lock().projects.is_empty());
        assert_eq!(room.waiting.lock().all.bytes, 0);
    }

    #[test]
    fn one_large_record_finds_room_where_nothing_else_of_its_project_waits() {
        let room = QueueBounds::new(BOUNDS);
        assert!(room.place(ProjectId(1), 101).is_none());
        let large = room.place(ProjectId(1), 75).unwrap();
        assert!(room.place(ProjectId(1), 1).is_none());
        assert!(room.place(ProjectId(2), 26).is_none());
        assert!(room.place(ProjectId(2), 25).is_some());
        drop(large);
        assert!(room.place(ProjectId(2), 100).is_some());
    }
}

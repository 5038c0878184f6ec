//! Events of a simulated run.

use std::cmp::Ordering;

/// An event.
pub struct Event {
    pub at: f64,
    /// Events of the same time happen in the order in which they were planned.
    pub number: u64,
    pub kind: Kind,
}

pub enum Kind {
    /// The run's worker looks at its parts.
    Tend,
    /// A worker sees what it can send.
    Wake(usize),
    /// Lent URLs, by host, reach a part.
    Lent(usize, Vec<usize>),
    /// An answer of a host is at a node; it took so long.
    Answered(usize, usize, f64),
    /// A page's work on its node is done.
    Worked(usize, usize),
    /// The run's worker has taken a page of its own node.
    Taken(usize),
    /// A place among a node's requests is free.
    Freed(usize),
    /// A part's report of a page may be read, and is read.
    Reported(usize, usize),
    Read(usize, usize),
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = self.number.cmp(&other.number);
        self.at.total_cmp(&other.at).then(numbers)
    }
}

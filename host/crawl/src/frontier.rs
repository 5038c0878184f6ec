//! The URLs that a run has yet to fetch: a window in memory, by priority and in the order of
//! discovery, and the rest, which stays in the database until there is room.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use orbweaver_core::key_hash::BuildKeyHasher;
use tokio::time::Instant;

use crate::entry::Entry;

/// Maximum number of entries in memory.
pub(super) const WINDOW: usize = 4_096;
/// Maximum bytes of their URLs: 256 entries of the longest URLs accepted.
const WINDOW_BYTES: usize = 4 << 20;
/// Entries read at a time when there is room again.
pub(super) const REFILL: u32 = 512;

/// The URLs that a run knows of: hash of the key, and links from the seed.
pub(super) type Seen = HashMap<u64, u8, BuildKeyHasher>;

/// The window: queues by host, and entries that wait for a retry.
#[derive(Default)]
pub(super) struct Window {
    hosts: Vec<VecDeque<Entry>>,
    /// Hosts with entries; the front one is fetched from next.
    turn: VecDeque<usize>,
    later: BinaryHeap<Reverse<Later>>,
    len: usize,
    bytes: usize,
    /// The first entry that is only in the database.
    tail: Option<i64>,
    /// Entries behind it that are in memory all the same, for their priority.
    ahead: HashSet<i64>,
}

struct Later {
    at: Instant,
    host: usize,
    entry: Entry,
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.entry.seq).cmp(&(other.at, other.entry.seq))
    }
}

impl Window {
    /// Adds a newly discovered entry, or leaves it to the database.
    pub fn discover(&mut self, host: usize, entry: Entry) {
        if self.tail.is_none() && self.len < WINDOW && self.bytes < WINDOW_BYTES {
            return self.push(host, entry);
        }
        self.tail.get_or_insert(entry.seq);
        let has_room = self.ahead.len() < WINDOW && self.bytes < 2 * WINDOW_BYTES;
        if entry.priority > 0 && has_room {
            self.ahead.insert(entry.seq);
            self.push(host, entry);
        }
    }

    /// Whether an entry read from the database is in memory already.
    pub fn is_ahead(&mut self, seq: i64) -> bool {
        self.ahead.remove(&seq)
    }

    /// Records that an entry of an earlier worker waits in the database.
    pub fn resume_at(&mut self, seq: i64) {
        self.tail.get_or_insert(seq);
    }

    /// Adds an entry, even if the window is full.
    pub fn push(&mut self, host: usize, entry: Entry) {
        if self.hosts.len() <= host {
            self.hosts.resize_with(host + 1, VecDeque::new);
        }
        if let Some(queue) = self.hosts.get_mut(host) {
            if queue.is_empty() {
                self.turn.push_back(host);
            }
            self.len += 1;
            self.bytes += entry.url.len();
            let is_last = queue
                .back()
                .is_none_or(|last| last.priority >= entry.priority);
            let place = if is_last {
                queue.len()
            } else {
                queue.partition_point(|known| known.priority >= entry.priority)
            };
            queue.insert(place, entry);
        }
    }

    /// Adds an entry that is fetched at `at` or later.
    pub fn postpone(&mut self, host: usize, entry: Entry, at: Instant) {
        self.len += 1;
        self.bytes += entry.url.len();
        self.later.push(Reverse(Later { at, host, entry }));
    }

    /// Queues the postponed entries that are due.
    pub fn ripen(&mut self, now: Instant) {
        while self
            .later
            .peek()
            .is_some_and(|Reverse(later)| later.at <= now)
        {
            if let Some(Reverse(later)) = self.later.pop() {
                self.forget(&later.entry);
                self.push(later.host, later.entry);
            }
        }
    }

    /// When the next postponed entry is due.
    pub fn next_ripe(&self) -> Option<Instant> {
        self.later.peek().map(|Reverse(later)| later.at)
    }

    /// Entries in memory.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Hosts with entries.
    pub fn waiting_hosts(&self) -> usize {
        self.turn.len()
    }

    /// The host to fetch from next; it moves to the end of the queue.
    pub fn next_host(&mut self) -> Option<usize> {
        let host = self.turn.pop_front()?;
        self.turn.push_back(host);
        Some(host)
    }

    /// A host's next entry.
    pub fn peek(&self, host: usize) -> Option<&Entry> {
        self.hosts.get(host)?.front()
    }

    /// Takes a host's next entry.
    pub fn pop(&mut self, host: usize) -> Option<Entry> {
        let queue = self.hosts.get_mut(host)?;
        let entry = queue.pop_front()?;
        if queue.is_empty() {
            self.turn.retain(|waiting| *waiting != host);
        }
        self.forget(&entry);
        Some(entry)
    }

    fn forget(&mut self, entry: &Entry) {
        self.len = self.len.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(entry.url.len());
    }

    /// The position to read on from in the database, if there is room.
    pub fn wants(&self) -> Option<i64> {
        self.tail
            .filter(|_| self.len <= WINDOW / 2 && self.bytes <= WINDOW_BYTES / 2)
    }

    /// Sets the position of the first entry that is only in the database.
    pub fn set_tail(&mut self, tail: Option<i64>) {
        self.tail = tail;
        match tail {
            Some(tail) => self.ahead.retain(|seq| *seq >= tail),
            None => self.ahead.clear(),
        }
    }

    /// Whether no entry waits, neither here nor in the database.
    pub fn is_empty(&self) -> bool {
        self.len == 0 && self.tail.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn entry(seq: i64) -> Entry {
        Entry {
            seq,
            url: format!("http://e.org/{seq}"),
            hash: seq.cast_unsigned(),
            depth: 1,
            attempts: 0,
            priority: 0,
        }
    }

    fn urgent(seq: i64, priority: i32) -> Entry {
        Entry {
            priority,
            ..entry(seq)
        }
    }

    #[test]
    fn entries_of_higher_priority_go_first() {
        let mut window = Window::default();
        for (seq, priority) in [(0, 0), (1, 5), (2, -1), (3, 5), (4, 0), (5, 9)] {
            window.discover(0, urgent(seq, priority));
        }
        let order: Vec<i64> = std::iter::from_fn(|| window.pop(0).map(|entry| entry.seq)).collect();
        assert_eq!(order, [5, 1, 3, 0, 4, 2]);
    }

    #[test]
    fn an_urgent_entry_does_not_wait_behind_the_database() {
        let mut window = Window::default();
        let most = i64::try_from(WINDOW).unwrap();
        for seq in 0..most + 3 {
            window.discover(0, entry(seq));
        }
        window.discover(0, urgent(most + 3, 1));
        window.discover(0, entry(most + 4));
        assert_eq!(window.pop(0).map(|entry| entry.seq), Some(most + 3));
        // It is read from the database once, and is not fetched twice.
        assert!(!window.is_ahead(most) && window.is_ahead(most + 3));
        assert!(!window.is_ahead(most + 3));
        window.discover(0, urgent(most + 5, 1));
        window.set_tail(Some(most + 6));
        assert!(
            !window.is_ahead(most + 5),
            "what is behind the tail is forgotten"
        );
    }

    #[test]
    fn hosts_take_turns() {
        let mut window = Window::default();
        for seq in 0..6 {
            window.discover(usize::from(seq % 2 == 1), entry(seq));
        }
        let mut order = Vec::new();
        while let Some(host) = window.next_host() {
            order.extend(window.pop(host).map(|entry| entry.seq));
        }
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
        assert!(window.is_empty());
    }

    #[test]
    fn entries_beyond_the_window_stay_in_the_database() {
        let mut window = Window::default();
        let most = i64::try_from(WINDOW).unwrap();
        for seq in 0..most + 10 {
            window.discover(0, entry(seq));
        }
        assert_eq!(window.wants(), None);
        while window.peek(0).is_some_and(|entry| entry.seq < most / 2) {
            window.pop(0);
        }
        assert_eq!(window.wants(), Some(most));
        // Order is kept even if there is room: later entries wait behind those in the database.
        window.discover(0, entry(most + 10));
        assert_eq!(window.wants(), Some(most));
        window.set_tail(None);
        assert!(!window.is_empty());
    }

    #[test]
    fn long_urls_use_more_of_the_window() {
        let mut window = Window::default();
        for seq in 0..1_000 {
            let url = format!("http://e.org/{seq}/{}", "x".repeat(16 << 10));
            window.discover(0, Entry { url, ..entry(seq) });
        }
        let tail = window.tail.unwrap();
        assert!((200..300).contains(&tail), "{tail}");
        assert_eq!(window.wants(), None);
        for _ in 0..tail {
            assert!(window.bytes > 0 && window.pop(0).is_some());
        }
        assert_eq!((window.bytes, window.wants()), (0, Some(tail)));
    }

    #[test]
    fn postponed_entries_return_when_due() {
        let mut window = Window::default();
        let now = Instant::now();
        window.postpone(0, entry(1), now + Duration::from_secs(2));
        window.postpone(0, entry(2), now + Duration::from_secs(1));
        assert_eq!(window.next_ripe(), Some(now + Duration::from_secs(1)));
        window.ripen(now);
        assert!(window.next_host().is_none() && !window.is_empty());
        window.ripen(now + Duration::from_secs(1));
        assert_eq!(window.pop(0).map(|entry| entry.seq), Some(2));
        assert_eq!(window.next_ripe(), Some(now + Duration::from_secs(2)));
    }
}

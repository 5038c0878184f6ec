//! The sitemaps that a run has yet to read, within its bounds.

use std::collections::{HashSet, VecDeque};

use orbweaver_core::key_hash::key_hash;

/// Maximum number of sitemaps of a run.
pub(super) const MAX_SITEMAPS: usize = 50_000;
/// Maximum bytes of the URLs of sitemaps that wait to be read.
const MAX_QUEUED_BYTES: usize = 4 << 20;
/// Most bytes of sitemaps that a run reads, unpacked. What is listed of other sites, excluded or known
/// already ends no run, so that without a bound a site could have 2 TiB read: 50,000 sitemaps of the largest
/// size. A run of the most pages needs about a gigabyte.
pub(super) const MAX_BYTES: u64 = 16 << 30;

/// Sitemaps that wait to be read, each once. Entries of an index are limited in number and
/// bytes before they are stored.
#[derive(Default)]
pub(super) struct Queue {
    /// Each with the number of URLs that were taken of it before.
    waiting: VecDeque<(String, usize)>,
    /// Bytes of the waiting URLs.
    bytes: usize,
    /// Hashes of all URLs ever queued.
    known: HashSet<u64>,
    /// Bytes of the sitemaps that were read, and of what answered instead of one.
    pub(super) read_bytes: u64,
}

impl Queue {
    /// Queues a URL; `false` if there is no room.
    pub(super) fn push(&mut self, url: String) -> bool {
        let hash = key_hash(&url);
        if self.known.contains(&hash) {
            return true;
        }
        if self.known.len() >= MAX_SITEMAPS || self.bytes + url.len() > MAX_QUEUED_BYTES {
            return false;
        }
        self.known.insert(hash);
        self.bytes += url.len();
        self.waiting.push_back((url, 0));
        true
    }

    /// Queues URLs as long as there is room; whether there was for all.
    pub(super) fn extend(&mut self, urls: impl IntoIterator<Item = String>) -> bool {
        urls.into_iter().all(|url| self.push(url))
    }

    /// Lets a sitemap be read again next, of which so many URLs were taken.
    pub(super) fn read_on(&mut self, url: String, taken: usize) {
        self.bytes += url.len();
        self.waiting.push_front((url, taken));
    }

    /// The sitemap to read next; none once the run has read as much as it may.
    pub(super) fn next(&mut self) -> Option<(String, usize)> {
        if self.read_bytes >= MAX_BYTES {
            return None;
        }
        self.pop()
    }

    /// The first sitemap that waits.
    pub(super) fn pop(&mut self) -> Option<(String, usize)> {
        let (url, taken) = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(url.len());
        Some((url, taken))
    }

    /// Sitemaps that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_indexes_make_a_queue_of_limited_size() {
        let mut queue = Queue::default();
        queue.push("https://e.org/sitemap.xml".to_owned());
        let (mut read, mut all) = (0, true);
        while let Some((url, _)) = queue.pop() {
            read += 1;
            let long = "x".repeat(if read % 2 == 0 { 16 << 10 } else { 10 });
            let name = key_hash(&url);
            all &= queue.extend((0..50_000).map(|n| format!("https://e.org/{name}/{n}{long}")));
            assert!(queue.bytes <= MAX_QUEUED_BYTES && queue.waiting.len() <= MAX_SITEMAPS);
        }
        assert_eq!((read, all, queue.bytes), (MAX_SITEMAPS, false, 0));
    }

    #[test]
    fn a_sitemap_is_queued_once_and_read_on() {
        let mut queue = Queue::default();
        for url in ["a", "b", "a"] {
            assert!(queue.push(url.to_owned()));
        }
        assert_eq!(queue.pop(), Some(("a".to_owned(), 0)));
        queue.push("a".to_owned());
        queue.read_on("a".to_owned(), 7);
        assert_eq!(queue.pop(), Some(("a".to_owned(), 7)));
        assert_eq!(queue.pop(), Some(("b".to_owned(), 0)));
        assert_eq!((queue.pop(), queue.bytes), (None, 0));
    }

    #[test]
    fn no_sitemap_is_read_beyond_the_bytes_of_a_run() {
        let mut queue = Queue::default();
        assert!(queue.extend(["a", "b", "c"].map(str::to_owned)));
        queue.read_bytes = MAX_BYTES - 1;
        assert_eq!(queue.next(), Some(("a".to_owned(), 0)));
        queue.read_bytes = MAX_BYTES;
        assert_eq!(queue.next(), None);
        // The first one that is left out.
        assert_eq!(queue.pop(), Some(("b".to_owned(), 0)));
    }
}

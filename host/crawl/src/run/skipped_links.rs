//! Links beyond the depth or a budget of the run. They are counted as skipped when they are found;
//! if their URL is taken later, by a shorter path or because others have failed, they were not.

use std::collections::HashMap;

use orbweaver_core::key_hash::BuildKeyHasher;
use orbweaver_store::crawl::SkipReason;

/// Maximum number of URLs that are remembered: 8 MiB. Links to more URLs stay counted.
const MAX_URLS: usize = 1 << 18;

/// Numbers of skipped links by the hash of their URL's key.
#[derive(Default)]
pub(super) struct SkippedLinks {
    urls: HashMap<u64, Skipped, BuildKeyHasher>,
}

/// Numbers of links to one URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Skipped {
    depth: u32,
    budget: u32,
}

impl Skipped {
    fn of(&mut self, reason: SkipReason) -> Option<&mut u32> {
        match reason {
            SkipReason::Depth => Some(&mut self.depth),
            SkipReason::Budget => Some(&mut self.budget),
            _ => None,
        }
    }
}

impl SkippedLinks {
    /// Remembers a link that was skipped for its depth or for a budget.
    pub(super) fn note(&mut self, hash: u64, reason: SkipReason) {
        if self.urls.len() >= MAX_URLS && !self.urls.contains_key(&hash) {
            return;
        }
        if let Some(count) = self.urls.entry(hash).or_default().of(reason) {
            *count = count.saturating_add(1);
        }
    }

    /// Forgets the links to a URL that is taken: how many were skipped for each reason.
    pub(super) fn take(&mut self, hash: u64) -> [(SkipReason, u64); 2] {
        let skipped = self.urls.remove(&hash).unwrap_or_default();
        [
            (SkipReason::Depth, u64::from(skipped.depth)),
            (SkipReason::Budget, u64::from(skipped.budget)),
        ]
    }

    /// Forgets one link to a URL, as its page's links are looked at again: for which reason it was
    /// skipped.
    pub(super) fn take_one(&mut self, hash: u64) -> Option<SkipReason> {
        let skipped = self.urls.get_mut(&hash)?;
        let reason = match skipped.depth {
            0 => SkipReason::Budget,
            _ => SkipReason::Depth,
        };
        let count = skipped.of(reason).filter(|count| **count > 0)?;
        *count -= 1;
        Some(reason)
    }

    /// Forgets all links.
    pub(super) fn clear(&mut self) {
        self.urls.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_a_url_that_is_taken_are_given_back_once() {
        let mut skipped_links = SkippedLinks::default();
        for reason in [SkipReason::Depth, SkipReason::Budget, SkipReason::Depth] {
            skipped_links.note(1, reason);
        }
        skipped_links.note(2, SkipReason::Budget);
        let counts = [(SkipReason::Depth, 2), (SkipReason::Budget, 1)];
        assert_eq!(skipped_links.take(1), counts);
        let none = [(SkipReason::Depth, 0), (SkipReason::Budget, 0)];
        assert_eq!(skipped_links.take(1), none);
        assert_eq!(skipped_links.take_one(2), Some(SkipReason::Budget));
        assert_eq!(skipped_links.take_one(2), None);
        assert_eq!(skipped_links.take(2), none);
    }

    #[test]
    fn as_many_urls_are_remembered_as_fit() {
        let mut skipped_links = SkippedLinks::default();
        for hash in 0..MAX_URLS as u64 + 10 {
            skipped_links.note(hash, SkipReason::Depth);
        }
        skipped_links.note(0, SkipReason::Depth);
        assert_eq!(skipped_links.urls.len(), MAX_URLS);
        assert_eq!(skipped_links.take(0)[0], (SkipReason::Depth, 2));
    }
}

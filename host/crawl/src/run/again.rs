//! Pages whose links are followed again, as they are stored: those that turned out to be nearer to the
//! seed than when they were fetched, and those whose links were taken only in part.

use std::collections::VecDeque;
use std::sync::Arc;

use orbweaver_core::key_hash::key_hash;
use orbweaver_engine::Visit;
use orbweaver_store::crawl::unpack_links;
use orbweaver_urls::{Resolved, key_of};

use super::state::Crawler;
use crate::follow;
use crate::handle::Fate;
use crate::hooks;

/// Most bytes of the URLs of pages that wait; links of more are not followed again.
const MAX_BYTES: usize = 4 << 20;

/// A stored page whose links are to be followed again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// The URL that answered.
    pub(super) url: String,
    /// Links from the seed.
    pub(super) distance: u8,
    /// Whether its links were taken before, if only in part: what is left out of them by hooks, and of what
    /// hooks add, counts already.
    pub(super) is_taken: bool,
}

/// Pages that wait, in order.
#[derive(Debug, Default)]
pub(super) struct Pages {
    waiting: VecDeque<Page>,
    /// Bytes of their URLs.
    bytes: usize,
}

impl Pages {
    /// Adds a page as the last one, if there is room.
    pub(super) fn put(&mut self, page: Page) {
        if self.bytes + page.url.len() <= MAX_BYTES {
            self.bytes += page.url.len();
            self.waiting.push_back(page);
        }
    }

    /// Takes the first page out.
    fn pop(&mut self) -> Option<Page> {
        let page = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(page.url.len());
        Some(page)
    }

    /// Puts pages before the others.
    fn put_before(&mut self, mut first: Self) {
        let last = std::mem::take(&mut self.waiting);
        last.into_iter().for_each(|page| first.put(page));
        *self = first;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Crawler {
    /// Whether there are pages whose links are to be followed again.
    pub(super) fn has_more_links(&self) -> bool {
        !self.nearer.is_empty() || !self.partly.is_empty()
    }

    /// Follows the links of pages that turned out to be nearer to the seed; of those after them for
    /// which there was no room before others had failed. What the run has no use for now, waits.
    pub(super) async fn follow_again(&mut self) -> anyhow::Result<()> {
        let are_nearer = !self.nearer.is_empty();
        // Pages that are cut again, or are found nearer meanwhile, wait for the next time.
        let mut pages = std::mem::take(self.pages_again(are_nearer));
        while self.goes_on()
            && let Some(page) = pages.pop()
        {
            self.follow_page_again(&page).await?;
        }
        self.pages_again(are_nearer).put_before(pages);
        Ok(())
    }

    fn pages_again(&mut self, are_nearer: bool) -> &mut Pages {
        if are_nearer {
            &mut self.nearer
        } else {
            &mut self.partly
        }
    }

    /// Whether the run goes on and can use more URLs.
    fn goes_on(&mut self) -> bool {
        self.age();
        *self.handle.fate.borrow() == Fate::Going
            && self.broken.is_none()
            && !self.is_full()
            && !self.has_enough()
    }

    async fn follow_page_again(&mut self, page: &Page) -> anyhow::Result<()> {
        let shared = Arc::clone(&self.shared);
        let Some(url) = Resolved::parse(&page.url) else {
            return Ok(());
        };
        let key = key_of(&url, shared.rules);
        let (lease, store) = (shared.lease, &shared.crawls.store);
        let Some(row) = store.previous_page(lease.project, lease.run, &key).await? else {
            return Ok(());
        };
        let stored = unpack_links(&row.links)?;
        let links = follow::read(&stored);
        let scope = shared.scope.load_full();
        let (links, found, _) = follow::judge_apart(&shared, scope, links).await?;
        // A page that another URL redirects to may be known by that URL alone.
        let nearest = self.seen.get(&key_hash(&key));
        let distance = nearest.map_or(page.distance, |nearest| page.distance.min(*nearest));
        let distance = u32::from(distance);
        let visit = Visit {
            url: row.final_url,
            status: row.status,
            depth: distance,
            attempts: 0,
        };
        let (mut hooked, report) = hooks::page::judge_again(&shared, visit, &links, &found).await;
        hooked.is_again = page.is_taken;
        let mut item = self.item();
        item.notes = self.take_report(report);
        for (hash, _) in &found {
            self.unskip_link(*hash);
        }
        self.discover(
            &page.url,
            &links,
            &found,
            Some(&hooked),
            distance,
            &mut item.discovered,
        );
        self.send(item).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str, distance: u8) -> Page {
        Page {
            url: url.to_owned(),
            distance,
            is_taken: true,
        }
    }

    #[test]
    fn pages_that_go_back_come_before_those_that_came_meanwhile() {
        let mut pages = Pages::default();
        for (url, distance) in [("a", 0), ("b", 3), ("c", 2)] {
            pages.put(page(url, distance));
        }
        let mut taken = std::mem::take(&mut pages);
        assert_eq!(taken.pop(), Some(page("a", 0)));
        pages.put(page("a", 0));
        pages.put_before(taken);
        let order: Vec<Page> = std::iter::from_fn(|| pages.pop()).collect();
        assert_eq!(order, [page("b", 3), page("c", 2), page("a", 0)]);
        assert!(pages.is_empty() && pages.bytes == 0);
    }

    #[test]
    fn as_many_pages_wait_as_their_urls_have_room() {
        let mut pages = Pages::default();
        let long = "x".repeat(MAX_BYTES / 4);
        for _ in 0..6 {
            pages.put(page(&long, 1));
        }
        assert_eq!(pages.waiting.len(), 4);
        assert!(pages.pop().is_some());
        pages.put(page("short", 1));
        assert_eq!(pages.waiting.len(), 4);
    }
}

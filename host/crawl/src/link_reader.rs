//! Reads a run's links in order, from any offset.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use moka::sync::Cache;
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_store::crawl::{PackedLinks, StoredLink, slice_links};
use orbweaver_store::{Store, StoreError};
use parking_lot::Mutex;

use orbweaver_pipeline::{ScanError, blocking_of};

/// Pages whose links are read at a time.
const PAGES: u32 = 100;
/// Maximum bytes of these links in stored form.
const PACKED_BYTES: u64 = 4 << 20;
/// Maximum number of links returned at a time.
const PIECE: usize = 10_000;
/// Maximum bytes of these links.
const PIECE_BYTES: usize = 4 << 20;
/// About the bytes of a link, of those that are passed, too.
const LINK_BYTES: usize = 64;
/// Links between two remembered positions, if pages have many.
const PLACE_LINKS: u64 = 10_000;
/// Runs whose positions are remembered.
const RUNS: u64 = 1_000;

/// Remembered positions in runs' links: how many links come before a page. Pages are only
/// appended, so positions stay valid; a forgotten one costs only time.
#[derive(Clone, Debug)]
pub struct Places(Cache<RunId, Arc<Mutex<BTreeMap<u64, PageId>>>>);

impl Default for Places {
    fn default() -> Self {
        Self(Cache::new(RUNS))
    }
}

impl Places {
    fn places(&self, run: RunId) -> Arc<Mutex<BTreeMap<u64, PageId>>> {
        self.0.get_with(run, Arc::default)
    }
}

/// A link and the page that has it.
#[derive(Clone, Debug)]
pub struct FoundLink {
    /// The page.
    pub from: PageId,
    /// The link.
    pub link: StoredLink,
}

/// Reads a run's links in pieces. Only one piece and the packed rows that it comes from are
/// in memory.
#[derive(Debug)]
pub struct LinkReader {
    store: Store,
    places: Places,
    project: ProjectId,
    run: RunId,
    /// Only the links of this page.
    only: Option<PageId>,
    /// The next page to read.
    next: PageId,
    /// Rows that were read but not finished.
    rows: VecDeque<PackedLinks>,
    /// Links of the first row that were passed.
    in_row: usize,
    /// Links passed.
    before: u64,
    /// Links still to be skipped.
    skip: u64,
    /// Pages and links since the last remembered position.
    since_place: (u32, u64),
    /// No more rows to read.
    ended: bool,
}

impl LinkReader {
    /// Reads the links of all pages, or of one, after skipping `offset` links.
    pub fn new(
        store: &Store,
        places: &Places,
        project: ProjectId,
        run: RunId,
        only: Option<PageId>,
        offset: u64,
    ) -> Self {
        let (before, next) = match only {
            Some(page) => (0, page),
            None => places
                .places(run)
                .lock()
                .range(..=offset)
                .next_back()
                .map_or((0, PageId(0)), |(before, page)| (*before, *page)),
        };
        Self {
            store: store.clone(),
            places: places.clone(),
            project,
            run,
            only,
            next,
            rows: VecDeque::new(),
            in_row: 0,
            before,
            skip: offset - before.min(offset),
            since_place: (0, 0),
            ended: false,
        }
    }

    /// The next links: at least one and at most `most`, or none at the end.
    ///
    /// # Errors
    /// If the database fails, or a row is damaged.
    #[crate::boxed]
    pub async fn read(&mut self, most: usize) -> Result<Vec<FoundLink>, ScanError> {
        loop {
            if self.rows.is_empty() {
                if self.ended {
                    return Ok(Vec::new());
                }
                self.load().await?;
            }
            let piece = LinkBatch {
                rows: std::mem::take(&mut self.rows),
                in_row: self.in_row,
                skip: self.skip,
                passed: 0,
                found: Vec::new(),
            };
            let most = most.clamp(1, PIECE);
            let piece = blocking_of(piece.work(most), move || piece.fill(most)).await??;
            self.rows = piece.rows;
            self.in_row = piece.in_row;
            self.skip = piece.skip;
            self.before += piece.passed;
            self.since_place.1 += piece.passed;
            if self.rows.is_empty() {
                self.remember();
            }
            if !piece.found.is_empty() {
                return Ok(piece.found);
            }
        }
    }

    /// Remembers the position of the next page's links at intervals.
    fn remember(&mut self) {
        let (pages, links) = self.since_place;
        if self.only.is_none() && !self.ended && (pages >= PAGES || links >= PLACE_LINKS) {
            let places = self.places.places(self.run);
            places.lock().insert(self.before, self.next);
            self.since_place = (0, 0);
        }
    }

    async fn load(&mut self) -> Result<(), StoreError> {
        let store = &self.store;
        if let Some(page) = self.only {
            self.ended = true;
            let row = store.page_links(self.project, self.run, page).await?;
            self.rows.extend(row);
            return Ok(());
        }
        let links = store
            .run_links(self.project, self.run, self.next, PAGES, PACKED_BYTES)
            .await?;
        match links.rows.last() {
            Some(last) if links.more => self.next = PageId(last.page.get() + 1),
            _ => self.ended = true,
        }
        self.since_place.0 += u32::try_from(links.rows.len()).unwrap_or(u32::MAX);
        self.rows.extend(links.rows);
        Ok(())
    }
}

/// Links of some rows.
struct LinkBatch {
    rows: VecDeque<PackedLinks>,
    in_row: usize,
    skip: u64,
    /// Links passed, skipped or returned.
    passed: u64,
    found: Vec<FoundLink>,
}

impl LinkBatch {
    /// About the bytes that [`fill`](Self::fill) reads: a row is read from its beginning each time.
    fn work(&self, most: usize) -> usize {
        let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
        let links = most.saturating_add(self.in_row).saturating_add(skip);
        links.saturating_mul(LINK_BYTES)
    }

    /// Collects up to `most` links, and stops once they have [`PIECE_BYTES`]; finished rows are
    /// dropped.
    fn fill(mut self, most: usize) -> Result<Self, StoreError> {
        let mut bytes = 0;
        while let Some(row) = self.rows.front() {
            let (room, left) = (most - self.found.len(), PIECE_BYTES.saturating_sub(bytes));
            if room == 0 || left == 0 {
                break;
            }
            let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
            let slice = slice_links(&row.links, self.in_row.saturating_add(skip), room, left)?;
            let passed = slice.passed.saturating_sub(self.in_row);
            self.passed += passed as u64;
            self.skip -= self.skip.min((passed - slice.links.len()) as u64);
            for link in slice.links {
                bytes += link.to_url.len() + link.anchor.len() + link.rel.len();
                self.found.push(FoundLink {
                    from: row.page,
                    link,
                });
            }
            if slice.ended {
                self.rows.pop_front();
                self.in_row = 0;
            } else {
                self.in_row = slice.passed;
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_store::crawl::pack_links;

    use super::*;

    fn row(page: i64, links: usize, length: usize) -> PackedLinks {
        let to = |n| format!("https://e.org/{page}/{n}/{}", "x".repeat(length));
        let urls: Vec<String> = (0..links).map(to).collect();
        PackedLinks {
            page: PageId(page),
            links: pack_links(urls.iter().map(|url| (url.as_str(), "", "", false))),
        }
    }

    fn piece(rows: impl IntoIterator<Item = PackedLinks>, skip: u64) -> LinkBatch {
        LinkBatch {
            rows: rows.into_iter().collect(),
            in_row: 0,
            skip,
            passed: 0,
            found: Vec::new(),
        }
    }

    #[test]
    fn pieces_joined_are_all_links_after_the_skipped_ones() {
        for (skip, most) in [(0, 1), (0, 7), (3, 2), (5, 100), (12, 3), (14, 1), (99, 1)] {
            let rows = [row(1, 5, 9), row(2, 0, 9), row(3, 8, 9), row(4, 1, 9)];
            let mut rest = piece(rows, skip);
            let (mut all, mut passed) = (Vec::new(), 0);
            while !rest.rows.is_empty() {
                let done = rest.fill(most).unwrap();
                assert!(done.found.len() <= most);
                all.extend(done.found.iter().map(|found| found.link.to_url.clone()));
                passed += done.passed;
                rest = LinkBatch {
                    passed: 0,
                    found: Vec::new(),
                    ..done
                };
            }
            assert_eq!((passed, rest.skip), (14, skip.saturating_sub(14)));
            assert_eq!(all.len() as u64, 14_u64.saturating_sub(skip));
            assert!(
                all.last()
                    .is_none_or(|url| url.starts_with("https://e.org/4/0/"))
            );
        }
    }

    #[test]
    fn many_links_and_those_far_behind_in_a_row_are_long_work() {
        let far = LinkBatch {
            in_row: 100_000,
            ..piece([], 0)
        };
        let (short, long) = (64 << 10, 512 << 10);
        assert!(piece([], 0).work(100) < short && piece([], 100).work(100) < short);
        for work in [
            piece([], 0).work(PIECE),
            piece([], 100_000).work(1),
            far.work(1),
        ] {
            assert!(work > long, "{work}");
        }
    }

    /// A page's 60,000 links take 60 MB; only the requested ones are kept in memory.
    #[test]
    fn a_piece_is_limited_in_bytes() {
        let rows = || (1..=3).map(|page| row(page, 20_000, 1_000));
        let few = piece(rows(), 100).fill(10).unwrap();
        assert_eq!((few.found.len(), few.in_row), (10, 110));
        let many = piece(rows(), 0).fill(PIECE).unwrap();
        let bytes: usize = many.found.iter().map(|found| found.link.to_url.len()).sum();
        assert!(
            (PIECE_BYTES..PIECE_BYTES + 2_000).contains(&bytes),
            "{bytes}"
        );
    }
}

//! A run's links in order, from any place on.

use std::collections::BTreeMap;
use std::sync::Arc;

use moka::sync::Cache;
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_store::crawl::{PackedLinks, StoredLink, count_links, unpack_links};
use orbweaver_store::{Store, StoreError};
use parking_lot::Mutex;

use orbweaver_pipeline::{ScanError, blocking};

/// Pages whose links are read at a time.
const PAGES: u32 = 100;
/// Runs whose places are remembered.
const RUNS: u64 = 1_000;

/// Where in a run links stand: how many come before a page. Pages only ever follow, so what
/// is known stays right; forgetting it costs a longer way only.
#[derive(Clone, Debug)]
pub struct Places(Cache<RunId, Arc<Mutex<BTreeMap<u64, PageId>>>>);

impl Default for Places {
    fn default() -> Self {
        Self(Cache::new(RUNS))
    }
}

impl Places {
    fn of(&self, run: RunId) -> Arc<Mutex<BTreeMap<u64, PageId>>> {
        self.0.get_with(run, Arc::default)
    }
}

/// A link and the page it is on.
#[derive(Clone, Debug)]
pub struct FoundLink {
    /// The page.
    pub from: PageId,
    /// The link.
    pub link: StoredLink,
}

/// Reads a run's links piece by piece.
#[derive(Debug)]
pub struct LinkReader {
    store: Store,
    places: Places,
    project: ProjectId,
    run: RunId,
    /// Only this page's.
    only: Option<PageId>,
    /// The next page to read.
    next: PageId,
    /// Links before it.
    before: u64,
    /// Links still to be left out.
    skip: u64,
    ended: bool,
}

impl LinkReader {
    /// Of all pages, or of one, after leaving out `offset` links.
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
                .of(run)
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
            before,
            skip: offset - before.min(offset),
            ended: false,
        }
    }

    /// The next links, at least one; none at the end.
    ///
    /// # Errors
    /// When the database fails, or a row is damaged.
    pub async fn read(&mut self) -> Result<Vec<FoundLink>, ScanError> {
        while !self.ended {
            let rows = self.rows().await?;
            let skip = self.skip;
            let (found, total, skipped) = blocking(move || unpack(&rows, skip)).await??;
            self.skip -= skipped;
            self.before += total;
            if self.only.is_none() && !self.ended {
                self.places
                    .of(self.run)
                    .lock()
                    .insert(self.before, self.next);
            }
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    async fn rows(&mut self) -> Result<Vec<PackedLinks>, StoreError> {
        let store = &self.store;
        if let Some(page) = self.only {
            self.ended = true;
            let row = store.page_links(self.project, self.run, page).await?;
            return Ok(row.into_iter().collect());
        }
        let rows = store
            .run_links(self.project, self.run, self.next, PAGES)
            .await?;
        match rows.last() {
            Some(last) if rows.len() == PAGES as usize => self.next = PageId(last.page.get() + 1),
            _ => self.ended = true,
        }
        Ok(rows)
    }
}

/// Links after the first `skip`, how many there are in all, and how many were left out.
fn unpack(rows: &[PackedLinks], skip: u64) -> Result<(Vec<FoundLink>, u64, u64), StoreError> {
    let (mut found, mut total, mut left) = (Vec::new(), 0, skip);
    for row in rows {
        if left > 0 {
            let count = count_links(&row.links)? as u64;
            if count <= left {
                left -= count;
                total += count;
                continue;
            }
        }
        let links = unpack_links(&row.links)?;
        total += links.len() as u64;
        let rest = links
            .into_iter()
            .skip(usize::try_from(left).unwrap_or(usize::MAX));
        found.extend(rest.map(|link| FoundLink {
            from: row.page,
            link,
        }));
        left = 0;
    }
    Ok((found, total, skip - left))
}

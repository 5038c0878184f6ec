//! Resumes a run from the state that its earlier workers have stored.

use std::sync::Arc;

use orbweaver_core::ids::PageId;
use orbweaver_core::key_hash::key_hash;
use orbweaver_store::crawl::{Lease, Run, SkipReason, unpack_targets};
use orbweaver_urls::Resolved;

use super::again;
use super::discover::depth;
use super::state::Crawler;
use crate::frontier::Seen;
use crate::hooks::report::Noted;
use crate::spec::SeedKind;

/// Rows read at once when a run is taken up.
const CHUNK: u32 = 512;
/// Failed sitemaps read at once.
const SITEMAPS: u32 = 2_000;

impl Crawler {
    /// Takes up what earlier workers have left.
    pub(super) async fn resume(&mut self, stored: &Run) -> anyhow::Result<()> {
        let shared = Arc::clone(&self.shared);
        let Lease { project, run, .. } = shared.lease;
        shared.crawls.store.close_parts(project, run).await?;
        let mut after = -1;
        loop {
            let rows = shared
                .crawls
                .store
                .frontier_known(project, run, after, CHUNK)
                .await?;
            let Some(last) = rows.last() else { break };
            after = last.seq;
            for row in rows {
                self.seen.insert(row.key_hash, depth(row.depth));
                shared.hooks.know(row.key_hash);
                if !shared.spec.list
                    && let Some(url) = Resolved::parse(&row.url)
                {
                    self.traps.admit(&url);
                }
                self.next_seq = row.seq + 1;
                self.pending += u64::from(row.queued);
                if row.queued {
                    self.window.resume_at(row.seq);
                }
                if row.done {
                    let mut claims = shared.claims.lock();
                    claims.insert(row.key_hash, row.key_hash);
                    if let Some(target) = row.redirect_to {
                        claims.entry(target).or_insert(row.key_hash);
                    }
                }
            }
        }
        if self.next_seq > 0 && self.follows_links() {
            self.take_up_distances().await?;
        }
        if self.next_seq > 0 && self.pending == 0 && self.rows == 0 && !shared.spec.list {
            self.failure = Some("the seed could not be fetched".to_owned());
        }
        if self.next_seq > 0 {
            let notes = shared.crawls.store.count_run_notes(run).await?;
            self.noted = Noted::resumed(notes);
        }
        {
            let mut progress = self.handle.progress.lock();
            progress.queued = self.pending;
            // Also what is not in the frontier: refused URLs of a list, and sitemaps.
            progress.failed = stored.error_count;
            progress.fetched = self.rows.saturating_sub(progress.dropped);
        }
        if shared.spec.seed_kind == SeedKind::Sitemap && !self.notes.sitemaps_read {
            self.read_sitemaps_again().await?;
        }
        if shared.crawls.store.is_shared() {
            self.resume_parts().await?;
        }
        // An earlier worker may have stopped between the first page and these files.
        if self.rows > 0 && !shared.spec.list && stored.ai_bot_policy.is_none() {
            let site = self.notes.site.as_deref().and_then(Resolved::parse);
            let site = site.unwrap_or_else(|| shared.seed.url().clone());
            self.look_at_site(&site);
        }
        Ok(())
    }

    /// Prepares for sitemaps that an earlier worker has read in part, and that are now read from the
    /// first one on: what it left out is counted again, and what it listed as failed is known.
    async fn read_sitemaps_again(&mut self) -> anyhow::Result<()> {
        let Lease { project, run, .. } = self.shared.lease;
        let mut after = i64::MIN;
        // Those of the frontier have no negative places.
        while after < 0 {
            let store = &self.shared.crawls.store;
            let failed = store.run_errors(project, run, after, 0, SITEMAPS).await?;
            let Some(last) = failed.last() else { break };
            after = last.seq;
            let failed = failed.iter().take_while(|failed| failed.seq < 0);
            let keys = failed.map(|failed| key_hash(&failed.url));
            self.failed_sitemaps.extend(keys);
        }
        let handle = Arc::clone(&self.handle);
        let mut progress = handle.progress.lock();
        let skipped = std::mem::take(&mut self.notes.skipped);
        progress.skipped.retain(|reason, count| {
            let listed = skipped.get(reason.as_str()).copied().unwrap_or_default();
            *count = count.saturating_sub(listed);
            *count > 0
        });
        if !skipped.is_empty() {
            self.note();
        }
        Ok(())
    }

    /// Learns which URLs were found nearer to the seed after they had been discovered: the frontier
    /// does not say, but the links of the stored pages do. Pages whose links are within reach only
    /// now are noted, those whose links may have been taken only in part, and the links that were skipped.
    async fn take_up_distances(&mut self) -> anyhow::Result<()> {
        loop {
            // The pages of this round, with the distances by which their links were measured.
            let mut measured = Seen::default();
            let (mut is_stable, mut after) = (true, PageId(0));
            self.nearer.clear();
            self.partly.clear();
            self.skipped_links.clear();
            loop {
                let Lease { project, run, .. } = self.shared.lease;
                let store = &self.shared.crawls.store;
                let pages = store.linked_pages(project, run, after).await?;
                let Some(last) = pages.last() else { break };
                after = last.page;
                for page in pages {
                    let fetched_at = depth(page.depth);
                    let nearest = self.seen.get(&page.key_hash);
                    let distance = nearest.map_or(fetched_at, |nearest| fetched_at.min(*nearest));
                    measured.insert(page.key_hash, distance);
                    let next = distance.saturating_add(1);
                    let mut leads_on = false;
                    // The reasons its links were skipped for; links that a hook left out are counted apart.
                    let reason = match u32::from(fetched_at) < self.shared.spec.depth {
                        true if self.shared.hooks.is_empty() => Some(SkipReason::Budget),
                        true => None,
                        false => Some(SkipReason::Depth),
                    };
                    for target in unpack_targets(&page.targets) {
                        match self.seen.get_mut(&target) {
                            Some(known) if *known > next => {
                                *known = next;
                                is_stable &= measured.get(&target).is_none_or(|at| *at <= next);
                            }
                            Some(_) => {}
                            None => {
                                leads_on = true;
                                if let Some(reason) = reason {
                                    self.skipped_links.note(target, reason);
                                }
                            }
                        }
                    }
                    if !leads_on || u32::from(next) > self.shared.spec.depth {
                        continue;
                    }
                    let again = again::Page {
                        url: page.url,
                        distance,
                        is_taken: u32::from(fetched_at) < self.shared.spec.depth,
                    };
                    if distance < fetched_at {
                        self.nearer.put(again);
                    } else if self.notes.was_cut {
                        self.partly.put(again);
                    }
                }
            }
            // Each round is right one link farther from the seed at least.
            if is_stable {
                return Ok(());
            }
        }
    }
}

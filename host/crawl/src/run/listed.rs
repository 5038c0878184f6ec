//! What a run takes of the sitemaps that it begins with.

use std::sync::Arc;

use orbweaver_core::key_hash::key_hash;
use orbweaver_core::page::{Link, Links};
use orbweaver_engine::Visit;
use orbweaver_store::crawl::{FailedUrl, SkipReason, UNREADABLE_SITEMAP};
use orbweaver_urls::Resolved;
use tokio::sync::mpsc::error::TryRecvError;

use super::state::Crawler;
use crate::commit::CommitItem;
use crate::follow::{self, JudgedUrls};
use crate::hooks;
use crate::hooks::verdict::Hooked;
use crate::seed::{FailedSitemap, Listed};

impl Crawler {
    /// Whether the run takes more of what sitemaps list. While as many URLs wait as it can use, no
    /// more are read; those that fail make room.
    pub(super) fn wants_sitemaps(&self) -> bool {
        let Some(sitemaps) = &self.sitemaps else {
            return false;
        };
        let wants = !self.is_full() && !self.has_enough();
        let change = |known: &mut bool| std::mem::replace(known, wants) != wants;
        sitemaps.wanted.send_if_modified(change);
        wants
    }

    /// Takes some of what a sitemap lists; `None` at the end of them all.
    pub(super) async fn take_sitemap(&mut self, more: Option<Listed>) {
        let urls = match more {
            Some(Listed::Urls(urls)) => urls,
            Some(Listed::Site(site)) => {
                self.widen_to(&site);
                return;
            }
            Some(Listed::Failed(failed)) => return self.note_sitemap(failed).await,
            None => return self.end_sitemaps().await,
        };
        let mut item = self.item();
        let JudgedUrls {
            urls,
            mut listed,
            mut left_out,
        } = match follow::judge_listed(&self.shared, urls).await {
            Ok(judged) => judged,
            Err(error) => {
                self.failure = Some(error.to_string());
                return;
            }
        };
        listed.retain(|(_, hash, _)| !self.seen.contains_key(hash));
        let mut judging = self.judging();
        self.robots_steps = 0;
        let hooked = self.judge_listed(&urls, &listed, &mut item).await;
        for (url, hash, index) in listed {
            if self.seen.contains_key(&hash) {
                continue;
            }
            let mut priority = 0;
            if let Some(judged) = hooked.link(index) {
                if judged.skipped.is_some() {
                    continue;
                }
                if judged.is_changed {
                    let found = &mut item.discovered;
                    left_out.extend(self.admit_changed(judged, 0, found, &mut judging));
                    continue;
                }
                priority = judged.priority;
            }
            let to = url.without_fragment().to_owned();
            left_out.extend(self.admit(&url, to, hash, (0, priority), &mut item.discovered));
        }
        for judged in &hooked.added {
            let found = &mut item.discovered;
            left_out.extend(self.admit_changed(judged, 0, found, &mut judging));
        }
        self.skip_listed(&left_out, hooked.skipped);
        self.send(item).await;
    }

    /// Lets hooks judge what a sitemap lists.
    async fn judge_listed(
        &mut self,
        urls: &[String],
        listed: &[(Resolved, u64, u32)],
        item: &mut CommitItem,
    ) -> Hooked {
        if self.shared.hooks.is_empty() {
            return Hooked::default();
        }
        let shared = Arc::clone(&self.shared);
        let links = urls.iter().map(|url| Link {
            to: url,
            anchor: "",
            rel: "",
            nofollow: false,
        });
        let links: Links = links.collect();
        let found: Vec<(u64, u32)> = listed
            .iter()
            .map(|(_, hash, index)| (*hash, *index))
            .collect();
        let visit = Visit {
            url: shared.spec.url.clone(),
            ..Visit::default()
        };
        let (hooked, report) = hooks::page::judge_again(&shared, visit, &links, &found).await;
        item.notes = self.take_report(report);
        hooked
    }

    /// Counts listed URLs that are left out, `by_hooks` of them by hooks.
    fn skip_listed(&mut self, left_out: &[SkipReason], by_hooks: u64) {
        let each = left_out.iter().map(|reason| (*reason, 1));
        let hooks = (by_hooks > 0).then_some((SkipReason::Hook, by_hooks));
        let mut counts = each.chain(hooks).peekable();
        if counts.peek().is_none() {
            return;
        }
        let handle = Arc::clone(&self.handle);
        let mut progress = handle.progress.lock();
        for (reason, count) in counts {
            *progress.skipped.entry(reason).or_default() += count;
            let noted = &mut self.notes.skipped;
            *noted.entry(reason.as_str().to_owned()).or_default() += count;
        }
        self.note();
    }

    async fn end_sitemaps(&mut self) {
        if let Some(mut sitemaps) = self.sitemaps.take() {
            match (&mut sitemaps.task).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.failure = Some(format!("{error:#}")),
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
        let elsewhere = self.handle.progress.lock().skipped_for(SkipReason::Scope);
        if self.next_seq == 0 && elsewhere > 0 {
            self.failure.get_or_insert_with(|| {
                format!("the sitemaps list no URL of the seed's site, but {elsewhere} of others")
            });
        }
        self.notes.sitemaps_read = self.failure.is_none();
        self.note();
        let item = self.item();
        self.send(item).await;
    }

    /// Counts what sitemaps list beyond a run that is full, as far as it is known; at least one.
    pub(super) fn skip_unread(&mut self) {
        let Some(mut sitemaps) = self.sitemaps.take() else {
            return;
        };
        let mut unread = 0;
        loop {
            match sitemaps.found.try_recv() {
                Ok(Listed::Urls(urls)) => unread += urls.len() as u64,
                Ok(Listed::Site(_) | Listed::Failed(_)) => {}
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    unread = unread.max(1);
                    break;
                }
            }
        }
        self.skip(SkipReason::Budget, unread);
    }

    /// Lists a sitemap that could not be read, or only in part, and counts it if it gave no answer. It
    /// is not in the frontier: its place is before the first URL.
    async fn note_sitemap(&mut self, failed: FailedSitemap) {
        let FailedSitemap {
            url,
            kind,
            message,
            attempts,
        } = failed;
        // An earlier worker may have listed it.
        if !self.failed_sitemaps.insert(key_hash(&url)) {
            return;
        }
        let is_unanswered = kind != UNREADABLE_SITEMAP;
        self.handle.progress.lock().failed += u64::from(is_unanswered);
        let failed = FailedUrl {
            seq: -i64::try_from(self.failed_sitemaps.len()).unwrap_or(i64::MAX),
            key_hash: Resolved::parse(&url).map_or(0, |url| self.hash(&url)),
            url,
            kind: kind.to_owned(),
            message,
            attempts,
            failed_at: self.shared.crawls.clock.now(),
        };
        let item = self.item();
        let errors = vec![failed];
        self.send(CommitItem { errors, ..item }).await;
    }
}

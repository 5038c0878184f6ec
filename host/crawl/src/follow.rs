//! Which links of a page are followed: nofollow, the run's scope and its patterns.

use std::sync::Arc;

use orbweaver_core::key_hash::key_hash;
use orbweaver_core::page::{Link, Links};
use orbweaver_pipeline::{ScanError, sized};
use orbweaver_store::crawl::{SkipReason, StoredLink, pack_targets};
use orbweaver_urls::{Resolved, key_into, key_of};

use crate::entry::Fetched;
use crate::scope::{Judging, Scope, Verdict};
use crate::shared::Shared;

/// Steps of matching patterns that the links of a page, or the URLs of a piece of a sitemap, may
/// take: about a tenth of a second. Ten thousand long links take a hundredth of it.
pub(crate) const MAX_STEPS: u64 = 64 << 20;

/// Links that are not followed, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Outside the scope.
    pub scope: u64,
    /// By nofollow or a pattern.
    pub excluded: u64,
    /// Not judged, because those before took all of [`MAX_STEPS`].
    pub budget: u64,
}

/// The links to follow: hash of the key, and index among the links.
pub(crate) type Found = Vec<(u64, u32)>;

/// The stored form of a page's links, as the page pass returns them.
pub(crate) fn read(stored: &[StoredLink]) -> Links {
    let links = stored.iter().map(|link| Link {
        to: &link.to_url,
        anchor: &link.anchor,
        rel: &link.rel,
        nofollow: link.nofollow,
    });
    links.collect()
}

/// Checks a page's links again with a scope that has changed since.
pub(crate) async fn judge_again(
    shared: &Arc<Shared>,
    fetched: &mut Fetched,
) -> Result<(), ScanError> {
    let links = std::mem::take(&mut fetched.links);
    let (links, found, left_out) = judge_apart(shared, shared.scope.load_full(), links).await?;
    fetched.links = links;
    fetched.row.targets = pack(&found);
    fetched.found = found;
    fetched.left_out = left_out;
    Ok(())
}

/// As [`judge`], within a scope, and outside the threads that serve requests where it takes long.
pub(crate) async fn judge_apart(
    shared: &Arc<Shared>,
    scope: Arc<Scope>,
    links: Links,
) -> Result<(Links, Found, LeftOut), ScanError> {
    let shared = Arc::clone(shared);
    sized(scope.work(links.text_bytes()), move || {
        let (found, left_out) = judge_within(&shared, scope, &links);
        (links, found, left_out)
    })
    .await
}

/// The links to follow, and how many are not.
pub(crate) fn judge(shared: &Shared, links: &Links) -> (Found, LeftOut) {
    judge_within(shared, shared.scope.load_full(), links)
}

/// As [`judge`], within another scope.
fn judge_within(shared: &Shared, scope: Arc<Scope>, links: &Links) -> (Found, LeftOut) {
    let mut found = Vec::with_capacity(links.len());
    let mut left_out = LeftOut::default();
    let mut judging = Judging::new(scope, MAX_STEPS);
    let (mut url, mut key) = (Resolved::default(), String::new());
    for (link, index) in links.iter().zip(0_u32..) {
        // Links are absolute; most are of the seed's site, which a prefix comparison shows.
        if !shared.seed.join_into(link.to, &mut url) {
            continue;
        }
        if link.nofollow && shared.spec.respect_nofollow {
            left_out.excluded += 1;
            continue;
        }
        match judging.judge(&url) {
            Some(Verdict::In) => {
                key_into(&url, shared.rules, &mut key);
                found.push((key_hash(&key), index));
            }
            Some(Verdict::Excluded) => left_out.excluded += 1,
            Some(Verdict::Out) => left_out.scope += 1,
            None => left_out.budget += 1,
        }
    }
    (found, left_out)
}

/// Some of what a sitemap lists.
pub(crate) struct JudgedUrls {
    /// All of it.
    pub urls: Vec<String>,
    /// What is in scope: with the hash of its key, and its index among all.
    pub listed: Vec<(Resolved, u64, u32)>,
    /// Why each of the others is left out.
    pub left_out: Vec<SkipReason>,
}

/// Which of a sitemap's URLs are in scope; found out as by [`judge_apart`].
pub(crate) async fn judge_listed(
    shared: &Arc<Shared>,
    urls: Vec<String>,
) -> Result<JudgedUrls, ScanError> {
    let (scope, rules) = (shared.scope.load_full(), shared.rules);
    let bytes = urls.iter().map(String::len).sum();
    sized(scope.work(bytes), move || {
        let (mut listed, mut left_out) = (Vec::new(), Vec::new());
        let mut judging = Judging::new(scope, MAX_STEPS);
        for (url, index) in urls.iter().zip(0_u32..) {
            let Some(url) = Resolved::parse(url) else {
                continue;
            };
            match judging.judge(&url) {
                None => left_out.push(SkipReason::Budget),
                Some(Verdict::Out) => left_out.push(SkipReason::Scope),
                Some(Verdict::Excluded) => left_out.push(SkipReason::Excluded),
                Some(Verdict::In) => {
                    let hash = key_hash(&key_of(&url, rules));
                    listed.push((url, hash, index));
                }
            }
        }
        JudgedUrls {
            urls,
            listed,
            left_out,
        }
    })
    .await
}

/// The URLs to follow, as stored in a page row.
pub(crate) fn pack(found: &[(u64, u32)]) -> Vec<u8> {
    let targets: Vec<u64> = found.iter().map(|(hash, _)| *hash).collect();
    pack_targets(&targets)
}

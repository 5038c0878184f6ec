//! Which links of a page are followed: nofollow, the run's scope and its patterns.

use orbweaver_core::key_hash::key_hash;
use orbweaver_core::page::{Link, Links};
use orbweaver_store::crawl::{StoredLink, pack_targets};
use orbweaver_urls::{Resolved, key_into};

use crate::entry::Fetched;
use crate::scope::{Scope, Verdict};
use crate::shared::Shared;

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

/// The links of a stored page, and which of them are in scope.
pub(crate) fn stored_links(shared: &Shared, stored: &[StoredLink]) -> (Links, Vec<(u64, u32)>) {
    let links = read(stored);
    let (found, _) = judge(shared, &links);
    (links, found)
}

/// Checks a page's links again with a scope that has changed since.
pub(crate) fn judge_again(shared: &Shared, fetched: &mut Fetched) {
    let (found, [out_of_scope, excluded]) = judge(shared, &fetched.links);
    fetched.row.targets = pack(&found);
    fetched.found = found;
    fetched.out_of_scope = out_of_scope;
    fetched.excluded = excluded;
}

/// The links to follow (hash of the key, index in `links`), the number of links outside the
/// scope, and the number left out by nofollow or a pattern.
pub(crate) fn judge(shared: &Shared, links: &Links) -> (Vec<(u64, u32)>, [u64; 2]) {
    judge_within(shared, &shared.scope.load(), links)
}

/// As [`judge`], within another scope.
pub(crate) fn judge_within(
    shared: &Shared,
    scope: &Scope,
    links: &Links,
) -> (Vec<(u64, u32)>, [u64; 2]) {
    let mut found = Vec::with_capacity(links.len());
    let (mut out, mut excluded) = (0, 0);
    let (mut url, mut key) = (Resolved::default(), String::new());
    for (link, index) in links.iter().zip(0_u32..) {
        // Links are absolute; most are of the seed's site, which a prefix comparison shows.
        if !shared.seed.join_into(link.to, &mut url) {
            continue;
        }
        if link.nofollow && shared.spec.respect_nofollow {
            excluded += 1;
            continue;
        }
        match scope.judge(&url) {
            Verdict::In => {
                key_into(&url, shared.rules, &mut key);
                found.push((key_hash(&key), index));
            }
            Verdict::Excluded => excluded += 1,
            Verdict::Out => out += 1,
        }
    }
    (found, [out, excluded])
}

/// The URLs to follow, as stored in a page row.
pub(crate) fn pack(found: &[(u64, u32)]) -> Vec<u8> {
    let targets: Vec<u64> = found.iter().map(|(hash, _)| *hash).collect();
    pack_targets(&targets)
}

//! A page's links as one compact row.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// Bytes that one page's links may unpack to: 100,000 links of the longest URLs that
/// servers take would be more, and are cut before they are stored.
const MAX_BYTES: usize = 64 << 20;
/// zstd's fastest regular level: a row is written once per page and rarely read.
const LEVEL: i32 = 1;

/// A link of a stored page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLink {
    /// Where it leads: absolute, as written.
    pub to_url: String,
    /// What it says.
    pub anchor: String,
    /// Its `rel`, white space collapsed.
    pub rel: String,
    /// The page does not vouch for it.
    pub nofollow: bool,
}

/// As in the row: `[to_url, anchor, rel, 0 or 1]`.
#[derive(Serialize, Deserialize)]
struct Packed<T>(T, T, T, u8);

thread_local! {
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

/// Packs a page's links: target, anchor, rel, nofollow. Links beyond 64 MiB are left out.
pub fn pack_links<'a>(links: impl Iterator<Item = (&'a str, &'a str, &'a str, bool)>) -> Vec<u8> {
    let mut json = Vec::with_capacity(4_096);
    json.push(b'[');
    for (to, anchor, rel, nofollow) in links {
        let whole = json.len();
        if whole > 1 {
            json.push(b',');
        }
        let link = Packed(to, anchor, rel, u8::from(nofollow));
        if serde_json::to_writer(&mut json, &link).is_err() || json.len() >= MAX_BYTES {
            json.truncate(whole);
            break;
        }
    }
    json.push(b']');
    PACKER.with_borrow_mut(|packer| {
        if packer.is_none() {
            *packer = zstd::bulk::Compressor::new(LEVEL).ok();
        }
        packer
            .as_mut()
            .and_then(|packer| packer.compress(&json).ok())
            .unwrap_or_default()
    })
}

/// Unpacks a row. CPU-bound.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn unpack_links(row: &[u8]) -> Result<Vec<StoredLink>, StoreError> {
    let damaged = |error: &dyn std::fmt::Display| StoreError::Damaged(format!("links: {error}"));
    if row.is_empty() {
        return Ok(Vec::new());
    }
    let json = zstd::bulk::decompress(row, MAX_BYTES + 1).map_err(|error| damaged(&error))?;
    let links: Vec<Packed<String>> =
        serde_json::from_slice(&json).map_err(|error| damaged(&error))?;
    Ok(links
        .into_iter()
        .map(|Packed(to_url, anchor, rel, nofollow)| StoredLink {
            to_url,
            anchor,
            rel,
            nofollow: nofollow != 0,
        })
        .collect())
}

/// How many links a row has. CPU-bound.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn count_links(row: &[u8]) -> Result<usize, StoreError> {
    let damaged = |error: &dyn std::fmt::Display| StoreError::Damaged(format!("links: {error}"));
    if row.is_empty() {
        return Ok(0);
    }
    let json = zstd::bulk::decompress(row, MAX_BYTES + 1).map_err(|error| damaged(&error))?;
    let links: Vec<serde::de::IgnoredAny> =
        serde_json::from_slice(&json).map_err(|error| damaged(&error))?;
    Ok(links.len())
}

/// Packs hashes of targets.
pub fn pack_targets(targets: &[u64]) -> Vec<u8> {
    targets.iter().flat_map(|hash| hash.to_le_bytes()).collect()
}

/// Hashes of targets from a row.
pub fn unpack_targets(row: &[u8]) -> impl Iterator<Item = u64> {
    row.as_chunks::<8>()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_back_as_they_went() {
        let links = [
            ("https://e.org/\"x\"", "Zoë & co\n", "nofollow ugc", true),
            ("https://e.org/", "", "", false),
        ];
        let row = pack_links(links.into_iter());
        let unpacked = unpack_links(&row).unwrap();
        let back: Vec<_> = unpacked
            .iter()
            .map(|l| (&*l.to_url, &*l.anchor, &*l.rel, l.nofollow))
            .collect();
        assert_eq!(back, links);
        assert_eq!(unpack_links(&pack_links(std::iter::empty())).unwrap(), []);
        assert_eq!(unpack_links(b"").unwrap(), []);
        assert_eq!(count_links(&row).unwrap(), links.len());
        assert!(unpack_links(b"junk").is_err());
    }

    #[test]
    fn targets_come_back_as_they_went() {
        let targets = [0, 1, u64::MAX, 0x0102_0304_0506_0708];
        let row = pack_targets(&targets);
        assert_eq!(unpack_targets(&row).collect::<Vec<_>>(), targets);
    }
}

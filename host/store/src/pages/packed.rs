//! A page's links as one compact row.

use std::borrow::Cow;
use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use zstd::zstd_safe::get_frame_content_size;

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
    /// Its text.
    pub anchor: String,
    /// Its `rel`, white space collapsed.
    pub rel: String,
    /// Its `rel` has nofollow, ugc or sponsored.
    pub nofollow: bool,
}

/// As in the row: `[to_url, anchor, rel, 0 or 1]`.
#[derive(Serialize, Deserialize)]
struct Packed<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    u8,
);

/// A thread's decompressor and buffer: a graph of a run reads a hundred thousand rows.
struct Unpacker {
    context: zstd::bulk::Decompressor<'static>,
    json: Vec<u8>,
}

/// Bytes of an [`Unpacker`]'s buffer that are kept from one row to the next.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<Unpacker>> = const { RefCell::new(None) };
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
        let link = Packed(to.into(), anchor.into(), rel.into(), u8::from(nofollow));
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
    with_links(row, |links| {
        links
            .drain(..)
            .map(|Packed(to_url, anchor, rel, nofollow)| StoredLink {
                to_url: to_url.into_owned(),
                anchor: anchor.into_owned(),
                rel: rel.into_owned(),
                nofollow: nofollow != 0,
            })
            .collect()
    })
}

/// Hands every link of a row on without keeping it: target, anchor, nofollow. CPU-bound.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn each_link(
    row: &[u8],
    mut take: impl FnMut(Cow<'_, str>, Cow<'_, str>, bool),
) -> Result<(), StoreError> {
    with_links(row, |links| {
        for Packed(to, anchor, _, nofollow) in links.drain(..) {
            take(to, anchor, nofollow != 0);
        }
    })
}

/// How many links a row has. CPU-bound.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn count_links(row: &[u8]) -> Result<usize, StoreError> {
    if row.is_empty() {
        return Ok(0);
    }
    with_json(row, |json| {
        let links: Vec<serde::de::IgnoredAny> = serde_json::from_slice(json)?;
        Ok(links.len())
    })
}

fn with_links<T: Default>(
    row: &[u8],
    work: impl FnOnce(&mut Vec<Packed<'_>>) -> T,
) -> Result<T, StoreError> {
    if row.is_empty() {
        return Ok(T::default());
    }
    with_json(row, |json| {
        let mut links: Vec<Packed<'_>> = serde_json::from_slice(json)?;
        Ok(work(&mut links))
    })
}

fn with_json<T>(
    row: &[u8],
    work: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
) -> Result<T, StoreError> {
    let damaged = |error: &dyn std::fmt::Display| StoreError::Damaged(format!("links: {error}"));
    let bytes = get_frame_content_size(row)
        .ok()
        .flatten()
        .and_then(|bytes| usize::try_from(bytes).ok())
        .filter(|bytes| *bytes <= MAX_BYTES)
        .ok_or_else(|| damaged(&"no length, or one beyond the limit"))?;
    UNPACKER.with_borrow_mut(|unpacker| {
        if unpacker.is_none() {
            *unpacker = Some(Unpacker {
                context: zstd::bulk::Decompressor::new().map_err(|error| damaged(&error))?,
                json: Vec::new(),
            });
        }
        let Some(Unpacker { context, json }) = unpacker else {
            return Err(damaged(&"no decompressor"));
        };
        json.clear();
        json.reserve(bytes);
        let done = context.decompress_to_buffer(row, json);
        let done = done.map_err(|error| damaged(&error));
        let worked = done.and_then(|_| work(json).map_err(|error| damaged(&error)));
        if json.capacity() > KEPT_BYTES {
            *json = Vec::new();
        }
        worked
    })
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
        let mut each = Vec::new();
        each_link(&row, |to, anchor, nofollow| {
            each.push((to.into_owned(), anchor.into_owned(), nofollow));
        })
        .unwrap();
        let wanted = links.map(|(to, anchor, _, no)| (to.to_owned(), anchor.to_owned(), no));
        assert_eq!(each, wanted);
        let cut = row.get(..row.len() - 1).unwrap();
        assert!(unpack_links(cut).is_err());
        assert_eq!(unpack_links(&row).unwrap(), unpacked);
        assert!(unpack_links(b"junk").is_err());
    }

    #[test]
    fn targets_come_back_as_they_went() {
        let targets = [0, 1, u64::MAX, 0x0102_0304_0506_0708];
        let row = pack_targets(&targets);
        assert_eq!(unpack_targets(&row).collect::<Vec<_>>(), targets);
    }
}

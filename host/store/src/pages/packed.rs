//! A page's links as one compressed row.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::io::{BufReader, Read as _};

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize};
use zstd::zstd_safe::get_frame_content_size;

use crate::error::StoreError;

/// Most bytes of one page's links when decoded: 100,000 links of the longest usual URLs would
/// be more, and are cut before they are stored.
const MAX_BYTES: usize = 64 << 20;
/// zstd's fastest regular level: a row is written once per page and rarely read.
const LEVEL: i32 = 1;

/// A link of a stored page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLink {
    /// Target: absolute URL as written.
    pub to_url: String,
    /// Its text.
    pub anchor: String,
    /// Its `rel`, white space collapsed.
    pub rel: String,
    /// Whether its `rel` has nofollow, ugc or sponsored.
    pub nofollow: bool,
}

/// A link in the row: `[to_url, anchor, rel, 0 or 1]`.
#[derive(Serialize, Deserialize)]
struct Packed<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    u8,
);

/// A thread's decompressor and buffer: reading a run's graph decodes a hundred thousand rows.
struct Unpacker {
    context: zstd::bulk::Decompressor<'static>,
    json: Vec<u8>,
}

/// Largest row that is decoded at once, in an [`Unpacker`]'s buffer; a larger one is decoded in
/// pieces.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<Unpacker>> = const { RefCell::new(None) };
}

/// Compresses a page's links: target, anchor, rel, nofollow. Links beyond 64 MiB are dropped.
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

/// A part of a row's links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSlice {
    /// The links of the part.
    pub links: Vec<StoredLink>,
    /// Number of links of the row up to the part's end, including skipped ones.
    pub passed: usize,
    /// Whether the row has no more links.
    pub ended: bool,
}

/// Decodes a row. CPU-bound.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn unpack_links(row: &[u8]) -> Result<Vec<StoredLink>, StoreError> {
    slice_links(row, 0, usize::MAX, usize::MAX).map(|slice| slice.links)
}

/// Decodes a part of a row: after the first `skip` links at most `most`, and none after
/// `max_bytes` are reached. The rest of the row is not decoded. CPU-bound.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn slice_links(
    row: &[u8],
    skip: usize,
    most: usize,
    max_bytes: usize,
) -> Result<LinkSlice, StoreError> {
    let (mut links, mut bytes) = (Vec::new(), 0);
    let (passed, ended) = walk(row, skip, |Packed(to, anchor, rel, nofollow)| {
        bytes += to.len() + anchor.len() + rel.len();
        links.push(StoredLink {
            to_url: to.into_owned(),
            anchor: anchor.into_owned(),
            rel: rel.into_owned(),
            nofollow: nofollow != 0,
        });
        links.len() < most && bytes < max_bytes
    })?;
    Ok(LinkSlice {
        links,
        passed,
        ended,
    })
}

/// Passes every link of a row to a function: target, anchor, nofollow. CPU-bound.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn each_link(
    row: &[u8],
    mut take: impl FnMut(Cow<'_, str>, Cow<'_, str>, bool),
) -> Result<(), StoreError> {
    walk(row, 0, |Packed(to, anchor, _, nofollow)| {
        take(to, anchor, nofollow != 0);
        true
    })
    .map(drop)
}

/// Passes the links after the first `skip` to `take` while it returns true. Returns how many
/// links were read in all, and whether the row ended.
fn walk(
    row: &[u8],
    skip: usize,
    take: impl FnMut(Packed<'_>) -> bool,
) -> Result<(usize, bool), StoreError> {
    if row.is_empty() {
        return Ok((0, true));
    }
    let mut walk = Walk {
        skip,
        take,
        passed: 0,
        stopped: false,
    };
    let bytes = get_frame_content_size(row)
        .ok()
        .flatten()
        .and_then(|bytes| usize::try_from(bytes).ok())
        .filter(|bytes| *bytes <= MAX_BYTES)
        .ok_or_else(|| damaged(&"no length, or one beyond the limit"))?;
    let done = if bytes <= KEPT_BYTES {
        with_json(row, bytes, |json| {
            let mut json = serde_json::Deserializer::from_slice(json);
            json.deserialize_seq(&mut walk).and_then(|()| json.end())
        })
    } else {
        // Never completely in memory.
        let reader = zstd::Decoder::new(row).map_err(|error| damaged(&error))?;
        let reader = BufReader::new(reader.take(MAX_BYTES as u64));
        let mut json = serde_json::Deserializer::from_reader(reader);
        let read = json.deserialize_seq(&mut walk).and_then(|()| json.end());
        read.map_err(|error| damaged(&error))
    };
    match done {
        // The parser has no other way to stop early.
        Err(_) if walk.stopped => Ok((walk.passed, false)),
        Err(error) => Err(error),
        Ok(()) => Ok((walk.passed, true)),
    }
}

/// Visits links one after the other.
struct Walk<F> {
    skip: usize,
    take: F,
    passed: usize,
    stopped: bool,
}

impl<'de, F: FnMut(Packed<'_>) -> bool> Visitor<'de> for &mut Walk<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of links")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut links: A) -> Result<(), A::Error> {
        while self.passed < self.skip {
            if links.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
            self.passed += 1;
        }
        while let Some(link) = links.next_element::<Packed<'de>>()? {
            self.passed += 1;
            if !(self.take)(link) {
                self.stopped = true;
                return Err(serde::de::Error::custom("enough"));
            }
        }
        Ok(())
    }
}

fn damaged(error: &dyn fmt::Display) -> StoreError {
    StoreError::Damaged(format!("links: {error}"))
}

/// Decodes a row of known size into the thread's buffer.
fn with_json<T>(
    row: &[u8],
    bytes: usize,
    work: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
) -> Result<T, StoreError> {
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
        done.and_then(|_| work(json).map_err(|error| damaged(&error)))
    })
}

/// Encodes hashes of targets.
pub fn pack_targets(targets: &[u64]) -> Vec<u8> {
    targets.iter().flat_map(|hash| hash.to_le_bytes()).collect()
}

/// Decodes hashes of targets.
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
    fn decoded_links_equal_the_encoded_ones() {
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
    fn a_part_of_a_row_equals_that_part_of_the_whole_row() {
        // The second one is larger than what is decoded at once.
        for (count, length) in [(50, 20), (500, 5_000)] {
            let to = |n: usize| format!("https://e.org/{n}/{}", "x".repeat(length));
            let urls: Vec<String> = (0..count).map(to).collect();
            let row = pack_links(urls.iter().map(|url| (url.as_str(), "anchor", "", false)));
            let whole = unpack_links(&row).unwrap();
            assert_eq!(whole.len(), count);
            for (skip, most) in [(0, 1), (3, 7), (count - 2, 9), (count, 1), (count + 9, 1)] {
                let slice = slice_links(&row, skip, most, usize::MAX).unwrap();
                let end = (skip + most).min(count);
                assert_eq!(
                    slice.links,
                    whole.get(skip.min(end)..end).unwrap(),
                    "{skip}"
                );
                assert_eq!(
                    (slice.passed, slice.ended),
                    (end, skip + most > count),
                    "{skip}"
                );
            }
            // At least one link is returned, and no more once the bytes are reached.
            let slice = slice_links(&row, 5, 100, 1).unwrap();
            assert_eq!(
                (slice.links.len(), slice.passed, slice.ended),
                (1, 6, false)
            );
            let cut = row.get(..row.len() - 1).unwrap();
            assert!(slice_links(cut, count, 1, 1).is_err());
        }
    }

    #[test]
    fn decoded_targets_equal_the_encoded_ones() {
        let targets = [0, 1, u64::MAX, 0x0102_0304_0506_0708];
        let row = pack_targets(&targets);
        assert_eq!(unpack_targets(&row).collect::<Vec<_>>(), targets);
    }
}

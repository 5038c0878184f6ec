//! A body as the store keeps it: how it is encoded, packed and read again.

use std::fmt;
use std::io::Read as _;
use std::str::FromStr;

use bytes::Bytes;
use orbweaver_core::gunzip::gunzip;
use sha2::{Digest as _, Sha256};

use crate::error::StoreError;

/// How a stored body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEncoding {
    /// As it is.
    Identity,
    /// A gzip stream, as it was received.
    Gzip,
    /// A Brotli stream, as it was received.
    Brotli,
    /// A zstd stream: packed here, or as it was received.
    Zstd,
}

impl BodyEncoding {
    /// The word in the database, equal to the content coding's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for BodyEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for BodyEncoding {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "identity" => Ok(Self::Identity),
            "gzip" => Ok(Self::Gzip),
            "br" => Ok(Self::Brotli),
            "zstd" => Ok(Self::Zstd),
            _ => Err(format!("unknown body encoding `{word}`")),
        }
    }
}

/// An encoded body, as the database holds it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredBody {
    /// SHA-256 of the decoded body: a project stores each body once.
    pub hash: [u8; 32],
    /// Length of the decoded body.
    pub size: u64,
    /// Encoding of `bytes`.
    pub encoding: BodyEncoding,
    /// The encoded bytes.
    pub bytes: Bytes,
}

impl StoredBody {
    /// A body stored as it was received; `decoded` is its decoded form.
    pub fn received(decoded: &[u8], encoding: BodyEncoding, bytes: Bytes) -> Self {
        Self {
            hash: Sha256::digest(decoded).into(),
            size: decoded.len() as u64,
            encoding,
            bytes,
        }
    }

    /// Packs a decoded body with zstd at level 1. CPU-bound (about 3 ms a megabyte).
    pub fn pack(decoded: &[u8]) -> Self {
        let hash = Sha256::digest(decoded).into();
        let size = decoded.len() as u64;
        // Bodies that do not shrink (images, tiny pages) are kept as they are.
        match zstd::bulk::compress(decoded, 1) {
            Ok(packed) if packed.len() < decoded.len() => Self {
                hash,
                size,
                encoding: BodyEncoding::Zstd,
                bytes: packed.into(),
            },
            _ => Self {
                hash,
                size,
                encoding: BodyEncoding::Identity,
                bytes: Bytes::copy_from_slice(decoded),
            },
        }
    }

    /// The decoded body.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the bytes do not decode to `size` bytes.
    pub fn unpack(&self) -> Result<Vec<u8>, StoreError> {
        let damaged = |error: &dyn fmt::Display| StoreError::Damaged(format!("body: {error}"));
        let size = usize::try_from(self.size).unwrap_or(0);
        if self.encoding == BodyEncoding::Gzip
            && let Some(decoded) = gunzip(&self.bytes, size).filter(|all| all.len() == size)
        {
            return Ok(decoded);
        }
        // One byte more than stated shows a stream that is longer.
        let limit = self.size.saturating_add(1);
        let mut decoded = Vec::with_capacity(size);
        let bytes: &[u8] = &self.bytes;
        match self.encoding {
            BodyEncoding::Identity => bytes.take(limit).read_to_end(&mut decoded),
            BodyEncoding::Gzip => flate2::read::MultiGzDecoder::new(bytes)
                .take(limit)
                .read_to_end(&mut decoded),
            BodyEncoding::Brotli => brotli::Decompressor::new(bytes, 16_384)
                .take(limit)
                .read_to_end(&mut decoded),
            BodyEncoding::Zstd => zstd::stream::read::Decoder::with_buffer(bytes)
                .and_then(|decoder| decoder.take(limit).read_to_end(&mut decoded)),
        }
        .map_err(|error| damaged(&error))?;
        if decoded.len() as u64 != self.size {
            return Err(damaged(&"its length is not the stored one"));
        }
        Ok(decoded)
    }
}

impl fmt::Debug for StoredBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredBody")
            .field("size", &self.size)
            .field("encoding", &self.encoding)
            .field("stored", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpacked_body_equals_the_packed_one() {
        for body in [&b""[..], b"short", &[b'x'; 100_000]] {
            let packed = StoredBody::pack(body);
            assert_eq!(packed.unpack().unwrap(), body);
            assert!(packed.bytes.len() <= body.len());
        }
    }

    #[test]
    fn a_stream_longer_than_its_stored_size_is_damaged() {
        let mut packed = StoredBody::pack(&[b'x'; 100_000]);
        packed.size = 10;
        assert!(matches!(packed.unpack(), Err(StoreError::Damaged(_))));
    }
}

//! A segment: many bodies in one object, which is a WARC 1.1 file.
//!
//! Each body is one record of type `resource`:
//!
//! ```text
//! WARC/1.1
//! WARC-Type: resource
//! WARC-Record-ID: <urn:orbweaver:SEGMENT:NUMBER>
//! WARC-Date: 2026-01-31T12:00:00Z
//! WARC-Target-URI: urn:sha256:SHA-256 of the decoded body
//! WARC-Block-Digest: sha256:SHA-256 of the block
//! Content-Type: application/octet-stream
//! Orbweaver-Project: 1
//! Orbweaver-Encoding: zstd
//! Orbweaver-Size: 51234
//! Content-Length: 9876
//!
//! the block: the encoded body
//!
//!
//! ```
//!
//! Lines end with CR LF; two of these follow the block. Digests are in lower-case hexadecimal. So
//! the tools for WARC files list and extract the records, and `zstd -d` or `gunzip` decodes them.

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, SecondsFormat, Utc};
use sha2::{Digest as _, Sha256};

use crate::error::BlobError;

/// What follows each block.
const END: &[u8] = b"\r\n\r\n";
/// Longest head of a record; those that are written have about 400 bytes.
const MAX_HEAD: usize = 4 << 10;

/// A body, encoded, with what its record says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordBody {
    /// The project that it belongs to.
    pub project: i64,
    /// SHA-256 of the decoded body.
    pub hash: [u8; 32],
    /// Length of the decoded body.
    pub size: u64,
    /// Content coding of `bytes`.
    pub encoding: String,
    /// The encoded body.
    pub bytes: Bytes,
}

impl RecordBody {
    /// The project and the hash, which name the body.
    pub fn key<P: From<i64>>(&self) -> (P, [u8; 32]) {
        (self.project.into(), self.hash)
    }
}

/// A record as read: its body, whose digests were checked.
pub type Record = RecordBody;

/// Position of a record in its segment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it begins.
    pub offset: u64,
    /// Its length with head and end.
    pub length: u64,
}

/// A segment to write.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Name of the object, below the store's prefix.
    pub name: String,
    /// Its content.
    pub bytes: Bytes,
    /// Places of the records, in the order in which they were added.
    pub places: Vec<Place>,
}

/// Makes a segment. CPU-bound: a SHA-256 over all bytes, about 1 ms a megabyte.
#[derive(Debug)]
pub struct SegmentBuilder {
    name: String,
    date: String,
    bytes: BytesMut,
    places: Vec<Place>,
}

impl SegmentBuilder {
    /// An empty segment.
    pub fn new(name: String, now: DateTime<Utc>) -> Self {
        Self {
            name,
            date: now.to_rfc3339_opts(SecondsFormat::Secs, true),
            bytes: BytesMut::new(),
            places: Vec::new(),
        }
    }

    /// Appends a body.
    pub fn add(&mut self, body: &RecordBody) {
        let offset = self.bytes.len();
        let head = format!(
            "WARC/1.1\r\n\
             WARC-Type: resource\r\n\
             WARC-Record-ID: <urn:orbweaver:{name}:{number}>\r\n\
             WARC-Date: {date}\r\n\
             WARC-Target-URI: urn:sha256:{hash}\r\n\
             WARC-Block-Digest: sha256:{digest}\r\n\
             Content-Type: application/octet-stream\r\n\
             Orbweaver-Project: {project}\r\n\
             Orbweaver-Encoding: {encoding}\r\n\
             Orbweaver-Size: {size}\r\n\
             Content-Length: {length}\r\n\r\n",
            name = self.name,
            number = self.places.len(),
            date = self.date,
            hash = hex::encode(body.hash),
            digest = hex::encode(Sha256::digest(&body.bytes)),
            project = body.project,
            encoding = body.encoding,
            size = body.size,
            length = body.bytes.len(),
        );
        self.bytes
            .reserve(head.len() + body.bytes.len() + END.len());
        self.bytes.extend_from_slice(head.as_bytes());
        self.bytes.extend_from_slice(&body.bytes);
        self.bytes.extend_from_slice(END);
        self.places.push(Place {
            offset: offset as u64,
            length: (self.bytes.len() - offset) as u64,
        });
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no body was added.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The finished segment.
    pub fn finish(self) -> Segment {
        Segment {
            name: self.name,
            bytes: self.bytes.freeze(),
            places: self.places,
        }
    }
}

/// Reads a record and checks its digest.
///
/// # Errors
/// [`BlobError::Damaged`] if the bytes are not exactly one record, or the block is not the one that
/// was written.
pub fn read_record(segment: &str, bytes: &Bytes) -> Result<Record, BlobError> {
    parse(bytes).map_err(|problem| BlobError::Damaged {
        segment: segment.to_owned(),
        problem: problem.to_owned(),
    })
}

fn parse(bytes: &Bytes) -> Result<Record, &'static str> {
    let head_end = bytes
        .get(..bytes.len().min(MAX_HEAD))
        .unwrap_or_default()
        .windows(END.len())
        .position(|window| window == END)
        .ok_or("a record without a head")?;
    let head = bytes.get(..head_end).unwrap_or_default();
    let head = std::str::from_utf8(head).map_err(|_| "a head that is not text")?;
    let mut lines = head.split("\r\n");
    if lines.next() != Some("WARC/1.1") {
        return Err("a record that does not begin with WARC/1.1");
    }
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    let field = |name: &str| {
        let found = fields.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| *value)
            .ok_or("a head that lacks a field")
    };
    let number = |name: &str| {
        let value = field(name)?;
        value
            .parse::<u64>()
            .map_err(|_| "a field that is not a number")
    };
    let length = usize::try_from(number("Content-Length")?).map_err(|_| "a block too long")?;
    let begin = head_end + END.len();
    let end = begin.checked_add(length).ok_or("a block too long")?;
    if end.checked_add(END.len()) != Some(bytes.len()) || bytes.get(end..) != Some(END) {
        return Err("a record of another length");
    }
    let block = bytes.slice(begin..end);
    let digest = field("WARC-Block-Digest")?;
    if digest.strip_prefix("sha256:") != Some(&hex::encode(Sha256::digest(&block))) {
        return Err("a block with another digest");
    }
    let hash = field("WARC-Target-URI")?;
    let hash = hash.strip_prefix("urn:sha256:").unwrap_or_default();
    let mut body_hash = [0; 32];
    hex::decode_to_slice(hash, &mut body_hash).map_err(|_| "a head without the body's SHA-256")?;
    Ok(Record {
        project: i64::try_from(number("Orbweaver-Project")?)
            .map_err(|_| "a project out of range")?,
        hash: body_hash,
        size: number("Orbweaver-Size")?,
        encoding: field("Orbweaver-Encoding")?.to_owned(),
        bytes: block,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> RecordBody {
        RecordBody {
            project: 7,
            hash: Sha256::digest(text).into(),
            size: text.len() as u64,
            encoding: "identity".to_owned(),
            bytes: Bytes::copy_from_slice(text.as_bytes()),
        }
    }

    fn segment(bodies: &[RecordBody]) -> Segment {
        let date = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let mut builder = SegmentBuilder::new("segments/a.warc".to_owned(), date);
        for body in bodies {
            builder.add(body);
        }
        builder.finish()
    }

    fn slice(segment: &Segment, number: usize) -> Bytes {
        let place = segment.places[number];
        let begin = usize::try_from(place.offset).unwrap();
        segment
            .bytes
            .slice(begin..begin + usize::try_from(place.length).unwrap())
    }

    #[test]
    fn every_record_is_read_as_it_was_added() {
        let bodies = [
            body("one"),
            body(""),
            body("\r\n\r\nWARC/1.1\r\n"),
            body(&"x".repeat(9_000)),
        ];
        let segment = segment(&bodies);
        for (number, body) in bodies.iter().enumerate() {
            assert_eq!(read_record("s", &slice(&segment, number)).unwrap(), *body);
        }
        let all: u64 = segment.places.iter().map(|place| place.length).sum();
        assert_eq!(all, segment.bytes.len() as u64);
    }

    #[test]
    fn a_segment_can_be_read_by_hand() {
        let segment = segment(&[body("hello")]);
        let text = std::str::from_utf8(&segment.bytes).unwrap();
        assert_eq!(
            text,
            "WARC/1.1\r\nWARC-Type: resource\r\n\
             WARC-Record-ID: <urn:orbweaver:segments/a.warc:0>\r\n\
             WARC-Date: 2023-11-14T22:13:20Z\r\n\
             WARC-Target-URI: urn:sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\r\n\
             WARC-Block-Digest: sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\r\n\
             Content-Type: application/octet-stream\r\n\
             Orbweaver-Project: 7\r\nOrbweaver-Encoding: identity\r\nOrbweaver-Size: 5\r\n\
             Content-Length: 5\r\n\r\nhello\r\n\r\n"
        );
    }

    #[test]
    fn no_change_of_any_byte_of_the_block_goes_unseen() {
        let segment = segment(&[body("hello"), body("world")]);
        let whole = slice(&segment, 0);
        for at in 0..whole.len() {
            let mut changed = whole.to_vec();
            changed[at] ^= 1;
            if let Ok(record) = read_record("s", &changed.into()) {
                assert_eq!(record.bytes, "hello", "byte {at}");
            }
        }
        for cut in [0, 1, 8, whole.len() - 1] {
            assert!(read_record("s", &whole.slice(..cut)).is_err(), "{cut}");
        }
        assert!(read_record("s", &segment.bytes).is_err(), "two records");
    }

    #[test]
    fn hostile_bytes_are_refused() {
        for bytes in [
            "WARC/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n\r\n\r\n",
            "WARC/1.1\r\nContent-Length: -1\r\n\r\n\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "\r\n\r\n",
        ] {
            let error = read_record("segments/a", &Bytes::from_static(bytes.as_bytes()));
            let error = error.expect_err(bytes);
            assert!(error.to_string().contains("segments/a"), "{error}");
        }
    }
}

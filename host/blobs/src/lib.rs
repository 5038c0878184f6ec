//! Bodies of pages outside the database: in a bucket of an S3-compatible store, or in a folder.
//!
//! Many bodies are one object, a [`Segment`]: a WARC 1.1 file with one record for each body. A
//! segment is written once and never changed. The database knows for each body its segment, the
//! record's offset and its length; a body is read by one range request, and its digest is checked.
//!
//! [`BucketFile`] writes a file to a bucket that a client names.
//!
//! This crate knows no database and opens no socket: requests go through a [`Transport`].

mod blobs;
mod config;
mod error;
mod location;
mod measure;
mod segment;
mod transport;
mod unfinished;
mod upload;

pub use blobs::{Blobs, MARKER, Stored};
pub use config::{BlobOptions, Credentials, NewBodies};
pub use error::BlobError;
pub use location::{BlobUrl, InvalidBlobUrl};
pub use segment::{Place, Record, RecordBody, Segment, SegmentBuilder, read_record};
pub use transport::{Transport, TransportError, TransportErrorKind};
pub use upload::{BucketFile, UploadError, UploadOptions, UploadedPart};

//! WARC 1.1 (ISO 28500:2017): a `warcinfo` record, and for each page a `response` and a
//! `metadata` record, each compressed as a gzip member of its own, so that files can be joined.

use std::fmt::Write as _;
use std::io::Write as _;

use chrono::{DateTime, SecondsFormat, Utc};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::StatusCode;
use orbweaver_fetch::INCOMPLETE;
use orbweaver_pipeline::ScanError;
use orbweaver_store::crawl::Run;
use sha2::{Digest as _, Sha256};
use uuid::Builder;

use super::csv_lines::unwritten;
use super::page::ExportedPage;

/// Headers about the body's transfer: the record has the decoded body, so they are renamed.
const RENAMED: [&str; 3] = ["content-encoding", "content-length", "transfer-encoding"];
/// What they are called then, before their name.
const ORIGINAL: &str = "X-Archive-Orig-";

/// What is not as it was on the wire.
const RECONSTRUCTED: &str = "\
    bodies are decoded: the headers Content-Encoding, Content-Length and Transfer-Encoding are \
    renamed X-Archive-Orig-*, and Content-Length is the length of the body in the record; the \
    version and the reason phrase of the status line are not stored and are written as HTTP/1.1 \
    with the standard phrase; names of headers are in lower case; Set-Cookie headers are not \
    stored; a page that the server said was not modified has the body of the earlier response, and \
    its headers as the server's answer updates them; redirects are listed in the metadata record; of a page that a browser rendered, the \
    body is its document after scripts ran";

/// A WARC file.
pub(super) struct WarcFile {
    name: String,
    run: String,
    seed: String,
    started: DateTime<Utc>,
    /// Whether the `warcinfo` record is written.
    has_info: bool,
    info_id: String,
}

/// Where a response is in its file.
pub(super) struct ResponseRecord {
    /// Bytes before it in the buffer that it was written to.
    pub(super) offset: usize,
    /// Its length, compressed.
    pub(super) length: usize,
    /// SHA-256 of its body, in hexadecimal.
    pub(super) digest: String,
}

impl WarcFile {
    /// The only file of a run.
    pub(super) fn new(run: &Run) -> Self {
        Self::part(run, format!("crawl-{}.warc.gz", run.id))
    }

    /// One of the files of a run: each describes itself.
    pub(super) fn part(run: &Run, name: String) -> Self {
        let started = run.started_at.unwrap_or(run.enqueued_at);
        let (id, at) = (run.id.to_string(), time(started));
        Self {
            info_id: record_id(&["warcinfo", &id, &run.url, &at, &name]),
            name,
            run: id,
            seed: run.url.clone(),
            started,
            has_info: false,
        }
    }

    /// Writes the `warcinfo` record, unless it is written.
    pub(super) fn info(&mut self, out: &mut Vec<u8>) -> Result<(), ScanError> {
        if std::mem::replace(&mut self.has_info, true) {
            return Ok(());
        }
        let block = format!(
            "software: Orbweaver/{}\r\nformat: WARC File Format 1.1\r\nconformsTo: \
             https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n\
             description: pages of crawl {} of {}\r\nreconstructed: {RECONSTRUCTED}\r\n",
            env!("CARGO_PKG_VERSION"),
            self.run,
            one_line(&self.seed),
        );
        let record = Record {
            kind: "warcinfo",
            id: &self.info_id,
            at: self.started,
            media_type: "application/warc-fields",
            fields: format!("WARC-Filename: {}\r\n", self.name),
            block: &[block.as_bytes()],
        };
        record.write(out)
    }

    /// Writes the records of a page, and says where its response is.
    pub(super) fn page(
        &mut self,
        page: &ExportedPage,
        out: &mut Vec<u8>,
    ) -> Result<Option<ResponseRecord>, ScanError> {
        self.info(out)?;
        let Some(response) = &page.stored else {
            return Ok(None);
        };
        let stored = &response.page;
        let at = time(stored.fetched_at);
        let id = |kind| record_id(&[kind, &self.run, &page.id.to_string(), &page.url, &at]);
        let (response_id, metadata_id) = (id("response"), id("metadata"));
        let body = response.body.as_deref().unwrap_or_default();
        let headers: Vec<(String, String)> =
            serde_json::from_str(&stored.headers).unwrap_or_default();
        let is_whole = headers.iter().all(|(name, _)| name != INCOMPLETE);
        let head = head(stored.status, &headers, body.len());
        let about = about(page);
        let payload = digest(&[body]);
        let mut fields = format!(
            "WARC-Target-URI: {}\r\nWARC-Warcinfo-ID: <urn:uuid:{}>\r\n\
             WARC-Payload-Digest: sha256:{}\r\n",
            one_line(&stored.final_url),
            self.info_id,
            payload,
        );
        if response.body.is_none() || !is_whole {
            fields.push_str("WARC-Truncated: unspecified\r\n");
        }
        let record = Record {
            kind: "response",
            id: &response_id,
            at: stored.fetched_at,
            media_type: "application/http;msgtype=response",
            fields,
            block: &[head.as_bytes(), body],
        };
        let offset = out.len();
        record.write(out)?;
        let written = ResponseRecord {
            offset,
            length: out.len() - offset,
            digest: payload,
        };
        let record = Record {
            kind: "metadata",
            id: &metadata_id,
            at: stored.fetched_at,
            media_type: "application/warc-fields",
            fields: format!(
                "WARC-Target-URI: {}\r\nWARC-Warcinfo-ID: <urn:uuid:{}>\r\n\
                 WARC-Concurrent-To: <urn:uuid:{response_id}>\r\n",
                one_line(&stored.final_url),
                self.info_id,
            ),
            block: &[about.as_bytes()],
        };
        record.write(out)?;
        Ok(Some(written))
    }
}

/// The status line and the headers that the site sent.
fn head(status: u16, headers: &[(String, String)], length: usize) -> String {
    let reason = StatusCode::from_u16(status).ok();
    let reason = reason.and_then(|status| status.canonical_reason());
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason.unwrap_or_default());
    for (name, value) in headers.iter().filter(|(name, _)| name != INCOMPLETE) {
        let prefix = match RENAMED.contains(&name.as_str()) {
            true => ORIGINAL,
            false => "",
        };
        // Writing to a string does not fail.
        let _ = write!(head, "{prefix}{}: {}\r\n", one_line(name), one_line(value));
    }
    let _ = write!(head, "Content-Length: {length}\r\n\r\n");
    head
}

/// What is known of a page besides its response.
fn about(page: &ExportedPage) -> String {
    let mut text = String::new();
    let mut add = |name: &str, value: &str| {
        let _ = write!(text, "{name}: {}\r\n", one_line(value));
    };
    let summary = &page.summary;
    if let Some(depth) = summary.depth {
        add("hopsFromSeed", &"L".repeat(depth as usize));
    }
    if let Some(elapsed) = summary.elapsed_ms {
        add("fetchTimeMs", &elapsed.to_string());
    }
    if let Some(redirects) = &summary.redirects {
        add("redirects", redirects);
    }
    add("pageId", &page.id.to_string());
    text
}

/// A record before it is written.
struct Record<'a> {
    kind: &'a str,
    id: &'a str,
    at: DateTime<Utc>,
    media_type: &'a str,
    /// Further header lines.
    fields: String,
    /// The parts of its block.
    block: &'a [&'a [u8]],
}

impl Record<'_> {
    fn write(&self, out: &mut Vec<u8>) -> Result<(), ScanError> {
        let length: usize = self.block.iter().map(|part| part.len()).sum();
        let head = format!(
            "WARC/1.1\r\nWARC-Type: {}\r\nWARC-Record-ID: <urn:uuid:{}>\r\nWARC-Date: {}\r\n\
             {}WARC-Block-Digest: sha256:{}\r\nContent-Type: {}\r\nContent-Length: {length}\r\n\r\n",
            self.kind,
            self.id,
            time(self.at),
            self.fields,
            digest(self.block),
            self.media_type,
        );
        let mut member = GzEncoder::new(&mut *out, Compression::default());
        let parts = std::iter::once(head.as_bytes()).chain(self.block.iter().copied());
        for part in parts.chain(std::iter::once(&b"\r\n\r\n"[..])) {
            member.write_all(part).map_err(|error| unwritten(&error))?;
        }
        member.finish().map_err(|error| unwritten(&error))?;
        Ok(())
    }
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// SHA-256 of some parts, in hexadecimal.
fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

/// An id that is the same in every export of the page.
fn record_id(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(digest.split_at(16).0);
    // A UUID of version 8: its bits are defined by who makes it (RFC 9562, section 5.8).
    Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

/// A value without line ends, which would begin another header.
fn one_line(value: &str) -> String {
    value.replace(['\r', '\n', '\0'], " ")
}

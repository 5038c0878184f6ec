//! WACZ 1.1.1 (<https://specs.webrecorder.net/wacz/1.1.1/>): a ZIP file of WARC files, an index of
//! their responses, a list of pages, and the checksums of all of them.
//!
//! It is written without going back in it: the WARC records are collected into files of some
//! megabytes. The index, of about 200 bytes a page, stays in memory until the end, because it is
//! sorted.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::{DeflateEncoder, GzEncoder};
use orbweaver_pipeline::ScanError;
use orbweaver_store::crawl::Run;
use orbweaver_urls::Url;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io::Read as _;

use super::csv_lines::unwritten;
use super::page::ExportedPage;
use super::warc::WarcFile;
use super::zip_file::Written;

/// Size from which a WARC file is complete.
const PART_BYTES: usize = 8 << 20;
/// Lines of the index that are compressed together.
const BLOCK_LINES: usize = 1_024;
/// Longest text of a page's title in its list, in characters.
const MAX_TITLE: usize = 500;

/// A WACZ file.
pub(super) struct WaczFile {
    run: Run,
    archive: ZipArchiveWriter<Written>,
    written: Written,
    /// The WARC file that is being collected.
    warc: WarcFile,
    part: Vec<u8>,
    parts: usize,
    /// Lines of the index.
    index: Vec<String>,
    /// The list of pages, compressed until it is written.
    pages: GzEncoder<Vec<u8>>,
    /// What is in the archive, for its description.
    resources: Vec<Value>,
}

impl WaczFile {
    pub(super) fn new(run: &Run) -> Self {
        let written = Written::default();
        Self {
            archive: ZipArchiveWriter::new(written.clone()),
            written,
            warc: WarcFile::part(run, part_name(0)),
            part: Vec::new(),
            parts: 0,
            index: Vec::new(),
            pages: GzEncoder::new(Vec::new(), Compression::fast()),
            resources: Vec::new(),
            run: run.clone(),
        }
    }

    pub(super) fn page(&mut self, page: &ExportedPage, out: &mut Vec<u8>) -> Result<(), ScanError> {
        if self.parts == 0 && self.part.is_empty() {
            self.list(&json!({"format": "json-pages-1.0", "id": "pages", "title": "Pages"}))?;
        }
        let Some(record) = self.warc.page(page, &mut self.part)? else {
            return Ok(());
        };
        let at = page.fetched_at;
        let mime = page.summary.content_type.as_deref().unwrap_or_default();
        let mime = mime.split(';').next().unwrap_or_default().trim();
        let url = &page.summary.final_url;
        let entry = json!({
            "url": url,
            "mime": mime,
            "status": page.status.to_string(),
            "digest": format!("sha256:{}", record.digest),
            "length": record.length.to_string(),
            "offset": record.offset.to_string(),
            "filename": part_name(self.parts),
        });
        let time = at.format("%Y%m%d%H%M%S");
        self.index
            .push(format!("{} {time} {entry}\n", sort_key(url)));
        let title = page.summary.title.as_deref().unwrap_or_default();
        let title: String = title.chars().take(MAX_TITLE).collect();
        self.list(&json!({
            "id": page.id.to_string(),
            "url": url,
            "ts": at.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "title": title,
        }))?;
        if self.part.len() >= PART_BYTES {
            self.end_part()?;
        }
        out.append(&mut self.written.take());
        Ok(())
    }

    pub(super) fn end(mut self, out: &mut Vec<u8>) -> Result<(), ScanError> {
        if self.parts == 0 || !self.part.is_empty() {
            self.warc.info(&mut self.part)?;
            self.end_part()?;
        }
        let mut index = std::mem::take(&mut self.index);
        index.sort_unstable();
        let (packed, blocks) = pack(&index)?;
        self.stored("indexes/index.cdx.gz", &packed)?;
        self.describe("indexes/index.idx", blocks.as_bytes());
        self.deflated("indexes/index.idx", blocks.as_bytes())?;
        self.pages()?;
        let about = json!({
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "title": format!("Crawl {} of {}", self.run.id, self.run.url),
            "created": self.run.enqueued_at.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "software": concat!("Orbweaver/", env!("CARGO_PKG_VERSION")),
            "mainPageUrl": self.run.url,
            "resources": self.resources,
        });
        let about = serde_json::to_vec_pretty(&about).map_err(|error| unwritten(&error))?;
        let digest = json!({"path": "datapackage.json", "hash": hash(&about)}).to_string();
        self.deflated("datapackage.json", &about)?;
        self.deflated("datapackage-digest.json", digest.as_bytes())?;
        self.archive.finish().map_err(|error| unwritten(&error))?;
        out.append(&mut self.written.take());
        Ok(())
    }

    /// Adds a line to the list of pages.
    fn list(&mut self, line: &Value) -> Result<(), ScanError> {
        let written = writeln!(self.pages, "{line}");
        written.map_err(|error| unwritten(&error))
    }

    /// Writes the list of pages.
    fn pages(&mut self) -> Result<(), ScanError> {
        let finished = self.pages.try_finish();
        finished.map_err(|error| unwritten(&error))?;
        let packed = std::mem::take(self.pages.get_mut());
        let mut list = Vec::new();
        let read = GzDecoder::new(&packed[..]).read_to_end(&mut list);
        read.map_err(|error| unwritten(&error))?;
        self.describe("pages/pages.jsonl", &list);
        self.deflated("pages/pages.jsonl", &list)
    }

    /// Writes the WARC file that is complete.
    fn end_part(&mut self) -> Result<(), ScanError> {
        let part = std::mem::take(&mut self.part);
        let name = format!("archive/{}", part_name(self.parts));
        self.stored(&name, &part)?;
        self.parts += 1;
        self.warc = WarcFile::part(&self.run, part_name(self.parts));
        Ok(())
    }

    /// Adds a file that is compressed already: it is read at its offsets.
    fn stored(&mut self, name: &str, content: &[u8]) -> Result<(), ScanError> {
        self.describe(name, content);
        let entry = self
            .archive
            .new_file(name)
            .compression_method(CompressionMethod::STORE)
            .unix_permissions(0o644)
            .start();
        let (mut entry, config) = entry.map_err(|error| unwritten(&error))?;
        let mut file = config.wrap(&mut entry);
        let added = file.write_all(content);
        added.map_err(|error| unwritten(&error))?;
        let (_, descriptor) = file.finish().map_err(|error| unwritten(&error))?;
        let finished = entry.finish(descriptor);
        finished.map_err(|error| unwritten(&error))?;
        Ok(())
    }

    fn deflated(&mut self, name: &str, content: &[u8]) -> Result<(), ScanError> {
        let entry = self
            .archive
            .new_file(name)
            .compression_method(CompressionMethod::DEFLATE)
            .unix_permissions(0o644)
            .start();
        let (mut entry, config) = entry.map_err(|error| unwritten(&error))?;
        let mut file = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        let added = file.write_all(content);
        added.map_err(|error| unwritten(&error))?;
        let (encoder, descriptor) = file.finish().map_err(|error| unwritten(&error))?;
        encoder.finish().map_err(|error| unwritten(&error))?;
        let finished = entry.finish(descriptor);
        finished.map_err(|error| unwritten(&error))?;
        Ok(())
    }

    fn describe(&mut self, path: &str, content: &[u8]) {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.resources.push(json!({
            "name": name, "path": path, "hash": hash(content), "bytes": content.len(),
        }));
    }
}

fn part_name(part: usize) -> String {
    format!("data-{part:05}.warc.gz")
}

/// Compresses the sorted lines of the index, and says where its blocks are: readers such as
/// ReplayWeb.page find a compressed index by that list alone, and load the blocks that they need.
fn pack(lines: &[String]) -> Result<(Vec<u8>, String), ScanError> {
    let mut packed = Vec::new();
    let mut blocks =
        "!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": \"index.cdx.gz\"}\n".to_owned();
    let mut add = |lines: &[String]| -> Result<(), ScanError> {
        let offset = packed.len();
        let mut block = GzEncoder::new(&mut packed, Compression::default());
        for line in lines {
            let added = block.write_all(line.as_bytes());
            added.map_err(|error| unwritten(&error))?;
        }
        block.finish().map_err(|error| unwritten(&error))?;
        if let Some((key, _)) = lines.first().and_then(|line| line.split_once(" {")) {
            let length = packed.len() - offset;
            let place = json!({"offset": offset, "length": length, "filename": "index.cdx.gz"});
            // Writing to a string does not fail.
            let _ = writeln!(blocks, "{key} {place}");
        }
        Ok(())
    };
    if lines.is_empty() {
        add(lines)?;
    }
    for lines in lines.chunks(BLOCK_LINES) {
        add(lines)?;
    }
    Ok((packed, blocks))
}

fn hash(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

/// The key by which an index of responses is sorted and searched (SURT): the host's labels from
/// the last to the first, then path and query in lower case, the query's parts sorted.
fn sort_key(url: &str) -> String {
    let Ok(parsed) = Url::parse(url) else {
        return url.replace(' ', "%20").to_lowercase();
    };
    let host = parsed.host_str().unwrap_or_default();
    let is_name = parsed.domain().is_some();
    let bare = host.strip_prefix("www.").unwrap_or(host);
    let mut key = match is_name {
        true => bare.rsplit('.').collect::<Vec<_>>().join(","),
        false => bare.to_owned(),
    };
    if let Some(port) = parsed.port() {
        // Writing to a string does not fail.
        let _ = write!(key, ":{port}");
    }
    key.push(')');
    let path = parsed.path();
    key.push_str(if path.len() > 1 {
        path.trim_end_matches('/')
    } else {
        path
    });
    if let Some(query) = parsed.query().filter(|query| !query.is_empty()) {
        let mut parts: Vec<&str> = query.split('&').collect();
        parts.sort_unstable();
        let _ = write!(key, "?{}", parts.join("&"));
    }
    key.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_the_index_is_read_alone() {
        let lines: Vec<String> = (0..2_500)
            .map(|n| format!("org,example)/{n:05} 20260301120000 {{\"offset\":\"{n}\"}}\n"))
            .collect();
        let (packed, blocks) = pack(&lines).expect("an index");
        let mut list = blocks.lines();
        let meta = r#"!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}"#;
        assert_eq!(list.next(), Some(meta));
        let mut at = 0;
        for (block, lines) in list.by_ref().zip(lines.chunks(BLOCK_LINES)) {
            let (key, place) = block.split_once(" {").expect("a place");
            assert!(lines[0].starts_with(&format!("{key} {{")), "{block}");
            let place: Value = serde_json::from_str(&format!("{{{place}")).expect("JSON");
            let number = |name: &str| place[name].as_u64().expect("a number") as usize;
            assert_eq!(
                (number("offset"), &place["filename"]),
                (at, &json!("index.cdx.gz"))
            );
            let end = at + number("length");
            let mut text = String::new();
            let read = GzDecoder::new(&packed[at..end]).read_to_string(&mut text);
            read.expect("a member");
            assert_eq!(text, lines.concat());
            at = end;
        }
        assert_eq!((at, list.next()), (packed.len(), None));
        assert_eq!(blocks.lines().count(), 4);
        // Of a run without pages.
        let (packed, blocks) = pack(&[]).expect("an index");
        assert!(!packed.is_empty());
        assert_eq!(blocks.lines().count(), 1);
    }

    #[test]
    fn urls_are_sorted_by_their_host_from_behind() {
        for (url, key) in [
            (
                "https://www.Example.org/A/?b=2&a=1#x",
                "org,example)/a?a=1&b=2",
            ),
            ("http://example.org:8080/", "org,example:8080)/"),
            ("http://127.0.0.1:81/x", "127.0.0.1:81)/x"),
        ] {
            assert_eq!(sort_key(url), key);
        }
    }
}

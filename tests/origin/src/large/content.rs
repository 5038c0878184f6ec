//! All answers of a large site, made in advance.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::SiteSpec;
use super::pages::Pages;

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// Status line and headers, except those of the body's coding and length.
    pub(super) head: String,
    /// The body; with gzip if it is a page.
    pub(super) body: Vec<u8>,
    pub(super) gzipped: bool,
    /// The value of ETag; empty if there is none.
    pub(super) etag: String,
}

/// The site's answers by path, and what a crawl of the site must find.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) documents: HashMap<String, Document>,
    pub(super) pages: Vec<String>,
    pub(super) missing: Vec<String>,
    pub(super) moved: BTreeMap<String, String>,
}

impl Content {
    /// Makes all pages, with one thread for each core.
    pub(super) fn new(spec: &SiteSpec, base: &str) -> Self {
        let pages = Pages::new(spec, base);
        let mut content = Self {
            documents: HashMap::with_capacity(spec.pages + spec.pages / 40 + 16),
            pages: (0..spec.pages).map(|page| pages.path(page)).collect(),
            ..Self::default()
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let made: Vec<(usize, Document)> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|first| {
                    let pages = &pages;
                    scope.spawn(move || {
                        (first..spec.pages)
                            .step_by(threads)
                            .filter(|page| pages.source(*page) == *page)
                            .map(|page| (page, document(&pages.html(page), spec.level)))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap_or_default())
                .collect()
        });
        for (page, document) in made {
            content.documents.insert(pages.path(page), document);
        }
        for page in 0..spec.pages {
            let source = pages.source(page);
            if source != page
                && let Some(copied) = content.documents.get(&pages.path(source)).cloned()
            {
                content.documents.insert(pages.path(page), copied);
            }
            // A copy has the same links as its source.
            if source == page {
                content.missing.extend(Pages::missing(page));
                content.moved.extend(pages.moved(page));
            }
        }
        for (from, to) in &content.moved {
            let head = format!("HTTP/1.1 301 Moved Permanently\r\nLocation: {to}\r\n");
            content
                .documents
                .insert(from.clone(), plain(head, Vec::new()));
        }
        content.add_site_files(spec, base);
        content
    }

    fn add_site_files(&mut self, spec: &SiteSpec, base: &str) {
        let robots = spec
            .robots
            .clone()
            .unwrap_or_else(|| format!("User-agent: *\nAllow: /\n\nSitemap: {base}/sitemap.xml\n"));
        self.add("/robots.txt", "text/plain", robots.into_bytes());
        let (first, second) = self.pages.split_at(self.pages.len() / 2);
        let (first, second) = (urls(base, first), urls(base, second));
        let index = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n\
             <sitemap><loc>{base}/sitemap-1.xml</loc></sitemap>\n<sitemap><loc>{base}/sitemap-2.xml.gz</loc></sitemap>\n</sitemapindex>\n"
        );
        self.add("/sitemap.xml", "application/xml", index.into_bytes());
        self.add("/sitemap-1.xml", "application/xml", first.into_bytes());
        let second = gzip(second.as_bytes(), 6);
        self.add("/sitemap-2.xml.gz", "application/gzip", second);
        self.add(
            "/assets/town.css",
            "text/css",
            b"body{font:16px/1.5 serif}\n".to_vec(),
        );
        let mark = br#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>"#;
        self.add("/assets/mark.svg", "image/svg+xml", mark.to_vec());
    }

    fn add(&mut self, path: &str, kind: &str, body: Vec<u8>) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n");
        self.documents.insert(path.to_owned(), plain(head, body));
    }
}

fn plain(head: String, body: Vec<u8>) -> Document {
    Document {
        head,
        body,
        gzipped: false,
        etag: String::new(),
    }
}

fn document(html: &str, level: u32) -> Document {
    let body = gzip(html.as_bytes(), level);
    // The checksum and length in the gzip stream are enough to tell pages apart.
    let end = body.len().saturating_sub(8);
    let mark: String = body
        .get(end..)
        .unwrap_or_default()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let etag = format!("\"{mark}\"");
    Document {
        head: format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: {etag}\r\nVary: Accept-Encoding\r\n"
        ),
        body,
        gzipped: true,
        etag,
    }
}

fn gzip(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::new(level));
    let _ = encoder.write_all(bytes);
    let mut out = encoder.finish().unwrap_or_default();
    out.shrink_to_fit();
    out
}

fn urls(base: &str, paths: &[String]) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    for path in paths {
        out.push_str("<url><loc>");
        out.push_str(base);
        out.push_str(path);
        out.push_str("</loc><lastmod>2025-06-01</lastmod></url>\n");
    }
    out.push_str("</urlset>\n");
    out
}

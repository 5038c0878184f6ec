//! A fetched page as plugins see it: decoded once, parsed once, shared by all of them.

use std::sync::{Arc, OnceLock};

use orbweaver_dom::Snapshot;

/// One hop of a redirect chain: the URL asked and the 3xx status that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The URL that was asked.
    pub url: String,
    /// Its answer, 300 to 399.
    pub status: u16,
}

/// What a fetch (or a stored row, or a caller's own HTML) yields.
#[derive(Clone, Debug, Default)]
pub struct PageParts {
    /// The URL that was asked for.
    pub url: String,
    /// The URL that answered, after redirects.
    pub final_url: String,
    /// HTTP status; 0 for a document that no server sent.
    pub status: u16,
    /// Response headers in the order received, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Redirects followed, first to last.
    pub redirects: Vec<Hop>,
    /// The body with its content encodings undone.
    pub body: Arc<[u8]>,
    /// The body as text, transcoded to UTF-8; empty for what is no text.
    pub html: Arc<str>,
}

/// A page. Cheap to share (`Arc<Page>`); the DOM is parsed on first use, once.
#[derive(Debug)]
pub struct Page {
    parts: PageParts,
    snapshot: OnceLock<Arc<Snapshot>>,
}

impl Page {
    /// A page of these parts; nothing is parsed yet.
    pub fn new(parts: PageParts) -> Arc<Self> {
        Arc::new(Self {
            parts,
            snapshot: OnceLock::new(),
        })
    }

    /// A page of HTML that no fetch brought: `url` is its base, the status 0.
    pub fn from_html(url: &str, html: &str) -> Arc<Self> {
        Self::new(PageParts {
            url: url.to_owned(),
            final_url: url.to_owned(),
            body: Arc::from(html.as_bytes()),
            html: Arc::from(html),
            ..PageParts::default()
        })
    }

    /// Everything but the tree.
    pub fn parts(&self) -> &PageParts {
        &self.parts
    }

    /// The parsed document. CPU-bound: about 10 ms a megabyte on first use, so call it
    /// from a worker thread.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        self.snapshot
            .get_or_init(|| Arc::new(orbweaver_dom::parse(&self.parts.html)))
    }
}

//! A fetched page as plugins see it: decoded once, parsed once, shared by all of them.

use std::sync::{Arc, OnceLock};

use orbweaver_dom::{Limits, Snapshot};

/// Prefix of the headers between plugins and host: no server is sent one, and none that a
/// server sends reaches a plugin.
const OWN_HEADERS: &str = "orbweaver-";

/// Whether a header is one between plugins and host. Case does not count.
pub(crate) fn is_own_header(name: &str) -> bool {
    name.get(..OWN_HEADERS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OWN_HEADERS))
}

/// The response header in which a plugin reads [`PageParts::cost_usd`]: a decimal number,
/// left out where nothing was paid.
pub const COST_HEADER: &str = "orbweaver-cost-usd";

/// One hop of a redirect chain: the URL asked and the 3xx status that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The URL that was asked.
    pub url: String,
    /// Its answer, 300 to 399.
    pub status: u16,
}

/// The parts of a page, from a fetch, a stored row or a caller's own HTML.
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
    /// Price of this page by the operator's price list, in US dollars. A plugin reads it
    /// as the header [`COST_HEADER`].
    pub cost_usd: f64,
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
        let html: Arc<str> = Arc::from(html);
        Self::new(PageParts {
            url: url.to_owned(),
            final_url: url.to_owned(),
            body: Arc::clone(&html).into(),
            html,
            ..PageParts::default()
        })
    }

    /// Everything but the tree.
    pub fn parts(&self) -> &PageParts {
        &self.parts
    }

    /// The parsed document, if it has been parsed.
    pub(crate) fn parsed(&self) -> Option<&Arc<Snapshot>> {
        self.snapshot.get()
    }

    /// Bytes that this page holds at present, the snapshot included once it is parsed.
    pub(crate) fn held_bytes(&self) -> u64 {
        let parts = &self.parts;
        let headers = parts
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len());
        let hops = parts.redirects.iter().map(|hop| hop.url.len());
        // One allocation where the body is its own text.
        let shared = std::ptr::addr_eq(parts.body.as_ptr(), parts.html.as_ptr());
        let html = if shared { 0 } else { parts.html.len() };
        let snapshot = self.parsed().map_or(0, |snapshot| {
            size_of_val(snapshot.words.as_slice()) + snapshot.text.len()
        });
        let fields = parts.url.len()
            + parts.final_url.len()
            + headers.sum::<usize>()
            + hops.sum::<usize>()
            + size_of::<Self>();
        (fields + parts.body.len() + html + snapshot) as u64
    }

    /// The parsed document. CPU-bound: about 10 ms a megabyte on first use, so call it
    /// from a worker thread.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        self.snapshot_within(&Limits::default())
    }

    /// As [`snapshot`](Self::snapshot); a first parse stays within these limits.
    pub(crate) fn snapshot_within(&self, limits: &Limits) -> &Arc<Snapshot> {
        self.snapshot
            .get_or_init(|| Arc::new(orbweaver_dom::parse_with(&self.parts.html, limits)))
    }
}

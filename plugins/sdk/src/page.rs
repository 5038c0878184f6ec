//! The page that a plugin works on.

use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;

use orbweaver_dom::{Namespace, Snapshot, SnapshotError, View, attr, tag};
use orbweaver_urls::{Base, MAX_PAGE_URL_BYTES};
use self_cell::self_cell;

use crate::Error;
use crate::handle::Handle;
use crate::jsonld::{self, Block};
use crate::kept::Kept;

/// One HTTP header; the name is lower-case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Name in lower case.
    pub name: String,
    /// Value as received.
    pub value: String,
}

impl Header {
    /// Creates a header; the name is converted to lower case.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_ascii_lowercase(),
            value: value.into(),
        }
    }
}

/// One redirect: the requested URL and the status of its response, 3xx, or that of a page whose refresh was
/// followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The requested URL.
    pub url: String,
    /// Status of its response.
    pub status: u16,
}

/// A page as plain data, for native use: benchmarks, tests, command lines.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// The requested URL.
    pub url: &'a str,
    /// The URL that answered, after redirects.
    pub final_url: &'a str,
    /// The HTTP status; 0 for a document that was not fetched.
    pub status: u16,
    /// Response headers in the order received, names in lower case.
    pub headers: &'a [Header],
    /// The body as text.
    pub html: &'a str,
    /// The parsed document.
    pub view: &'a View<'a>,
}

/// A fetched page. Data is copied into a plugin's memory only when the plugin asks for it, and only
/// once, even across the roles of one extractor.
pub struct Page<'a> {
    source: Source<'a>,
    base: OnceCell<Option<Base>>,
    /// The blocks of a page of plain data; those of the host's pages are in [`Cells`].
    json_ld: OnceCell<Vec<Block>>,
    /// What was worked out of a page of plain data; for the host's pages it is in [`Cells`].
    kept: Kept,
}

enum Source<'a> {
    Parts(Parts<'a>),
    Host {
        handle: Handle<'a>,
        cells: CellsRef<'a>,
    },
}

/// Data loaded from the host so far.
#[derive(Default)]
pub(crate) struct Cells {
    pub(crate) url: OnceCell<String>,
    pub(crate) final_url: OnceCell<String>,
    pub(crate) status: OnceCell<u16>,
    pub(crate) cost_usd: OnceCell<f64>,
    pub(crate) headers: OnceCell<Vec<Header>>,
    pub(crate) redirects: OnceCell<Vec<Hop>>,
    #[cfg(not(target_family = "wasm"))]
    pub(crate) body: OnceCell<Vec<u8>>,
    pub(crate) html: OnceCell<String>,
    pub(crate) document: OnceCell<Result<Document, SnapshotError>>,
    pub(crate) json_ld: OnceCell<Vec<Block>>,
    pub(crate) kept: Kept,
}

impl Cells {
    /// The body of a test's document; in the sandbox the host has the body.
    #[cfg(not(target_family = "wasm"))]
    fn native_body(&self) -> Option<&[u8]> {
        let body = self.body.get().map(Vec::as_slice);
        body.or_else(|| self.html.get().map(String::as_bytes))
    }

    #[cfg(target_family = "wasm")]
    fn native_body(&self) -> Option<&[u8]> {
        None
    }
}

pub(crate) enum CellsRef<'a> {
    Own(Box<Cells>),
    #[cfg_attr(
        not(target_family = "wasm"),
        expect(dead_code, reason = "borrowed from the host only")
    )]
    Shared(&'a Cells),
}

impl Deref for CellsRef<'_> {
    type Target = Cells;

    fn deref(&self) -> &Cells {
        match self {
            Self::Own(cells) => cells,
            Self::Shared(cells) => cells,
        }
    }
}

self_cell!(
    /// A snapshot with its view.
    pub(crate) struct Document {
        owner: Snapshot,
        #[covariant]
        dependent: View,
    }
);

impl Document {
    pub(crate) fn of(snapshot: Snapshot) -> Result<Self, SnapshotError> {
        Self::try_new(snapshot, Snapshot::view)
    }
}

impl<'a> Page<'a> {
    /// Creates a page from plain data, without a host.
    pub fn from_parts(parts: Parts<'a>) -> Self {
        Self {
            source: Source::Parts(parts),
            base: OnceCell::new(),
            json_ld: OnceCell::new(),
            kept: Kept::default(),
        }
    }

    pub(crate) fn from_host(handle: Handle<'a>, cells: CellsRef<'a>) -> Self {
        Self {
            source: Source::Host { handle, cells },
            base: OnceCell::new(),
            json_ld: OnceCell::new(),
            kept: Kept::default(),
        }
    }

    /// The host's handle, if the page has one.
    #[cfg(target_family = "wasm")]
    pub(crate) fn handle(&self) -> Option<&Handle<'a>> {
        match &self.source {
            Source::Parts(_) => None,
            Source::Host { handle, .. } => Some(handle),
        }
    }

    /// The requested URL.
    pub fn url(&self) -> &str {
        match &self.source {
            Source::Parts(parts) => parts.url,
            Source::Host { handle, cells } => cells.url.get_or_init(|| handle.url()),
        }
    }

    /// The URL that answered, after redirects.
    pub fn final_url(&self) -> &str {
        match &self.source {
            Source::Parts(parts) => parts.final_url,
            Source::Host { handle, cells } => cells.final_url.get_or_init(|| handle.final_url()),
        }
    }

    /// The HTTP status; 0 for a document that was not fetched.
    pub fn status(&self) -> u16 {
        match &self.source {
            Source::Parts(parts) => parts.status,
            Source::Host { handle, cells } => *cells.status.get_or_init(|| handle.status()),
        }
    }

    /// Response headers in the order received, names in lower case.
    pub fn headers(&self) -> &[Header] {
        match &self.source {
            Source::Parts(parts) => parts.headers,
            Source::Host { handle, cells } => cells.headers.get_or_init(|| handle.headers()),
        }
    }

    /// The values of a header, in the order received.
    pub fn header_values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.headers()
            .iter()
            .filter(move |h| h.name.eq_ignore_ascii_case(name))
            .map(|h| h.value.as_str())
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers()
            .iter()
            .find(|h| h.name.eq_ignore_ascii_case(name))
            .map(|h| h.value.as_str())
    }

    /// The price of this page by the operator's price list (browser, proxy), in US dollars; 0 if
    /// nothing was paid.
    pub fn cost_usd(&self) -> f64 {
        match &self.source {
            Source::Parts(_) => 0.0,
            Source::Host { handle, cells } => *cells.cost_usd.get_or_init(|| handle.cost_usd()),
        }
    }

    /// The redirects followed, first to last.
    pub fn redirects(&self) -> &[Hop] {
        match &self.source {
            Source::Parts(_) => &[],
            Source::Host { handle, cells } => cells.redirects.get_or_init(|| handle.redirects()),
        }
    }

    /// Length of the decoded body in bytes.
    pub fn size(&self) -> u64 {
        match &self.source {
            Source::Parts(parts) => parts.html.len() as u64,
            Source::Host { handle, cells } => handle
                .size()
                .unwrap_or_else(|| cells.native_body().map_or(0, |body| body.len() as u64)),
        }
    }

    /// The body with its content codings removed. Copied on every call.
    pub fn body(&self) -> Vec<u8> {
        match &self.source {
            Source::Parts(parts) => parts.html.as_bytes().to_vec(),
            Source::Host { handle, cells } => handle
                .body()
                .or_else(|| cells.native_body().map(<[u8]>::to_vec))
                .unwrap_or_default(),
        }
    }

    /// At most `max` bytes of the body from `offset`; empty behind its end. Copied on every call.
    pub fn read(&self, offset: u64, max: u32) -> Vec<u8> {
        let part = |body: &[u8]| {
            let start = usize::try_from(offset).map_or(body.len(), |at| at.min(body.len()));
            let end = start.saturating_add(max as usize).min(body.len());
            body.get(start..end).unwrap_or_default().to_vec()
        };
        match &self.source {
            Source::Parts(parts) => part(parts.html.as_bytes()),
            Source::Host { handle, cells } => handle
                .read(offset, max)
                .or_else(|| cells.native_body().map(part))
                .unwrap_or_default(),
        }
    }

    /// The body as text, transcoded to UTF-8.
    pub fn html(&self) -> &str {
        match &self.source {
            Source::Parts(parts) => parts.html,
            Source::Host { handle, cells } => cells.html.get_or_init(|| handle.html()),
        }
    }

    /// The parsed document. Fails if the host's snapshot format is not supported by this SDK.
    pub fn view(&self) -> Result<&View<'_>, Error> {
        match &self.source {
            Source::Parts(parts) => Ok(parts.view),
            Source::Host { handle, cells } => {
                match cells
                    .document
                    .get_or_init(|| Document::of(handle.snapshot()))
                {
                    Ok(document) => Ok(document.borrow_dependent()),
                    Err(error) => Err((*error).into()),
                }
            }
        }
    }

    /// The document's blocks of JSON-LD that can be parsed, in document order: parsed once, even across
    /// the roles of one extractor. Fails as [`view`](Self::view).
    pub fn json_ld(&self) -> Result<&[Block], Error> {
        let view = self.view()?;
        let blocks = match &self.source {
            Source::Parts(_) => &self.json_ld,
            Source::Host { cells, .. } => &cells.json_ld,
        };
        Ok(blocks.get_or_init(|| jsonld::blocks(view)))
    }

    /// A value that is worked out of this page once, even across the roles of one extractor. There is one
    /// of each type: `make` is called for the first one only, so it must depend on nothing but the page.
    pub fn shared<T: 'static>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let kept = match &self.source {
            Source::Parts(_) => &self.kept,
            Source::Host { cells, .. } => &cells.kept,
        };
        kept.get(make)
    }

    /// The base URL of the document's links: the first `<base href>`, outside templates, that is an `http` or
    /// `https` URL, else the final URL; `None` if neither is (HTML standard, "document base
    /// URL"). It resolves URLs of at most [`MAX_PAGE_URL_BYTES`] bytes in total.
    pub fn base(&self) -> Option<&Base> {
        self.base
            .get_or_init(|| {
                let fallback = Base::new(self.final_url());
                let declared = self.view().ok().and_then(|view| {
                    let mut bases = view
                        .tagged_outside_templates(|id| id == tag::BASE)
                        .filter(|node| node.namespace() == Namespace::Html);
                    let href = bases.find_map(|node| node.attr(attr::HREF))?;
                    match &fallback {
                        Some(base) => Base::from_resolved(base.join(href)?),
                        None => Base::new(href),
                    }
                });
                let base = declared.or(fallback)?;
                Some(base.limited(MAX_PAGE_URL_BYTES))
            })
            .as_ref()
    }

    /// The URL of [`base`](Self::base), or the final URL if there is none.
    pub fn base_url(&self) -> &str {
        self.base().map_or_else(|| self.final_url(), Base::as_str)
    }
}

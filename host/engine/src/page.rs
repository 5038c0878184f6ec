//! A fetched page for plugins: decoded once, parsed once, shared by all of them.

use std::sync::{Arc, OnceLock};

use orbweaver_dom::{Limits, Namespace, Snapshot, attr, tag};
use orbweaver_urls::Base;

/// One redirect: the requested URL and the 3xx status of its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The requested URL.
    pub url: String,
    /// Status of its response, 300 to 399.
    pub status: u16,
}

/// The parts of a page from a fetch, a stored row or HTML given by a caller.
#[derive(Clone, Debug, Default)]
pub struct PageParts {
    /// The requested URL.
    pub url: String,
    /// The URL that answered, after redirects.
    pub final_url: String,
    /// HTTP status; 0 for a document that was not fetched.
    pub status: u16,
    /// Response headers in the order received, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Redirects followed, first to last.
    pub redirects: Vec<Hop>,
    /// The body with its content codings removed.
    pub body: Arc<[u8]>,
    /// The body as text in UTF-8; empty if it is not text.
    pub html: Arc<str>,
    /// Price of this page by the operator's price list, in US dollars; 0 if nothing was paid.
    pub cost_usd: f64,
}

impl PageParts {
    /// The text as the body, without a copy, if both are the same bytes, as those of nearly every
    /// page are.
    pub fn text_as_body(body: &[u8], html: &Arc<str>) -> Option<Arc<[u8]>> {
        (body == html.as_bytes()).then(|| Arc::clone(html).into())
    }
}

/// A page. Cheap to share (`Arc<Page>`); its DOM is parsed once, on first use.
#[derive(Debug)]
pub struct Page {
    parts: PageParts,
    snapshot: OnceLock<Arc<Snapshot>>,
    /// What links are relative to; `None` if it is not http or https.
    base: OnceLock<Option<String>>,
}

impl Page {
    /// Creates a page; nothing is parsed yet.
    pub fn new(parts: PageParts) -> Arc<Self> {
        Arc::new(Self {
            parts,
            snapshot: OnceLock::new(),
            base: OnceLock::new(),
        })
    }

    /// Creates a page from HTML that was not fetched: `url` is its base, the status is 0.
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

    /// The same page with other text: what a document that is no HTML was converted to.
    pub fn with_html(&self, html: Arc<str>) -> Arc<Self> {
        Self::new(PageParts {
            html,
            ..self.parts.clone()
        })
    }

    /// Everything except the parsed document.
    pub fn parts(&self) -> &PageParts {
        &self.parts
    }

    /// The parsed document, if it has been parsed.
    pub(crate) fn parsed(&self) -> Option<&Arc<Snapshot>> {
        self.snapshot.get()
    }

    /// Bytes that this page currently holds, including the snapshot once it is parsed.
    pub(crate) fn held_bytes(&self) -> u64 {
        let parts = &self.parts;
        let headers = parts
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len());
        let hops = parts.redirects.iter().map(|hop| hop.url.len());
        // Body and text share one allocation if they are equal.
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

    /// The parsed document. CPU-bound: about 10 ms per megabyte on first use, so call it from a
    /// worker thread.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        self.snapshot_within(&Limits::default())
    }

    /// A link's target as an absolute URL: relative to the first `<base href>` that is an http or
    /// https URL, else to the final URL (HTML standard, "document base URL"). `None` if it is not http
    /// or https. Parses the page on first use.
    pub(crate) fn resolve(&self, href: &str) -> Option<String> {
        let base = self.base.get_or_init(|| {
            let fallback = Base::new(&self.parts.final_url);
            let view = self.snapshot().view().ok();
            let declared = view.as_ref().and_then(|view| {
                let mut bases = view
                    .tagged_outside_templates(|id| id == tag::BASE)
                    .filter(|node| node.namespace() == Namespace::Html);
                let href = bases.find_map(|node| node.attr(attr::HREF))?;
                match &fallback {
                    Some(base) => Base::from_resolved(base.join(href)?),
                    None => Base::new(href),
                }
            });
            Some(declared.or(fallback)?.as_str().to_owned())
        });
        let base = Base::new(base.as_deref()?)?;
        Some(base.join(href)?.into_string())
    }

    /// As [`snapshot`](Self::snapshot); a first parse stays within these limits.
    pub(crate) fn snapshot_within(&self, limits: &Limits) -> &Arc<Snapshot> {
        self.snapshot
            .get_or_init(|| Arc::new(orbweaver_dom::parse_with(&self.parts.html, limits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_and_text_are_held_once_if_they_are_the_same_bytes() {
        let html: Arc<str> = Arc::from("<p>caf\u{e9}".repeat(1_000));
        let page = |body: Arc<[u8]>| {
            let html = Arc::clone(&html);
            Page::new(PageParts {
                body,
                html,
                ..PageParts::default()
            })
            .held_bytes()
        };
        let shared = PageParts::text_as_body(html.as_bytes(), &html).expect("the same bytes");
        assert_eq!(*shared, *html.as_bytes());
        let twice = page(Arc::from(html.as_bytes()));
        assert_eq!(page(shared) + html.len() as u64, twice);
        for other in [&b"<p>caf\xe9"[..], b"", &html.as_bytes()[1..]] {
            assert!(PageParts::text_as_body(other, &html).is_none());
        }
    }
}

//! The `links` role: targets and texts of a page's links.

use orbweaver_content::raw;
use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::text::{self, Collapse, Sink};
use orbweaver_sdk::urls::{Base, Resolved};
use orbweaver_sdk::{Budget, Error, Page, robots};

/// Every `a` and `area` with an `href` that resolves to an `http` or `https` URL, in
/// document order, repeats included: `[{"to", "anchor", "rel", "nofollow"}]`. Those in a `template` are
/// no part of the page.
///
/// A page that has nearly all of its text in a `noscript` has the links of that, too, behind its own.
///
/// `to` is absolute, with escapes and fragment as written. `anchor` is the visible text, white
/// space collapsed; for a link without text, its images' `alt`, else its `aria-label`, else that of
/// an element in it, else `title`, else the title of a drawing in it.
/// `nofollow` is true for `rel` nofollow, ugc or sponsored, and for all links of a page whose
/// robots meta or `X-Robots-Tag` has nofollow for all robots.
///
/// Nested links can repeat a page's text many times: when the [`Budget`] is exhausted, anchors are
/// empty. Links beyond a total of
/// [`MAX_PAGE_URL_BYTES`](orbweaver_sdk::urls::MAX_PAGE_URL_BYTES) bytes of URLs are left out.
pub fn extract(page: &Page<'_>, _options: &str) -> Result<String, Error> {
    let view = page.view()?;
    let mut w = Writer::with_capacity(1024);
    w.begin_array();
    if let Some(base) = page.base() {
        let mut list = List {
            base,
            page_nofollow: robots::forbid_following(&robots::directives(page)?),
            to: Resolved::default(),
        };
        list.write(view, &mut w);
        let snapshot = raw::without_scripts(view);
        if let Some(other) = snapshot.as_ref().and_then(|snapshot| snapshot.view().ok()) {
            list.write(&other, &mut w);
        }
    }
    w.end_array();
    Ok(w.finish())
}

/// What all links of a page share.
struct List<'p> {
    base: &'p Base,
    page_nofollow: bool,
    to: Resolved,
}

impl List<'_> {
    /// Writes the links of a document.
    fn write(&mut self, view: &View<'_>, w: &mut Writer) {
        let mut budget = Budget::of(view);
        for node in view.tagged_outside_templates(|id| matches!(id, tag::A | tag::AREA)) {
            let Some(href) = node
                .attr(attr::HREF)
                .or_else(|| node.attr(attr::XLINK_HREF))
            else {
                continue;
            };
            if !self.base.join_into(href, &mut self.to) {
                continue;
            }
            let rel = node.attr(attr::REL).unwrap_or("");
            w.begin_object();
            w.key("to").string(self.to.as_str());
            w.key("anchor");
            if budget.spend(node.end() - node.id()) {
                let before = w.as_str().len();
                w.string_with(|out| push_anchor(node, out));
                budget.spend_text(w.as_str().len() - before);
            } else {
                w.string("");
            }
            w.key("rel")
                .string_with(|out| Collapse::default().push(rel, out));
            w.key("nofollow")
                .bool(self.page_nofollow || robots::rel_forbids_following(rel));
            w.end_object();
        }
    }
}

/// Writes the link's text, or its replacement.
fn push_anchor(link: Node<'_>, out: &mut impl Sink) {
    if link.tag() == tag::A {
        if text::push_line(link, out) {
            return;
        }
        let mut alts = Collapse::default();
        for image in link.descendants().filter(|n| n.tag() == tag::IMG) {
            alts.push(image.attr(attr::ALT).unwrap_or(""), out);
            alts.gap();
        }
        if !alts.is_empty() {
            return;
        }
    }
    let names = [attr::ALT, attr::ARIA_LABEL]
        .into_iter()
        .filter_map(|name| link.attr(name))
        .chain(link.descendants().filter_map(|n| n.attr(attr::ARIA_LABEL)))
        .chain(link.attr(attr::TITLE));
    for name in names {
        let mut label = Collapse::default();
        label.push(name, out);
        if !label.is_empty() {
            return;
        }
    }
    // Drawings have their name in an element.
    for title in link.descendants().filter(|n| n.tag() == tag::TITLE) {
        if text::push_line(title, out) {
            return;
        }
    }
}

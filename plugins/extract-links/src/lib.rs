//! The `links` role: targets and texts of a page's links.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::text::{self, Collapse, Sink};
use orbweaver_sdk::urls::Resolved;
use orbweaver_sdk::{Budget, Error, Page, robots};

/// Every `a` and `area` with an `href` that resolves to an `http` or `https` URL, in
/// document order, repeats included: `[{"to", "anchor", "rel", "nofollow"}]`.
///
/// `to` is absolute, with escapes and fragment as written. `anchor` is the visible text, white
/// space collapsed; for a link without text, its images' `alt`, else `aria-label`, else `title`.
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
        let page_nofollow = robots::forbid_following(&robots::directives(page)?);
        let mut to = Resolved::default();
        let mut budget = Budget::of(view);
        for node in view.tagged(|id| matches!(id, tag::A | tag::AREA)) {
            let Some(href) = node
                .attr(attr::HREF)
                .or_else(|| node.attr(attr::XLINK_HREF))
            else {
                continue;
            };
            if !base.join_into(href, &mut to) {
                continue;
            }
            let rel = node.attr(attr::REL).unwrap_or("");
            w.begin_object();
            w.key("to").string(to.as_str());
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
                .bool(page_nofollow || robots::rel_forbids_following(rel));
            w.end_object();
        }
    }
    w.end_array();
    Ok(w.finish())
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
    for name in [attr::ALT, attr::ARIA_LABEL, attr::TITLE] {
        let mut label = Collapse::default();
        label.push(link.attr(name).unwrap_or(""), out);
        if !label.is_empty() {
            return;
        }
    }
}

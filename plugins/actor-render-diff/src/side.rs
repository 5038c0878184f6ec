//! Facts of one side of the comparison.

use orbweaver_sdk::dom::{Namespace, Node, attr, tag};
use orbweaver_sdk::text::{self, Collapse};
use orbweaver_sdk::{Error, Page, jsonld};
use serde::Serialize;

/// Figures of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Status of the response.
    pub status_code: u16,
    /// Words of the visible text.
    pub word_count: u64,
    /// Links (`a`, `area`) to `http` and `https` URLs, including repeats.
    pub link_count: u64,
    /// Headings (`h1` to `h6`) with a text.
    pub heading_count: u64,
    /// Objects of JSON-LD, arrays and graphs flattened.
    pub json_ld_count: u64,
    /// Length of the HTML.
    pub html_bytes: u64,
}

/// One side of the comparison.
#[derive(Debug, Default)]
pub struct Side {
    /// The figures.
    pub counts: Counts,
    /// The URL at which the page ends, without a fragment.
    pub url: String,
    /// Targets of links without their fragments, in document order.
    pub links: Vec<String>,
    /// Texts of headings, in document order.
    pub headings: Vec<String>,
    /// Every JSON-LD object: its types joined, and its text.
    pub json_ld: Vec<(String, String)>,
    /// Lines of the visible text.
    pub lines: Vec<String>,
}

impl Side {
    /// Reads a page.
    pub fn of(page: &Page<'_>) -> Result<Self, Error> {
        let view = page.view()?;
        let url = page.final_url();
        let mut side = Self {
            url: url.split('#').next().unwrap_or(url).to_owned(),
            ..Self::default()
        };
        let wanted = |id| matches!(id, tag::A | tag::AREA | tag::H1..=tag::H6);
        for node in view.tagged_outside_templates(wanted) {
            match node.tag() {
                tag::A | tag::AREA => side.link(page, node),
                tag::H1 | tag::H2 | tag::H3 | tag::H4 | tag::H5 | tag::H6
                    if node.namespace() == Namespace::Html =>
                {
                    side.heading(node);
                }
                _ => {}
            }
        }
        for block in jsonld::blocks(view) {
            for object in block.objects() {
                side.json_ld
                    .push((object.types().join(", "), object.json.to_owned()));
            }
        }
        if let Some(body) = view.body() {
            side.lines = text::lines(body).lines().map(str::to_owned).collect();
        }
        side.counts = Counts {
            status_code: page.status(),
            word_count: side.lines.iter().map(|line| text::word_count(line)).sum(),
            link_count: side.links.len() as u64,
            heading_count: side.headings.len() as u64,
            json_ld_count: side.json_ld.len() as u64,
            html_bytes: page.size(),
        };
        Ok(side)
    }

    fn link(&mut self, page: &Page<'_>, node: Node<'_>) {
        let href = node
            .attr(attr::HREF)
            .or_else(|| node.attr(attr::XLINK_HREF));
        if let Some(url) = href.and_then(|href| page.base()?.join(href)) {
            self.links.push(url.without_fragment().to_owned());
        }
    }

    fn heading(&mut self, node: Node<'_>) {
        let mut heading = text::line(node);
        if heading.is_empty() {
            // The alt text of a logo counts as heading text.
            let mut alts = Collapse::default();
            for image in node.descendants().filter(|n| n.tag() == tag::IMG) {
                alts.push(image.attr(attr::ALT).unwrap_or(""), &mut heading);
                alts.gap();
            }
        }
        if !heading.is_empty() {
            self.headings.push(heading);
        }
    }
}

//! The links to check: distinct links in the order of their first appearance.

use std::collections::HashSet;

use orbweaver_sdk::dom::{attr, tag};
use orbweaver_sdk::urls::Resolved;
use orbweaver_sdk::{Error, Page};

use crate::probe::{Status, Verdict};

/// Most links of a list.
pub const MAX_URLS: usize = 200;
/// Most distinct links of a page that are checked; further ones are counted.
pub const MAX_PAGE_LINKS: usize = 1_000;

/// One link, with its result if no request is needed.
#[derive(Debug)]
pub struct Entry {
    /// The URL as it will be reported.
    pub url: String,
    /// The result, if no request is needed.
    pub known: Option<Verdict>,
}

/// The links to check.
#[derive(Debug, Default)]
pub struct Plan {
    /// The distinct links.
    pub entries: Vec<Entry>,
    /// Distinct links beyond [`MAX_PAGE_LINKS`].
    pub not_checked: u64,
    seen: HashSet<String>,
}

impl Plan {
    /// The links of a page: `a` and `area` with an `href`.
    pub fn of_page(page: &Page<'_>) -> Result<Self, Error> {
        let mut plan = Self::default();
        let own = Resolved::parse(page.final_url());
        let links = |id| matches!(id, tag::A | tag::AREA);
        for node in page.view()?.tagged_outside_templates(links) {
            let href = node
                .attr(attr::HREF)
                .or_else(|| node.attr(attr::XLINK_HREF));
            let Some(href) = href.map(str::trim_ascii) else {
                continue;
            };
            match page.base().and_then(|base| base.join(href)) {
                Some(url) => {
                    let url = url.without_fragment();
                    // The page itself has just responded.
                    let own = own
                        .as_ref()
                        .is_some_and(|own| own.without_fragment() == url);
                    let known = own.then(|| Verdict::answered(page.status(), None));
                    plan.add(url, || known);
                }
                None => plan.add(href, || Some(unasked(href))),
            }
        }
        Ok(plan)
    }

    /// The links of a list.
    pub fn of_list(urls: &[String]) -> Result<Self, Error> {
        match urls.len() {
            0 => return Err(Error::invalid("urls: must have at least 1 item")),
            1..=MAX_URLS => {}
            _ => {
                return Err(Error::invalid(format!(
                    "urls: must have at most {MAX_URLS} items"
                )));
            }
        }
        let mut plan = Self::default();
        for written in urls {
            let written = written.trim();
            match Resolved::parse(written) {
                Some(url) => plan.add(url.without_fragment(), || None),
                None => plan.add(written, || Some(unasked(written))),
            }
        }
        Ok(plan)
    }

    fn add(&mut self, url: &str, known: impl FnOnce() -> Option<Verdict>) {
        if self.seen.contains(url) {
            return;
        }
        self.seen.insert(url.to_owned());
        if self.entries.len() >= MAX_PAGE_LINKS {
            self.not_checked += 1;
            return;
        }
        self.entries.push(Entry {
            url: url.to_owned(),
            known: known(),
        });
    }
}

/// The result for a URL other than `http` or `https`: excluded by its scheme, or broken.
fn unasked(written: &str) -> Verdict {
    let scheme = written
        .split_once(':')
        .map(|(scheme, _)| scheme.trim_ascii());
    let scheme = scheme.filter(|scheme| {
        let mut bytes = scheme.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
            && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    });
    match scheme.map(str::to_ascii_lowercase) {
        Some(scheme) if scheme != "http" && scheme != "https" => Verdict::without_answer(
            Status::Excluded,
            format!("the scheme {scheme}: is not checked"),
        ),
        _ => Verdict::without_answer(Status::Broken, "not a valid URL".to_owned()),
    }
}

//! The link graph of a run for actors: maps each link to a page of the run.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexSet;
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_core::key_hash::key_hash;
use orbweaver_engine::LinkColumns;
use orbweaver_store::crawl::{LinkRows, Run, each_link};
use orbweaver_store::{Store, StoreError};
use orbweaver_urls::KeyRules;
use parking_lot::Mutex;
use url::Url;

/// Resolves the links of a run. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Graph(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    run: RunId,
    /// Page ids by the hash of a URL key: of the page's own key and of keys that redirect to it.
    pages: HashMap<u64, i64>,
    rules: KeyRules,
    known: Mutex<Known>,
}

/// Cache by the URL as written: most links of a site are written the same way on every page.
#[derive(Debug, Default)]
struct Known {
    targets: HashMap<Box<str>, i64>,
    /// Bytes of the URLs, with the overhead of each entry.
    bytes: usize,
}

/// Most bytes of that cache; URLs beyond are resolved each time.
const MAX_KNOWN: usize = 8 << 20;
/// Longest URL in that cache, in bytes.
const MAX_KNOWN_URL: usize = 256;
/// What an entry of that cache takes beside its URL: its slot in a table that may be less than half full, and
/// what the allocator adds.
const KNOWN_ENTRY: usize = 80;
/// What an entry of `pages` takes, in a table that may be less than half full.
const PAGE_ENTRY: u64 = 40;

impl Known {
    fn add(&mut self, url: &str, to: i64) {
        let bytes = self.bytes + url.len() + KNOWN_ENTRY;
        if bytes <= MAX_KNOWN && url.len() <= MAX_KNOWN_URL {
            self.bytes = bytes;
            self.targets.insert(url.into(), to);
        }
    }
}

/// Number of links after which a batch ends, with the page just read: pages of a hostile site
/// have a hundred thousand each.
const MAX_LINKS: usize = 200_000;

/// Page id of a link that leads to no page of the run.
const NONE: i64 = -1;

impl Graph {
    /// Loads the graph of a finished run.
    pub(super) async fn load(
        store: &Store,
        project: ProjectId,
        run: &Run,
        rules: KeyRules,
    ) -> Result<Self, StoreError> {
        Ok(Self(Arc::new(Inner {
            run: run.id,
            pages: store.run_index(project, run.id).await?,
            rules,
            known: Mutex::default(),
        })))
    }

    pub(super) fn run(&self) -> RunId {
        self.0.run
    }

    /// Bytes that the graph of a run with this many pages holds at first.
    pub(super) const fn least_bytes(pages: u64) -> u64 {
        pages.saturating_mul(PAGE_ENTRY)
    }

    /// Bytes that it holds now.
    pub(super) fn held_bytes(&self) -> u64 {
        Self::least_bytes(self.0.pages.len() as u64) + self.0.known.lock().bytes as u64
    }

    /// The internal links of these pages in columns. If there are very many, only of the first
    /// pages. CPU-bound.
    pub(super) fn columns(&self, links: &LinkRows) -> Result<LinkColumns, StoreError> {
        let LinkRows { rows, more } = links;
        let mut columns = LinkColumns::default();
        let mut anchors: IndexSet<String> = IndexSet::new();
        let mut known = self.0.known.lock();
        for row in rows {
            each_link(&row.links, |to_url, text, nofollow| {
                let to = match known.targets.get(&*to_url) {
                    Some(to) => *to,
                    None => {
                        let to = self.target(&to_url);
                        known.add(&to_url, to);
                        to
                    }
                };
                // The target is external or was not crawled.
                if to == NONE {
                    return;
                }
                let anchor = match anchors.get_index_of(&*text) {
                    Some(anchor) => anchor,
                    None => anchors.insert_full(text.into_owned()).0,
                };
                columns.from_page.push(row.page.get());
                columns.to_page.push(to);
                columns
                    .anchor
                    .push(u32::try_from(anchor).unwrap_or(u32::MAX));
                columns.nofollow.push(nofollow);
            })?;
            if columns.from_page.len() >= MAX_LINKS {
                columns.next = Some(row.page.get());
                break;
            }
        }
        if columns.next.is_none() {
            columns.next = rows.last().filter(|_| *more).map(|row| row.page.get());
        }
        columns.anchors = anchors.into_iter().collect();
        Ok(columns)
    }

    fn target(&self, url: &str) -> i64 {
        let Ok(url) = Url::parse(url) else {
            return NONE;
        };
        let hash = key_hash(&orbweaver_urls::key(&url, self.0.rules));
        self.0.pages.get(&hash).copied().unwrap_or(NONE)
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_core::ids::PageId;
    use orbweaver_store::crawl::{PackedLinks, pack_links};

    use super::*;

    fn row(page: i64, links: &[(&str, &str, bool)]) -> PackedLinks {
        let links = links.iter().map(|(to, text, no)| (*to, *text, "", *no));
        PackedLinks {
            page: PageId(page),
            links: pack_links(links),
        }
    }

    fn graph(pages: &[(&str, i64)]) -> Graph {
        let pages = pages.iter().map(|(url, id)| (key_hash(url), *id));
        Graph(Arc::new(Inner {
            run: RunId(1),
            pages: pages.collect(),
            rules: KeyRules::default(),
            known: Mutex::default(),
        }))
    }

    #[test]
    fn columns_have_links_between_pages_of_the_run_only() {
        let graph = graph(&[("https://e.org/", 7), ("https://e.org/a", 8)]);
        let rows = vec![
            row(
                7,
                &[
                    ("https://e.org/a", "A", false),
                    ("https://e.org/gone", "G", false),
                    ("https://E.org:443/a?utm_source=x#top", "", true),
                ],
            ),
            row(8, &[("https://e.org", "A", false)]),
        ];
        let mut links = LinkRows { rows, more: true };
        let columns = graph.columns(&links).unwrap();
        assert_eq!(columns.from_page, [7, 7, 8]);
        assert_eq!(columns.to_page, [8, 8, 7]);
        assert_eq!(columns.anchor, [0, 1, 0]);
        assert_eq!(columns.anchors, ["A", ""]);
        assert_eq!(columns.nofollow, [false, true, false]);
        assert_eq!(columns.next, Some(8));
        links.more = false;
        assert_eq!(graph.columns(&links).unwrap().next, None);
    }

    #[test]
    fn a_batch_ends_early_where_pages_have_very_many_links() {
        let graph = graph(&[("https://e.org/", 1)]);
        let many = vec![("https://e.org/", "", false); MAX_LINKS];
        let rows = vec![row(1, &many), row(2, &many), row(3, &[])];
        let columns = graph.columns(&LinkRows { rows, more: true }).unwrap();
        assert_eq!(columns.from_page.len(), MAX_LINKS);
        assert_eq!(columns.next, Some(1));
    }

    #[test]
    fn the_cache_of_links_is_bounded_in_bytes_and_counts_among_those_held() {
        let graph = graph(&[("https://e.org/", 1)]);
        let pages_alone = graph.held_bytes();
        let urls: Vec<String> = (0..60_000)
            .map(|at| format!("https://e.org/{at:0>200}"))
            .collect();
        let links = urls.iter().map(|url| (url.as_str(), "", "", false));
        let rows = vec![PackedLinks {
            page: PageId(1),
            links: pack_links(links),
        }];
        let links = LinkRows { rows, more: false };
        graph.columns(&links).unwrap();
        let cached = graph.held_bytes() - pages_alone;
        assert!((7 << 20..=8 << 20).contains(&cached), "{cached}");
        // A target that does not fit is resolved all the same.
        graph.columns(&links).unwrap();
        assert_eq!(graph.held_bytes() - pages_alone, cached);
    }
}

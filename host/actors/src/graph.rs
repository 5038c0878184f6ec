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
    /// Cache by the URL as written: most links of a site are written the same way on every
    /// page.
    known: Mutex<HashMap<String, i64>>,
}

/// Most URLs in that cache; others are resolved each time.
const MAX_KNOWN: usize = 500_000;
/// Longest URL in that cache, in bytes.
const MAX_KNOWN_BYTES: usize = 256;

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

    /// The internal links of these pages in columns. If there are very many, only of the first
    /// pages. CPU-bound.
    pub(super) fn columns(&self, links: &LinkRows) -> Result<LinkColumns, StoreError> {
        let LinkRows { rows, more } = links;
        let mut columns = LinkColumns::default();
        let mut anchors: IndexSet<String> = IndexSet::new();
        let mut known = self.0.known.lock();
        for row in rows {
            each_link(&row.links, |to_url, text, nofollow| {
                let to = match known.get(&*to_url) {
                    Some(to) => *to,
                    None => {
                        let to = self.target(&to_url);
                        if known.len() < MAX_KNOWN && to_url.len() <= MAX_KNOWN_BYTES {
                            known.insert(to_url.into_owned(), to);
                        }
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
}

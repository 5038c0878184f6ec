//! The links of a run, as actors read them: which page of the run each leads to.

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_core::key_hash::key_hash;
use orbweaver_engine::LinkColumns;
use orbweaver_store::crawl::{PackedLinks, Run, unpack_links};
use orbweaver_store::{Store, StoreError};
use orbweaver_urls::KeyRules;
use parking_lot::Mutex;
use url::Url;

/// Where the links of a run lead. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Graph(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    run: RunId,
    /// Pages by the hash of their key, and of every key that redirects to them.
    pages: HashMap<u64, i64>,
    rules: KeyRules,
    /// Targets as they are written, resolved before: most links of a site are written alike
    /// on every page.
    known: Mutex<HashMap<String, i64>>,
}

/// Spellings of targets remembered; beyond, they are worked out anew.
const MAX_KNOWN: usize = 1_000_000;

/// The page that a link does not lead to.
const NONE: i64 = -1;

impl Graph {
    /// Of a finished run.
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

    /// The internal links of these pages, in columns. `asked` pages were asked for: fewer
    /// are the last. CPU-bound.
    pub(super) fn columns(
        &self,
        rows: &[PackedLinks],
        asked: u32,
    ) -> Result<LinkColumns, StoreError> {
        let mut columns = LinkColumns::default();
        let mut anchors: HashMap<String, u32> = HashMap::new();
        let mut known = self.0.known.lock();
        for row in rows {
            for link in unpack_links(&row.links)? {
                let to = match known.get(&link.to_url) {
                    Some(to) => *to,
                    None => {
                        let to = self.target(&link.to_url);
                        if known.len() < MAX_KNOWN {
                            known.insert(link.to_url, to);
                        }
                        to
                    }
                };
                // A link to no page of the run is either external or was not crawled.
                if to == NONE {
                    continue;
                }
                let next = u32::try_from(anchors.len()).unwrap_or(u32::MAX);
                let anchor = match anchors.get(&link.anchor) {
                    Some(anchor) => *anchor,
                    None => {
                        columns.anchors.push(link.anchor.clone());
                        anchors.insert(link.anchor, next);
                        next
                    }
                };
                columns.from_page.push(row.page.get());
                columns.to_page.push(to);
                columns.anchor.push(anchor);
                columns.nofollow.push(link.nofollow);
            }
        }
        let whole = u32::try_from(rows.len()).is_ok_and(|count| count >= asked);
        columns.next = rows.last().filter(|_| whole).map(|row| row.page.get());
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

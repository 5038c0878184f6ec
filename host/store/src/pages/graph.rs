//! The link graph of a run: incoming links of its pages, and pages without any.

use std::collections::HashMap;
use std::hash::BuildHasher;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_core::key_hash::BuildKeyHasher;

use super::links::PackedTargets;
use super::unpack_targets;
use crate::db::{number, push_list, read_replica};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::from_ms;

/// Rows read per query: no connection is held for a whole run, and memory holds only a few
/// words per page.
const CHUNK: i64 = 2_000;

/// A page to which no other page of its run links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Its id.
    pub id: PageId,
    /// URL as requested.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// When the response arrived.
    pub fetched_at: DateTime<Utc>,
}

#[derive(sqlx_macros::FromRow)]
struct Node {
    id: i64,
    key_hash: Option<i64>,
    seq: Option<i64>,
    is_seed: i64,
}

#[derive(sqlx_macros::FromRow)]
struct OrphanRow {
    id: i64,
    url: String,
    status: i64,
    fetched_at: i64,
}

/// Pages by the hash of their key; a URL that redirects maps to its target.
#[derive(Default)]
struct Graph {
    /// Index into `ids` and `linked`.
    places: HashMap<u64, u32, BuildKeyHasher>,
    /// Page ids, ascending.
    ids: Vec<i64>,
    inlinks: Vec<Inlinks>,
}

/// Incoming links of a page.
#[derive(Clone, Copy, Default)]
struct Inlinks {
    /// Number of other pages that link to it.
    count: u32,
    /// The last of them, by id: a page counts once, however often it links.
    last: i64,
    is_seed: bool,
}

impl Graph {
    fn add(&mut self, node: &Node, is_seed: bool) {
        if let (Some(key), Ok(place)) = (node.key_hash, u32::try_from(self.ids.len())) {
            self.places.insert(key.cast_unsigned(), place);
            self.ids.push(node.id);
            self.inlinks.push(Inlinks {
                is_seed,
                ..Inlinks::default()
            });
        }
    }

    fn link(&mut self, row: &PackedTargets) {
        let own = self.ids.binary_search(&row.page.get()).ok();
        for target in unpack_targets(&row.targets) {
            let Some(&place) = self.places.get(&target) else {
                continue;
            };
            let place = place as usize;
            if Some(place) != own
                && let Some(known) = self.inlinks.get_mut(place)
                && known.last != row.page.get()
            {
                known.last = row.page.get();
                known.count += 1;
            }
        }
    }

    fn orphans(&self) -> Vec<i64> {
        let pages = self.ids.iter().zip(&self.inlinks);
        pages
            .filter(|(_, known)| known.count == 0 && !known.is_seed)
            .map(|(id, _)| *id)
            .collect()
    }
}

/// Adds keys that lead to a known one, over any number of redirects; what goes in a circle leads
/// nowhere. Each redirect is followed once.
fn follow<T: Copy, S: BuildHasher>(known: &mut HashMap<u64, T, S>, redirects: &[(u64, u64)]) {
    let targets: HashMap<u64, u64, BuildKeyHasher> = redirects.iter().rev().copied().collect();
    let mut ends: HashMap<u64, Option<T>, BuildKeyHasher> = HashMap::default();
    for (from, _) in redirects {
        let mut way = Vec::new();
        let mut at = *from;
        let end = loop {
            if let Some(found) = known.get(&at) {
                break Some(*found);
            }
            if let Some(end) = ends.get(&at) {
                break *end;
            }
            // Until its end is found: who comes here again has gone in a circle.
            ends.insert(at, None);
            way.push(at);
            match targets.get(&at) {
                Some(next) => at = *next,
                None => break None,
            }
        };
        ends.extend(way.into_iter().map(|key| (key, end)));
    }
    let found = ends.into_iter().filter_map(|(key, end)| Some((key, end?)));
    known.extend(found);
}

impl Store {
    /// Pages of a run to which no other page of it links, by ascending id, except the seed. A
    /// link to a URL that redirects counts for its target; a page's link to itself does not
    /// count.
    #[crate::boxed]
    pub async fn orphans(&self, project: ProjectId, run: RunId) -> Result<Vec<Orphan>, StoreError> {
        let graph = self.graph(project, run).await?;
        self.orphan_rows(project, &graph.orphans()).await
    }

    /// For each page of a run, by its id, the number of other pages of the run that link to it.
    /// A link to a URL that redirects counts for its target.
    #[crate::boxed]
    pub async fn inlinks(
        &self,
        project: ProjectId,
        run: RunId,
    ) -> Result<HashMap<PageId, u32>, StoreError> {
        let graph = self.graph(project, run).await?;
        let pages = graph.ids.iter().zip(&graph.inlinks);
        Ok(pages
            .map(|(id, known)| (PageId(*id), known.count))
            .collect())
    }

    /// The links between a run's pages.
    async fn graph(&self, project: ProjectId, run: RunId) -> Result<Graph, StoreError> {
        let mut graph = Graph::default();
        let Some(asked) = self.run(project, run).await? else {
            return Ok(graph);
        };
        let mut after = 0;
        loop {
            let nodes = self.nodes(project, run, after).await?;
            let Some(last) = nodes.last() else { break };
            after = last.id;
            for node in &nodes {
                let is_seed = node.is_seed != 0 || asked.seed_is_page && node.seq == Some(0);
                graph.add(node, is_seed);
            }
        }
        let redirects = self.frontier_redirects(project, run).await?;
        follow(&mut graph.places, &redirects);
        let mut after = 0;
        loop {
            let rows = self.run_targets(project, run, after).await?;
            let Some(last) = rows.last() else { break };
            after = last.page.get();
            for row in &rows {
                graph.link(row);
            }
        }
        Ok(graph)
    }

    /// Maps hashes of URL keys to pages of a run: each page's own key, and keys that redirect to
    /// it.
    #[crate::boxed]
    pub async fn run_index(
        &self,
        project: ProjectId,
        run: RunId,
    ) -> Result<HashMap<u64, i64>, StoreError> {
        let mut pages: HashMap<u64, i64> = HashMap::new();
        let mut after = 0;
        loop {
            let nodes = self.nodes(project, run, after).await?;
            let Some(last) = nodes.last() else { break };
            after = last.id;
            for node in &nodes {
                if let Some(key) = node.key_hash {
                    pages.insert(key.cast_unsigned(), node.id);
                }
            }
        }
        let redirects = self.frontier_redirects(project, run).await?;
        follow(&mut pages, &redirects);
        Ok(pages)
    }

    async fn nodes(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
    ) -> Result<Vec<Node>, StoreError> {
        read_replica!(self, pool => {
            Ok(sqlx::query_as(
                "SELECT p.id, p.key_hash, p.seq,
                        CAST(CASE WHEN p.url_key = r.url_key THEN 1 ELSE 0 END AS BIGINT) AS is_seed
                 FROM pages p JOIN runs r ON r.id = p.run_id
                 WHERE p.project_id = $3 AND p.run_id = $1 AND p.id > $2 AND r.project_id = $3
                 ORDER BY p.id LIMIT $4",
            )
            .bind(run.get())
            .bind(after)
            .bind(project.get())
            .bind(CHUNK)
            .fetch_all(pool)
            .await?)
        })
    }

    async fn orphan_rows(
        &self,
        project: ProjectId,
        ids: &[i64],
    ) -> Result<Vec<Orphan>, StoreError> {
        let mut orphans = Vec::with_capacity(ids.len());
        for piece in ids.chunks(500) {
            let rows: Vec<OrphanRow> = read_replica!(self, pool => {
                let mut query = sqlx::QueryBuilder::new(
                    "SELECT id, url, status, fetched_at FROM pages WHERE project_id = ",
                );
                query.push_bind(project.get()).push(" AND id IN ");
                push_list(&mut query, piece.iter().copied());
                query.push(" ORDER BY id");
                query.build_query_as().fetch_all(pool).await?
            });
            for row in rows {
                orphans.push(Orphan {
                    id: PageId(row.id),
                    url: row.url,
                    status: number(row.status, "status")?,
                    fetched_at: from_ms(row.fetched_at),
                });
            }
        }
        Ok(orphans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(pages: &[u64], redirects: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut known: HashMap<u64, u64> = pages.iter().map(|page| (*page, *page)).collect();
        follow(&mut known, redirects);
        let mut ends: Vec<(u64, u64)> = known.into_iter().collect();
        ends.sort_unstable();
        ends
    }

    #[test]
    fn redirects_are_followed_to_their_page_whatever_their_order() {
        let way = [(1, 2), (2, 3), (3, 9)];
        let expected = [(1, 9), (2, 9), (3, 9), (9, 9)];
        assert_eq!(ends(&[9], &way), expected);
        let mut back = way;
        back.reverse();
        assert_eq!(ends(&[9], &back), expected);
        // A page's own key is the page's.
        assert_eq!(ends(&[2, 9], &way), [(1, 2), (2, 2), (3, 9), (9, 9)]);
    }

    #[test]
    fn what_goes_in_a_circle_or_nowhere_has_no_page() {
        assert_eq!(ends(&[9], &[(1, 2), (2, 1), (3, 2), (4, 4)]), [(9, 9)]);
        assert_eq!(ends(&[9], &[(1, 2), (5, 9)]), [(5, 9), (9, 9)]);
    }

    #[test]
    fn a_long_way_is_followed_in_linear_time() {
        let way: Vec<(u64, u64)> = (0..200_000).map(|key| (key, key + 1)).collect();
        assert_eq!(ends(&[200_000], &way).len(), 200_001);
    }
}

//! Questions to a whole run: pages that nothing links to.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use serde::Deserialize;

use super::links::unpack_targets;
use crate::db::{Store, read};
use crate::error::StoreError;
use crate::pages::number;
use crate::time::from_ms;

/// Rows read at a time: no connection is held for a whole run, and no run is held in memory
/// beyond a few words a page.
const CHUNK: i64 = 2_000;

/// A page that no other page of its run links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Its id.
    pub id: PageId,
    /// As it was asked for.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// When the answer arrived.
    pub fetched_at: DateTime<Utc>,
}

#[derive(sqlx::FromRow)]
struct Node {
    id: i64,
    key_hash: Option<i64>,
    seq: Option<i64>,
    is_seed: i64,
}

#[derive(sqlx::FromRow)]
struct Targets {
    page_id: i64,
    targets: Vec<u8>,
}

#[derive(sqlx::FromRow)]
struct Redirect {
    seq: i64,
    key_hash: i64,
    redirect_to: i64,
}

#[derive(sqlx::FromRow)]
struct OrphanRow {
    id: i64,
    url: String,
    status: i64,
    fetched_at: i64,
}

/// What of a run's request decides which of its pages is the seed.
#[derive(Deserialize)]
struct Seed {
    #[serde(default)]
    seed_kind: String,
}

/// Keys are hashes already.
#[derive(Default)]
struct Unhashed(u64);

impl Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Pages by the hash of their key; a URL that redirects stands for where it leads.
#[derive(Default)]
struct Graph {
    /// Place in `ids` and `linked`.
    places: HashMap<u64, u32, BuildHasherDefault<Unhashed>>,
    /// Ascending.
    ids: Vec<i64>,
    linked: Vec<bool>,
}

impl Graph {
    fn add(&mut self, node: &Node, is_seed: bool) {
        if let (Some(key), Ok(place)) = (node.key_hash, u32::try_from(self.ids.len())) {
            self.places.insert(key.cast_unsigned(), place);
            self.ids.push(node.id);
            self.linked.push(is_seed);
        }
    }

    fn redirect(&mut self, from: u64, to: u64) {
        if let Some(&place) = self.places.get(&to) {
            self.places.entry(from).or_insert(place);
        }
    }

    fn link(&mut self, row: &Targets) {
        let own = self.ids.binary_search(&row.page_id).ok();
        for target in unpack_targets(&row.targets) {
            let Some(&place) = self.places.get(&target) else {
                continue;
            };
            let place = place as usize;
            if Some(place) != own
                && let Some(linked) = self.linked.get_mut(place)
            {
                *linked = true;
            }
        }
    }

    fn orphans(&self) -> Vec<i64> {
        let pages = self.ids.iter().zip(&self.linked);
        pages
            .filter(|(_, linked)| !**linked)
            .map(|(id, _)| *id)
            .collect()
    }
}

impl Store {
    /// Pages of a run that no other page of it links to, by ascending id; the seed is left
    /// out. A link to a URL that redirects counts for the page it leads to, a page's link to
    /// itself does not count.
    pub async fn orphans(&self, project: ProjectId, run: RunId) -> Result<Vec<Orphan>, StoreError> {
        let Some(asked) = self.run(project, run).await? else {
            return Ok(Vec::new());
        };
        // A sitemap is no page, and what it lists first is no seed.
        let from_page =
            serde_json::from_str::<Seed>(&asked.spec).is_ok_and(|seed| seed.seed_kind != "sitemap");
        let mut graph = Graph::default();
        let mut after = 0;
        loop {
            let nodes = self.nodes(project, run, after).await?;
            let Some(last) = nodes.last() else { break };
            after = last.id;
            for node in &nodes {
                let is_seed = node.is_seed != 0 || from_page && node.seq == Some(0);
                graph.add(node, is_seed);
            }
        }
        for (from, to) in self.redirects(run).await? {
            graph.redirect(from, to);
        }
        let mut after = 0;
        loop {
            let rows = self.targets(project, run, after).await?;
            let Some(last) = rows.last() else { break };
            after = last.page_id;
            for row in &rows {
                graph.link(row);
            }
        }
        self.orphan_rows(project, &graph.orphans()).await
    }

    /// The pages of a run by the hash of their key, and of every key of the run that
    /// redirects to one.
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
        for (from, to) in self.redirects(run).await? {
            if let Some(page) = pages.get(&to).copied() {
                pages.entry(from).or_insert(page);
            }
        }
        Ok(pages)
    }

    async fn nodes(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
    ) -> Result<Vec<Node>, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_as(
                "SELECT p.id, p.key_hash, p.seq,
                        CAST(CASE WHEN p.url_key = r.url_key THEN 1 ELSE 0 END AS BIGINT) AS is_seed
                 FROM pages p JOIN runs r ON r.id = p.run_id
                 WHERE p.run_id = $1 AND p.id > $2 AND r.project_id = $3
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

    async fn targets(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
    ) -> Result<Vec<Targets>, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_as(
                "SELECT page_id, targets FROM page_links
                 WHERE run_id = $1 AND page_id > $2 AND project_id = $3
                 ORDER BY page_id LIMIT $4",
            )
            .bind(run.get())
            .bind(after)
            .bind(project.get())
            .bind(CHUNK)
            .fetch_all(pool)
            .await?)
        })
    }

    /// URLs of a run that redirect within its scope, each with where it leads.
    async fn redirects(&self, run: RunId) -> Result<Vec<(u64, u64)>, StoreError> {
        let mut redirects = Vec::new();
        let mut after = -1;
        loop {
            let rows: Vec<Redirect> = read!(self.db, pool => {
                sqlx::query_as(
                    "SELECT seq, key_hash, redirect_to FROM frontier
                     WHERE run_id = $1 AND seq > $2 AND redirect_to IS NOT NULL
                     ORDER BY seq LIMIT $3",
                )
                .bind(run.get())
                .bind(after)
                .bind(CHUNK)
                .fetch_all(pool)
                .await?
            });
            let Some(last) = rows.last() else {
                return Ok(redirects);
            };
            after = last.seq;
            redirects.extend(rows.iter().map(|row| {
                let (from, to) = (row.key_hash, row.redirect_to);
                (from.cast_unsigned(), to.cast_unsigned())
            }));
        }
    }

    async fn orphan_rows(
        &self,
        project: ProjectId,
        ids: &[i64],
    ) -> Result<Vec<Orphan>, StoreError> {
        let mut orphans = Vec::with_capacity(ids.len());
        for piece in ids.chunks(500) {
            let rows: Vec<OrphanRow> = read!(self.db, pool => {
                let mut query = sqlx::QueryBuilder::new(
                    "SELECT id, url, status, fetched_at FROM pages WHERE project_id = ",
                );
                query.push_bind(project.get()).push(" AND id IN (");
                let mut list = query.separated(", ");
                for id in piece {
                    list.push_bind(*id);
                }
                query.push(") ORDER BY id");
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

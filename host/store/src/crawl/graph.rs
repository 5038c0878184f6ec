//! Questions to a whole run: pages that nothing links to.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{PageId, ProjectId, RunId};

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

impl Store {
    /// Pages of a run that no other page of it links to, by ascending id; the seed is left
    /// out. A link to a URL that redirects counts for the page it leads to, a page's link to
    /// itself does not count.
    pub async fn orphans(&self, project: ProjectId, run: RunId) -> Result<Vec<Orphan>, StoreError> {
        let mut pages: HashMap<u64, i64> = HashMap::new();
        let mut keys: HashMap<i64, u64> = HashMap::new();
        let mut unlinked: HashSet<u64> = HashSet::new();
        let mut after = 0;
        loop {
            let nodes = self.nodes(project, run, after).await?;
            let Some(last) = nodes.last() else { break };
            after = last.id;
            for node in &nodes {
                let Some(key) = node.key_hash.map(i64::cast_unsigned) else {
                    continue;
                };
                pages.insert(key, node.id);
                keys.insert(node.id, key);
                if node.is_seed == 0 && node.seq != Some(0) {
                    unlinked.insert(key);
                }
            }
        }
        let redirects = self.redirects(run).await?;
        let mut after = 0;
        loop {
            let rows = self.targets(project, run, after).await?;
            let Some(last) = rows.last() else { break };
            after = last.page_id;
            for row in &rows {
                let own = keys.get(&row.page_id).copied();
                for target in unpack_targets(&row.targets) {
                    let target = redirects.get(&target).copied().unwrap_or(target);
                    if Some(target) != own {
                        unlinked.remove(&target);
                    }
                }
            }
        }
        let mut ids: Vec<i64> = unlinked
            .iter()
            .filter_map(|key| pages.get(key).copied())
            .collect();
        ids.sort_unstable();
        self.orphan_rows(project, &ids).await
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

    /// Where URLs of a run redirect to within its scope.
    async fn redirects(&self, run: RunId) -> Result<HashMap<u64, u64>, StoreError> {
        let mut redirects = HashMap::new();
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
                (
                    row.key_hash.cast_unsigned(),
                    row.redirect_to.cast_unsigned(),
                )
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

//! What a run has stored, as requests read it: pages and links in order, piece by piece.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, PageId, ProjectId, RunId};

use super::runs::{Run, RunFilter, RunState};
use crate::db::{Store, read};
use crate::error::StoreError;
use crate::pages::{Row, StoredPage, number};
use crate::time::{from_ms, to_ms};

/// A run as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunItem {
    /// Its id.
    pub id: RunId,
    /// The monitor that fired it.
    pub monitor: Option<MonitorId>,
    /// The seed as it was asked for.
    pub url: String,
    /// Where it is in its life.
    pub status: RunState,
    /// Page rows.
    pub page_count: u64,
    /// Failures on the crawler's side.
    pub error_count: u64,
    /// When it was accepted.
    pub enqueued_at: DateTime<Utc>,
    /// When a worker first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// A page as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageItem {
    /// Its id.
    pub id: PageId,
    /// As the link to it was written.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
    /// When the answer arrived.
    pub fetched_at: DateTime<Utc>,
}

/// Which pages of a run to read, by ascending id.
#[derive(Clone, Copy, Debug)]
pub struct PageRange {
    /// Only those with this HTTP status.
    pub status: Option<u16>,
    /// Only those after this one.
    pub after: PageId,
    /// Of those, after leaving out this many.
    pub offset: u64,
    /// At most this many.
    pub limit: u32,
}

/// A page, whole but for its body.
#[derive(Clone, Debug)]
pub struct PageRecord {
    /// The run it belongs to; none for a scan.
    pub run: Option<RunId>,
    /// What is kept of a page without a body: a JSON object of metadata and signals.
    pub metadata: Option<String>,
    /// Outputs of the extractors that the run names, kept at crawl time: a JSON object.
    pub extensions: Option<String>,
    /// The page.
    pub page: StoredPage,
}

/// A page's links as they are stored; [`unpack_links`](super::unpack_links) reads them.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct PackedLinks {
    #[sqlx(rename = "page_id", try_from = "i64")]
    /// The page they are on.
    pub page: PageId,
    /// Packed.
    pub links: Vec<u8>,
}

/// Links of some of a run's pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRows {
    /// By ascending page.
    pub rows: Vec<PackedLinks>,
    /// There may be further ones.
    pub more: bool,
}

#[derive(sqlx::FromRow)]
struct LinkSize {
    page_id: i64,
    bytes: i64,
}

#[derive(sqlx::FromRow)]
struct RunRow {
    id: i64,
    monitor_id: Option<i64>,
    url: String,
    status: String,
    page_count: i64,
    error_count: i64,
    enqueued_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct ItemRow {
    id: i64,
    url: String,
    status: i64,
    bytes: i64,
    fetched_at: i64,
}

#[derive(sqlx::FromRow)]
struct RecordRow {
    run_id: Option<i64>,
    metadata: Option<String>,
    extensions: Option<String>,
    #[sqlx(flatten)]
    page: Row,
}

impl Store {
    /// Runs of the project as lists show them, the youngest first.
    pub async fn run_items(
        &self,
        project: ProjectId,
        filter: &RunFilter,
    ) -> Result<Vec<RunItem>, StoreError> {
        let rows: Vec<RunRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, monitor_id, url, status, page_count, error_count, enqueued_at,
                        started_at, finished_at
                 FROM runs
                 WHERE project_id = $1 AND (status = $2 OR $2 = '')
                   AND (monitor_id = $3 OR $3 = 0)
                 ORDER BY id DESC LIMIT $4 OFFSET $5",
            )
            .bind(project.get())
            .bind(filter.state.map_or("", RunState::as_str))
            .bind(filter.monitor.map_or(0, |id| id.get()))
            .bind(i64::from(filter.limit))
            .bind(i64::try_from(filter.offset).unwrap_or(i64::MAX))
            .fetch_all(pool)
            .await?
        });
        rows.into_iter()
            .map(|row| {
                Ok(RunItem {
                    id: RunId(row.id),
                    monitor: row.monitor_id.map(MonitorId),
                    url: row.url,
                    status: row.status.parse().map_err(StoreError::Damaged)?,
                    page_count: number(row.page_count, "page_count")?,
                    error_count: number(row.error_count, "error_count")?,
                    enqueued_at: from_ms(row.enqueued_at),
                    started_at: row.started_at.map(from_ms),
                    finished_at: row.finished_at.map(from_ms),
                })
            })
            .collect()
    }

    /// The run that an Idempotency-Key of the project stands for, if it was accepted after
    /// `since`.
    pub async fn run_by_key(
        &self,
        project: ProjectId,
        key: &str,
        since: DateTime<Utc>,
    ) -> Result<Option<Run>, StoreError> {
        let id: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT id FROM runs
                 WHERE project_id = $1 AND idem_key = $2 AND enqueued_at > $3",
            )
            .bind(project.get())
            .bind(key)
            .bind(to_ms(since))
            .fetch_optional(pool)
            .await?
        });
        match id {
            Some(id) => self.run(project, RunId(id)).await,
            None => Ok(None),
        }
    }

    /// Pages of a run of the project, by ascending id; none where the run is not there.
    pub async fn run_pages(
        &self,
        project: ProjectId,
        run: RunId,
        range: &PageRange,
    ) -> Result<Vec<PageItem>, StoreError> {
        let offset = i64::try_from(range.offset).unwrap_or(i64::MAX);
        // Leaving out rows by their index alone is cheap, by a status not: two statements.
        let rows: Vec<ItemRow> = match range.status {
            None => {
                read!(self.db, pool => {
                    sqlx::query_as(
                        "SELECT id, url, status, bytes, fetched_at FROM pages
                         WHERE id IN (
                             SELECT id FROM pages WHERE run_id = $1 AND id > $2
                             ORDER BY id LIMIT $3 OFFSET $4)
                           AND project_id = $5
                           AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND project_id = $5)
                         ORDER BY id",
                    )
                    .bind(run.get())
                    .bind(range.after.get())
                    .bind(i64::from(range.limit))
                    .bind(offset)
                    .bind(project.get())
                    .fetch_all(pool)
                    .await?
                })
            }
            Some(status) => {
                read!(self.db, pool => {
                    sqlx::query_as(
                        "SELECT id, url, status, bytes, fetched_at FROM pages
                         WHERE run_id = $1 AND id > $2 AND status = $6 AND project_id = $5
                           AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND project_id = $5)
                         ORDER BY id LIMIT $3 OFFSET $4",
                    )
                    .bind(run.get())
                    .bind(range.after.get())
                    .bind(i64::from(range.limit))
                    .bind(offset)
                    .bind(project.get())
                    .bind(i64::from(status))
                    .fetch_all(pool)
                    .await?
                })
            }
        };
        rows.into_iter()
            .map(|row| {
                Ok(PageItem {
                    id: PageId(row.id),
                    url: row.url,
                    status: number(row.status, "status")?,
                    bytes: number(row.bytes, "bytes")?,
                    fetched_at: from_ms(row.fetched_at),
                })
            })
            .collect()
    }

    /// A page of the project, unless its run was deleted.
    pub async fn page(
        &self,
        project: ProjectId,
        id: PageId,
    ) -> Result<Option<PageRecord>, StoreError> {
        let row: Option<RecordRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT p.id, p.url, p.final_url, p.status, p.bytes, p.fetched_at,
                        p.content_hash, p.kind, p.headers, p.blob_id, b.hash,
                        p.run_id, p.metadata, p.extensions
                 FROM pages p LEFT JOIN blobs b ON b.id = p.blob_id
                 WHERE p.id = $1 AND p.project_id = $2
                   AND (p.run_id IS NULL OR EXISTS (SELECT 1 FROM runs r WHERE r.id = p.run_id))",
            )
            .bind(id.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(|row| {
            Ok(PageRecord {
                run: row.run_id.map(RunId),
                metadata: row.metadata,
                extensions: row.extensions,
                page: row.page.try_into()?,
            })
        })
        .transpose()
    }

    /// Links of a run's pages, by ascending page, from page `from` on: at most `limit` pages,
    /// and no further ones once they have `max_bytes` as stored.
    pub async fn run_links(
        &self,
        project: ProjectId,
        run: RunId,
        from: PageId,
        limit: u32,
        max_bytes: u64,
    ) -> Result<LinkRows, StoreError> {
        let sizes: Vec<LinkSize> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT page_id, CAST(length(links) AS BIGINT) AS bytes FROM page_links
                 WHERE run_id = $1 AND page_id >= $2 AND project_id = $3
                 ORDER BY page_id LIMIT $4",
            )
            .bind(run.get())
            .bind(from.get())
            .bind(project.get())
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        let mut bytes = 0;
        let within = sizes.iter().take_while(|size| {
            let has_room = bytes < max_bytes;
            bytes += u64::try_from(size.bytes).unwrap_or_default();
            has_room
        });
        let Some(last) = within.last() else {
            return Ok(LinkRows::default());
        };
        let rows: Vec<PackedLinks> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT page_id, links FROM page_links
                 WHERE run_id = $1 AND page_id BETWEEN $2 AND $3 AND project_id = $4
                 ORDER BY page_id",
            )
            .bind(run.get())
            .bind(from.get())
            .bind(last.page_id)
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        let is_last = sizes
            .last()
            .is_some_and(|size| size.page_id == last.page_id);
        let more = !is_last || sizes.len() >= limit as usize;
        Ok(LinkRows { rows, more })
    }

    /// Links of one page of a run; `None` where it has none, or is not the run's.
    pub async fn page_links(
        &self,
        project: ProjectId,
        run: RunId,
        page: PageId,
    ) -> Result<Option<PackedLinks>, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_as(
                "SELECT page_id, links FROM page_links
                 WHERE page_id = $1 AND run_id = $2 AND project_id = $3",
            )
            .bind(page.get())
            .bind(run.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?)
        })
    }
}

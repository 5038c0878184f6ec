//! Lists of a run's pages, read in pieces.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{PageId, ProjectId, RunId};

use super::{PageRow, StoredPage};
use crate::db::{number, read, read_replica, signed};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::from_ms;

/// A page in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageItem {
    /// Its id.
    pub id: PageId,
    /// URL as written in the link to it.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
    /// When the response arrived.
    pub fetched_at: DateTime<Utc>,
}

/// Selects pages of a run, by ascending id.
#[derive(Clone, Copy, Debug)]
pub struct PageRange {
    /// Only pages with this HTTP status.
    pub status: Option<u16>,
    /// Only pages after this one.
    pub after: PageId,
    /// Number of selected pages to skip.
    pub offset: u64,
    /// Most pages to return.
    pub limit: u32,
}

/// A page with what its row says about it, for exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSummary {
    /// The fields of every list.
    pub item: PageItem,
    /// The URL that answered.
    pub final_url: String,
    /// Hash of the visible content, lower-case hex.
    pub content_hash: Option<String>,
    /// Number of links from the seed.
    pub depth: Option<u32>,
    /// Its title.
    pub title: Option<String>,
    /// Its Content-Type header.
    pub content_type: Option<String>,
    /// Milliseconds from the request to the end of the body, redirects included.
    pub elapsed_ms: Option<u64>,
    /// The redirects that led to it: a JSON array of objects with `url` and `status`.
    pub redirects: Option<String>,
}

/// A page with all fields except its body.
#[derive(Clone, Debug)]
pub struct PageRecord {
    /// Its run; `None` for a scan.
    pub run: Option<RunId>,
    /// Kept for a page without a body: a JSON object of metadata and signals.
    pub metadata: Option<String>,
    /// Outputs of the run's additional extractors, kept at crawl time: a JSON object.
    pub extensions: Option<String>,
    /// The page.
    pub page: StoredPage,
}

#[derive(sqlx_macros::FromRow)]
struct ItemRow {
    id: i64,
    url: String,
    status: i64,
    bytes: i64,
    fetched_at: i64,
}

#[derive(sqlx_macros::FromRow)]
struct SummaryRow {
    #[sqlx(flatten)]
    item: ItemRow,
    final_url: String,
    content_hash: Option<String>,
    depth: Option<i64>,
    title: Option<String>,
    content_type: Option<String>,
    elapsed_ms: Option<i64>,
    redirects: Option<String>,
}

impl TryFrom<ItemRow> for PageItem {
    type Error = StoreError;

    fn try_from(row: ItemRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: PageId(row.id),
            url: row.url,
            status: number(row.status, "status")?,
            bytes: number(row.bytes, "bytes")?,
            fetched_at: from_ms(row.fetched_at),
        })
    }
}

#[derive(sqlx_macros::FromRow)]
struct RecordRow {
    run_id: Option<i64>,
    metadata: Option<String>,
    extensions: Option<String>,
    #[sqlx(flatten)]
    page: PageRow,
}

impl Store {
    /// Pages of a run of the project, by ascending id; empty if the run does not exist.
    #[crate::boxed]
    pub async fn run_pages(
        &self,
        project: ProjectId,
        run: RunId,
        range: &PageRange,
    ) -> Result<Vec<PageItem>, StoreError> {
        let offset = signed(range.offset);
        // Two statements: skipping rows by the index alone is cheap, by status it is not.
        let rows: Vec<ItemRow> = match range.status {
            None => {
                read_replica!(self, pool => {
                    sqlx::query_as(
                        "SELECT id, url, status, bytes, fetched_at FROM pages
                         WHERE id IN (
                             SELECT id FROM pages
                             WHERE project_id = $5 AND run_id = $1 AND id > $2
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
                read_replica!(self, pool => {
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
        rows.into_iter().map(PageItem::try_from).collect()
    }

    /// Pages of a run of the project with their summaries, by ascending id; empty if the run
    /// does not exist.
    #[crate::boxed]
    pub async fn run_summaries(
        &self,
        project: ProjectId,
        run: RunId,
        range: &PageRange,
    ) -> Result<Vec<PageSummary>, StoreError> {
        let offset = signed(range.offset);
        // Rows are skipped by the index alone if no status is asked for.
        let select = match range.status {
            None => {
                "SELECT id, url, status, bytes, fetched_at, final_url, content_hash, depth,
                        title, content_type, elapsed_ms, redirects
                 FROM pages
                 WHERE id IN (
                     SELECT id FROM pages WHERE project_id = $5 AND run_id = $1 AND id > $2
                     ORDER BY id LIMIT $3 OFFSET $4)
                   AND project_id = $5 AND $6 = 0
                   AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND project_id = $5)
                 ORDER BY id"
            }
            Some(_) => {
                "SELECT id, url, status, bytes, fetched_at, final_url, content_hash, depth,
                        title, content_type, elapsed_ms, redirects
                 FROM pages
                 WHERE run_id = $1 AND id > $2 AND status = $6 AND project_id = $5
                   AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND project_id = $5)
                 ORDER BY id LIMIT $3 OFFSET $4"
            }
        };
        let rows: Vec<SummaryRow> = read_replica!(self, pool => {
            sqlx::query_as(select)
                .bind(run.get())
                .bind(range.after.get())
                .bind(i64::from(range.limit))
                .bind(offset)
                .bind(project.get())
                .bind(range.status.map_or(0, i64::from))
                .fetch_all(pool)
                .await?
        });
        rows.into_iter()
            .map(|row| {
                Ok(PageSummary {
                    item: row.item.try_into()?,
                    final_url: row.final_url,
                    content_hash: row.content_hash,
                    depth: row.depth.map(|depth| number(depth, "depth")).transpose()?,
                    title: row.title,
                    content_type: row.content_type,
                    elapsed_ms: row
                        .elapsed_ms
                        .map(|ms| number(ms, "elapsed_ms"))
                        .transpose()?,
                    redirects: row.redirects,
                })
            })
            .collect()
    }

    /// A page of the project, unless its run was deleted.
    #[crate::boxed]
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
                 FROM pages p LEFT JOIN blobs b ON b.id = p.blob_id AND b.project_id = $2
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
}

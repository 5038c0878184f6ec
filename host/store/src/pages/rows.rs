//! Inserting and deleting rows of `pages`.

use std::collections::{HashMap, HashSet};

use orbweaver_core::content::Kind;
use orbweaver_core::ids::{BlobId, PageId, ProjectId, RunId};

use super::new_page::NewRecord;
use super::{NewPage, kind_word};
use crate::db::{by_project, per_database, pieces, push_list, read, signed};
use crate::error::StoreError;
use crate::index_claims::IndexClaim;
use crate::index_documents::DocumentClaim;
use crate::indexed_key::indexed_key;
use crate::search::{PageWords, UnindexedPage};
use crate::store::Store;
use crate::time::to_ms;

/// A page of a crawl.
#[derive(Clone, Debug)]
pub struct CrawledPage {
    /// The fields of every stored page.
    pub page: NewPage,
    /// Position in the order of discovery of the URL that led to it.
    pub seq: i64,
    /// Hash of the page's own key.
    pub key_hash: u64,
    /// Number of links from the seed.
    pub depth: u32,
    /// Its title.
    pub title: Option<String>,
    /// Its canonical URL.
    pub canonical: Option<String>,
    /// Its robots directives as text.
    pub robots: Option<String>,
    /// Outputs of the run's additional extractors: a JSON object.
    pub extensions: Option<String>,
    /// Its Content-Type header.
    pub content_type: Option<String>,
    /// Milliseconds from the request to the end of the body, redirects included.
    pub elapsed_ms: Option<u64>,
    /// The redirects that led to it: a JSON array of objects with `url` and `status`.
    pub redirects: Option<String>,
    /// A stored body to share, if the response was "not modified".
    pub same_body: Option<BlobId>,
    /// Hashes of its link targets in the run's scope, packed little-endian.
    pub targets: Vec<u8>,
    /// Its links, compressed; empty if it has none.
    pub links: Vec<u8>,
    /// What hooks made of it, in their order.
    pub records: Vec<NewRecord>,
    /// Its words for search, of a page that has a body and answered with 200. Without them it is
    /// indexed later.
    pub words: Option<PageWords>,
}

/// Ids of stored pages, by run and position in the order of discovery.
pub(crate) type PageIds = HashMap<(RunId, i64), i64>;

/// A deleted page's id, with the row of its body.
pub(crate) type RemovedPage = (i64, Option<i64>);

#[derive(sqlx_macros::FromRow)]
struct KeyRow {
    id: i64,
    run_id: i64,
    seq: i64,
}

#[derive(sqlx_macros::FromRow)]
struct UnindexedRow {
    id: i64,
    project_id: i64,
    url_key: String,
    final_url: String,
    headers: String,
    blob_id: i64,
    kind: String,
}

impl From<UnindexedRow> for UnindexedPage {
    fn from(row: UnindexedRow) -> Self {
        Self {
            page: PageId(row.id),
            project: ProjectId(row.project_id),
            url_key: row.url_key,
            final_url: row.final_url,
            headers: row.headers,
            blob: BlobId(row.blob_id),
            is_document: row.kind == kind_word(Kind::Document),
        }
    }
}

per_database! {
    /// Stores the page of a scan; returns its id. `blob` is the row of its body.
    pub(crate) async fn insert_scan(
        conn: &mut Conn,
        page: &NewPage,
        blob: Option<i64>,
    ) -> Result<PageId, StoreError> {
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO pages (project_id, run_id, url, url_key, final_url, status, bytes,
                 fetched_at, content_hash, kind, user_agent, cloud_mode, headers, metadata,
                 blob_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
             RETURNING id",
        )
        .bind(page.project.get())
        .bind(page.run.map(|run| run.get()))
        .bind(page.url.as_str())
        .bind(indexed_key(&page.url_key))
        .bind(page.final_url.as_str())
        .bind(i64::from(page.status))
        .bind(signed(page.bytes))
        .bind(to_ms(page.fetched_at))
        .bind(page.content_hash.as_deref())
        .bind(kind_word(page.kind))
        .bind(page.user_agent.as_str())
        .bind(page.cloud_mode.as_str())
        .bind(page.headers.as_str())
        .bind(page.metadata.as_deref())
        .bind(blob)
        .fetch_one(&mut *conn)
        .await?;
        Ok(PageId(id))
    }

    /// Stores pages of crawls, each with the row of its body, and returns their ids. A page whose
    /// run already has its URL is skipped.
    pub(crate) async fn insert_crawled(
        conn: &mut Conn,
        pages: &[(&CrawledPage, Option<i64>)],
    ) -> Result<PageIds, StoreError> {
        let mut ids = PageIds::with_capacity(pages.len());
        for piece in pieces(pages) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO pages (project_id, run_id, url, url_key, final_url, status, bytes,
                     fetched_at, content_hash, kind, user_agent, cloud_mode, headers, metadata,
                     blob_id, seq, key_hash, depth, title, canonical, robots, extensions,
                     content_type, elapsed_ms, redirects) ",
            );
            insert.push_values(piece, |mut row, (crawled, blob)| {
                let page = &crawled.page;
                row.push_bind(page.project.get())
                    .push_bind(page.run.map(|run| run.get()))
                    .push_bind(page.url.as_str())
                    .push_bind(indexed_key(&page.url_key))
                    .push_bind(page.final_url.as_str())
                    .push_bind(i64::from(page.status))
                    .push_bind(signed(page.bytes))
                    .push_bind(to_ms(page.fetched_at))
                    .push_bind(page.content_hash.as_deref())
                    .push_bind(kind_word(page.kind))
                    .push_bind(page.user_agent.as_str())
                    .push_bind(page.cloud_mode.as_str())
                    .push_bind(page.headers.as_str())
                    .push_bind(page.metadata.as_deref())
                    .push_bind(*blob)
                    .push_bind(crawled.seq)
                    .push_bind(crawled.key_hash.cast_signed())
                    .push_bind(i64::from(crawled.depth))
                    .push_bind(crawled.title.as_deref())
                    .push_bind(crawled.canonical.as_deref())
                    .push_bind(crawled.robots.as_deref())
                    .push_bind(crawled.extensions.as_deref())
                    .push_bind(crawled.content_type.as_deref())
                    .push_bind(crawled.elapsed_ms.map(signed))
                    .push_bind(crawled.redirects.as_deref());
            });
            insert.push(
                " ON CONFLICT (project_id, run_id, url_key) WHERE run_id IS NOT NULL DO NOTHING
                  RETURNING id, run_id, seq",
            );
            let keys: Vec<KeyRow> = insert.build_query_as().fetch_all(&mut *conn).await?;
            ids.extend(keys.into_iter().map(|key| ((RunId(key.run_id), key.seq), key.id)));
        }
        Ok(ids)
    }

    /// Deletes the first pages of a run, at most `limit`, with their links and records.
    pub(crate) async fn delete_of_run(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        limit: i64,
    ) -> Result<Vec<RemovedPage>, StoreError> {
        let pages: Vec<RemovedPage> = sqlx::query_as(
            "SELECT id, blob_id FROM pages WHERE project_id = $3 AND run_id = $1
             ORDER BY id LIMIT $2",
        )
        .bind(run.get())
        .bind(limit)
        .bind(project.get())
        .fetch_all(&mut *conn)
        .await?;
        if let (Some((first, _)), Some((last, _))) = (pages.first(), pages.last()) {
            sql::page_links::delete_between(conn, project, run, *first, *last).await?;
            sql::page_records::delete_between(conn, project, run, *first, *last).await?;
            sqlx::query(
                "DELETE FROM pages WHERE project_id = $4 AND run_id = $1 AND id BETWEEN $2 AND $3",
            )
            .bind(run.get())
            .bind(*first)
            .bind(*last)
            .bind(project.get())
            .execute(&mut *conn)
            .await?;
        }
        Ok(pages)
    }

    /// Deletes scan pages of all projects fetched before `before`, at most `limit`; returns the
    /// project of each, with the row of its body.
    pub(crate) async fn delete_scans_before(
        conn: &mut Conn,
        before: i64,
        limit: i64,
    ) -> Result<Vec<(ProjectId, Option<BlobId>)>, StoreError> {
        let old: Vec<(i64, i64)> = sqlx::query_as(
            "SELECT project_id, id FROM pages
             WHERE fetched_at < $1 AND run_id IS NULL ORDER BY fetched_at LIMIT $2",
        )
        .bind(before)
        .bind(limit)
        .fetch_all(&mut *conn)
        .await?;
        let mut removed = Vec::with_capacity(old.len());
        // In one order on all nodes.
        for (project, ids) in by_project(old) {
            for piece in pieces(&ids) {
                let mut delete = sqlx::QueryBuilder::new("DELETE FROM pages WHERE project_id = ");
                delete.push_bind(project).push(" AND id IN ");
                push_list(&mut delete, piece.iter().copied());
                delete.push(" RETURNING blob_id");
                let blobs: Vec<Option<i64>> =
                    delete.build_query_scalar().fetch_all(&mut *conn).await?;
                let page = |blob: Option<i64>| (ProjectId(project), blob.map(BlobId));
                removed.extend(blobs.into_iter().map(page));
            }
        }
        Ok(removed)
    }

    /// Deletes the project's oldest scan pages, at most `limit`; returns the rows of their bodies.
    pub(crate) async fn delete_oldest_scans(
        conn: &mut Conn,
        project: ProjectId,
        limit: i64,
    ) -> Result<Vec<Option<i64>>, StoreError> {
        Ok(sqlx::query_scalar(
            "DELETE FROM pages WHERE project_id = $1 AND id IN (
                 SELECT id FROM pages WHERE project_id = $1 AND run_id IS NULL
                 ORDER BY fetched_at, id LIMIT $2)
             RETURNING blob_id",
        )
        .bind(project.get())
        .bind(limit)
        .fetch_all(&mut *conn)
        .await?)
    }

    /// Those of the pages that exist. On PostgreSQL they are locked until the transaction ends; with
    /// `skips` those are left out that another transaction locks.
    pub(crate) async fn hold(
        conn: &mut Conn,
        pages: impl IntoIterator<Item = (ProjectId, PageId)>,
        skips: bool,
    ) -> Result<HashSet<PageId>, StoreError> {
        let mut there = HashSet::new();
        let pages = pages.into_iter().map(|(project, page)| (project.get(), page.get()));
        for (project, ids) in by_project(pages) {
            for piece in pieces(&ids) {
                let mut select =
                    sqlx::QueryBuilder::new("SELECT id FROM pages WHERE project_id = ");
                select.push_bind(project).push(" AND id IN ");
                push_list(&mut select, piece.iter().copied());
                select.push(" ORDER BY id");
                if IS_SHARED {
                    select.push(" FOR KEY SHARE");
                    if skips {
                        select.push(" SKIP LOCKED");
                    }
                }
                let found: Vec<i64> = select.build_query_scalar().fetch_all(&mut *conn).await?;
                there.extend(found.into_iter().map(PageId));
            }
        }
        Ok(there)
    }
}

impl Store {
    /// The highest id of a stored page; 0 if there is none.
    #[crate::boxed]
    pub async fn newest_page(&self) -> Result<i64, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_scalar("SELECT CAST(COALESCE(MAX(id), 0) AS BIGINT) FROM pages")
                .fetch_one(pool)
                .await?)
        })
    }

    /// HTML pages and documents with status 200 of the claim that are not indexed, oldest first.
    #[crate::boxed]
    pub async fn unindexed(
        &self,
        IndexClaim { after, through }: IndexClaim,
    ) -> Result<Vec<UnindexedPage>, StoreError> {
        let rows: Vec<UnindexedRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT p.id, p.project_id, p.url_key, p.final_url, p.headers, p.blob_id, p.kind
                 FROM pages p
                 WHERE p.id > $1 AND p.id <= $2 AND p.status = 200
                   AND p.kind IN ($3, $4)
                   AND p.blob_id IS NOT NULL
                   AND NOT EXISTS (SELECT 1 FROM search_docs d
                                   WHERE d.page_id = p.id AND d.project_id = p.project_id)
                 ORDER BY p.id",
            )
            .bind(after)
            .bind(through)
            .bind(kind_word(Kind::Html))
            .bind(kind_word(Kind::Document))
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(UnindexedPage::from).collect())
    }

    /// The page of a document that is to be indexed; `None` if it was deleted, or is indexed.
    #[crate::boxed]
    pub async fn unindexed_document(
        &self,
        DocumentClaim { project, page }: DocumentClaim,
    ) -> Result<Option<UnindexedPage>, StoreError> {
        let row: Option<UnindexedRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT p.kind, p.id, p.project_id, p.url_key, p.final_url, p.headers, p.blob_id
                 FROM pages p
                 WHERE p.id = $1 AND p.project_id = $2 AND p.blob_id IS NOT NULL
                   AND NOT EXISTS (SELECT 1 FROM search_docs d
                                   WHERE d.page_id = p.id AND d.project_id = p.project_id)",
            )
            .bind(page.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(UnindexedPage::from))
    }
}

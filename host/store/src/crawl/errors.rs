//! The table `run_errors`: URLs of a run without a response, with the cause.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{PageId, ProjectId, RunId};

use crate::db::{per_database, pieces, push_list, read_replica, signed, storable};
use crate::error::StoreError;
use crate::pages::unpack_targets;
use crate::runs::Lease;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// The kind of a sitemap that has answered, but cannot be read: it is listed with the URLs that gave no
/// answer, and no error of the run.
pub const UNREADABLE_SITEMAP: &str = "sitemap";

/// A URL that a run gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedUrl {
    /// Its position in the order of discovery.
    pub seq: i64,
    /// The URL as the link to it was written, resolved.
    pub url: String,
    /// Hash of its normalised URL.
    pub key_hash: u64,
    /// The kind of failure, one lower-case word.
    pub kind: String,
    /// What went wrong.
    pub message: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The time of the last failure.
    pub failed_at: DateTime<Utc>,
}

#[derive(sqlx_macros::FromRow)]
struct FailedRow {
    seq: i64,
    url: String,
    key_hash: i64,
    kind: String,
    message: String,
    attempts: i64,
    failed_at: i64,
}

impl From<FailedRow> for FailedUrl {
    fn from(row: FailedRow) -> Self {
        Self {
            seq: row.seq,
            url: row.url,
            key_hash: row.key_hash.cast_unsigned(),
            kind: row.kind,
            message: row.message,
            attempts: u32::try_from(row.attempts).unwrap_or_default(),
            failed_at: from_ms(row.failed_at),
        }
    }
}

per_database! {
    /// Stores URLs that a run gave up, each once; returns how many errors are new.
    pub(crate) async fn insert(
        conn: &mut Conn,
        lease: Lease,
        failed: &[FailedUrl],
    ) -> Result<u64, StoreError> {
        let mut stored = 0;
        for piece in pieces(failed) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO run_errors
                     (run_id, seq, project_id, url, key_hash, kind, message, attempts, failed_at) ",
            );
            insert.push_values(piece, |mut row, failed| {
                row.push_bind(lease.run.get())
                    .push_bind(failed.seq)
                    .push_bind(lease.project.get())
                    .push_bind(storable(&failed.url))
                    .push_bind(failed.key_hash.cast_signed())
                    .push_bind(failed.kind.as_str())
                    .push_bind(storable(&failed.message))
                    .push_bind(i64::from(failed.attempts))
                    .push_bind(to_ms(failed.failed_at));
            });
            insert.push(" ON CONFLICT (project_id, run_id, seq) DO NOTHING RETURNING kind");
            let kinds: Vec<String> = insert.build_query_scalar().fetch_all(&mut *conn).await?;
            stored += kinds.iter().filter(|kind| *kind != UNREADABLE_SITEMAP).count() as u64;
        }
        Ok(stored)
    }

    /// Removes up to `limit` failed URLs of a run; returns how many.
    pub(crate) async fn delete_of_run(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "DELETE FROM run_errors WHERE project_id = $3 AND run_id = $1 AND seq IN (
                 SELECT seq FROM run_errors WHERE project_id = $3 AND run_id = $1
                 ORDER BY seq LIMIT $2)",
        )
        .bind(run.get())
        .bind(limit)
        .bind(project.get())
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected())
    }
}

impl Store {
    /// URLs that a run of the project gave up, in the order of discovery: those after place
    /// `after`, of these after leaving out `offset`, at most `limit`.
    #[crate::boxed]
    pub async fn run_errors(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
        offset: u64,
        limit: u32,
    ) -> Result<Vec<FailedUrl>, StoreError> {
        let rows: Vec<FailedRow> = read_replica!(self, pool => {
            sqlx::query_as(
                "SELECT seq, url, key_hash, kind, message, attempts, failed_at FROM run_errors
                 WHERE run_id = $1 AND seq > $2 AND project_id = $3
                   AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND project_id = $3)
                 ORDER BY seq LIMIT $4 OFFSET $5",
            )
            .bind(run.get())
            .bind(after)
            .bind(project.get())
            .bind(i64::from(limit))
            .bind(signed(offset))
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(FailedUrl::from).collect())
    }

    /// Pages of a run that link to these URLs, each given by the hash of its normalised form:
    /// the first of them in the order of storing, at most `most` for a URL.
    #[crate::boxed]
    pub async fn run_referrers(
        &self,
        project: ProjectId,
        run: RunId,
        wanted: &HashSet<u64>,
        most: usize,
    ) -> Result<HashMap<u64, Vec<PageId>>, StoreError> {
        let mut referrers: HashMap<u64, Vec<PageId>> = HashMap::new();
        let mut after = 0;
        while !wanted.is_empty() {
            let rows = self.run_targets(project, run, after).await?;
            let Some(last) = rows.last() else { break };
            after = last.page.get();
            for row in &rows {
                for target in unpack_targets(&row.targets).filter(|hash| wanted.contains(hash)) {
                    let pages = referrers.entry(target).or_default();
                    // A page's links are adjacent, so a repeated link is one of the last page.
                    if pages.len() < most && pages.last() != Some(&row.page) {
                        pages.push(row.page);
                    }
                }
            }
        }
        Ok(referrers)
    }

    /// URLs of these pages of a run, as the links to them were written.
    #[crate::boxed]
    pub async fn run_page_urls(
        &self,
        project: ProjectId,
        run: RunId,
        pages: &[PageId],
    ) -> Result<HashMap<PageId, String>, StoreError> {
        let mut urls = HashMap::with_capacity(pages.len());
        for piece in pages.chunks(500) {
            let rows: Vec<(i64, String)> = read_replica!(self, pool => {
                let mut query = sqlx::QueryBuilder::new("SELECT id, url FROM pages WHERE run_id = ");
                query
                    .push_bind(run.get())
                    .push(" AND project_id = ")
                    .push_bind(project.get())
                    .push(" AND id IN ");
                push_list(&mut query, piece.iter().map(|page| page.get()));
                query.build_query_as().fetch_all(pool).await?
            });
            urls.extend(rows.into_iter().map(|(id, url)| (PageId(id), url)));
        }
        Ok(urls)
    }
}

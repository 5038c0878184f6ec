//! The table `blobs`: stored bodies, each once per project, with a count of the pages using it.

use std::collections::{BTreeMap, HashMap};

use orbweaver_core::ids::{BlobId, ProjectId};

use super::encoding::StoredBody;
use crate::db::{number, per_database, pieces, read, signed};
use crate::error::StoreError;
use crate::store::Store;

/// A body to store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewBody<'a> {
    pub(crate) project: ProjectId,
    pub(crate) body: &'a StoredBody,
    /// Number of pages that use it.
    pub(crate) refs: i64,
}

/// Rows of stored bodies, by project and SHA-256 of the decoded body.
pub(crate) type BodyRows = HashMap<(ProjectId, [u8; 32]), i64>;

#[derive(sqlx_macros::FromRow)]
struct KeyRow {
    id: i64,
    project_id: i64,
    hash: Vec<u8>,
}

#[derive(sqlx_macros::FromRow)]
struct BodyRow {
    hash: Vec<u8>,
    size: i64,
    encoding: String,
    bytes: Vec<u8>,
}

per_database! {
    /// Stores bodies, or adds references to those already stored. The caller sorts them by project
    /// and hash, so that two nodes never deadlock.
    pub(crate) async fn upsert(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
    ) -> Result<BodyRows, StoreError> {
        let mut rows = BodyRows::with_capacity(bodies.len());
        for piece in pieces(bodies) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO blobs (project_id, hash, size, encoding, bytes, refs) ",
            );
            insert.push_values(piece, |mut row, new| {
                row.push_bind(new.project.get())
                    .push_bind(new.body.hash.as_slice())
                    .push_bind(signed(new.body.size))
                    .push_bind(new.body.encoding.as_str())
                    .push_bind(&new.body.bytes[..])
                    .push_bind(new.refs);
            });
            insert.push(
                " ON CONFLICT (project_id, hash) DO UPDATE SET refs = blobs.refs + excluded.refs
                  RETURNING id, project_id, hash",
            );
            let keys: Vec<KeyRow> = insert.build_query_as().fetch_all(&mut *conn).await?;
            for key in keys {
                rows.insert((ProjectId(key.project_id), digest(key.hash)?), key.id);
            }
        }
        Ok(rows)
    }

    /// Stores one body for one page; returns its row. A body already stored is not sent again.
    pub(crate) async fn keep(
        conn: &mut Conn,
        project: ProjectId,
        body: &StoredBody,
    ) -> Result<Option<i64>, StoreError> {
        let known: Option<i64> = sqlx::query_scalar(
            "UPDATE blobs SET refs = refs + 1 WHERE project_id = $1 AND hash = $2 RETURNING id",
        )
        .bind(project.get())
        .bind(body.hash.as_slice())
        .fetch_optional(&mut *conn)
        .await?;
        if known.is_some() {
            return Ok(known);
        }
        // Another node may insert the same body in between.
        let new = NewBody { project, body, refs: 1 };
        Ok(upsert(conn, &[new]).await?.into_values().next())
    }

    /// Adds references to stored bodies; returns those that still exist. The map's order prevents
    /// deadlocks between nodes.
    pub(crate) async fn share(
        conn: &mut Conn,
        refs: &BTreeMap<BlobId, i64>,
    ) -> Result<Vec<BlobId>, StoreError> {
        let mut there = Vec::with_capacity(refs.len());
        for (blob, count) in refs {
            let done = sqlx::query("UPDATE blobs SET refs = refs + $2 WHERE id = $1")
                .bind(blob.get())
                .bind(*count)
                .execute(&mut *conn)
                .await?;
            if done.rows_affected() == 1 {
                there.push(*blob);
            }
        }
        Ok(there)
    }

    /// Removes one reference from each body (a body may occur more than once) and deletes those
    /// without references; returns the number of stored bytes deleted.
    pub(crate) async fn release(
        conn: &mut Conn,
        blobs: impl IntoIterator<Item = i64>,
    ) -> Result<u64, StoreError> {
        // In order of ids, so that two nodes never deadlock.
        let mut refs: BTreeMap<i64, i64> = BTreeMap::new();
        for blob in blobs {
            *refs.entry(blob).or_default() += 1;
        }
        let mut bytes = 0;
        for (blob, count) in refs {
            let left: Option<i64> = sqlx::query_scalar(
                "UPDATE blobs SET refs = refs - $2 WHERE id = $1 RETURNING refs",
            )
            .bind(blob)
            .bind(count)
            .fetch_optional(&mut *conn)
            .await?;
            if left.is_some_and(|left| left <= 0) {
                let freed: Option<i64> = sqlx::query_scalar(
                    "DELETE FROM blobs WHERE id = $1 RETURNING CAST(length(bytes) AS BIGINT)",
                )
                .bind(blob)
                .fetch_optional(&mut *conn)
                .await?;
                bytes += freed.unwrap_or(0).unsigned_abs();
            }
        }
        Ok(bytes)
    }
}

impl Store {
    /// A stored body of the project.
    #[crate::boxed]
    pub async fn body(
        &self,
        project: ProjectId,
        blob: BlobId,
    ) -> Result<Option<StoredBody>, StoreError> {
        let row: Option<BodyRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT hash, size, encoding, bytes FROM blobs WHERE id = $1 AND project_id = $2",
            )
            .bind(blob.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(|row| {
            Ok(StoredBody {
                hash: digest(row.hash)?,
                size: number(row.size, "size")?,
                encoding: row.encoding.parse().map_err(StoreError::Damaged)?,
                bytes: row.bytes.into(),
            })
        })
        .transpose()
    }

    /// Projects whose stored bodies take more than `bytes` bytes, with their totals.
    #[crate::boxed]
    pub async fn projects_above(&self, bytes: u64) -> Result<Vec<(ProjectId, u64)>, StoreError> {
        let rows: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT project_id, CAST(sum(length(bytes)) AS BIGINT) AS total
                 FROM blobs GROUP BY project_id HAVING sum(length(bytes)) > $1",
            )
            .bind(signed(bytes))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|(project, total)| (ProjectId(project), total.unsigned_abs()))
            .collect())
    }
}

/// Reads a SHA-256 from a row.
pub(crate) fn digest(bytes: Vec<u8>) -> Result<[u8; 32], StoreError> {
    bytes
        .try_into()
        .map_err(|_| StoreError::Damaged("a SHA-256 that is not 32 bytes long".to_owned()))
}

//! The table `blobs`: stored bodies, each once per project, with a count of the pages using it. A
//! body's bytes are in its row or in a segment of the blob store.

use std::collections::{BTreeMap, HashMap};

use orbweaver_blobs::Place;
use orbweaver_core::ids::{BlobId, ProjectId};

use super::encoding::StoredBody;
use super::segments::{References, Shrinkage};
use crate::db::{by_project, per_database, pieces, read, signed};
use crate::error::StoreError;
use crate::store::Store;

/// A body to store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewBody<'a> {
    pub(crate) project: ProjectId,
    pub(crate) body: &'a StoredBody,
    /// Number of pages that use it.
    pub(crate) refs: i64,
    /// Its record in the new segment; `None`: its bytes go into the row.
    pub(crate) place: Option<Place>,
}

/// A stored body: its project and the SHA-256 of the decoded body.
pub(crate) type BodyKey = (ProjectId, [u8; 32]);

/// The row of a stored body, which its project finds.
pub(crate) type BlobRow = (BlobId, ProjectId);

/// Rows of stored bodies.
#[derive(Debug, Default)]
pub(crate) struct BodyRows {
    /// By key.
    pub(crate) ids: HashMap<BodyKey, i64>,
    /// Rows that refer to the new segment.
    pub(crate) in_segment: References,
    /// Rows with the bytes.
    pub(crate) inline: Vec<BlobRow>,
}

#[derive(sqlx_macros::FromRow)]
struct KeyRow {
    id: i64,
    project_id: i64,
    hash: Vec<u8>,
    segment_id: Option<i64>,
}

per_database! {
    /// Stores bodies, or adds references to those already stored. The caller sorts them by project
    /// and hash, so that two nodes never deadlock. `segment` is the row of the segment that has
    /// those with a place.
    pub(crate) async fn upsert(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
        segment: Option<i64>,
    ) -> Result<BodyRows, StoreError> {
        let mut rows = BodyRows::default();
        let places: HashMap<BodyKey, Place> = bodies
            .iter()
            .filter_map(|new| Some(((new.project, new.body.hash), new.place?)))
            .collect();
        for piece in pieces(bodies) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO blobs (project_id, hash, size, encoding, refs, bytes",
            );
            if segment.is_some() {
                insert.push(", segment_id, segment_offset, segment_length");
            }
            insert.push(") ");
            insert.push_values(piece, |mut row, new| {
                row.push_bind(new.project.get())
                    .push_bind(new.body.hash.as_slice())
                    .push_bind(signed(new.body.size))
                    .push_bind(new.body.encoding.as_str())
                    .push_bind(new.refs);
                let bytes = &new.body.bytes[..];
                if segment.is_none() {
                    row.push_bind(bytes);
                } else {
                    row.push_bind(new.place.is_none().then_some(bytes))
                        .push_bind(new.place.and(segment))
                        .push_bind(new.place.map(|place| signed(place.offset)))
                        .push_bind(new.place.map(|place| signed(place.length)));
                }
            });
            insert.push(
                " ON CONFLICT (project_id, hash) DO UPDATE SET refs = blobs.refs + excluded.refs
                  RETURNING id, project_id, hash, segment_id",
            );
            let found: Vec<KeyRow> = insert.build_query_as().fetch_all(&mut *conn).await?;
            for row in found {
                let key = (ProjectId(row.project_id), digest(row.hash)?);
                match row.segment_id {
                    None => rows.inline.push((BlobId(row.id), key.0)),
                    // Another one had the body before.
                    other if other != segment => {}
                    Some(_) => {
                        if let Some(place) = places.get(&key) {
                            rows.in_segment.add(place.length);
                        }
                    }
                }
                rows.ids.insert(key, row.id);
            }
        }
        Ok(rows)
    }

    /// Stores one body for one page; returns its row. A body already stored is not sent again.
    /// With `staged_at`, a new body goes on to the blob store later.
    pub(crate) async fn keep(
        conn: &mut Conn,
        project: ProjectId,
        body: &StoredBody,
        staged_at: Option<i64>,
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
        let new = NewBody { project, body, refs: 1, place: None };
        let rows = upsert(conn, &[new], None).await?;
        if let Some(at) = staged_at {
            sql::segments::stage(conn, &rows.inline, at).await?;
        }
        Ok(rows.ids.into_values().next())
    }

    /// Adds references to stored bodies; returns those that still exist, in the map's order.
    pub(crate) async fn share(
        conn: &mut Conn,
        refs: &BTreeMap<BlobRow, i64>,
    ) -> Result<Vec<BlobId>, StoreError> {
        let counted = add_refs(conn, refs).await?;
        let mut there: Vec<BlobId> = counted.into_iter().map(|(row, _)| row.0).collect();
        there.sort_unstable();
        Ok(there)
    }

    /// Adds to the numbers of references of bodies; returns the new numbers of those that exist. Bodies are
    /// locked in the order of their ids in every transaction, so that two nodes never deadlock.
    async fn add_refs(
        conn: &mut Conn,
        refs: &BTreeMap<BlobRow, i64>,
    ) -> Result<Vec<(BlobRow, i64)>, StoreError> {
        let rows: Vec<(BlobRow, i64)> = refs.iter().map(|(row, count)| (*row, *count)).collect();
        let mut counted = Vec::with_capacity(rows.len());
        // Neighbours in that order mostly belong to one project.
        for rows in rows.chunk_by(|a, b| a.0.1 == b.0.1) {
            for piece in pieces(rows) {
                let Some(((_, project), _)) = piece.first() else { continue };
                if IS_SHARED && piece.len() > 1 {
                    lock(conn, *project, piece).await?;
                }
                let mut update =
                    sqlx::QueryBuilder::new("UPDATE blobs SET refs = refs + v.column2 FROM (");
                update.push_values(piece, |mut row, ((blob, _), count)| {
                    row.push_bind(blob.get()).push_bind(*count);
                });
                update
                    .push(") AS v WHERE blobs.project_id = ")
                    .push_bind(project.get())
                    .push(" AND blobs.id = v.column1 RETURNING blobs.id, blobs.refs");
                let found: Vec<(i64, i64)> = update.build_query_as().fetch_all(&mut *conn).await?;
                let key = |(blob, refs): (i64, i64)| ((BlobId(blob), *project), refs);
                counted.extend(found.into_iter().map(key));
            }
        }
        Ok(counted)
    }

    /// Locks rows of a project's bodies in the order of their ids.
    async fn lock(
        conn: &mut Conn,
        project: ProjectId,
        rows: &[(BlobRow, i64)],
    ) -> Result<(), StoreError> {
        let mut select = sqlx::QueryBuilder::new("SELECT id FROM blobs WHERE project_id = ");
        select.push_bind(project.get()).push(" AND id IN (");
        let mut list = select.separated(", ");
        for ((blob, _), _) in rows {
            list.push_bind(blob.get());
        }
        select.push(") ORDER BY id FOR NO KEY UPDATE");
        select.build().execute(&mut *conn).await?;
        Ok(())
    }

    /// Removes one reference from each body (a body may occur more than once) and deletes those
    /// without references; returns the number of stored bytes deleted.
    pub(crate) async fn release(
        conn: &mut Conn,
        blobs: impl IntoIterator<Item = BlobRow>,
    ) -> Result<u64, StoreError> {
        let mut refs: BTreeMap<BlobRow, i64> = BTreeMap::new();
        for blob in blobs {
            *refs.entry(blob).or_default() -= 1;
        }
        let mut bytes = 0;
        let mut shrunk = Shrinkage::default();
        let counted = add_refs(conn, &refs).await?;
        let unused = counted.into_iter().filter(|(_, left)| *left <= 0);
        let unused = unused.map(|((blob, project), _)| (project.get(), blob.get()));
        for (project, mut ids) in by_project(unused) {
            ids.sort_unstable();
            for piece in pieces(&ids) {
                let mut delete = sqlx::QueryBuilder::new("DELETE FROM blobs WHERE project_id = ");
                delete.push_bind(project).push(" AND id IN (");
                let mut list = delete.separated(", ");
                for blob in piece {
                    list.push_bind(*blob);
                }
                delete.push(
                    ") RETURNING CAST(COALESCE(length(bytes), segment_length) AS BIGINT), segment_id",
                );
                let freed: Vec<(i64, Option<i64>)> =
                    delete.build_query_as().fetch_all(&mut *conn).await?;
                for (length, segment) in freed {
                    bytes += length.unsigned_abs();
                    if let Some(segment) = segment {
                        shrunk.entry(segment).or_default().add(length.unsigned_abs());
                    }
                }
            }
        }
        // After the bodies, in every transaction, so that two nodes never deadlock.
        sql::segments::shrink(conn, &shrunk).await?;
        Ok(bytes)
    }
}

impl Store {
    /// Projects whose stored bodies take more than `bytes` bytes, with their totals.
    #[crate::boxed]
    pub async fn projects_above(&self, bytes: u64) -> Result<Vec<(ProjectId, u64)>, StoreError> {
        let rows: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT project_id, CAST(sum(COALESCE(length(bytes), segment_length)) AS BIGINT) AS total
                 FROM blobs GROUP BY project_id HAVING sum(COALESCE(length(bytes), segment_length)) > $1",
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

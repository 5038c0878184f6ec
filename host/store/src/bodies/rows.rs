//! The table `blobs`: stored bodies, each once per project, with a count of the pages using it. A
//! body's bytes are in its row or in a segment of the blob store.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use orbweaver_blobs::Place;
use orbweaver_core::ids::{BlobId, ProjectId};

use super::encoding::StoredBody;
use super::segments::{References, Shrinkage};
use crate::db::{by_project, per_database, pieces, push_list, read, signed};
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

impl NewBody<'_> {
    /// Its key.
    pub(crate) fn key(&self) -> BodyKey {
        (self.project, self.body.hash)
    }
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
    /// References to segments that the blob store has lost, and that rows have no more.
    pub(crate) lost: Shrinkage,
    /// The rows that had these.
    restored: Vec<BlobRow>,
}

impl BodyRows {
    /// Those of the bodies whose rows are not known.
    fn missing<'a>(&self, bodies: &[NewBody<'a>]) -> Vec<NewBody<'a>> {
        let missing = bodies
            .iter()
            .filter(|new| !self.ids.contains_key(&new.key()));
        missing.copied().collect()
    }
}

/// A body that was stored before.
#[derive(Clone, Copy)]
struct KnownRow {
    blob: BlobRow,
    is_inline: bool,
    /// The segment that has it, and the length of its record there, if the blob store has lost the segment.
    lost: Option<(i64, u64)>,
}

#[derive(sqlx_macros::FromRow)]
struct KeyRow {
    id: i64,
    project_id: i64,
    hash: Vec<u8>,
    segment_id: Option<i64>,
}

#[derive(sqlx_macros::FromRow)]
struct PlaceRow {
    id: i64,
    hash: Vec<u8>,
    segment_id: Option<i64>,
    segment_length: Option<i64>,
    lost_at: Option<i64>,
}

impl PlaceRow {
    fn lost(&self) -> Option<(i64, u64)> {
        self.lost_at?;
        Some((self.segment_id?, self.segment_length?.unsigned_abs()))
    }
}

per_database! {
    /// Stores bodies, or adds references to those already stored, and to the bodies of `shared`;
    /// returns those of `shared` that still exist, sorted. The caller sorts the bodies by project
    /// and hash. `segment` is the row of the segment that has those with a place. The caller removes the
    /// references that are lost, after all that it does to bodies.
    ///
    /// Two nodes never deadlock: new rows come first, in the order of their keys, and change none
    /// that is there; these are locked then, in the order of their ids, as by everyone else. Whoever
    /// waits for a new row holds no old one that others wait for.
    pub(crate) async fn upsert(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
        shared: &BTreeMap<BlobRow, i64>,
        segment: Option<i64>,
    ) -> Result<(BodyRows, Vec<BlobId>), StoreError> {
        let mut rows = BodyRows::default();
        insert(conn, bodies, segment, &mut rows).await?;
        let left = rows.missing(bodies);
        let known = known(conn, &left).await?;
        let there = refer(conn, &left, &known, shared, &mut rows).await?;
        insert_gone(conn, &left, segment, &mut rows).await?;
        rows.inline.append(&mut rows.restored);
        Ok((rows, there))
    }

    /// Stores bodies of pages, sorted by project and hash; returns their rows. A body already stored
    /// is not sent again. With `staged_at`, new bodies go on to the blob store later.
    pub(crate) async fn keep(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
        staged_at: Option<i64>,
    ) -> Result<HashMap<BodyKey, i64>, StoreError> {
        let mut rows = BodyRows::default();
        let mut found = known(conn, bodies).await?;
        let mut new = bodies.to_vec();
        new.retain(|new| !found.contains_key(&new.key()));
        insert(conn, &new, None, &mut rows).await?;
        // Another node may have inserted the same bodies in between.
        found.extend(known(conn, &rows.missing(&new)).await?);
        let left = rows.missing(bodies);
        let fresh = rows.inline.len();
        refer(conn, &left, &found, &BTreeMap::new(), &mut rows).await?;
        // Those that were there are where they are to be.
        rows.inline.truncate(fresh);
        insert_gone(conn, &left, None, &mut rows).await?;
        rows.inline.append(&mut rows.restored);
        sql::segments::shrink(conn, &rows.lost).await?;
        if let Some(at) = staged_at {
            sql::segments::stage(conn, &rows.inline, at).await?;
        }
        Ok(rows.ids)
    }

    /// Stores those of the bodies that no row has.
    async fn insert(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
        segment: Option<i64>,
        rows: &mut BodyRows,
    ) -> Result<(), StoreError> {
        let places: HashMap<BodyKey, Place> = bodies
            .iter()
            .filter_map(|new| Some((new.key(), new.place?)))
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
                " ON CONFLICT (project_id, hash) DO NOTHING
                  RETURNING id, project_id, hash, segment_id",
            );
            let inserted: Vec<KeyRow> = insert.build_query_as().fetch_all(&mut *conn).await?;
            for row in inserted {
                let key = (ProjectId(row.project_id), digest(row.hash)?);
                match (row.segment_id, places.get(&key)) {
                    (Some(_), Some(place)) => rows.in_segment.add(place.length),
                    _ => rows.inline.push((BlobId(row.id), key.0)),
                }
                rows.ids.insert(key, row.id);
            }
        }
        Ok(())
    }

    /// Stores bodies whose rows were there, and were deleted before they were locked. There are
    /// hardly ever any.
    async fn insert_gone(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
        segment: Option<i64>,
        rows: &mut BodyRows,
    ) -> Result<(), StoreError> {
        loop {
            let left = rows.missing(bodies);
            if left.is_empty() {
                return Ok(());
            }
            insert(conn, &left, segment, rows).await?;
            let left = rows.missing(&left);
            let known = known(conn, &left).await?;
            refer(conn, &left, &known, &BTreeMap::new(), rows).await?;
        }
    }

    /// The rows of bodies that are stored.
    async fn known(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
    ) -> Result<HashMap<BodyKey, KnownRow>, StoreError> {
        let mut known = HashMap::new();
        for bodies in bodies.chunk_by(|a, b| a.project == b.project) {
            for piece in pieces(bodies) {
                let Some(NewBody { project, .. }) = piece.first() else { continue };
                let mut select = sqlx::QueryBuilder::new(
                    "SELECT id, hash, segment_id, segment_length,
                            (SELECT lost_at FROM segments WHERE segments.id = segment_id) AS lost_at
                     FROM blobs WHERE project_id = ",
                );
                select.push_bind(project.get()).push(" AND hash IN ");
                push_list(&mut select, piece.iter().map(|new| new.body.hash.as_slice()));
                let found: Vec<PlaceRow> = select.build_query_as().fetch_all(&mut *conn).await?;
                for row in found {
                    let known_row = KnownRow {
                        blob: (BlobId(row.id), *project),
                        is_inline: row.segment_id.is_none(),
                        lost: row.lost(),
                    };
                    known.insert((*project, digest(row.hash)?), known_row);
                }
            }
        }
        Ok(known)
    }

    /// Adds references to rows that are there, all in one order; returns those of `shared` that
    /// still exist, sorted.
    async fn refer(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
        known: &HashMap<BodyKey, KnownRow>,
        shared: &BTreeMap<BlobRow, i64>,
        rows: &mut BodyRows,
    ) -> Result<Vec<BlobId>, StoreError> {
        let mut refs = shared.clone();
        for new in bodies {
            if let Some(row) = known.get(&new.key()) {
                *refs.entry(row.blob).or_default() += new.refs;
            }
        }
        let counted = add_refs(conn, &refs).await?;
        let there: BTreeSet<BlobRow> = counted.into_iter().map(|(row, _)| row).collect();
        for new in bodies {
            if let Some(row) = known.get(&new.key())
                && there.contains(&row.blob)
            {
                rows.ids.insert(new.key(), row.blob.0.get());
                if row.is_inline {
                    rows.inline.push(row.blob);
                }
            }
        }
        restore(conn, bodies, known, &there, rows).await?;
        let there = there.into_iter().filter(|row| shared.contains_key(row));
        Ok(there.map(|(blob, _)| blob).collect())
    }

    /// Puts bodies into those of their rows, which are locked, whose segments the blob store has lost.
    async fn restore(
        conn: &mut Conn,
        bodies: &[NewBody<'_>],
        known: &HashMap<BodyKey, KnownRow>,
        there: &BTreeSet<BlobRow>,
        rows: &mut BodyRows,
    ) -> Result<(), StoreError> {
        for new in bodies {
            let row = known.get(&new.key()).filter(|row| there.contains(&row.blob));
            let Some((row, (segment, length))) = row.and_then(|row| Some((row, row.lost?))) else {
                continue;
            };
            // Another node may have done it since.
            let done = sqlx::query(
                "UPDATE blobs SET bytes = $4, size = $5, encoding = $6, segment_id = NULL,
                     segment_offset = NULL, segment_length = NULL
                 WHERE id = $1 AND project_id = $2 AND segment_id = $3",
            )
            .bind(row.blob.0.get())
            .bind(new.project.get())
            .bind(segment)
            .bind(&new.body.bytes[..])
            .bind(signed(new.body.size))
            .bind(new.body.encoding.as_str())
            .execute(&mut *conn)
            .await?;
            if done.rows_affected() == 1 {
                rows.lost.entry(segment).or_default().add(length);
                rows.restored.push(row.blob);
            }
        }
        Ok(())
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
        select.push_bind(project.get()).push(" AND id IN ");
        push_list(&mut select, rows.iter().map(|((blob, _), _)| blob.get()));
        select.push(" ORDER BY id FOR NO KEY UPDATE");
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
                delete.push_bind(project).push(" AND id IN ");
                push_list(&mut delete, piece.iter().copied());
                delete.push(" RETURNING CAST(COALESCE(length(bytes), segment_length) AS BIGINT), segment_id");
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

    /// Bytes of the project's stored bodies.
    #[crate::boxed]
    pub async fn stored_bytes(&self, project: ProjectId) -> Result<u64, StoreError> {
        let total: i64 = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT CAST(COALESCE(sum(COALESCE(length(bytes), segment_length)), 0) AS BIGINT)
                 FROM blobs WHERE project_id = $1",
            )
            .bind(project.get())
            .fetch_one(pool)
            .await?
        });
        Ok(total.unsigned_abs())
    }
}

/// Reads a SHA-256 from a row.
pub(crate) fn digest(bytes: Vec<u8>) -> Result<[u8; 32], StoreError> {
    bytes
        .try_into()
        .map_err(|_| StoreError::Damaged("a SHA-256 that is not 32 bytes long".to_owned()))
}

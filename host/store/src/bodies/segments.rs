//! The tables `segments` (objects of the blob store) and `staged_bodies` (bodies that wait in the
//! database until they fill a segment).

use std::collections::BTreeMap;

use super::rows::BlobRow;
use crate::db::{per_database, pieces, push_list, signed};
use crate::error::StoreError;

/// Records that rows of bodies refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct References {
    pub(crate) bodies: i64,
    /// Bytes of the records.
    pub(crate) bytes: i64,
}

impl References {
    /// Adds one record.
    pub(crate) fn add(&mut self, length: u64) {
        self.bodies = self.bodies.saturating_add(1);
        self.bytes = self.bytes.saturating_add(signed(length));
    }
}

/// References that segments lost. In order of their rows, so that two nodes never deadlock.
pub(crate) type Shrinkage = BTreeMap<i64, References>;

/// A segment that the blob store has confirmed.
#[derive(Clone, Debug)]
pub(crate) struct SegmentRow {
    pub(crate) name: String,
    pub(crate) bytes: i64,
    pub(crate) created_at: i64,
}

per_database! {
    /// Records a segment, as yet without references. Fails if the sweeper took its name for that of
    /// an orphan.
    pub(crate) async fn insert(conn: &mut Conn, segment: &SegmentRow) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar(
            "INSERT INTO segments (name, bytes, live_bodies, live_bytes, created_at)
             VALUES ($1, $2, 0, 0, $3) RETURNING id",
        )
        .bind(&segment.name)
        .bind(segment.bytes)
        .bind(segment.created_at)
        .fetch_one(&mut *conn)
        .await?)
    }

    /// Sets the references of a segment of this transaction.
    pub(crate) async fn set_live(
        conn: &mut Conn,
        segment: i64,
        live: References,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE segments SET live_bodies = $2, live_bytes = $3 WHERE id = $1")
            .bind(segment)
            .bind(live.bodies)
            .bind(live.bytes)
            .execute(&mut *conn)
            .await?;
        Ok(())
    }

    /// Removes references.
    pub(crate) async fn shrink(conn: &mut Conn, lost: &Shrinkage) -> Result<(), StoreError> {
        for (segment, references) in lost {
            sqlx::query(
                "UPDATE segments SET live_bodies = live_bodies - $2, live_bytes = live_bytes - $3
                 WHERE id = $1",
            )
            .bind(segment)
            .bind(references.bodies)
            .bind(references.bytes)
            .execute(&mut *conn)
            .await?;
        }
        Ok(())
    }

    /// Marks bodies whose bytes are to go on to the blob store.
    pub(crate) async fn stage(
        conn: &mut Conn,
        blobs: &[BlobRow],
        at: i64,
    ) -> Result<(), StoreError> {
        for piece in pieces(blobs) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO staged_bodies (blob_id, project_id, staged_at) ",
            );
            insert.push_values(piece, |mut row, (blob, project)| {
                row.push_bind(blob.get())
                    .push_bind(project.get())
                    .push_bind(at);
            });
            insert.push(" ON CONFLICT (blob_id) DO NOTHING");
            insert.build().execute(&mut *conn).await?;
        }
        Ok(())
    }

    /// Removes the marks of bodies.
    pub(crate) async fn unstage(conn: &mut Conn, blobs: &[BlobRow]) -> Result<(), StoreError> {
        for piece in pieces(blobs) {
            let mut delete =
                sqlx::QueryBuilder::new("DELETE FROM staged_bodies WHERE blob_id IN ");
            push_list(&mut delete, piece.iter().map(|(blob, _)| blob.get()));
            delete.build().execute(&mut *conn).await?;
        }
        Ok(())
    }
}

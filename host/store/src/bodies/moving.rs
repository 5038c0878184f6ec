//! Moving bodies between the database and the blob store while both are in use. Every step is one
//! segment and one transaction, so that it can be stopped and continued anywhere.

use std::collections::HashMap;

use bytes::Bytes;
use orbweaver_blobs::{BlobError, Blobs, Place, Record, RecordBody, read_record};
use orbweaver_core::ids::{BlobId, ProjectId};

use super::reading::place;
use super::rows::{BlobRow, digest};
use super::segments::{References, Shrinkage};
use super::upload::{Uploaded, write};
use crate::db::{by_project, number, pieces, push_list, read, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::to_ms;

/// Bodies of one step.
const STEP_BODIES: i64 = 500;
/// Bytes of one step, if it has more than one body.
const STEP_BYTES: i64 = 8 << 20;

/// What a step has moved.
#[derive(Debug, Default)]
pub struct Moved {
    /// Number of bodies.
    pub bodies: u64,
    /// Their encoded bytes.
    pub bytes: u64,
    /// Where the next step begins; `None`: nothing is left.
    pub next: Option<i64>,
    /// Bodies that stay where they are, because the blob store has lost or damaged them.
    pub lost: u64,
    /// What is wrong with the last of these.
    pub problem: Option<StoreError>,
}

/// A body in its row.
#[derive(sqlx_macros::FromRow)]
struct InlineRow {
    id: i64,
    project_id: i64,
    hash: Vec<u8>,
    size: i64,
    encoding: String,
    bytes: Vec<u8>,
}

/// A body that refers to a segment.
#[derive(sqlx_macros::FromRow)]
struct PlacedRow {
    id: i64,
    project_id: i64,
    hash: Vec<u8>,
    segment_offset: Option<i64>,
    segment_length: Option<i64>,
}

/// The bodies that refer to a segment, with their records.
#[derive(Default)]
struct LiveRecords {
    records: Vec<(BlobRow, Place, Record)>,
    /// Those whose records are not there as they were written.
    lost: u64,
    /// What is wrong with the last of these.
    problem: Option<StoreError>,
}

/// A segment to read whole.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub(super) struct SegmentName {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) live_bytes: i64,
}

impl Store {
    /// Moves bodies with ids above `after` from the database to the blob store: at most one
    /// segment.
    ///
    /// # Errors
    /// [`StoreError::Blobs`] if the blob store fails; nothing has changed then.
    #[crate::boxed]
    pub async fn move_to_blobs(&self, after: i64) -> Result<Moved, StoreError> {
        let waiting: Vec<(i64, i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, project_id, CAST(length(bytes) AS BIGINT) FROM blobs
                 WHERE id > $1 AND segment_id IS NULL ORDER BY id LIMIT $2",
            )
            .bind(after)
            .bind(STEP_BODIES)
            .fetch_all(pool)
            .await?
        });
        self.pack(&first_bytes(&waiting, STEP_BYTES)).await
    }

    /// Moves waiting bodies to the blob store if they fill a segment, or the oldest has waited since
    /// `before`: at most one segment.
    pub(super) async fn pack_staged(&self, before: i64) -> Result<Moved, StoreError> {
        let oldest: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT CAST(min(staged_at) AS BIGINT) FROM staged_bodies")
                .fetch_one(pool)
                .await?
        });
        let Some(oldest) = oldest else {
            return Ok(Moved::default());
        };
        let staged: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT blob_id, project_id FROM staged_bodies ORDER BY blob_id LIMIT $1",
            )
            .bind(STEP_BODIES)
            .fetch_all(pool)
            .await?
        });
        let waiting = self.with_lengths(&staged).await?;
        let bytes: i64 = waiting.iter().map(|(_, _, bytes)| bytes).sum();
        let is_full = bytes >= STEP_BYTES || waiting.len() as u64 >= STEP_BODIES.unsigned_abs();
        if !is_full && oldest > before {
            return Ok(Moved::default());
        }
        self.pack(&first_bytes(&waiting, STEP_BYTES)).await
    }

    /// Bodies with the bytes that they have in their rows.
    async fn with_lengths(&self, blobs: &[(i64, i64)]) -> Result<Vec<(i64, i64, i64)>, StoreError> {
        let mut lengths: HashMap<i64, i64> = HashMap::new();
        let by_project = by_project(blobs.iter().map(|(blob, project)| (*project, *blob)));
        for (project, ids) in by_project {
            for piece in pieces(&ids) {
                let found: Vec<(i64, i64)> = read!(self.db, pool => {
                    let mut select = sqlx::QueryBuilder::new(
                        "SELECT id, CAST(COALESCE(length(bytes), 0) AS BIGINT) FROM blobs
                         WHERE project_id = ",
                    );
                    select.push_bind(project).push(" AND id IN ");
                    push_list(&mut select, piece.iter().copied());
                    select.build_query_as().fetch_all(pool).await?
                });
                lengths.extend(found);
            }
        }
        let with_length = |(blob, project): &(i64, i64)| {
            (*blob, *project, lengths.get(blob).copied().unwrap_or(0))
        };
        Ok(blobs.iter().map(with_length).collect())
    }

    /// Moves bodies to a new segment. Those that are gone, or moved meanwhile, are left out.
    async fn pack(&self, blobs: &[BlobRow]) -> Result<Moved, StoreError> {
        let Some((last, _)) = blobs.last().copied() else {
            return Ok(Moved::default());
        };
        let store = self.blob_store()?;
        let mut ids = Vec::with_capacity(blobs.len());
        let mut records = Vec::with_capacity(blobs.len());
        for row in self.inline_rows(blobs).await? {
            ids.push((row.id, row.project_id));
            records.push(RecordBody {
                project: row.project_id,
                hash: digest(row.hash)?,
                size: number(row.size, "size")?,
                encoding: row.encoding,
                bytes: row.bytes.into(),
            });
        }
        let bytes = records.iter().map(|record| record.bytes.len() as u64).sum();
        let keys: Vec<_> = records.iter().map(RecordBody::key).collect();
        let uploaded = match records.is_empty() {
            true => None,
            false => Some(write(store, records).await?),
        };
        let bodies = transact!(self.db, tx => {
            let mut live = References::default();
            if let Some(uploaded) = &uploaded {
                let segment = sql::segments::insert(tx, &uploaded.row).await?;
                for ((id, project), key) in ids.iter().zip(&keys) {
                    let Some(place) = uploaded.place(key) else { continue };
                    let moved = sqlx::query(
                        "UPDATE blobs SET bytes = NULL, segment_id = $2, segment_offset = $3,
                             segment_length = $4
                         WHERE id = $1 AND project_id = $5 AND segment_id IS NULL",
                    )
                    .bind(id)
                    .bind(segment)
                    .bind(crate::db::signed(place.offset))
                    .bind(crate::db::signed(place.length))
                    .bind(project)
                    .execute(&mut *tx)
                    .await?;
                    if moved.rows_affected() == 1 {
                        live.add(place.length);
                    }
                }
                sql::segments::set_live(tx, segment, live).await?;
            }
            sql::segments::unstage(tx, blobs).await?;
            Ok(live.bodies.unsigned_abs())
        })?;
        Ok(Moved {
            bodies,
            bytes,
            next: Some(last.get()),
            ..Moved::default()
        })
    }

    /// Those of the bodies whose bytes are in their rows, in the order of their ids.
    async fn inline_rows(&self, blobs: &[BlobRow]) -> Result<Vec<InlineRow>, StoreError> {
        let mut rows: Vec<InlineRow> = Vec::with_capacity(blobs.len());
        let blobs = blobs
            .iter()
            .map(|(blob, project)| (project.get(), blob.get()));
        for (project, ids) in by_project(blobs) {
            for piece in pieces(&ids) {
                let found: Vec<InlineRow> = read!(self.db, pool => {
                    let mut select = sqlx::QueryBuilder::new(
                        "SELECT id, project_id, hash, size, encoding, bytes FROM blobs
                         WHERE segment_id IS NULL AND project_id = ",
                    );
                    select.push_bind(project).push(" AND id IN ");
                    push_list(&mut select, piece.iter().copied());
                    select.build_query_as().fetch_all(pool).await?
                });
                rows.extend(found);
            }
        }
        // Bodies are locked in the order of their ids in every transaction.
        rows.sort_unstable_by_key(|row| row.id);
        Ok(rows)
    }

    /// Moves the bodies of the first segment after `after` into the database, except those that are lost.
    ///
    /// # Errors
    /// [`StoreError::Blobs`] if the blob store fails; nothing has changed then.
    #[crate::boxed]
    pub async fn move_to_database(&self, after: i64) -> Result<Moved, StoreError> {
        let segment: Option<SegmentName> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, name, live_bytes FROM segments WHERE id > $1 AND live_bodies > 0
                 ORDER BY id LIMIT 1",
            )
            .bind(after)
            .fetch_optional(pool)
            .await?
        });
        let Some(segment) = segment else {
            return Ok(Moved::default());
        };
        let found = self.live_records(self.blob_store()?, &segment).await?;
        let mut moved = Moved {
            next: Some(segment.id),
            lost: found.lost,
            problem: found.problem,
            ..Moved::default()
        };
        // Small transactions: nobody else writes meanwhile on SQLite.
        for piece in found.records.chunks(64) {
            let lost = transact!(self.db, tx => {
                let mut lost = References::default();
                for ((blob, project), place, record) in piece {
                    let done = sqlx::query(
                        "UPDATE blobs SET bytes = $3, segment_id = NULL, segment_offset = NULL,
                             segment_length = NULL
                         WHERE id = $1 AND project_id = $4 AND segment_id = $2",
                    )
                    .bind(blob.get())
                    .bind(segment.id)
                    .bind(&record.bytes[..])
                    .bind(project.get())
                    .execute(&mut *tx)
                    .await?;
                    if done.rows_affected() == 1 {
                        lost.add(place.length);
                    }
                }
                sql::segments::shrink(tx, &Shrinkage::from([(segment.id, lost)])).await?;
                Ok(lost)
            })?;
            moved.bodies += lost.bodies.unsigned_abs();
            let bytes = piece.iter().map(|(_, _, record)| record.bytes.len() as u64);
            moved.bytes += bytes.sum::<u64>();
        }
        Ok(moved)
    }

    /// The bodies that refer to a segment, with their records, whose digests were checked.
    async fn live_records(
        &self,
        blobs: &Blobs,
        segment: &SegmentName,
    ) -> Result<LiveRecords, StoreError> {
        let rows = self.placed_rows(segment).await?;
        if rows.is_empty() {
            return Ok(LiveRecords::default());
        }
        let whole = match blobs.whole(&segment.name).await {
            Err(error) if !error.is_transient() => {
                return Ok(LiveRecords {
                    // Others may have moved or deleted them meanwhile.
                    lost: self.placed_rows(segment).await?.len() as u64,
                    problem: Some(error.into()),
                    ..LiveRecords::default()
                });
            }
            whole => whole?,
        };
        let name = segment.name.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let mut found = LiveRecords::default();
            for row in rows {
                match checked(&name, &whole, row) {
                    Ok(record) => found.records.push(record),
                    Err(error) => {
                        found.lost += 1;
                        found.problem = Some(error);
                    }
                }
            }
            found
        });
        let found = checked.await.map_err(|error| BlobError::Unavailable {
            operation: "get",
            message: error.to_string(),
        });
        Ok(found?)
    }

    /// Notes that the blob store lacks a segment: bodies in it that are fetched again are stored anew.
    pub(super) async fn note_lost(&self, name: &str) -> Result<(), StoreError> {
        // Each read of such a body comes here, and only the first one writes.
        let unknown: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT id FROM segments WHERE name = $1 AND lost_at IS NULL AND deleted_at IS NULL",
            )
            .bind(name)
            .fetch_optional(pool)
            .await?
        });
        let Some(segment) = unknown else {
            return Ok(());
        };
        tracing::error!(
            segment = name,
            "the blob store has lost a segment with bodies of pages"
        );
        let now = to_ms(self.blob_store()?.now());
        transact!(self.db, tx => {
            sqlx::query("UPDATE segments SET lost_at = $2 WHERE id = $1")
                .bind(segment)
                .bind(now)
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    async fn placed_rows(&self, segment: &SegmentName) -> Result<Vec<PlacedRow>, StoreError> {
        Ok(read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, project_id, hash, segment_offset, segment_length FROM blobs
                 WHERE segment_id = $1 ORDER BY id",
            )
            .bind(segment.id)
            .fetch_all(pool)
            .await?
        }))
    }

    /// Moves what is left of segments to a new one; returns the number of bodies.
    pub(super) async fn merge(
        &self,
        blobs: &Blobs,
        segments: &[SegmentName],
    ) -> Result<u64, StoreError> {
        let mut records = Vec::new();
        let mut from: HashMap<BlobRow, (i64, Place)> = HashMap::new();
        let mut ids = Vec::new();
        for segment in segments {
            let found = self.live_records(blobs, segment).await?;
            if let Some(problem) = found.problem {
                return Err(problem);
            }
            for (blob, place, record) in found.records {
                from.insert(blob, (segment.id, place));
                ids.push((blob, record.key()));
                // A copy, so that the rest of the segment is not kept in memory.
                records.push(RecordBody {
                    bytes: Bytes::copy_from_slice(&record.bytes),
                    ..record
                });
            }
        }
        if records.is_empty() {
            return Ok(0);
        }
        // Bodies are locked in the order of their ids in every transaction.
        ids.sort_unstable_by_key(|(blob, _)| *blob);
        let uploaded: Uploaded = write(blobs, records).await?;
        transact!(self.db, tx => {
            let segment = sql::segments::insert(tx, &uploaded.row).await?;
            let mut live = References::default();
            let mut shrunk = Shrinkage::new();
            for (blob, key) in &ids {
                let (Some(place), Some((old, old_place))) =
                    (uploaded.place(key), from.get(blob).copied())
                else {
                    continue;
                };
                let moved = sqlx::query(
                    "UPDATE blobs SET segment_id = $3, segment_offset = $4, segment_length = $5
                     WHERE id = $1 AND project_id = $6 AND segment_id = $2",
                )
                .bind(blob.0.get())
                .bind(old)
                .bind(segment)
                .bind(crate::db::signed(place.offset))
                .bind(crate::db::signed(place.length))
                .bind(blob.1.get())
                .execute(&mut *tx)
                .await?;
                if moved.rows_affected() == 1 {
                    live.add(place.length);
                    shrunk.entry(old).or_default().add(old_place.length);
                }
            }
            sql::segments::shrink(tx, &shrunk).await?;
            sql::segments::set_live(tx, segment, live).await?;
            Ok(live.bodies.unsigned_abs())
        })
    }
}

/// A row's record in the bytes of its segment.
fn checked(
    name: &str,
    whole: &Bytes,
    row: PlacedRow,
) -> Result<(BlobRow, Place, Record), StoreError> {
    let damaged = |problem: &str| BlobError::Damaged {
        segment: name.to_owned(),
        problem: problem.to_owned(),
    };
    let place = place(row.segment_offset, row.segment_length)?;
    let end = place.offset.saturating_add(place.length);
    let range = usize::try_from(place.offset).unwrap_or(usize::MAX)
        ..usize::try_from(end).unwrap_or(usize::MAX);
    if range.end > whole.len() || range.start > range.end {
        return Err(damaged("it ends within a record").into());
    }
    let record = read_record(name, &whole.slice(range))?;
    if record.hash != digest(row.hash)? {
        return Err(damaged("another body is there").into());
    }
    Ok(((BlobId(row.id), ProjectId(row.project_id)), place, record))
}

/// The first ids whose bytes are at most `most` together; at least one.
fn first_bytes(waiting: &[(i64, i64, i64)], most: i64) -> Vec<BlobRow> {
    let mut sum: i64 = 0;
    let mut ids = Vec::with_capacity(waiting.len());
    for (id, project, bytes) in waiting {
        sum = sum.saturating_add(*bytes);
        if sum > most && !ids.is_empty() {
            break;
        }
        ids.push((BlobId(*id), ProjectId(*project)));
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_bounded_in_bytes_and_never_empty() {
        let row = |id| (BlobId(id), ProjectId(7));
        let three = [(1, 7, 5), (2, 7, 5), (3, 7, 1)];
        assert_eq!(first_bytes(&three, 10), [row(1), row(2)]);
        assert_eq!(first_bytes(&[(1, 7, 50), (2, 7, 5)], 10), [row(1)]);
        assert_eq!(first_bytes(&[(4, 7, 0)], 10), [row(4)]);
        assert!(first_bytes(&[], 10).is_empty());
    }
}

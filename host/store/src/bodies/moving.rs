//! Moving bodies between the database and the blob store while both are in use. Every step is one
//! segment and one transaction, so that it can be stopped and continued anywhere.

use std::collections::HashMap;

use bytes::Bytes;
use orbweaver_blobs::{BlobError, Blobs, Place, Record, RecordBody, read_record};
use orbweaver_core::ids::BlobId;

use super::reading::place;
use super::rows::digest;
use super::segments::{References, Shrinkage};
use super::upload::{Uploaded, write};
use crate::db::{number, pieces, read, transact};
use crate::error::StoreError;
use crate::store::Store;

/// Bodies of one step.
const STEP_BODIES: i64 = 500;
/// Bytes of one step, if it has more than one body.
const STEP_BYTES: i64 = 8 << 20;

/// What a step has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of bodies.
    pub bodies: u64,
    /// Their encoded bytes.
    pub bytes: u64,
    /// Where the next step begins; `None`: nothing is left.
    pub next: Option<i64>,
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
    hash: Vec<u8>,
    segment_offset: Option<i64>,
    segment_length: Option<i64>,
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
        let waiting: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, CAST(length(bytes) AS BIGINT) FROM blobs
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
        let waiting: Vec<(i64, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT s.blob_id, CAST(COALESCE(length(b.bytes), 0) AS BIGINT)
                 FROM staged_bodies s LEFT JOIN blobs b ON b.id = s.blob_id
                 ORDER BY s.blob_id LIMIT $1",
            )
            .bind(STEP_BODIES)
            .fetch_all(pool)
            .await?
        });
        let bytes: i64 = waiting.iter().map(|(_, bytes)| bytes).sum();
        let is_full = bytes >= STEP_BYTES || waiting.len() as u64 >= STEP_BODIES.unsigned_abs();
        if !is_full && oldest > before {
            return Ok(Moved::default());
        }
        self.pack(&first_bytes(&waiting, STEP_BYTES)).await
    }

    /// Moves bodies to a new segment. Those that are gone, or moved meanwhile, are left out.
    async fn pack(&self, blobs: &[i64]) -> Result<Moved, StoreError> {
        let Some(last) = blobs.last().copied() else {
            return Ok(Moved::default());
        };
        let store = self.blob_store()?;
        let mut ids = Vec::with_capacity(blobs.len());
        let mut records = Vec::with_capacity(blobs.len());
        for row in self.inline_rows(blobs).await? {
            ids.push(row.id);
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
                for (id, key) in ids.iter().zip(&keys) {
                    let Some(place) = uploaded.place(key) else { continue };
                    let moved = sqlx::query(
                        "UPDATE blobs SET bytes = NULL, segment_id = $2, segment_offset = $3,
                             segment_length = $4
                         WHERE id = $1 AND segment_id IS NULL",
                    )
                    .bind(id)
                    .bind(segment)
                    .bind(crate::db::signed(place.offset))
                    .bind(crate::db::signed(place.length))
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
            next: Some(last),
        })
    }

    async fn inline_rows(&self, blobs: &[i64]) -> Result<Vec<InlineRow>, StoreError> {
        let mut rows = Vec::with_capacity(blobs.len());
        for piece in pieces(blobs) {
            let found: Vec<InlineRow> = read!(self.db, pool => {
                let mut select = sqlx::QueryBuilder::new(
                    "SELECT id, project_id, hash, size, encoding, bytes FROM blobs
                     WHERE segment_id IS NULL AND id IN (",
                );
                let mut list = select.separated(", ");
                for blob in piece {
                    list.push_bind(*blob);
                }
                select.push(") ORDER BY id");
                select.build_query_as().fetch_all(pool).await?
            });
            rows.extend(found);
        }
        Ok(rows)
    }

    /// Moves the bodies of the first segment after `after` into the database.
    ///
    /// # Errors
    /// [`StoreError::Blobs`] if the blob store fails or a record is damaged; nothing has changed
    /// then.
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
        let records = self.live_records(self.blob_store()?, &segment).await?;
        let mut moved = Moved {
            next: Some(segment.id),
            ..Moved::default()
        };
        // Small transactions: nobody else writes meanwhile on SQLite.
        for piece in records.chunks(64) {
            let lost = transact!(self.db, tx => {
                let mut lost = References::default();
                for (blob, place, record) in piece {
                    let done = sqlx::query(
                        "UPDATE blobs SET bytes = $3, segment_id = NULL, segment_offset = NULL,
                             segment_length = NULL
                         WHERE id = $1 AND segment_id = $2",
                    )
                    .bind(blob.get())
                    .bind(segment.id)
                    .bind(&record.bytes[..])
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
    ) -> Result<Vec<(BlobId, Place, Record)>, StoreError> {
        let rows: Vec<PlacedRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, hash, segment_offset, segment_length FROM blobs
                 WHERE segment_id = $1 ORDER BY id",
            )
            .bind(segment.id)
            .fetch_all(pool)
            .await?
        });
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let whole = blobs.whole(&segment.name).await?;
        let name = segment.name.clone();
        let checked = tokio::task::spawn_blocking(move || {
            rows.into_iter()
                .map(|row| checked(&name, &whole, row))
                .collect::<Result<Vec<_>, StoreError>>()
        });
        checked.await.map_err(|error| BlobError::Unavailable {
            operation: "get",
            message: error.to_string(),
        })?
    }

    /// Moves what is left of segments to a new one; returns the number of bodies.
    pub(super) async fn merge(
        &self,
        blobs: &Blobs,
        segments: &[SegmentName],
    ) -> Result<u64, StoreError> {
        let mut records = Vec::new();
        let mut from: HashMap<BlobId, (i64, Place)> = HashMap::new();
        let mut ids = Vec::new();
        for segment in segments {
            for (blob, place, record) in self.live_records(blobs, segment).await? {
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
                     WHERE id = $1 AND segment_id = $2",
                )
                .bind(blob.get())
                .bind(old)
                .bind(segment)
                .bind(crate::db::signed(place.offset))
                .bind(crate::db::signed(place.length))
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
) -> Result<(BlobId, Place, Record), StoreError> {
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
    Ok((BlobId(row.id), place, record))
}

/// The first ids whose bytes are at most `most` together; at least one.
fn first_bytes(waiting: &[(i64, i64)], most: i64) -> Vec<i64> {
    let mut sum: i64 = 0;
    let mut ids = Vec::with_capacity(waiting.len());
    for (id, bytes) in waiting {
        sum = sum.saturating_add(*bytes);
        if sum > most && !ids.is_empty() {
            break;
        }
        ids.push(*id);
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_bounded_in_bytes_and_never_empty() {
        assert_eq!(first_bytes(&[(1, 5), (2, 5), (3, 1)], 10), [1, 2]);
        assert_eq!(first_bytes(&[(1, 50), (2, 5)], 10), [1]);
        assert_eq!(first_bytes(&[(4, 0)], 10), [4]);
        assert!(first_bytes(&[], 10).is_empty());
    }
}

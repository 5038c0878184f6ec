//! The sweeper of the blob store: it packs waiting bodies, rewrites segments that are mostly dead,
//! and deletes segments that nobody refers to, those of crashes too.
//!
//! A segment is confirmed before the transaction that refers to it, so a segment that the database
//! does not know may belong to a transaction under way. Such an orphan is left alone for a
//! grace time, and then its name is taken in the table, in a transaction of its own: if the late
//! transaction commits first, the sweeper finds the name taken; if it comes after, it fails, and its
//! work is done again under another name. So no clock decides whether a body is lost.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_blobs::{BlobError, Blobs, Stored};

use super::moving::{Moved, SegmentName};
use crate::db::{pieces, push_list, read, signed, transact};
use crate::error::StoreError;
use crate::exclusive_work::ExclusiveWork;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Segments handled per step.
const STEP: i64 = 200;
/// Live bytes of one rewritten segment.
const MERGE_BYTES: i64 = 8 << 20;
/// Objects listed per request of the search for orphans.
const LISTED: usize = 1_000;
/// Time between two searches for orphans in all segments.
const FULL_SEARCH: TimeDelta = TimeDelta::hours(24);
/// How long the name of a deleted segment stays taken.
const NAME_KEPT: TimeDelta = TimeDelta::days(7);
/// One process sweeps at a time.
const WORK: ExclusiveWork = ExclusiveWork::BlobSweep;

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Bodies moved from the database.
    pub packed: u64,
    /// Bodies moved out of segments that were mostly dead.
    pub rewritten: u64,
    /// Segments found that no row refers to.
    pub orphans: u64,
    /// Segments deleted.
    pub deleted: u64,
}

/// Sweeps one blob store; remembers how far it has looked for orphans.
#[derive(Debug)]
pub struct BlobSweeper {
    store: Store,
    /// Name up to which segments were checked.
    seen: Option<String>,
    /// When the search began at the first segment.
    begun: Option<DateTime<Utc>>,
}

impl BlobSweeper {
    /// A sweeper that has seen nothing.
    pub const fn new(store: Store) -> Self {
        Self {
            store,
            seen: None,
            begun: None,
        }
    }

    /// One sweep. Nothing happens without a blob store, or while another node sweeps.
    ///
    /// # Errors
    /// The first failure; what was done until then stays.
    #[crate::boxed]
    pub async fn sweep(&mut self) -> Result<Swept, StoreError> {
        let Some(blobs) = self.store.blobs.clone() else {
            return Ok(Swept::default());
        };
        let mut swept = Swept::default();
        let now = blobs.now();
        if !self.store.begin_exclusive_work(WORK, now).await? {
            return Ok(swept);
        }
        let options = blobs.options();
        if blobs.takes_new() {
            swept.packed = self.pack(&blobs).await?;
        }
        let before = |age: Duration| {
            TimeDelta::from_std(age)
                .ok()
                .and_then(|age| now.checked_sub_signed(age))
                .map_or(i64::MIN, to_ms)
        };
        swept.rewritten = self.store.rewrite_sparse(&blobs, now).await?;
        swept.orphans = self
            .orphans(&blobs, now, before(options.orphan_age))
            .await?;
        let unfinished = from_ms(before(options.orphan_age));
        if let Err(error) = blobs.remove_unfinished(unfinished).await {
            // One such file must not keep the rest from being swept.
            tracing::warn!(%error, "cannot delete unfinished files of the blob store");
        }
        self.store.mark_dead(now).await?;
        swept.deleted = self
            .store
            .delete_dead(&blobs, now, before(options.keep_deleted))
            .await?;
        self.store.measure_segments().await?;
        self.store.end_exclusive_work(WORK, blobs.now()).await?;
        for (work, count) in [("packed", swept.packed), ("rewritten", swept.rewritten)] {
            metrics::counter!("orbweaver_blob_bodies_moved_total", "work" => work).increment(count);
        }
        metrics::counter!("orbweaver_blob_orphans_total").increment(swept.orphans);
        metrics::counter!("orbweaver_blob_segments_deleted_total").increment(swept.deleted);
        Ok(swept)
    }

    async fn pack(&self, blobs: &Blobs) -> Result<u64, StoreError> {
        let mut packed = 0;
        loop {
            let now = blobs.now();
            let age = TimeDelta::from_std(blobs.options().pack_after).unwrap_or_default();
            let Moved { bodies, next, .. } = self.store.pack_staged(to_ms(now - age)).await?;
            packed += bodies;
            if next.is_none() {
                return Ok(packed);
            }
            self.store.keep_exclusive_work(WORK, now).await?;
        }
    }

    /// Takes the names of segments that the database does not know and that are older than
    /// `before`. They are dead from then on.
    async fn orphans(
        &mut self,
        blobs: &Blobs,
        now: DateTime<Utc>,
        before: i64,
    ) -> Result<u64, StoreError> {
        if self.begun.is_none_or(|begun| now - begun > FULL_SEARCH) {
            self.seen = None;
            self.begun = Some(now);
        }
        let mut orphans = 0;
        loop {
            let listed = blobs.list(self.seen.as_deref(), LISTED).await?;
            let is_last = blobs.options().url.is_folder() || listed.len() < LISTED;
            // Names are sorted by time: what follows a young one is young, too.
            let youngest = listed
                .iter()
                .filter(|object| to_ms(object.modified) > before)
                .map(|object| object.name.as_str())
                .min();
            let old: Vec<&Stored> = listed
                .iter()
                .filter(|object| {
                    to_ms(object.modified) <= before
                        && youngest.is_none_or(|name| object.name.as_str() < name)
                })
                .collect();
            for piece in pieces(&old) {
                orphans += self.store.take_names(piece, now).await?;
            }
            if let Some(last) = old.iter().map(|object| &object.name).max() {
                self.seen = Some(last.clone());
            }
            if is_last || youngest.is_some() {
                return Ok(orphans);
            }
            self.store.keep_exclusive_work(WORK, blobs.now()).await?;
        }
    }
}

impl Store {
    /// Moves what is left of segments that are mostly dead to new ones.
    async fn rewrite_sparse(&self, blobs: &Blobs, now: DateTime<Utc>) -> Result<u64, StoreError> {
        let mut after = 0;
        let mut bodies = 0;
        loop {
            let sparse: Vec<SegmentName> = read!(self.db, pool => {
                sqlx::query_as(
                    "SELECT id, name, live_bytes FROM segments
                     WHERE live_bytes * 2 < bytes AND id > $1 AND live_bodies > 0
                       AND lost_at IS NULL
                     ORDER BY id LIMIT $2",
                )
                .bind(after)
                .bind(STEP)
                .fetch_all(pool)
                .await?
            });
            let mut sum = 0;
            let step: Vec<SegmentName> = sparse
                .into_iter()
                .take_while(|segment| {
                    let is_first = sum == 0;
                    sum += segment.live_bytes;
                    is_first || sum <= MERGE_BYTES
                })
                .collect();
            let Some(last) = step.last() else {
                return Ok(bodies);
            };
            after = last.id;
            match self.merge(blobs, &step).await {
                Err(StoreError::Blobs(error)) if !error.is_transient() => {
                    // One damaged segment must not keep the others from being rewritten.
                    for segment in &step {
                        bodies += self.merge_alone(blobs, segment).await?;
                    }
                }
                done => bodies += done?,
            }
            self.keep_exclusive_work(WORK, blobs.now().max(now)).await?;
        }
    }

    async fn merge_alone(&self, blobs: &Blobs, segment: &SegmentName) -> Result<u64, StoreError> {
        match self.merge(blobs, std::slice::from_ref(segment)).await {
            Err(StoreError::Blobs(BlobError::Missing(name))) => {
                self.note_lost(&name).await?;
                Ok(0)
            }
            Err(StoreError::Blobs(error)) if !error.is_transient() => {
                tracing::error!(%error, "cannot rewrite a segment of the blob store");
                Ok(0)
            }
            done => done,
        }
    }

    /// Marks segments without references.
    async fn mark_dead(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE segments SET dead_at = $1
                 WHERE live_bytes * 2 < bytes AND live_bodies <= 0 AND dead_at IS NULL",
            )
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Deletes segments that were dead `before`, and forgets those deleted long ago.
    async fn delete_dead(
        &self,
        blobs: &Blobs,
        now: DateTime<Utc>,
        before: i64,
    ) -> Result<u64, StoreError> {
        let mut deleted = 0;
        let mut after = 0;
        loop {
            let dead: Vec<(i64, String)> = read!(self.db, pool => {
                sqlx::query_as(
                    "SELECT id, name FROM segments
                     WHERE live_bytes * 2 < bytes AND dead_at <= $1 AND deleted_at IS NULL
                       AND id > $3
                     ORDER BY id LIMIT $2",
                )
                .bind(before)
                .bind(STEP)
                .bind(after)
                .fetch_all(pool)
                .await?
            });
            let Some((last, _)) = dead.last() else {
                break;
            };
            after = *last;
            let in_use = self.in_use(&dead).await?;
            for (id, name) in dead.into_iter().filter(|(id, _)| !in_use.contains(id)) {
                blobs.delete(&name).await?;
                transact!(self.db, tx => {
                    sqlx::query("UPDATE segments SET deleted_at = $2 WHERE id = $1")
                        .bind(id)
                        .bind(to_ms(now))
                        .execute(&mut *tx)
                        .await?;
                    Ok(())
                })?;
                deleted += 1;
            }
            self.keep_exclusive_work(WORK, blobs.now()).await?;
        }
        let forgotten = to_ms(now - NAME_KEPT);
        transact!(self.db, tx => {
            sqlx::query(
                "DELETE FROM segments WHERE live_bytes * 2 < bytes AND deleted_at < $1",
            )
            .bind(forgotten)
            .execute(&mut *tx)
            .await?;
            Ok(deleted)
        })
    }

    /// Those of the segments that bodies refer to, whatever the segment's row says.
    async fn in_use(&self, segments: &[(i64, String)]) -> Result<HashSet<i64>, StoreError> {
        let mut in_use = HashSet::new();
        for piece in pieces(segments) {
            let found: Vec<i64> = read!(self.db, pool => {
                let mut select = sqlx::QueryBuilder::new(
                    "SELECT DISTINCT segment_id FROM blobs WHERE segment_id IN ",
                );
                push_list(&mut select, piece.iter().map(|(segment, _)| *segment));
                select.build_query_scalar().fetch_all(pool).await?
            });
            in_use.extend(found);
        }
        Ok(in_use)
    }

    /// Takes the names of those segments that have no row; returns their number.
    async fn take_names(&self, objects: &[&Stored], now: DateTime<Utc>) -> Result<u64, StoreError> {
        let known: Vec<String> = read!(self.db, pool => {
            let mut select = sqlx::QueryBuilder::new("SELECT name FROM segments WHERE name IN ");
            push_list(&mut select, objects.iter().map(|object| object.name.as_str()));
            select.build_query_scalar().fetch_all(pool).await?
        });
        let known: HashSet<String> = known.into_iter().collect();
        let mut taken = 0;
        for object in objects
            .iter()
            .filter(|object| !known.contains(&object.name))
        {
            let done = transact!(self.db, tx => {
                // Waits for a transaction that has inserted the name and has not ended.
                let done = sqlx::query(
                    "INSERT INTO segments (name, bytes, live_bodies, live_bytes, created_at, dead_at)
                     VALUES ($1, $2, 0, 0, $3, $3) ON CONFLICT (name) DO NOTHING",
                )
                .bind(&object.name)
                .bind(signed(object.bytes.max(1)))
                .bind(to_ms(now))
                .execute(&mut *tx)
                .await?;
                Ok::<u64, StoreError>(done.rows_affected())
            })?;
            if done == 1 {
                tracing::info!(segment = %object.name, "found a segment without rows");
            }
            taken += done;
        }
        Ok(taken)
    }

    /// Sets the gauges of what the blob store has.
    async fn measure_segments(&self) -> Result<(), StoreError> {
        let (segments, bytes, live): (i64, i64, i64) = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT CAST(count(*) AS BIGINT), CAST(COALESCE(sum(bytes), 0) AS BIGINT),
                        CAST(COALESCE(sum(live_bytes), 0) AS BIGINT)
                 FROM segments WHERE deleted_at IS NULL",
            )
            .fetch_one(pool)
            .await?
        });
        let staged: i64 = read!(self.db, pool => {
            sqlx::query_scalar("SELECT CAST(count(*) AS BIGINT) FROM staged_bodies")
                .fetch_one(pool)
                .await?
        });
        #[expect(
            clippy::cast_precision_loss,
            reason = "metrics are floating-point numbers"
        )]
        for (kind, value) in [
            ("orbweaver_blob_segments", segments),
            ("orbweaver_blob_stored_bytes", bytes),
            ("orbweaver_blob_live_bytes", live),
            ("orbweaver_blob_waiting_bodies", staged),
        ] {
            metrics::gauge!(kind).set(value as f64);
        }
        Ok(())
    }
}

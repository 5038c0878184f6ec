//! What a run knows of and has still to fetch, for a worker that takes it up.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::RunId;

use crate::db::{Store, read};
use crate::error::StoreError;
use crate::time::from_ms;

/// A URL that waits to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontierRow {
    /// Its place in the order of discovery.
    pub seq: i64,
    /// As written, resolved.
    pub url: String,
    /// Links from the seed.
    pub depth: u32,
    /// Fetches that failed before.
    pub attempts: u32,
    /// Not to be fetched before.
    pub next_at: DateTime<Utc>,
}

/// What is known of a URL, whatever became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRow {
    /// Its place in the order of discovery.
    pub seq: i64,
    /// As written, resolved.
    pub url: String,
    /// Hash of its normalised URL.
    pub key_hash: u64,
    /// Links from the seed.
    pub depth: u32,
    /// Whether it still waits.
    pub queued: bool,
    /// Whether it was fetched.
    pub done: bool,
    /// Whether it was given up.
    pub failed: bool,
    /// Hash of the page that it redirects to within the scope.
    pub redirect_to: Option<u64>,
}

#[derive(sqlx::FromRow)]
struct Waiting {
    seq: i64,
    url: String,
    depth: i64,
    attempts: i64,
    next_at: i64,
}

#[derive(sqlx::FromRow)]
struct Known {
    seq: i64,
    url: String,
    key_hash: i64,
    depth: i64,
    state: i64,
    redirect_to: Option<i64>,
}

impl Store {
    /// URLs of a leased run that wait, in the order of discovery, after `seq`.
    pub async fn frontier_queued(
        &self,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<FrontierRow>, StoreError> {
        let rows: Vec<Waiting> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT seq, url, depth, attempts, next_at FROM frontier
                 WHERE run_id = $1 AND seq > $2 AND state = 0 ORDER BY seq LIMIT $3",
            )
            .bind(run.get())
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| FrontierRow {
                seq: row.seq,
                url: row.url,
                depth: u32::try_from(row.depth).unwrap_or_default(),
                attempts: u32::try_from(row.attempts).unwrap_or_default(),
                next_at: from_ms(row.next_at),
            })
            .collect())
    }

    /// Everything that a leased run knows of, in the order of discovery, after `seq`.
    pub async fn frontier_known(
        &self,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KnownRow>, StoreError> {
        let rows: Vec<Known> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT seq, url, key_hash, depth, state, redirect_to FROM frontier
                 WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
            )
            .bind(run.get())
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| KnownRow {
                seq: row.seq,
                url: row.url,
                key_hash: row.key_hash.cast_unsigned(),
                depth: u32::try_from(row.depth).unwrap_or_default(),
                queued: row.state == 0,
                done: row.state == 1,
                failed: row.state == 2,
                redirect_to: row.redirect_to.map(i64::cast_unsigned),
            })
            .collect())
    }
}

//! Answers kept for a client's Idempotency-Key.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use crate::db::{per_database, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// How long an answer is kept.
const KEPT: TimeDelta = TimeDelta::hours(24);
/// How long a claim lasts without renewal: then its process is assumed dead, and a retry works.
const LEASE: TimeDelta = TimeDelta::seconds(30);
/// Time between two renewals of a claim.
pub const RENEWAL: Duration = Duration::from_secs(10);

/// Longest answer that is kept, in bytes.
pub const MAX_KEPT_BYTES: usize = 16 << 20;

/// The path under which it is kept which run a request for a crawl got without making it. The
/// body of such a row is the run's id; the endpoint keeps no other answers.
const REUSED: &str = "/v1/crawls";

/// A kept answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// HTTP status.
    pub status: u16,
    /// Its headers, a line each: name, colon, value.
    pub headers: String,
    /// The body.
    pub body: PackedAnswer,
}

/// The body of an answer, packed with zstd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedAnswer(Vec<u8>);

impl PackedAnswer {
    /// Packs a body. CPU-bound (about 3 ms a megabyte).
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the packer fails.
    pub fn pack(body: &[u8]) -> Result<Self, StoreError> {
        zstd::bulk::compress(body, 1).map(Self).map_err(damaged)
    }

    /// Bytes of the packed form.
    pub const fn packed_bytes(&self) -> usize {
        self.0.len()
    }

    /// The whole body. CPU-bound.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the database returns other bytes than were kept.
    pub fn unpack(&self) -> Result<Vec<u8>, StoreError> {
        zstd::stream::decode_all(&*self.0).map_err(damaged)
    }
}

fn damaged(error: std::io::Error) -> StoreError {
    StoreError::Damaged(format!("kept answer: {error}"))
}

/// Result of claiming an Idempotency-Key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Do the work. `since` distinguishes this use of the key from a use after its expiry, so
    /// it is part of the usage token.
    Run {
        /// When the key was first used.
        since: DateTime<Utc>,
    },
    /// The same request is in progress.
    Busy,
    /// Send this answer again.
    Replay(KeptAnswer),
    /// The request was answered, but its answer was too large to keep.
    TooLarge,
    /// The key was used with a different body.
    OtherBody,
}

#[derive(sqlx_macros::FromRow)]
struct AnswerRow {
    body_hash: Vec<u8>,
    status: Option<i64>,
    headers: Option<String>,
    body: Option<Vec<u8>>,
    created_at: i64,
}

per_database! {
    /// Ends the claims of requests without an answer: a retry runs again, under the token that it
    /// may have been billed with.
    pub(crate) async fn end_unanswered(conn: &mut Conn) -> Result<(), StoreError> {
        sqlx::query("UPDATE idempotency SET leased_until = 0 WHERE status IS NULL")
            .execute(&mut *conn)
            .await?;
        Ok(())
    }

    /// The run that a request for a crawl with this key got, without making it, after `since`.
    pub(crate) async fn reused_run(
        conn: &mut Conn,
        project: ProjectId,
        key: &str,
        since: DateTime<Utc>,
    ) -> Result<Option<RunId>, StoreError> {
        let id: Option<Vec<u8>> = sqlx::query_scalar(
            "SELECT body FROM idempotency
             WHERE project_id = $1 AND path = $2 AND idem_key = $3 AND created_at > $4
               AND body IS NOT NULL",
        )
        .bind(project.get())
        .bind(REUSED)
        .bind(key)
        .bind(to_ms(since))
        .fetch_optional(&mut *conn)
        .await?;
        id.map(|id| {
            let id = <[u8; 8]>::try_from(id)
                .map_err(|_| StoreError::Damaged("kept run of a key".to_owned()))?;
            Ok(RunId(i64::from_be_bytes(id)))
        })
        .transpose()
    }

    /// Keeps which run a request for a crawl got without making it.
    pub(crate) async fn keep_reused(
        conn: &mut Conn,
        project: ProjectId,
        key: &str,
        run: RunId,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO idempotency
                 (project_id, path, idem_key, body_hash, status, body, created_at, leased_until)
             VALUES ($1, $2, $3, $4, 200, $5, $6, 0)
             ON CONFLICT (project_id, path, idem_key)
                 DO UPDATE SET body = excluded.body, created_at = excluded.created_at",
        )
        .bind(project.get())
        .bind(REUSED)
        .bind(key)
        // Whatever the body, the key stands for the run.
        .bind(b"".as_slice())
        .bind(run.get().to_be_bytes().as_slice())
        .bind(to_ms(now))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Deletes answers to requests older than `before`, at most `limit`; returns how many.
    pub(crate) async fn delete_before(
        conn: &mut Conn,
        before: i64,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "DELETE FROM idempotency WHERE (project_id, path, idem_key) IN
                 (SELECT project_id, path, idem_key FROM idempotency
                  WHERE created_at < $1 ORDER BY created_at LIMIT $2)",
        )
            .bind(before)
            .bind(limit)
            .execute(&mut *conn)
            .await?;
        Ok(done.rows_affected())
    }
}

impl Store {
    /// Claims a key for a request, or returns the state of the earlier request with this key.
    #[crate::boxed]
    pub async fn claim_idempotency(
        &self,
        project: ProjectId,
        path: &str,
        key: &str,
        body_hash: &[u8; 32],
        now: DateTime<Utc>,
    ) -> Result<Claim, StoreError> {
        let kept: Option<(bool, AnswerRow)> = transact!(self.db, tx => {
            sqlx::query(
                "DELETE FROM idempotency
                 WHERE project_id = $1 AND path = $2 AND idem_key = $3 AND created_at <= $4",
            )
            .bind(project.get())
            .bind(path)
            .bind(key)
            .bind(to_ms(now - KEPT))
            .execute(&mut *tx)
            .await?;
            let inserted = sqlx::query(
                "INSERT INTO idempotency
                     (project_id, path, idem_key, body_hash, created_at, leased_until)
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            )
            .bind(project.get())
            .bind(path)
            .bind(key)
            .bind(body_hash.as_slice())
            .bind(to_ms(now))
            .bind(to_ms(now + LEASE))
            .execute(&mut *tx)
            .await?;
            if inserted.rows_affected() == 1 {
                return Ok(None);
            }
            // After a failure, or from a dead process, one of several retries takes over.
            let taken_over = sqlx::query(
                "UPDATE idempotency SET leased_until = $6
                 WHERE project_id = $1 AND path = $2 AND idem_key = $3 AND body_hash = $4
                   AND status IS NULL AND leased_until <= $5",
            )
            .bind(project.get())
            .bind(path)
            .bind(key)
            .bind(body_hash.as_slice())
            .bind(to_ms(now))
            .bind(to_ms(now + LEASE))
            .execute(&mut *tx)
            .await?;
            let is_mine = taken_over.rows_affected() == 1;
            let row: Option<AnswerRow> = sqlx::query_as(
                "SELECT body_hash, status, headers, body, created_at FROM idempotency
                 WHERE project_id = $1 AND path = $2 AND idem_key = $3",
            )
            .bind(project.get())
            .bind(path)
            .bind(key)
            .fetch_optional(&mut *tx)
            .await?;
            Ok(row.map(|row| (is_mine, row)))
        })?;
        let Some((is_mine, row)) = kept else {
            return Ok(Claim::Run {
                since: from_ms(to_ms(now)),
            });
        };
        if row.body_hash != body_hash {
            return Ok(Claim::OtherBody);
        }
        if is_mine {
            // Under the same token, so that what was billed is not billed again.
            return Ok(Claim::Run {
                since: from_ms(row.created_at),
            });
        }
        Ok(match (row.status, row.headers, row.body) {
            (Some(status), Some(headers), Some(body)) => Claim::Replay(KeptAnswer {
                status: u16::try_from(status).unwrap_or_default(),
                headers,
                body: PackedAnswer(body),
            }),
            (None, _, _) => Claim::Busy,
            _ => Claim::TooLarge,
        })
    }

    /// Renews the claim of a request that is still being worked on, every [`RENEWAL`].
    #[crate::boxed]
    pub async fn renew_idempotency(
        &self,
        project: ProjectId,
        path: &str,
        key: &str,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE idempotency SET leased_until = $4
                 WHERE project_id = $1 AND path = $2 AND idem_key = $3 AND status IS NULL",
            )
            .bind(project.get())
            .bind(path)
            .bind(key)
            .bind(to_ms(now + LEASE))
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Keeps the answer: its headers and its body; `None` if it is too large to keep. What is kept already
    /// stays, as when this node stalled and another one has answered meanwhile.
    #[crate::boxed]
    pub async fn keep_answer(
        &self,
        project: ProjectId,
        path: &str,
        key: &str,
        status: u16,
        answer: Option<(&str, &PackedAnswer)>,
    ) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE idempotency SET status = $4, headers = $5, body = $6
                 WHERE project_id = $1 AND path = $2 AND idem_key = $3 AND status IS NULL",
            )
            .bind(project.get())
            .bind(path)
            .bind(key)
            .bind(i64::from(status))
            .bind(answer.map(|(headers, _)| headers))
            .bind(answer.map(|(_, body)| &*body.0))
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Ends the claim, so that a retry does the work: the request failed. It stays a use of the key
    /// from when it was first used, because what it has fetched may be billed.
    #[crate::boxed]
    pub async fn release_idempotency(
        &self,
        project: ProjectId,
        path: &str,
        key: &str,
    ) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE idempotency SET leased_until = 0
                 WHERE project_id = $1 AND path = $2 AND idem_key = $3 AND status IS NULL",
            )
            .bind(project.get())
            .bind(path)
            .bind(key)
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }
}

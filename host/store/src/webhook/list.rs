//! Listing deliveries, and repeating them on request.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{DeliveryId, ProjectId, RunId};

use crate::db::{read, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// State of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// An attempt is in progress or scheduled.
    Pending,
    /// The receiver has accepted it.
    Delivered,
    /// It was given up.
    Dead,
}

impl DeliveryState {
    /// The name in answers and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }
}

impl fmt::Display for DeliveryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DeliveryState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::Pending, Self::Delivered, Self::Dead]
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or_else(|| format!("unknown delivery state `{word}`"))
    }
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// Number of the attempt, from 1.
    pub number: u32,
    /// When it started.
    pub at: DateTime<Utc>,
    /// The response's status, if there was a response.
    pub status: Option<u16>,
    /// Duration in milliseconds.
    pub latency_ms: u64,
    /// Error message, if it failed.
    pub error: Option<String>,
}

/// A delivery with its attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// The webhook-id.
    pub message_id: String,
    /// The name of its event, which may be one of a newer program.
    pub event: String,
    /// URL of the receiver; may carry credentials.
    pub url: String,
    /// Its state.
    pub state: DeliveryState,
    /// Time of the next attempt; `None` once it is delivered or dead.
    pub next_at: Option<DateTime<Utc>>,
    /// When its run ended.
    pub created_at: DateTime<Utc>,
    /// When it was delivered or became dead.
    pub finished_at: Option<DateTime<Utc>>,
    /// The attempts, oldest first.
    pub attempts: Vec<DeliveryAttempt>,
}

#[derive(sqlx_macros::FromRow)]
struct DeliveryRow {
    id: i64,
    message_id: String,
    event: String,
    url: String,
    state: String,
    next_at: i64,
    created_at: i64,
    finished_at: Option<i64>,
}

#[derive(sqlx_macros::FromRow)]
struct AttemptRow {
    delivery_id: i64,
    number: i64,
    at: i64,
    status: Option<i64>,
    latency_ms: i64,
    error: Option<String>,
}

impl From<AttemptRow> for DeliveryAttempt {
    fn from(row: AttemptRow) -> Self {
        Self {
            number: u32::try_from(row.number).unwrap_or(u32::MAX),
            at: from_ms(row.at),
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            latency_ms: u64::try_from(row.latency_ms).unwrap_or_default(),
            error: row.error,
        }
    }
}

impl Store {
    /// Deliveries of a run of the project, in the order of their events; empty if the run is not
    /// the project's.
    #[crate::boxed]
    pub async fn deliveries(
        &self,
        project: ProjectId,
        run: RunId,
    ) -> Result<Vec<Delivery>, StoreError> {
        let rows: Vec<DeliveryRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, message_id, event, url, state, next_at, created_at, finished_at
                 FROM deliveries WHERE run_id = $1 AND project_id = $2 ORDER BY id",
            )
            .bind(run.get())
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        let attempts: Vec<AttemptRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT a.delivery_id, a.number, a.at, a.status, a.latency_ms, a.error
                 FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id
                 WHERE d.run_id = $1 AND d.project_id = $2 ORDER BY a.delivery_id, a.number",
            )
            .bind(run.get())
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        let mut attempts_of: HashMap<i64, Vec<DeliveryAttempt>> = HashMap::new();
        for attempt in attempts {
            attempts_of
                .entry(attempt.delivery_id)
                .or_default()
                .push(attempt.into());
        }
        rows.into_iter()
            .map(|row| {
                let state: DeliveryState = row.state.parse().map_err(StoreError::Damaged)?;
                Ok(Delivery {
                    id: DeliveryId(row.id),
                    event: row.event,
                    next_at: (state == DeliveryState::Pending).then(|| from_ms(row.next_at)),
                    state,
                    message_id: row.message_id,
                    url: row.url,
                    created_at: from_ms(row.created_at),
                    finished_at: row.finished_at.map(from_ms),
                    attempts: attempts_of.remove(&row.id).unwrap_or_default(),
                })
            })
            .collect()
    }

    /// Schedules another delivery now, with the whole schedule of retries; `false` if the run
    /// has no such delivery.
    #[crate::boxed]
    pub async fn redeliver(
        &self,
        project: ProjectId,
        run: RunId,
        delivery: DeliveryId,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            // Lock the run's row first, as deletion does. If a node is attempting this delivery
            // now, that attempt counts as the requested one.
            sql::runs::reopen_webhook(tx, project, run, delivery).await?;
            let done = sqlx::query(
                "UPDATE deliveries SET state = 'pending', finished_at = NULL, past = attempts,
                     next_at = CASE WHEN taken_by IS NULL THEN $4 ELSE next_at END
                 WHERE id = $3 AND run_id = $1 AND project_id = $2",
            )
            .bind(run.get())
            .bind(project.get())
            .bind(delivery.get())
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected() == 1)
        })
    }
}

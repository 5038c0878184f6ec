//! The tables `deliveries` and `delivery_attempts`: inserting, taking and settling deliveries.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{DeliveryId, ProjectId};

use super::taken::{TakenDelivery, TakenRow};
use super::{DiffColumn, Owner, RunWebhook};
use crate::db::{per_database, push_list, read, signed, storable, transact};
use crate::error::StoreError;
use crate::jobs::{JobDelivery, JobLease};
use crate::notices::Topic;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Attempts of a delivery that are kept: the newest ones. One may be repeated on request any number of times.
const MAX_ATTEMPTS: i64 = 1_000;

/// A delivery that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// The project that owns it.
    pub project: ProjectId,
    /// Scheme, host and port of its URL.
    pub target: String,
}

/// Deliveries that this node has taken.
#[derive(Debug, Default)]
pub struct TakenDeliveries {
    /// Those that it is to attempt.
    pub deliveries: Vec<TakenDelivery>,
    /// Number of those that this program cannot read. Others, which may be newer, take them later.
    pub unreadable: usize,
}

/// A finished attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAttempt {
    /// When it started.
    pub at: DateTime<Utc>,
    /// The response's status, if there was a response.
    pub status: Option<u16>,
    /// Duration in milliseconds.
    pub latency_ms: u64,
    /// Error message, if it failed.
    pub error: Option<String>,
}

/// Result of an attempt for its delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    /// The receiver has accepted it.
    Delivered,
    /// It is given up.
    Dead,
    /// It is tried again at this time.
    Retry(DateTime<Utc>),
}

#[derive(sqlx_macros::FromRow)]
struct Candidate {
    id: i64,
    project_id: i64,
    target: String,
}

per_database! {
    /// Writes the deliveries of a run that ends.
    pub(crate) async fn insert(
        conn: &mut Conn,
        owner: Owner,
        webhook: &RunWebhook,
    ) -> Result<(), StoreError> {
        let (deliveries, diff, urls) = match webhook {
            RunWebhook::Suppressed { status, why } => {
                return sql::runs::suppress_webhook(conn, owner.run, status, *why).await;
            }
            RunWebhook::OnlyPages => return sql::runs::sum_up_webhook(conn, owner.run, None).await,
            RunWebhook::Deliver {
                deliveries,
                diff,
                urls,
            } => (deliveries, diff, urls),
        };
        let urls = DiffColumn::write(*diff, urls.as_ref())?;
        sql::runs::set_webhook_status(conn, owner.run, "pending").await?;
        for delivery in deliveries {
            sqlx::query(
                "INSERT INTO deliveries (project_id, run_id, message_id, event, url,
                     target, next_at, created_at, diff_added, diff_removed, diff_changed,
                     diff_unchanged, diff_gone, diff_unvisited, diff_urls, payload)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
            )
            .bind(owner.project.get())
            .bind(owner.run.get())
            .bind(delivery.message_id.as_str())
            .bind(delivery.event.as_str())
            .bind(delivery.url.as_str())
            .bind(delivery.target.as_str())
            .bind(to_ms(owner.now))
            .bind(diff.map(|diff| signed(diff.added)))
            .bind(diff.map(|diff| signed(diff.removed)))
            .bind(diff.map(|diff| signed(diff.changed)))
            .bind(diff.map(|diff| signed(diff.unchanged)))
            .bind(diff.map(|diff| signed(diff.gone)))
            .bind(diff.map(|diff| signed(diff.unvisited)))
            .bind(urls.as_deref())
            .bind(delivery.payload.as_deref())
            .execute(&mut *conn)
            .await?;
        }
        sql::notices::tell(conn, Topic::Work).await
    }

    /// Makes deliveries due whose last attempt lies ahead, since the clock was set back; how many.
    pub(crate) async fn bound(conn: &mut Conn, now: DateTime<Utc>) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "UPDATE deliveries SET next_at = $1
             WHERE state = 'pending' AND next_at > $1 AND taken_by IS NULL
               AND COALESCE((SELECT max(a.at) FROM delivery_attempts a
                             WHERE a.delivery_id = deliveries.id), created_at) > $1",
        )
        .bind(to_ms(now))
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected())
    }

    /// Writes the delivery of a job that ends.
    pub(crate) async fn insert_of_job(
        conn: &mut Conn,
        lease: JobLease,
        delivery: &JobDelivery,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO deliveries (project_id, job_id, message_id, event, url, target, payload,
                 next_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
        )
        .bind(lease.project.get())
        .bind(lease.job.get())
        .bind(delivery.message_id.as_str())
        .bind(delivery.event)
        .bind(delivery.url.as_str())
        .bind(delivery.target.as_str())
        .bind(delivery.payload.as_str())
        .bind(to_ms(now))
        .execute(&mut *conn)
        .await?;
        sql::notices::tell(conn, Topic::Work).await
    }
}

impl Store {
    /// Due deliveries, longest waiting first. Those to `busy` targets and of `full` projects are
    /// left out.
    #[crate::boxed]
    pub async fn due_deliveries(
        &self,
        now: DateTime<Utc>,
        busy: &[String],
        full: &[ProjectId],
        limit: u32,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let mut sql = "SELECT id, project_id, target FROM deliveries WHERE state = 'pending' AND next_at <= $1"
            .to_owned();
        if !busy.is_empty() {
            sql.push_str(" AND target NOT IN (");
            for index in 0..busy.len() {
                sql.push_str(if index == 0 { "$" } else { ", $" });
                sql.push_str(&(index + 3).to_string());
            }
            sql.push(')');
        }
        for (index, project) in full.iter().enumerate() {
            let before = if index == 0 {
                " AND project_id NOT IN ("
            } else {
                ", "
            };
            sql.push_str(before);
            sql.push_str(&project.to_string());
        }
        if !full.is_empty() {
            sql.push(')');
        }
        sql.push_str(" ORDER BY next_at, target LIMIT $2");
        let rows: Vec<Candidate> = read!(self.db, pool => {
            let mut query = sqlx::query_as(sqlx::AssertSqlSafe(sql.as_str()))
                .bind(to_ms(now))
                .bind(i64::from(limit));
            for target in busy {
                query = query.bind(target.as_str());
            }
            query.fetch_all(pool).await?
        });
        Ok(rows
            .into_iter()
            .map(|row| DueDelivery {
                id: DeliveryId(row.id),
                project: ProjectId(row.project_id),
                target: row.target,
            })
            .collect())
    }

    /// When the next delivery is due after `now`; `None` where none will be. Those that are due
    /// already are left out.
    #[crate::boxed]
    pub async fn next_delivery(
        &self,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let next: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT CAST(min(next_at) AS BIGINT) FROM deliveries
                 WHERE state = 'pending' AND next_at > $1",
            )
            .bind(to_ms(now))
            .fetch_one(pool)
            .await?
        });
        Ok(next.map(from_ms))
    }

    /// Takes those of these deliveries that are still due, until `until`: then any node may take
    /// them again, unless they are settled. One that cannot be read keeps back no other.
    #[crate::boxed]
    pub async fn take_deliveries(
        &self,
        ids: &[DeliveryId],
        node: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<TakenDeliveries, StoreError> {
        let skip = self.skip_locked();
        let rows: Vec<TakenRow> = transact!(self.db, tx => {
            let mut rows = Vec::with_capacity(ids.len());
            for piece in ids.chunks(100) {
                let mut update = sqlx::QueryBuilder::new("UPDATE deliveries SET next_at = ");
                update.push_bind(to_ms(until));
                update.push(", takes = takes + 1, taken_by = ").push_bind(node);
                update.push(" WHERE id IN (SELECT id FROM deliveries WHERE state = 'pending' AND next_at <= ");
                update.push_bind(to_ms(now)).push(" AND id IN ");
                push_list(&mut update, piece.iter().map(|id| id.get()))
                    .push(skip)
                    .push(") RETURNING id");
                let taken: Vec<i64> = update.build_query_scalar().fetch_all(&mut *tx).await?;
                for id in taken {
                    rows.push(
                        sqlx::query_as(
                            "SELECT d.id, d.takes, d.project_id, d.message_id, d.event, d.url,
                                 d.target, d.attempts - d.past AS tried, d.payload, d.job_id,
                                 d.diff_added, d.diff_removed,
                                 d.diff_changed, d.diff_unchanged, d.diff_gone, d.diff_unvisited,
                                 d.diff_urls, d.pages_after, d.pages_through, d.created_at,
                                 d.run_id,
                                 r.monitor_id, r.previous_run_id, r.url AS run_url, r.status,
                                 r.page_count, r.error_count, r.started_at, r.finished_at,
                                 r.error_message
                             FROM deliveries d LEFT JOIN runs r ON r.id = d.run_id WHERE d.id = $1",
                        )
                        .bind(id)
                        .fetch_one(&mut *tx)
                        .await?,
                    );
                }
            }
            Ok(rows)
        })?;
        let mut taken = TakenDeliveries::default();
        for row in rows {
            match TakenDelivery::try_from(row) {
                Ok(delivery) => taken.deliveries.push(delivery),
                Err(error) => {
                    tracing::error!(%error, "cannot read a webhook's delivery");
                    taken.unreadable += 1;
                }
            }
        }
        Ok(taken)
    }

    /// Stores an attempt, settles the delivery accordingly and updates the run's webhook status;
    /// `false` if the delivery was taken again meanwhile, or was deleted with its run. If a repeat was
    /// requested during its last attempt, it is due again at once.
    #[crate::boxed]
    pub async fn settle_delivery(
        &self,
        taken: &TakenDelivery,
        attempt: &NewAttempt,
        result: AttemptResult,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let (state, next, finished) = match result {
            AttemptResult::Delivered => ("delivered", None, Some(to_ms(now))),
            AttemptResult::Dead => ("dead", None, Some(to_ms(now))),
            AttemptResult::Retry(at) => ("pending", Some(to_ms(at)), None),
        };
        transact!(self.db, tx => {
            // Lock the run's row first, as deletion does.
            if let Some(run) = taken.run() {
                sql::runs::count_webhook_attempts(tx, run, 1).await?;
            }
            let number: Option<i64> = sqlx::query_scalar(
                "UPDATE deliveries SET
                     state = CASE WHEN $3 = 'dead' AND attempts - past < $7 THEN 'pending'
                         ELSE $3 END,
                     next_at = CASE WHEN $3 = 'dead' AND attempts - past < $7 THEN $8
                         ELSE COALESCE($4, next_at) END,
                     finished_at = CASE WHEN $3 = 'dead' AND attempts - past < $7 THEN NULL
                         ELSE $5 END,
                     last_error = COALESCE($6, last_error),
                     attempts = attempts + 1, taken_by = NULL
                 WHERE id = $1 AND takes = $2 AND state = 'pending'
                 RETURNING attempts",
            )
            .bind(taken.id.get())
            .bind(taken.take)
            .bind(state)
            .bind(next)
            .bind(finished)
            .bind(attempt.error.as_deref().map(storable))
            .bind(i64::from(taken.tried))
            .bind(to_ms(now))
            .fetch_optional(&mut *tx)
            .await?;
            let Some(number) = number else {
                if let Some(run) = taken.run() {
                    sql::runs::count_webhook_attempts(tx, run, -1).await?;
                }
                return Ok(false);
            };
            sqlx::query(
                "INSERT INTO delivery_attempts (delivery_id, number, at, status, latency_ms, error)
                 VALUES ($1, $2, $3, $4, $5, $6)",
            )
            .bind(taken.id.get())
            .bind(number)
            .bind(to_ms(attempt.at))
            .bind(attempt.status.map(i64::from))
            .bind(signed(attempt.latency_ms))
            .bind(attempt.error.as_deref().map(storable))
            .execute(&mut *tx)
            .await?;
            sqlx::query("DELETE FROM delivery_attempts WHERE delivery_id = $1 AND number <= $2")
                .bind(taken.id.get())
                .bind(number - MAX_ATTEMPTS)
                .execute(&mut *tx)
                .await?;
            if let Some(run) = taken.run() {
                if taken.pages().is_some() && result == AttemptResult::Delivered {
                    sql::page_feeds::delivered(tx, run, taken, now).await?;
                }
                sql::runs::sum_up_webhook(tx, run, attempt.error.as_deref()).await?;
            }
            Ok(true)
        })
    }

    /// Makes deliveries due that a dead process was attempting; returns how many. Only for a
    /// database that no other process uses.
    #[crate::boxed]
    pub async fn recover_deliveries(&self, now: DateTime<Utc>) -> Result<u64, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE deliveries SET next_at = $1, taken_by = NULL
                 WHERE state = 'pending' AND taken_by IS NOT NULL",
            )
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            Ok(done.rows_affected())
        })
    }
}

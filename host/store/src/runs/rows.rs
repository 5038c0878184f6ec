//! Rows of `runs`: reading them, and the statements that other transactions need.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{DeliveryId, MonitorId, ProjectId, RunId};

use super::{Lease, NewRun, Progress, Run, SkipReason};
use crate::crawl::{Committed, RunBatch};
use crate::db::{per_database, signed, storable};
use crate::error::StoreError;
use crate::indexed_key::indexed_key;
use crate::notices::Topic;
use crate::time::{from_ms, to_ms};

#[derive(sqlx_macros::FromRow)]
pub(super) struct RunRow {
    id: i64,
    project_id: i64,
    monitor_id: Option<i64>,
    previous_run_id: Option<i64>,
    url: String,
    url_key: String,
    status: String,
    spec: String,
    page_count: i64,
    error_count: i64,
    enqueued_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    error_message: Option<String>,
    proxy_url: Option<String>,
    ai_bot_policy: Option<String>,
    webhook_status: Option<String>,
    webhook_attempts: i64,
    webhook_last_error: Option<String>,
    seed_is_page: i64,
    queued: i64,
    fetched: i64,
    failed: i64,
    #[sqlx(flatten)]
    skipped: SkippedRow,
    plugin_errors: i64,
    dropped: i64,
    engine_state: String,
}

/// Number of skipped links and URLs, by [`SkipReason`].
#[derive(sqlx_macros::FromRow)]
struct SkippedRow {
    skipped_robots: i64,
    skipped_scope: i64,
    skipped_excluded: i64,
    skipped_depth: i64,
    skipped_budget: i64,
    skipped_duplicate: i64,
    skipped_hook: i64,
}

impl SkippedRow {
    fn by_reason(&self) -> BTreeMap<SkipReason, u64> {
        let counts = [
            self.skipped_robots,
            self.skipped_scope,
            self.skipped_excluded,
            self.skipped_depth,
            self.skipped_budget,
            self.skipped_duplicate,
            self.skipped_hook,
        ];
        SkipReason::ALL
            .into_iter()
            .zip(counts.map(i64::unsigned_abs))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

/// The columns of [`RunRow`].
macro_rules! columns {
    () => {
        "id, project_id, monitor_id, previous_run_id, url, url_key, status, spec, page_count,
         error_count, enqueued_at, started_at, finished_at, error_message, proxy_url,
         ai_bot_policy, webhook_status, webhook_attempts, webhook_last_error, seed_is_page, queued, fetched, failed, skipped_robots,
         skipped_scope, skipped_excluded, skipped_depth, skipped_budget, skipped_duplicate,
         skipped_hook, plugin_errors, dropped, engine_state"
    };
}
pub(super) use columns;

impl TryFrom<RunRow> for Run {
    type Error = StoreError;

    fn try_from(row: RunRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: RunId(row.id),
            project: ProjectId(row.project_id),
            monitor: row.monitor_id.map(MonitorId),
            previous: row.previous_run_id.map(RunId),
            url: row.url,
            url_key: row.url_key,
            status: row.status.parse().map_err(StoreError::Damaged)?,
            spec: row.spec,
            page_count: u64::try_from(row.page_count).unwrap_or_default(),
            error_count: u64::try_from(row.error_count).unwrap_or_default(),
            enqueued_at: from_ms(row.enqueued_at),
            started_at: row.started_at.map(from_ms),
            finished_at: row.finished_at.map(from_ms),
            error_message: row.error_message,
            proxy_url: row.proxy_url,
            ai_bot_policy: row.ai_bot_policy,
            webhook_status: row.webhook_status,
            webhook_attempts: u32::try_from(row.webhook_attempts).unwrap_or_default(),
            webhook_last_error: row.webhook_last_error,
            seed_is_page: row.seed_is_page != 0,
            progress: Progress {
                queued: row.queued.unsigned_abs(),
                fetched: row.fetched.unsigned_abs(),
                failed: row.failed.unsigned_abs(),
                skipped: row.skipped.by_reason(),
                plugin_errors: row.plugin_errors.unsigned_abs(),
                dropped: row.dropped.unsigned_abs(),
            },
            engine_state: row.engine_state,
        })
    }
}

per_database! {
    /// Writes the counters of batches under their leases; returns which batches may be written. The
    /// runs' rows are locked until the transaction ends, so that no epoch changes meanwhile.
    pub(crate) async fn record_progress(
        conn: &mut Conn,
        batches: &[RunBatch],
    ) -> Result<Vec<Committed>, StoreError> {
        // Sorted in every transaction, so that two nodes never deadlock.
        let mut order: Vec<(usize, &RunBatch)> = batches.iter().enumerate().collect();
        order.sort_by_key(|(_, batch)| (batch.lease.run, batch.parts.part));
        let mut committed = vec![Committed::Fenced; batches.len()];
        for (at, batch) in order {
            if let Some(part) = batch.parts.part {
                // The run's counters are its own worker's.
                if sql::run_parts::hold(conn, part).await?
                    && let Some(slot) = committed.get_mut(at)
                {
                    *slot = Committed::Written;
                }
                continue;
            }
            let progress = &batch.progress;
            let mut update = sqlx::query(
                "UPDATE runs SET engine_state = COALESCE($3, engine_state),
                     queued = $4, fetched = $5, failed = $6,
                     skipped_robots = $7, skipped_scope = $8, skipped_excluded = $9,
                     skipped_depth = $10, skipped_budget = $11, skipped_duplicate = $12,
                     skipped_hook = $13, plugin_errors = $14, dropped = $15
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
            )
            .bind(batch.lease.run.get())
            .bind(batch.lease.epoch)
            .bind(batch.engine_state.as_deref())
            .bind(signed(progress.queued))
            .bind(signed(progress.fetched))
            .bind(signed(progress.failed));
            for reason in SkipReason::ALL {
                update = update.bind(signed(progress.skipped_for(reason)));
            }
            update = update
                .bind(signed(progress.plugin_errors))
                .bind(signed(progress.dropped));
            let done = update.execute(&mut *conn).await?;
            if done.rows_affected() == 1
                && let Some(slot) = committed.get_mut(at)
            {
                *slot = Committed::Written;
            }
        }
        Ok(committed)
    }

    /// Sets the counters of a new run whose URLs are known.
    pub(crate) async fn note_list(
        conn: &mut Conn,
        run: RunId,
        queued: u64,
        errors: u64,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE runs SET queued = $2, error_count = $3, failed = $3 WHERE id = $1")
            .bind(run.get())
            .bind(signed(queued))
            .bind(signed(errors))
            .execute(&mut *conn)
            .await?;
        Ok(())
    }

    /// Adds to the numbers of pages and of failed URLs that a run has stored.
    pub(crate) async fn count_stored(
        conn: &mut Conn,
        run: RunId,
        pages: u64,
        errors: u64,
    ) -> Result<(), StoreError> {
        if pages > 0 || errors > 0 {
            sqlx::query(
                "UPDATE runs SET page_count = page_count + $2, error_count = error_count + $3
                 WHERE id = $1",
            )
            .bind(run.get())
            .bind(signed(pages))
            .bind(signed(errors))
            .execute(&mut *conn)
            .await?;
        }
        Ok(())
    }

    /// Adds to the number of failures of plugins; `false` if the lease is no longer held.
    pub(crate) async fn count_plugin_errors(
        conn: &mut Conn,
        lease: Lease,
        failures: u64,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "UPDATE runs SET plugin_errors = plugin_errors + $3
             WHERE id = $1 AND lease_epoch = $2 AND status = 'running'",
        )
        .bind(lease.run.get())
        .bind(lease.epoch)
        .bind(signed(failures))
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Frees an Idempotency-Key of the project that a run accepted until `before` has.
    pub(crate) async fn forget_key(
        conn: &mut Conn,
        project: ProjectId,
        key: &str,
        before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE runs SET idem_key = NULL
             WHERE project_id = $1 AND idem_key = $2 AND enqueued_at <= $3",
        )
        .bind(project.get())
        .bind(key)
        .bind(to_ms(before))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// The run created with an Idempotency-Key of the project.
    pub(crate) async fn by_key(
        conn: &mut Conn,
        project: ProjectId,
        key: &str,
    ) -> Result<Option<Run>, StoreError> {
        let row: Option<RunRow> = sqlx::query_as(concat!(
            "SELECT ", columns!(), " FROM runs WHERE project_id = $1 AND idem_key = $2"
        ))
        .bind(project.get())
        .bind(key)
        .fetch_optional(&mut *conn)
        .await?;
        row.map(Run::try_from).transpose()
    }

    /// A run of the project.
    pub(crate) async fn by_id(
        conn: &mut Conn,
        project: ProjectId,
        id: RunId,
    ) -> Result<Option<Run>, StoreError> {
        let row: Option<RunRow> = sqlx::query_as(concat!(
            "SELECT ", columns!(), " FROM runs WHERE id = $1 AND project_id = $2"
        ))
        .bind(id.get())
        .bind(project.get())
        .fetch_optional(&mut *conn)
        .await?;
        row.map(Run::try_from).transpose()
    }

    /// Queues a run.
    pub(crate) async fn insert(conn: &mut Conn, new: &NewRun) -> Result<Run, StoreError> {
        let row: RunRow = sqlx::query_as(concat!(
            "INSERT INTO runs (project_id, monitor_id, previous_run_id, url, url_key, status,
                 spec, proxy_url, idem_key, enqueued_at, webhook_status, seed_is_page)
             VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7, $8, $9, $10, $11)
             RETURNING ", columns!()
        ))
        .bind(new.project.get())
        .bind(new.monitor.map(|id| id.get()))
        .bind(new.previous.map(|id| id.get()))
        .bind(new.url.as_str())
        .bind(indexed_key(&new.url_key))
        .bind(new.spec.as_str())
        .bind(new.proxy_shown.as_deref())
        .bind(new.idem_key.as_deref())
        .bind(to_ms(new.enqueued_at))
        .bind(new.has_webhook.then_some("pending"))
        .bind(i64::from(new.seed_is_page))
        .fetch_one(&mut *conn)
        .await?;
        sql::notices::tell(conn, Topic::Work).await?;
        row.try_into()
    }

    /// Queues the run of a monitor with this key. It is compared with the monitor's
    /// [baseline](super::baseline).
    pub(crate) async fn insert_fired(
        conn: &mut Conn,
        project: ProjectId,
        monitor: MonitorId,
        url_key: &str,
        now: DateTime<Utc>,
    ) -> Result<RunId, StoreError> {
        let baseline = sql::baselines::of(conn, project, monitor).await?;
        let run: i64 = sqlx::query_scalar(
            "INSERT INTO runs (project_id, monitor_id, previous_run_id, url, url_key, status,
                 spec, seed_is_page, proxy_url, enqueued_at, webhook_status)
             SELECT project_id, id, $3, url, $4, 'queued', spec, seed_is_page, proxy_url, $2,
                 CASE WHEN has_webhook = 1 THEN 'pending' END
             FROM monitors WHERE id = $1
             RETURNING id",
        )
        .bind(monitor.get())
        .bind(to_ms(now))
        .bind(baseline.map(|run| run.get()))
        .bind(indexed_key(url_key))
        .fetch_one(&mut *conn)
        .await?;
        sql::notices::tell(conn, Topic::Work).await?;
        Ok(RunId(run))
    }

    /// Sets a run's webhook status to `suppressed_…`, with the reason for people, unless pages were
    /// sent: then the status is that of their deliveries.
    pub(crate) async fn suppress_webhook(
        conn: &mut Conn,
        run: RunId,
        status: &str,
        why: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE runs SET webhook_status = $2 WHERE id = $1")
            .bind(run.get())
            .bind(status)
            .execute(&mut *conn)
            .await?;
        sum_up_webhook(conn, run, why).await
    }

    /// Sets a run's webhook status.
    pub(crate) async fn set_webhook_status(
        conn: &mut Conn,
        run: RunId,
        status: &str,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE runs SET webhook_status = $2 WHERE id = $1")
            .bind(run.get())
            .bind(status)
            .execute(&mut *conn)
            .await?;
        Ok(())
    }

    /// Sets a run's webhook status to `pending`, if the delivery belongs to the run.
    pub(crate) async fn reopen_webhook(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        delivery: DeliveryId,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE runs SET webhook_status = 'pending'
             WHERE id = $1 AND project_id = $2 AND EXISTS (SELECT 1 FROM deliveries d
                 WHERE d.id = $3 AND d.run_id = runs.id)",
        )
        .bind(run.get())
        .bind(project.get())
        .bind(delivery.get())
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Adds to the number of delivery attempts of a run's webhook.
    pub(crate) async fn count_webhook_attempts(
        conn: &mut Conn,
        run: RunId,
        more: i64,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE runs SET webhook_attempts = webhook_attempts + $2 WHERE id = $1")
            .bind(run.get())
            .bind(more)
            .execute(&mut *conn)
            .await?;
        Ok(())
    }

    /// Updates a run's webhook status from its deliveries. It stays `suppressed_…` as long as there
    /// are none.
    pub(crate) async fn sum_up_webhook(
        conn: &mut Conn,
        run: RunId,
        error: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE runs SET
                 webhook_status = CASE
                     WHEN webhook_status LIKE 'suppressed%' AND NOT EXISTS (
                         SELECT 1 FROM deliveries d WHERE d.run_id = runs.id) THEN webhook_status
                     WHEN EXISTS (SELECT 1 FROM deliveries d
                         WHERE d.run_id = runs.id AND d.state = 'pending') THEN 'pending'
                     WHEN EXISTS (SELECT 1 FROM deliveries d
                         WHERE d.run_id = runs.id AND d.state = 'dead') THEN 'dead'
                     WHEN EXISTS (SELECT 1 FROM page_feeds f
                         WHERE f.run_id = runs.id) THEN 'pending'
                     ELSE 'delivered' END,
                 webhook_last_error = COALESCE($2, webhook_last_error)
             WHERE id = $1",
        )
        .bind(run.get())
        .bind(error.map(storable))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }
}

//! Creating, reading and changing monitors.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};

use crate::crawl::KeyUse;
use crate::db::{per_database, read, transact};
use crate::error::StoreError;
use crate::indexed_key::indexed_key;
use crate::runs::{IDEMPOTENT, Run};
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// A monitor to create.
#[derive(Clone, Debug)]
pub struct NewMonitor {
    /// The project that owns it.
    pub project: ProjectId,
    /// Five cron fields, UTC.
    pub schedule: String,
    /// The seed as requested.
    pub url: String,
    /// The seed's normalised URL.
    pub url_key: String,
    /// The validated crawl as JSON.
    pub spec: String,
    /// The proxy without its credentials.
    pub proxy_shown: Option<String>,
    /// Whether the first URL fetched is the seed; `false` if a sitemap lists the URLs.
    pub seed_is_page: bool,
    /// Whether its runs have a webhook.
    pub has_webhook: bool,
    /// Time of its first fire.
    pub next_fires_at: DateTime<Utc>,
    /// The client's Idempotency-Key.
    pub idem_key: Option<String>,
    /// The current time.
    pub created_at: DateTime<Utc>,
}

/// A monitor with all its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// Its id.
    pub id: MonitorId,
    /// The project that owns it.
    pub project: ProjectId,
    /// Five cron fields, UTC.
    pub schedule: String,
    /// The seed as requested.
    pub url: String,
    /// The validated crawl as JSON; may contain credentials, so never log it.
    pub spec: String,
    /// Next fire; in the past while it waits for a free run slot. `None`: paused.
    pub next_fires_at: Option<DateTime<Utc>>,
    /// When it fired last.
    pub last_fired_at: Option<DateTime<Utc>>,
    /// The run of its last fire.
    pub last_run: Option<RunId>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
}

/// Result of creating a monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreatedMonitor {
    /// It was created.
    New(Box<Monitor>),
    /// The Idempotency-Key already created this monitor.
    Replayed(Box<Monitor>),
    /// The Idempotency-Key already created this run.
    Run(Box<Run>),
    /// The project's cap of monitors is reached.
    CapReached,
}

/// A change of a monitor; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct MonitorChange {
    /// New schedule.
    pub schedule: Option<String>,
    /// New next fire.
    pub next_fire: NextFire,
    /// New crawl as JSON, and whether it has a webhook.
    pub spec: Option<(String, bool)>,
}

/// What becomes of a monitor's next fire. The database decides what depends on whether it is paused:
/// another request may pause or resume it meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NextFire {
    /// It stays.
    #[default]
    Unchanged,
    /// The monitor is paused.
    Never,
    /// It fires at this time, whether it was paused or not.
    At(DateTime<Utc>),
    /// It fires at this time, unless it is paused.
    IfEnabled(DateTime<Utc>),
    /// It fires at this time, if it is paused.
    IfPaused(DateTime<Utc>),
}

impl NextFire {
    /// The new time where the monitor is enabled, and where it is paused; `None` leaves it.
    fn times(self) -> [Option<Option<i64>>; 2] {
        match self {
            Self::Unchanged => [None, None],
            Self::Never => [Some(None), Some(None)],
            Self::At(time) => [Some(Some(to_ms(time))), Some(Some(to_ms(time)))],
            Self::IfEnabled(time) => [Some(Some(to_ms(time))), None],
            Self::IfPaused(time) => [None, Some(Some(to_ms(time)))],
        }
    }
}

#[derive(sqlx_macros::FromRow)]
pub(super) struct MonitorRow {
    id: i64,
    project_id: i64,
    schedule: String,
    url: String,
    spec: String,
    next_fires_at: Option<i64>,
    last_fired_at: Option<i64>,
    last_run_id: Option<i64>,
    created_at: i64,
}

/// The columns of [`MonitorRow`].
macro_rules! columns {
    () => {
        "id, project_id, schedule, url, spec, next_fires_at, last_fired_at, last_run_id, created_at"
    };
}

impl From<MonitorRow> for Monitor {
    fn from(row: MonitorRow) -> Self {
        Self {
            id: MonitorId(row.id),
            project: ProjectId(row.project_id),
            schedule: row.schedule,
            url: row.url,
            spec: row.spec,
            next_fires_at: row.next_fires_at.map(from_ms),
            last_fired_at: row.last_fired_at.map(from_ms),
            last_run: row.last_run_id.map(RunId),
            created_at: from_ms(row.created_at),
        }
    }
}

per_database! {
    /// The monitor that this Idempotency-Key created within a day before `now`. An older use of the
    /// key is forgotten.
    pub(crate) async fn by_key(
        conn: &mut Conn,
        project: ProjectId,
        key: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Monitor>, StoreError> {
        sqlx::query(
            "UPDATE monitors SET idem_key = NULL
             WHERE project_id = $1 AND idem_key = $2 AND created_at <= $3",
        )
        .bind(project.get())
        .bind(key)
        .bind(to_ms(now - IDEMPOTENT))
        .execute(&mut *conn)
        .await?;
        let row: Option<MonitorRow> = sqlx::query_as(concat!(
            "SELECT ", columns!(), " FROM monitors WHERE project_id = $1 AND idem_key = $2"
        ))
        .bind(project.get())
        .bind(key)
        .fetch_optional(&mut *conn)
        .await?;
        Ok(row.map(Monitor::from))
    }

    /// Where the run that a monitor started last is deleted, its last one is the newest that is
    /// left.
    pub(crate) async fn forget_run(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE monitors SET last_run_id =
                 (SELECT max(r.id) FROM runs r
                  WHERE r.project_id = $1 AND r.monitor_id = monitors.id)
             WHERE project_id = $1 AND last_run_id = $2",
        )
        .bind(project.get())
        .bind(run.get())
        .execute(&mut *conn)
        .await?;
        Ok(())
    }
}

impl Store {
    /// Creates a monitor, unless its Idempotency-Key already created one, or a run, or the project has
    /// `cap` monitors, paused ones included.
    #[crate::boxed]
    pub async fn create_monitor(
        &self,
        new: &NewMonitor,
        cap: Option<u64>,
    ) -> Result<CreatedMonitor, StoreError> {
        transact!(self.db, tx => {
            // Without the lock, two requests could both use the last free place.
            sql::projects::lock(tx, new.project).await?;
            if let Some(key) = &new.idem_key {
                match sql::crawl_keys::used_for(tx, new.project, key, new.created_at).await? {
                    Some(KeyUse::Monitor(known)) => return Ok(CreatedMonitor::Replayed(known)),
                    Some(KeyUse::Run(run) | KeyUse::Reused(run)) => {
                        return Ok(CreatedMonitor::Run(run));
                    }
                    None => {}
                }
            }
            if let Some(cap) = cap {
                let there: i64 =
                    sqlx::query_scalar("SELECT count(*) FROM monitors WHERE project_id = $1")
                        .bind(new.project.get())
                        .fetch_one(&mut *tx)
                        .await?;
                if u64::try_from(there).unwrap_or_default() >= cap {
                    return Ok(CreatedMonitor::CapReached);
                }
            }
            let row: MonitorRow = sqlx::query_as(concat!(
                "INSERT INTO monitors (project_id, schedule, url, url_key, spec, proxy_url,
                     has_webhook, next_fires_at, created_at, idem_key, seed_is_page)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                 RETURNING ", columns!()
            ))
            .bind(new.project.get())
            .bind(new.schedule.as_str())
            .bind(new.url.as_str())
            .bind(indexed_key(&new.url_key))
            .bind(new.spec.as_str())
            .bind(new.proxy_shown.as_deref())
            .bind(i64::from(new.has_webhook))
            .bind(to_ms(new.next_fires_at))
            .bind(to_ms(new.created_at))
            .bind(new.idem_key.as_deref())
            .bind(i64::from(new.seed_is_page))
            .fetch_one(&mut *tx)
            .await?;
            Ok(CreatedMonitor::New(Box::new(row.into())))
        })
    }

    /// Every monitor of the project, paused ones included, oldest first.
    #[crate::boxed]
    pub async fn monitors(&self, project: ProjectId) -> Result<Vec<Monitor>, StoreError> {
        let rows: Vec<MonitorRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM monitors WHERE project_id = $1 ORDER BY id"
            ))
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(Monitor::from).collect())
    }

    /// A monitor of the project.
    #[crate::boxed]
    pub async fn monitor(
        &self,
        project: ProjectId,
        id: MonitorId,
    ) -> Result<Option<Monitor>, StoreError> {
        let row: Option<MonitorRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT ", columns!(), " FROM monitors WHERE id = $1 AND project_id = $2"
            ))
            .bind(id.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(Monitor::from))
    }

    /// Changes a monitor of the project; `None` if it does not exist.
    #[crate::boxed]
    pub async fn change_monitor(
        &self,
        project: ProjectId,
        id: MonitorId,
        change: &MonitorChange,
    ) -> Result<Option<Monitor>, StoreError> {
        let [enabled, paused] = change.next_fire.times();
        let row: Option<MonitorRow> = transact!(self.db, tx => {
            Ok(sqlx::query_as(concat!(
                "UPDATE monitors SET
                     schedule = COALESCE($3, schedule),
                     next_fires_at = CASE
                         WHEN $4 = 1 AND next_fires_at IS NOT NULL THEN $5
                         WHEN $8 = 1 AND next_fires_at IS NULL THEN $9
                         ELSE next_fires_at END,
                     spec = COALESCE($6, spec),
                     has_webhook = COALESCE($7, has_webhook)
                 WHERE id = $1 AND project_id = $2
                 RETURNING ", columns!()
            ))
            .bind(id.get())
            .bind(project.get())
            .bind(change.schedule.as_deref())
            .bind(i64::from(enabled.is_some()))
            .bind(enabled.flatten())
            .bind(change.spec.as_ref().map(|(spec, _)| spec.as_str()))
            .bind(change.spec.as_ref().map(|(_, webhook)| i64::from(*webhook)))
            .bind(i64::from(paused.is_some()))
            .bind(paused.flatten())
            .fetch_optional(&mut *tx)
            .await?)
        })?;
        Ok(row.map(Monitor::from))
    }

    /// Deletes a monitor of the project; its runs are kept. `false` if it does not exist.
    #[crate::boxed]
    pub async fn delete_monitor(
        &self,
        project: ProjectId,
        id: MonitorId,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query("DELETE FROM monitors WHERE id = $1 AND project_id = $2")
                .bind(id.get())
                .bind(project.get())
                .execute(&mut *tx)
                .await?;
            Ok(done.rows_affected() == 1)
        })
    }
}

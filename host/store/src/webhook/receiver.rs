//! Receivers of a project's events that belong to no run, and the deliveries to them about the
//! quarantine of plugins.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{DeliveryId, ProjectId};
use orbweaver_core::webhook::{PluginEvent, target};

use super::list::DeliveryState;
use crate::db::{per_database, read, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::plugin_state::StateOwner;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// The receiver of a project's events that belong to no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectReceiver {
    /// Its URL; may carry credentials.
    pub url: String,
    /// The events that it is told; at least one.
    pub events: Vec<PluginEvent>,
    /// When it was last set.
    pub updated_at: DateTime<Utc>,
}

/// A delivery to a project's receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// The webhook-id.
    pub message_id: String,
    /// Its event.
    pub event: String,
    /// Its state.
    pub state: DeliveryState,
    /// Number of attempts.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was delivered or became dead.
    pub finished_at: Option<DateTime<Utc>>,
}

/// A quarantine of a plugin that has begun, has been prolonged, or is over.
#[derive(Clone, Copy, Debug)]
pub struct QuarantineNotice<'a> {
    /// The plugin, and the project whose calls it is about.
    pub plugin: &'a StateOwner,
    /// SHA-256 of the component, lower-case hex.
    pub digest: &'a str,
    /// What it says.
    pub event: PluginEvent,
    /// Id of its delivery; unique.
    pub message_id: &'a str,
    /// Body of its delivery.
    pub payload: &'a str,
    /// When it happened.
    pub at: DateTime<Utc>,
    /// Least time between two beginnings of one version that the receiver is told.
    pub pause: TimeDelta,
}

#[derive(sqlx_macros::FromRow)]
struct ReceiverRow {
    url: String,
    events: String,
    updated_at: i64,
}

#[derive(sqlx_macros::FromRow)]
pub(crate) struct ToldRow {
    digest: String,
    is_open: i64,
    told_at: i64,
    seen_at: i64,
}

#[derive(sqlx_macros::FromRow)]
struct DeliveryRow {
    id: i64,
    message_id: String,
    event: String,
    state: String,
    attempts: i64,
    last_error: Option<String>,
    created_at: i64,
    finished_at: Option<i64>,
}

impl From<ReceiverRow> for ProjectReceiver {
    fn from(row: ReceiverRow) -> Self {
        let events = row.events.split(' ').filter_map(|word| word.parse().ok());
        Self {
            url: row.url,
            events: events.collect(),
            updated_at: from_ms(row.updated_at),
        }
    }
}

impl TryFrom<DeliveryRow> for ReceiverDelivery {
    type Error = StoreError;

    fn try_from(row: DeliveryRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: DeliveryId(row.id),
            message_id: row.message_id,
            event: row.event,
            state: row.state.parse().map_err(StoreError::Damaged)?,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            last_error: row.last_error,
            created_at: from_ms(row.created_at),
            finished_at: row.finished_at.map(from_ms),
        })
    }
}

/// What follows from a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The receiver is told, and it is kept what and when.
    Tell,
    /// It knows already; it is kept that the quarantine goes on.
    Prolong,
    Nothing,
}

impl ToldRow {
    /// What follows from a notice, after what was told of the plugin before.
    fn step(before: Option<&Self>, notice: &QuarantineNotice<'_>) -> Step {
        let since = |ms: i64| notice.at - from_ms(ms);
        // A new version begins without quarantine, and nobody says so.
        let before = before.filter(|row| row.digest == notice.digest);
        match (notice.event, before) {
            (PluginEvent::Quarantined, None) => Step::Tell,
            // Crashes on trial prolong a quarantine at least once in `pause`, unless nobody calls the
            // plugin, or the process has ended and with it the quarantine.
            (PluginEvent::Quarantined, Some(row)) if row.is_open != 0 => {
                match since(row.seen_at) <= notice.pause.checked_mul(2).unwrap_or(TimeDelta::MAX) {
                    true => Step::Prolong,
                    false => Step::Tell,
                }
            }
            (PluginEvent::Quarantined, Some(row)) => match since(row.told_at) < notice.pause {
                // Again so soon: it is told when it lasts.
                true => Step::Nothing,
                false => Step::Tell,
            },
            (PluginEvent::Recovered, Some(row)) if row.is_open != 0 => Step::Tell,
            (PluginEvent::Recovered, _) => Step::Nothing,
        }
    }
}

/// Rows deleted in one transaction.
const SWEEP: i64 = 500;

per_database! {
    pub(crate) async fn told_before(
        conn: &mut Conn,
        plugin: &StateOwner,
    ) -> Result<Option<ToldRow>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT digest, is_open, told_at, seen_at FROM plugin_quarantines
             WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4",
        )
        .bind(plugin.project.get())
        .bind(i64::from(plugin.own))
        .bind(plugin.kind.as_str())
        .bind(plugin.name.as_str())
        .fetch_optional(&mut *conn)
        .await?)
    }

    /// Keeps what the receiver was told. The time of the last beginning stays when a quarantine is over.
    pub(crate) async fn keep_told(
        conn: &mut Conn,
        notice: &QuarantineNotice<'_>,
        step: Step,
    ) -> Result<(), StoreError> {
        let begins = step == Step::Tell && notice.event == PluginEvent::Quarantined;
        sqlx::query(
            "INSERT INTO plugin_quarantines (project_id, own, kind, name, digest, is_open, told_at, seen_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
             ON CONFLICT (project_id, own, kind, name) DO UPDATE SET
                 digest = excluded.digest, is_open = excluded.is_open, seen_at = excluded.seen_at,
                 told_at = CASE WHEN $8 = 1 THEN excluded.told_at ELSE plugin_quarantines.told_at END",
        )
        .bind(notice.plugin.project.get())
        .bind(i64::from(notice.plugin.own))
        .bind(notice.plugin.kind.as_str())
        .bind(notice.plugin.name.as_str())
        .bind(notice.digest)
        .bind(i64::from(notice.event == PluginEvent::Quarantined))
        .bind(to_ms(notice.at))
        .bind(i64::from(begins))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    pub(crate) async fn insert_notice(
        conn: &mut Conn,
        receiver: &ProjectReceiver,
        notice: &QuarantineNotice<'_>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO deliveries (project_id, message_id, event, url, target, payload, next_at,
                 created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7)",
        )
        .bind(notice.plugin.project.get())
        .bind(notice.message_id)
        .bind(notice.event.as_str())
        .bind(receiver.url.as_str())
        .bind(target(&receiver.url))
        .bind(notice.payload)
        .bind(to_ms(notice.at))
        .execute(&mut *conn)
        .await?;
        sql::notices::tell(conn, Topic::Work).await
    }

    pub(crate) async fn receiver_of(
        conn: &mut Conn,
        project: ProjectId,
    ) -> Result<Option<ProjectReceiver>, StoreError> {
        let row: Option<ReceiverRow> = sqlx::query_as(
            "SELECT url, events, updated_at FROM project_webhooks WHERE project_id = $1",
        )
        .bind(project.get())
        .fetch_optional(&mut *conn)
        .await?;
        Ok(row.map(ProjectReceiver::from))
    }

    /// Deletes settled deliveries that belong to no run, and what was told of quarantines.
    pub(crate) async fn sweep(conn: &mut Conn, before: i64) -> Result<u64, StoreError> {
        let deliveries = sqlx::query(
            "DELETE FROM deliveries WHERE id IN (
                 SELECT id FROM deliveries
                 WHERE run_id IS NULL AND job_id IS NULL AND finished_at < $1
                 ORDER BY id LIMIT $2)",
        )
        .bind(before)
        .bind(SWEEP)
        .execute(&mut *conn)
        .await?;
        let told = sqlx::query("DELETE FROM plugin_quarantines WHERE seen_at < $1")
            .bind(before)
            .execute(&mut *conn)
            .await?;
        Ok(deliveries.rows_affected() + told.rows_affected())
    }
}

impl Store {
    /// The project's receiver.
    #[crate::boxed]
    pub async fn project_receiver(
        &self,
        project: ProjectId,
    ) -> Result<Option<ProjectReceiver>, StoreError> {
        let row: Option<ReceiverRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT url, events, updated_at FROM project_webhooks WHERE project_id = $1",
            )
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(ProjectReceiver::from))
    }

    /// Sets the project's receiver; `true` if it had none.
    #[crate::boxed]
    pub async fn set_project_receiver(
        &self,
        project: ProjectId,
        receiver: &ProjectReceiver,
    ) -> Result<bool, StoreError> {
        let events: Vec<&str> = receiver.events.iter().map(|event| event.as_str()).collect();
        let events = events.join(" ");
        transact!(self.db, tx => {
            sql::projects::lock(tx, project).await?;
            let before = sql::receivers::receiver_of(tx, project).await?;
            sqlx::query(
                "INSERT INTO project_webhooks (project_id, url, events, updated_at)
                 VALUES ($1, $2, $3, $4)
                 ON CONFLICT (project_id) DO UPDATE SET
                     url = excluded.url, events = excluded.events, updated_at = excluded.updated_at",
            )
            .bind(project.get())
            .bind(receiver.url.as_str())
            .bind(events.as_str())
            .bind(to_ms(receiver.updated_at))
            .execute(&mut *tx)
            .await?;
            Ok(before.is_none())
        })
    }

    /// Removes the project's receiver and forgets what it was told; `false` if there is none. Deliveries
    /// that wait are still tried.
    #[crate::boxed]
    pub async fn remove_project_receiver(&self, project: ProjectId) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            sqlx::query("DELETE FROM plugin_quarantines WHERE project_id = $1")
                .bind(project.get())
                .execute(&mut *tx)
                .await?;
            let done = sqlx::query("DELETE FROM project_webhooks WHERE project_id = $1")
                .bind(project.get())
                .execute(&mut *tx)
                .await?;
            Ok(done.rows_affected() > 0)
        })
    }

    /// The last deliveries to the project's receivers, newest first.
    #[crate::boxed]
    pub async fn receiver_deliveries(
        &self,
        project: ProjectId,
        limit: u32,
    ) -> Result<Vec<ReceiverDelivery>, StoreError> {
        let rows: Vec<DeliveryRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, message_id, event, state, attempts, last_error, created_at, finished_at
                 FROM deliveries
                 WHERE project_id = $1 AND run_id IS NULL AND job_id IS NULL
                 ORDER BY id DESC LIMIT $2",
            )
            .bind(project.get())
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        rows.into_iter().map(ReceiverDelivery::try_from).collect()
    }

    /// Queues the webhook about a quarantine. False if the project's receiver was notified already, did
    /// not subscribe, or was notified of another one too recently.
    #[crate::boxed]
    pub async fn tell_quarantine(&self, notice: &QuarantineNotice<'_>) -> Result<bool, StoreError> {
        let project = notice.plugin.project;
        transact!(self.db, tx => {
            let Some(receiver) = sql::receivers::receiver_of(tx, project).await? else {
                return Ok(false);
            };
            // Two nodes may see the same quarantine.
            sql::projects::lock(tx, project).await?;
            let before = sql::receivers::told_before(tx, notice.plugin).await?;
            let step = ToldRow::step(before.as_ref(), notice);
            if step == Step::Nothing {
                return Ok(false);
            }
            sql::receivers::keep_told(tx, notice, step).await?;
            let is_wanted = step == Step::Tell && receiver.events.contains(&notice.event);
            if is_wanted {
                sql::receivers::insert_notice(tx, &receiver, notice).await?;
            }
            Ok(is_wanted)
        })
    }
}

impl Store {
    /// Deletes settled deliveries that belong to no run, and what was told of quarantines, that are older
    /// than a time, in small transactions. Returns their number.
    #[crate::boxed]
    pub async fn sweep_receivers(&self, before: DateTime<Utc>) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let gone: Result<u64, StoreError> = transact!(quiet true, self.db, tx => {
                sql::receivers::sweep(tx, to_ms(before)).await
            });
            let gone = gone?;
            swept += gone;
            if gone == 0 {
                return Ok(swept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: i64 = 300_000;

    fn step(before: Option<(&str, i64, i64, i64)>, event: PluginEvent, at: i64) -> Step {
        let plugin = StateOwner {
            project: ProjectId(1),
            own: true,
            kind: "extractor".to_owned(),
            name: "trap".to_owned(),
        };
        let notice = QuarantineNotice {
            plugin: &plugin,
            digest: "aa",
            event,
            message_id: "msg",
            payload: "{}",
            at: from_ms(at),
            pause: TimeDelta::milliseconds(PAUSE),
        };
        let before = before.map(|(digest, is_open, told_at, seen_at)| ToldRow {
            digest: digest.to_owned(),
            is_open,
            told_at,
            seen_at,
        });
        ToldRow::step(before.as_ref(), &notice)
    }

    #[test]
    fn a_quarantine_is_told_once_however_often_it_is_prolonged() {
        use PluginEvent::Quarantined;
        assert_eq!(step(None, Quarantined, 0), Step::Tell);
        let told = |seen_at| Some(("aa", 1, 0, seen_at));
        assert_eq!(step(told(0), Quarantined, PAUSE), Step::Prolong);
        assert_eq!(
            step(told(9 * PAUSE), Quarantined, 10 * PAUSE),
            Step::Prolong
        );
        // Nothing was heard of it for long: it was over, and this is another one.
        assert_eq!(step(told(0), Quarantined, 3 * PAUSE), Step::Tell);
        assert_eq!(step(Some(("bb", 1, 0, 0)), Quarantined, 1), Step::Tell);
    }

    #[test]
    fn a_plugin_that_comes_and_goes_is_told_once_in_a_while() {
        let over = Some(("aa", 0, 0, 10));
        assert_eq!(
            step(over, PluginEvent::Quarantined, PAUSE - 1),
            Step::Nothing
        );
        assert_eq!(step(over, PluginEvent::Quarantined, PAUSE), Step::Tell);
        assert_eq!(step(over, PluginEvent::Recovered, 20), Step::Nothing);
    }

    #[test]
    fn an_end_is_told_if_the_beginning_was() {
        use PluginEvent::Recovered;
        assert_eq!(step(Some(("aa", 1, 0, 0)), Recovered, 1), Step::Tell);
        assert_eq!(step(None, Recovered, 1), Step::Nothing);
        assert_eq!(step(Some(("bb", 1, 0, 0)), Recovered, 1), Step::Nothing);
    }
}

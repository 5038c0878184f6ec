//! The table `key_events`: who made, changed and revoked keys.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{per_database, read};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// An event in the life of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEvent {
    /// The key's first 12 characters.
    pub prefix: String,
    /// `issued`, `grace` (a rotation set its expiry), `kept` (it expires no longer, because all
    /// keys that did not are revoked) or `revoked`.
    pub action: String,
    /// Prefix of the key that requested it, or `cli`, `signup`, `billing`, `start`.
    pub actor: String,
    /// Time of the event.
    pub at: DateTime<Utc>,
}

/// An entry of the key log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyChange<'a> {
    pub(crate) project: ProjectId,
    /// `issued`, `grace`, `kept` or `revoked`, see [`KeyEvent::action`].
    pub(crate) action: &'a str,
    /// Prefix of the key that requested it, or `cli`, `signup`, `billing`, `start`.
    pub(crate) actor: &'a str,
    pub(crate) at: DateTime<Utc>,
}

impl<'a> KeyChange<'a> {
    /// The entry for a new key.
    pub(crate) const fn issued(project: ProjectId, actor: &'a str, at: DateTime<Utc>) -> Self {
        Self {
            project,
            action: "issued",
            actor,
            at,
        }
    }
}

per_database! {
    /// Records an event of a key.
    pub(crate) async fn note(
        conn: &mut Conn,
        key: i64,
        change: KeyChange<'_>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO key_events (project_id, key_id, action, actor, ts)
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(change.project.get())
        .bind(key)
        .bind(change.action)
        .bind(change.actor)
        .bind(to_ms(change.at))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }
}

impl Store {
    /// Events of a project's keys, oldest first.
    #[crate::boxed]
    pub async fn key_events(&self, project: ProjectId) -> Result<Vec<KeyEvent>, StoreError> {
        let rows: Vec<(String, String, String, i64)> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT k.prefix, e.action, e.actor, e.ts
                 FROM key_events e JOIN api_keys k ON k.id = e.key_id
                 WHERE e.project_id = $1 ORDER BY e.id",
            )
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        let event = |(prefix, action, actor, ts)| KeyEvent {
            prefix,
            action,
            actor,
            at: from_ms(ts),
        };
        Ok(rows.into_iter().map(event).collect())
    }
}

//! What the Idempotency-Keys of crawls, batches and monitors stand for: one key of a project
//! stands for one of them for a day.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{per_database, transact};
use crate::error::StoreError;
use crate::monitors::Monitor;
use crate::runs::{IDEMPOTENT, Run};
use crate::store::Store;

/// What a request with an Idempotency-Key was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyUse {
    /// It made this run.
    Run(Box<Run>),
    /// It got this run, which a request before it had made.
    Reused(Box<Run>),
    /// It made this monitor.
    Monitor(Box<Monitor>),
}

per_database! {
    /// What a key of the project stands for. A use that is a day old is forgotten. The project's
    /// row is to be locked, so that no other request uses the key meanwhile.
    pub(crate) async fn used_for(
        conn: &mut Conn,
        project: ProjectId,
        key: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<KeyUse>, StoreError> {
        let since = now - IDEMPOTENT;
        sql::runs::forget_key(conn, project, key, since).await?;
        if let Some(run) = sql::runs::by_key(conn, project, key).await? {
            return Ok(Some(KeyUse::Run(Box::new(run))));
        }
        if let Some(id) = sql::idempotency::reused_run(conn, project, key, since).await?
            && let Some(run) = sql::runs::by_id(conn, project, id).await?
        {
            return Ok(Some(KeyUse::Reused(Box::new(run))));
        }
        let monitor = sql::monitors::by_key(conn, project, key, now).await?;
        Ok(monitor.map(|monitor| KeyUse::Monitor(Box::new(monitor))))
    }
}

impl Store {
    /// What an Idempotency-Key of the project stands for.
    #[crate::boxed]
    pub async fn key_use(
        &self,
        project: ProjectId,
        key: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<KeyUse>, StoreError> {
        transact!(self.db, tx => {
            sql::projects::lock(tx, project).await?;
            sql::crawl_keys::used_for(tx, project, key, now).await
        })
    }

    /// Lets an Idempotency-Key stand for a run that a request got without making it, unless the
    /// key stands for something already: that is returned.
    #[crate::boxed]
    pub async fn bind_key(
        &self,
        project: ProjectId,
        key: &str,
        run: &Run,
        now: DateTime<Utc>,
    ) -> Result<Option<KeyUse>, StoreError> {
        transact!(self.db, tx => {
            sql::projects::lock(tx, project).await?;
            let used = sql::crawl_keys::used_for(tx, project, key, now).await?;
            if used.is_none() {
                sql::idempotency::keep_reused(tx, project, key, run.id, now).await?;
            }
            Ok(used)
        })
    }
}

//! Code shared by the leases of runs, jobs and exports. All tables have `status`, `lease_owner` and
//! `lease_until`; a lease ends at `lease_until`, and 0 is none.

use std::fmt::Display;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{Db, none_of, per_database, read, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// A table whose rows workers lease.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leased {
    Runs,
    Jobs,
    Exports,
}

/// What a worker does not lease.
#[derive(Clone, Debug)]
pub struct Except<Id> {
    /// Work of these projects, which have their share.
    pub projects: Vec<ProjectId>,
    /// What the worker works on already, even if its lease has run out.
    pub own: Vec<Id>,
    /// What any worker leased and has not handed back, even if its lease has run out.
    pub leased: bool,
}

impl<Id> Default for Except<Id> {
    fn default() -> Self {
        Self {
            projects: Vec::new(),
            own: Vec::new(),
            leased: false,
        }
    }
}

impl<Id: Display> Except<Id> {
    /// A condition on a row of this alias, to be appended to others.
    pub(crate) fn sql(&self, row: &str) -> String {
        let projects = none_of(&format!("{row}.project_id"), &self.projects);
        let own = none_of(&format!("{row}.id"), &self.own);
        let leased = match self.leased {
            true => format!(" AND {row}.lease_owner IS NULL"),
            false => String::new(),
        };
        format!("{projects}{own}{leased}")
    }
}

impl Leased {
    const fn table(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Jobs => "jobs",
            Self::Exports => "exports",
        }
    }

    /// Whether a row waits for a worker.
    pub(crate) async fn is_waiting(self, db: &Db, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let sql = format!(
            "SELECT id FROM {} WHERE status IN ('queued', 'running') AND lease_until <= $1 LIMIT 1",
            self.table()
        );
        let found: Option<i64> = read!(db, pool => {
            sqlx::query_scalar(sqlx::AssertSqlSafe(sql.as_str()))
                .bind(to_ms(now))
                .fetch_optional(pool)
                .await?
        });
        Ok(found.is_some())
    }

    /// When the first lease after `now` runs out that is not `owner`'s; `None` without one.
    pub(crate) async fn next_end(
        self,
        db: &Db,
        owner: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let sql = format!(
            "SELECT CAST(min(lease_until) AS BIGINT) FROM {}
             WHERE status = 'running' AND lease_until > $1 AND lease_owner <> $2",
            self.table()
        );
        let next: Option<i64> = read!(db, pool => {
            sqlx::query_scalar(sqlx::AssertSqlSafe(sql.as_str()))
                .bind(to_ms(now))
                .bind(owner)
                .fetch_one(pool)
                .await?
        });
        Ok(next.map(from_ms))
    }
}

impl Store {
    /// Bounds what was stored by a clock that was ahead and has been set back: leases end at `latest` at the latest,
    /// and deliveries and mails that wait for another attempt are due, if the last one lies ahead. How many.
    #[crate::boxed]
    pub async fn bound_waits(
        &self,
        now: DateTime<Utc>,
        latest: DateTime<Utc>,
    ) -> Result<u64, StoreError> {
        transact!(self.db, tx => {
            let mut bounded = 0;
            for leased in [Leased::Runs, Leased::Jobs, Leased::Exports] {
                bounded += sql::leases::bound(tx, leased, latest).await?;
            }
            bounded += sql::outbox::bound(tx, now).await?;
            bounded += sql::mail::bound(tx, now).await?;
            if bounded > 0 {
                sql::notices::tell(tx, Topic::Work).await?;
            }
            Ok(bounded)
        })
    }
}

per_database! {
    /// Ends no lease later than `latest`; how many would have. Runs that wait for a slot are not running.
    pub(crate) async fn bound(
        conn: &mut Conn,
        leased: Leased,
        latest: DateTime<Utc>,
    ) -> Result<u64, StoreError> {
        let sql = format!(
            "UPDATE {} SET lease_until = $1 WHERE status = 'running' AND lease_until > $1",
            leased.table()
        );
        let done = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(to_ms(latest))
            .execute(&mut *conn)
            .await?;
        Ok(done.rows_affected())
    }

    /// Ends the leases of all running rows.
    pub(crate) async fn end_all(conn: &mut Conn, leased: Leased) -> Result<(), StoreError> {
        let sql = format!(
            "UPDATE {} SET lease_owner = NULL, lease_until = 0
             WHERE status = 'running' AND lease_until > 0",
            leased.table()
        );
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .execute(&mut *conn)
            .await?;
        Ok(())
    }
}

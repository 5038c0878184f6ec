//! Code shared by the leases of runs, jobs and exports. All tables have `status`, `lease_owner` and
//! `lease_until`; a lease ends at `lease_until`, and 0 is none.

use chrono::{DateTime, Utc};

use crate::db::{Db, per_database, read};
use crate::error::StoreError;
use crate::time::{from_ms, to_ms};

/// A table whose rows workers lease.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leased {
    Runs,
    Jobs,
    Exports,
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

per_database! {
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

//! Which node indexes which pages: each claims the next ones for itself, so that nodes share the work
//! and none does what another one does.
//!
//! The setting [`THROUGH`] is the id up to which pages are indexed or claimed. A claim is a lease:
//! if its node ends, another one takes it over. What both did then is there once, since a page is
//! added to the index only if it is not there.

use chrono::{DateTime, TimeDelta, Utc};

use crate::db::{Db, PATIENCE, answered, per_database, read, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::to_ms;

/// Name of the setting that holds the id up to which pages are indexed or claimed.
const THROUGH: &str = "search.indexed_through";
/// Most pages of a claim.
const PAGES: i64 = 200;
/// How long a node may take for them. Most take less than a second.
const LEASE: TimeDelta = TimeDelta::minutes(5);

/// Pages that one node indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx_macros::FromRow)]
pub struct IndexClaim {
    /// Those with a higher id,
    pub after: i64,
    /// up to this one.
    pub through: i64,
}

per_database! {
    /// Reads the setting; on PostgreSQL no other node does before the transaction ends.
    async fn locked_through(conn: &mut Conn) -> Result<i64, StoreError> {
        sqlx::query("INSERT INTO settings (name, value) VALUES ($1, '0') ON CONFLICT DO NOTHING")
            .bind(THROUGH)
            .execute(&mut *conn)
            .await?;
        let value: String = sqlx::query_scalar(if IS_SHARED {
            "SELECT value FROM settings WHERE name = $1 FOR UPDATE"
        } else {
            "SELECT value FROM settings WHERE name = $1"
        })
        .bind(THROUGH)
        .fetch_one(&mut *conn)
        .await?;
        value
            .parse()
            .map_err(|_| StoreError::Damaged(format!("{THROUGH}: {value}")))
    }

    async fn set_through(conn: &mut Conn, through: i64) -> Result<(), StoreError> {
        sqlx::query("UPDATE settings SET value = $2 WHERE name = $1")
            .bind(THROUGH)
            .bind(through.to_string())
            .execute(&mut *conn)
            .await?;
        Ok(())
    }

    /// A claim whose lease has ended, with a new lease.
    pub(crate) async fn take_over(
        conn: &mut Conn,
        now: i64,
        until: i64,
    ) -> Result<Option<IndexClaim>, StoreError> {
        Ok(sqlx::query_as(
            "UPDATE search_claims SET lease_until = $2
             WHERE after = (SELECT MIN(after) FROM search_claims WHERE lease_until <= $1)
             RETURNING after, through",
        )
        .bind(now)
        .bind(until)
        .fetch_optional(&mut *conn)
        .await?)
    }

    /// The next pages that nobody has claimed, with a lease.
    pub(crate) async fn take_next(
        conn: &mut Conn,
        newest: i64,
        until: i64,
    ) -> Result<Option<IndexClaim>, StoreError> {
        let after = locked_through(conn).await?;
        if after >= newest {
            return Ok(None);
        }
        let next: Vec<i64> = sqlx::query_scalar(
            "SELECT id FROM pages WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3",
        )
        .bind(after)
        .bind(newest)
        .bind(PAGES)
        .fetch_all(&mut *conn)
        .await?;
        let through = match next.last() {
            Some(last) if next.len() as i64 == PAGES => *last,
            _ => newest,
        };
        set_through(conn, through).await?;
        if next.is_empty() {
            return Ok(None);
        }
        sqlx::query("INSERT INTO search_claims (after, through, lease_until) VALUES ($1, $2, $3)")
            .bind(after)
            .bind(through)
            .bind(until)
            .execute(&mut *conn)
            .await?;
        Ok(Some(IndexClaim { after, through }))
    }
}

impl Store {
    /// Claims pages for this node to index, of those with ids up to `newest`, before which none may be
    /// stored any more ([`page_writers`](Self::page_writers)): those whose claim has run
    /// out, else the oldest that nobody claimed. `None` if there are none.
    #[crate::boxed]
    pub async fn claim_unindexed(
        &self,
        newest: i64,
        now: DateTime<Utc>,
    ) -> Result<Option<IndexClaim>, StoreError> {
        if !self.may_claim(newest, now).await? {
            return Ok(None);
        }
        let until = to_ms(now + LEASE);
        transact!(quiet true, self.db, tx => {
            match sql::index_claims::take_over(tx, to_ms(now), until).await? {
                Some(claim) => Ok(Some(claim)),
                None => sql::index_claims::take_next(tx, newest, until).await,
            }
        })
    }

    /// Whether there is something to claim, without a transaction.
    async fn may_claim(&self, newest: i64, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let through = self.setting(THROUGH).await?;
        let through = through.and_then(|value| value.parse().ok()).unwrap_or(0);
        if through < newest {
            return Ok(true);
        }
        let first = self.first_claim_end().await?;
        Ok(first.is_some_and(|end| end <= to_ms(now)))
    }

    /// When the first lease of a claim ends.
    async fn first_claim_end(&self) -> Result<Option<i64>, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_scalar("SELECT CAST(MIN(lease_until) AS BIGINT) FROM search_claims")
                .fetch_one(pool)
                .await?)
        })
    }

    /// Transactions that write pages at present and may have drawn ids for them, each by a name that
    /// no other one has; none on SQLite, where one writes at a time. A transaction that is not among
    /// them any more has ended, and what it stored can be read.
    #[crate::boxed]
    pub async fn page_writers(&self) -> Result<Vec<String>, StoreError> {
        let Db::Pg(pool) = &self.db else {
            return Ok(Vec::new());
        };
        // An inserting transaction takes this lock first, and keeps it until it has ended and
        // others see its rows.
        let writers = sqlx::query_scalar(
            "SELECT DISTINCT virtualtransaction FROM pg_locks
             WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted
               AND relation = CAST('pages' AS regclass)
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        );
        answered(PATIENCE, async { Ok(writers.fetch_all(pool).await?) }).await
    }

    /// Whether pages are claimed, by whatever node.
    #[crate::boxed]
    pub async fn has_index_claims(&self) -> Result<bool, StoreError> {
        Ok(self.first_claim_end().await?.is_some())
    }

    /// Ends a claim. Without `done` its pages are left to the next claim, of any node.
    #[crate::boxed]
    pub async fn end_index_claim(&self, claim: IndexClaim, done: bool) -> Result<(), StoreError> {
        let statement = if done {
            "DELETE FROM search_claims WHERE after = $1"
        } else {
            "UPDATE search_claims SET lease_until = 0 WHERE after = $1"
        };
        transact!(quiet true, self.db, tx => {
            sqlx::query(statement).bind(claim.after).execute(&mut *tx).await?;
            Ok(())
        })
    }

    /// Ends the claims that this program left when it ended, of pages and of documents. Does nothing if other nodes may be at work.
    #[crate::boxed]
    pub async fn end_left_index_claims(&self) -> Result<(), StoreError> {
        if self.is_shared() {
            return Ok(());
        }
        transact!(quiet true, self.db, tx => {
            sqlx::query("UPDATE search_claims SET lease_until = 0")
                .execute(&mut *tx)
                .await?;
            sql::index_documents::end_leases(tx).await
        })
    }
}

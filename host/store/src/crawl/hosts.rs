//! The table `crawl_hosts`: the earliest time of the next request to each host, for all nodes.

use chrono::{DateTime, Utc};

use crate::db::{read, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

impl Store {
    /// The earliest time of the next request to a host, for all nodes: after the end of a
    /// Retry-After ([`close_host`](Self::close_host)). With a Crawl-delay also that long after
    /// the previously reserved time; the new time is then reserved.
    #[crate::boxed]
    pub async fn host_slot(
        &self,
        host: &str,
        now: DateTime<Utc>,
        delay: std::time::Duration,
    ) -> Result<DateTime<Utc>, StoreError> {
        let delay = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX / 4);
        let closed: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT next_at FROM crawl_hosts WHERE host = $1")
                .bind(host)
                .fetch_optional(pool)
                .await?
        });
        let now = to_ms(now).max(closed.unwrap_or_default());
        if delay == 0 {
            return Ok(from_ms(now));
        }
        // A separate row, so that runs without a Crawl-delay do not wait for those with one.
        let host = format!("{host} crawl-delay");
        transact!(self.db, tx => {
            let next: i64 = sqlx::query_scalar(
                "INSERT INTO crawl_hosts (host, next_at) VALUES ($1, $2 + $3)
                 ON CONFLICT (host) DO UPDATE SET next_at =
                     $3 + CASE WHEN crawl_hosts.next_at > $2 THEN crawl_hosts.next_at ELSE $2 END
                 RETURNING next_at",
            )
            .bind(host.as_str())
            .bind(now)
            .bind(delay)
            .fetch_one(&mut *tx)
            .await?;
            Ok(from_ms(next.saturating_sub(delay)))
        })
    }

    /// Closes a host until a time, for all nodes, because its server asked for it.
    #[crate::boxed]
    pub async fn close_host(&self, host: &str, until: DateTime<Utc>) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "INSERT INTO crawl_hosts (host, next_at) VALUES ($1, $2)
                 ON CONFLICT (host) DO UPDATE SET next_at = excluded.next_at
                 WHERE crawl_hosts.next_at < excluded.next_at",
            )
            .bind(host)
            .bind(to_ms(until))
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Deletes hosts that have been open since `before`.
    #[crate::boxed]
    pub async fn forget_hosts(&self, before: DateTime<Utc>) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query("DELETE FROM crawl_hosts WHERE next_at < $1")
                .bind(to_ms(before))
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }
}

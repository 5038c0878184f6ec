//! The table `crawl_hosts`: when each host may be requested next, by all nodes.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::db::{read, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Whether a host may be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostSlot {
    /// One request may be sent now.
    Taken,
    /// Not before this time, at which nothing is reserved: ask again then.
    FreeAt(DateTime<Utc>),
}

impl Store {
    /// Takes the right to one request to a host now, for all nodes: after the end of a Retry-After
    /// ([`close_host`](Self::close_host)). With a Crawl-delay no other such request may be sent
    /// until it is over. Only a slot that is free is taken, so none is reserved ahead, however many
    /// nodes ask.
    #[crate::boxed]
    pub async fn host_slot(
        &self,
        host: &str,
        now: DateTime<Utc>,
        delay: Duration,
    ) -> Result<HostSlot, StoreError> {
        let delay = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX / 4);
        let now = to_ms(now);
        // A separate row, so that runs without a Crawl-delay do not wait for those with one.
        let slot = match delay {
            0 => host.to_owned(),
            _ => format!("{host} crawl-delay"),
        };
        let next: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT CAST(max(next_at) AS BIGINT) FROM crawl_hosts WHERE host IN ($1, $2)",
            )
            .bind(host)
            .bind(slot.as_str())
            .fetch_one(pool)
            .await?
        });
        if let Some(next) = next.filter(|next| *next > now) {
            return Ok(HostSlot::FreeAt(from_ms(next)));
        }
        if delay == 0 {
            return Ok(HostSlot::Taken);
        }
        transact!(self.db, tx => {
            let taken = sqlx::query(
                "INSERT INTO crawl_hosts (host, next_at) VALUES ($1, $2 + $3)
                 ON CONFLICT (host) DO UPDATE SET next_at = excluded.next_at
                 WHERE crawl_hosts.next_at <= $2",
            )
            .bind(slot.as_str())
            .bind(now)
            .bind(delay)
            .execute(&mut *tx)
            .await?;
            if taken.rows_affected() == 1 {
                return Ok(HostSlot::Taken);
            }
            // Another node was faster.
            let next: Option<i64> =
                sqlx::query_scalar("SELECT next_at FROM crawl_hosts WHERE host = $1")
                    .bind(slot.as_str())
                    .fetch_optional(&mut *tx)
                    .await?;
            Ok(HostSlot::FreeAt(from_ms(next.unwrap_or(now))))
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

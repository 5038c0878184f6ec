//! The partitions of the table `request_log` on PostgreSQL.
//!
//! A partition has the entries of one day, or of several where the log is kept for long. It is made
//! ahead of time, and dropped when all its entries have expired: that takes milliseconds, whatever their number,
//! and leaves nothing for a vacuum. Entries that no partition was made for are in
//! `request_log_other`, where they are deleted row by row, so that no entry is refused.
//!
//! Nodes are at work meanwhile. A new table is filled by nobody until it is attached, which locks out no
//! writer of the log; a drop locks the log alone, so it waits a tenth of a second at most, and
//! is tried again at the next purge. `DETACH … CONCURRENTLY` would wait for all older transactions, and
//! PostgreSQL refuses it to tables with a default partition. Each step is one transaction, so that it works behind a
//! pooler, and nothing is left half done by a crash.

use chrono::DateTime;
use sqlx::postgres::{PgConnection, PgPool};

use crate::db::BEGIN;
use crate::error::StoreError;

/// A day in milliseconds.
const DAY: i64 = 86_400_000;
/// Partitions that a log may have without longer ones.
const MAX_PARTITIONS: i64 = 62;
/// How far ahead partitions are made: nodes may be without a purge for so long.
const AHEAD: i64 = 3 * DAY;
/// How long a step waits for the log's writers and readers, whose next statements wait behind it.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '100ms'";
/// Taken by the node that changes the partitions. The first number belongs to these locks alone.
const ALONE: &str = "SELECT pg_try_advisory_xact_lock(2, 0)";
/// PostgreSQL's codes of a step that others are in the way of: `lock_not_available`,
/// `deadlock_detected`.
const IN_THE_WAY: [&str; 2] = ["55P03", "40P01"];

/// The bounds of each partition, in milliseconds since 1970, oldest first, with its name and the
/// number of its entries that PostgreSQL estimates.
const PARTITIONS: &str = r"
    SELECT name, CAST(bounds[1] AS BIGINT), CAST(bounds[2] AS BIGINT), entries FROM (
        SELECT CAST(c.relname AS TEXT) AS name, CAST(c.reltuples AS BIGINT) AS entries,
               regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(\d+)''\) TO \(''(\d+)''\)')
                   AS bounds
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = CAST('request_log' AS regclass)) partitions
    WHERE bounds IS NOT NULL ORDER BY 2";

/// A partition: its name, its first millisecond, the first one after it, and about how many entries it
/// has.
type Partition = (String, i64, i64, i64);

/// Makes the partitions of today and the next days at the start of a node, before it logs anything. By the
/// clock of the database, which all nodes share.
pub(crate) async fn begin(pool: &PgPool) -> Result<(), StoreError> {
    let now: i64 = sqlx::query_scalar("SELECT CAST(extract(epoch FROM now()) * 1000 AS BIGINT)")
        .fetch_one(pool)
        .await?;
    make_ahead(pool, now, DAY).await
}

/// Makes the partitions of the days to come, for a log that is kept for `kept` milliseconds.
pub(crate) async fn make_ahead(pool: &PgPool, now: i64, kept: i64) -> Result<(), StoreError> {
    let width = width(kept);
    let mut from = now - now.rem_euclid(DAY);
    // Without a transaction: mostly there is nothing to do.
    while let Some((next, to)) = next(&partitions(pool).await?, from, now + AHEAD, width) {
        let done = alone(pool, async |conn| make(conn, next, to).await).await?;
        if done.is_none() {
            break;
        }
        from = to;
    }
    Ok(())
}

/// Drops partitions whose entries are all older than `before`; returns about how many entries
/// they had.
pub(crate) async fn drop_before(pool: &PgPool, before: i64) -> Result<u64, StoreError> {
    let mut removed = 0;
    for (name, _, to, entries) in partitions(pool).await? {
        if to > before {
            break;
        }
        let dropped = alone(pool, async |conn| {
            let drop = format!("DROP TABLE IF EXISTS {name}");
            sqlx::raw_sql(sqlx::AssertSqlSafe(drop))
                .execute(conn)
                .await?;
            Ok(())
        });
        if dropped.await?.is_none() {
            break;
        }
        removed += u64::try_from(entries).unwrap_or_default();
    }
    Ok(removed)
}

/// The length of a new partition: a whole number of days.
fn width(kept: i64) -> i64 {
    let days = kept / DAY;
    (days / MAX_PARTITIONS)
        .saturating_add(1)
        .saturating_mul(DAY)
}

/// The bounds of the first partition that is missing between `from` and `until`.
fn next(there: &[Partition], from: i64, until: i64, width: i64) -> Option<(i64, i64)> {
    let mut at = from;
    for (_, first, end, _) in there {
        if *end > at {
            if *first > at {
                let to = at.saturating_add(width).min(*first);
                return (at < until).then_some((at, to));
            }
            at = *end;
        }
    }
    (at < until).then_some((at, at.saturating_add(width)))
}

async fn partitions(pool: &PgPool) -> Result<Vec<Partition>, StoreError> {
    Ok(sqlx::query_as(PARTITIONS).fetch_all(pool).await?)
}

/// Runs a step in a transaction of its own; `None` if another node is at it, or the log is in use.
async fn alone(
    pool: &PgPool,
    step: impl AsyncFnOnce(&mut PgConnection) -> Result<(), StoreError>,
) -> Result<Option<()>, StoreError> {
    let mut transaction = pool.begin_with(BEGIN).await?;
    let is_free: bool = sqlx::query_scalar(ALONE)
        .fetch_one(&mut *transaction)
        .await?;
    if !is_free {
        return Ok(None);
    }
    sqlx::query(LOCK_TIMEOUT).execute(&mut *transaction).await?;
    match step(&mut transaction).await {
        Ok(()) => transaction.commit().await.map(Some).map_err(Into::into),
        Err(error) => {
            transaction.rollback().await?;
            match &error {
                StoreError::Database(cause) if is_in_the_way(cause) => Ok(None),
                _ => Err(error),
            }
        }
    }
}

fn is_in_the_way(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| IN_THE_WAY.contains(&code.as_ref()))
}

/// Makes one partition. Does nothing if another node has made it, or if entries of its time are in
/// `request_log_other`: these stay there, and so do those that follow until it ends.
async fn make(conn: &mut PgConnection, from: i64, to: i64) -> Result<(), StoreError> {
    let taken: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM request_log_other WHERE ts >= $1 AND ts < $2)",
    )
    .bind(from)
    .bind(to)
    .fetch_one(&mut *conn)
    .await?;
    let day = DateTime::from_timestamp_millis(from)
        .ok_or_else(|| StoreError::Damaged(format!("a partition from {from}")))?;
    let name = format!("request_log_{}", day.format("%Y%m%d"));
    let known: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
        .bind(&name)
        .fetch_one(&mut *conn)
        .await?;
    if taken || known {
        return Ok(());
    }
    let make = format!(
        "CREATE TABLE {name} (LIKE request_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
         ALTER TABLE request_log ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to})"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(make))
        .execute(conn)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(bounds: &[(i64, i64)]) -> Vec<Partition> {
        let days = bounds.iter();
        days.map(|(from, to)| (String::new(), from * DAY, to * DAY, 0))
            .collect()
    }

    fn missing(bounds: &[(i64, i64)], from: i64, until: i64, width: i64) -> Option<(i64, i64)> {
        let found = next(&there(bounds), from * DAY, until * DAY, width * DAY);
        found.map(|(from, to)| (from / DAY, to / DAY))
    }

    #[test]
    fn the_first_missing_day_is_made_and_overlaps_none() {
        assert_eq!(missing(&[], 5, 8, 1), Some((5, 6)));
        assert_eq!(missing(&[(1, 2), (5, 6)], 5, 8, 1), Some((6, 7)));
        assert_eq!(missing(&[(5, 6), (7, 8)], 5, 8, 7), Some((6, 7)));
        assert_eq!(missing(&[(1, 8)], 5, 8, 1), None);
        assert_eq!(missing(&[(1, 9)], 5, 8, 1), None);
        assert_eq!(missing(&[(9, 10)], 5, 8, 1), Some((5, 6)));
        assert_eq!(missing(&[(5, 8), (20, 21)], 5, 8, 1), None);
    }

    #[test]
    fn a_log_that_is_kept_for_long_has_longer_partitions() {
        assert_eq!(width(30 * DAY), DAY);
        assert_eq!(width(365 * DAY), 6 * DAY);
        assert!(width(i64::MAX) > 0);
    }
}

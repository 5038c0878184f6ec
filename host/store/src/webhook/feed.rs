//! The table `page_feeds`: which pages of a run its webhook has been told of (`crawl.page`).
//!
//! The events of pages are not stored. A delivery names a range of the run's pages, and its body
//! is made of their rows at each attempt. A run has one such delivery at a time, and the next one
//! begins behind it, so that a receiver gets the pages in order, a slow one delays nothing but its
//! own events, and what waits for it takes no room besides the pages themselves.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{MonitorId, PageId, RunId};
use orbweaver_core::webhook::Event;

use super::taken::{DeliverySubject, TakenDelivery};
use crate::db::{per_database, read, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::runs::Lease;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Most pages of one delivery.
pub const MAX_PAGES: u32 = 500;
/// Bytes of URLs, titles and content types after which a delivery has no further page.
const MAX_BYTES: i64 = 256 << 10;
/// How long a page waits for others before it is sent.
const WAIT: TimeDelta = TimeDelta::seconds(1);
/// Delivered deliveries of a run that are kept for its list of deliveries.
const KEPT: i64 = 20;

/// The pages that a delivery tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenPages {
    /// Their run.
    pub run: RunId,
    /// The monitor that started it.
    pub monitor: Option<MonitorId>,
    /// The run's seed as requested.
    pub run_url: String,
    /// They have higher ids.
    pub after: PageId,
    /// The last one.
    pub through: PageId,
    /// When the delivery was made.
    pub created_at: DateTime<Utc>,
}

#[derive(sqlx_macros::FromRow)]
pub(crate) struct FeedRow {
    project_id: i64,
    url: String,
    target: String,
    told_to: i64,
    status: String,
}

#[derive(sqlx_macros::FromRow)]
struct PageSize {
    id: i64,
    fetched_at: i64,
    bytes: i64,
}

/// What is to be done with the pages that the webhook was not told of.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// There are none, and there will be none.
    End,
    /// There are none yet.
    Idle,
    /// They wait for others until this time, in milliseconds.
    Wait(i64),
    /// Those up to this id are sent.
    Send(i64),
}

fn step(pages: &[PageSize], is_over: bool, now: i64) -> Step {
    let Some(first) = pages.first() else {
        return if is_over { Step::End } else { Step::Idle };
    };
    let mut bytes = 0;
    let mut last = first.id;
    let mut is_full = pages.len() >= MAX_PAGES as usize;
    for page in pages {
        bytes += page.bytes;
        if bytes > MAX_BYTES && page.id != first.id {
            is_full = true;
            break;
        }
        last = page.id;
    }
    let until = first.fetched_at.saturating_add(WAIT.num_milliseconds());
    if is_full || is_over || until <= now {
        Step::Send(last)
    } else {
        Step::Wait(until)
    }
}

per_database! {
    /// Tells the run's feed of pages that are stored; `first` is the first of them's time. It
    /// changes the feed's row in any case: whoever looks for pages or settles their delivery waits
    /// for this transaction then, and sees its pages. Otherwise, pages of a transaction that ends
    /// after the look would be told only with the next ones.
    pub(crate) async fn pages_stored(
        conn: &mut Conn,
        run: RunId,
        first: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE page_feeds SET due_at =
                 CASE WHEN delivery_id IS NULL THEN COALESCE(due_at, $2) ELSE due_at END
             WHERE run_id = $1",
        )
        .bind(run.get())
        .bind(to_ms(first + WAIT))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Lets the run's feed look for the last pages at once.
    pub(crate) async fn run_ended(
        conn: &mut Conn,
        run: RunId,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE page_feeds SET due_at = $2 WHERE run_id = $1 AND delivery_id IS NULL")
            .bind(run.get())
            .bind(to_ms(now))
            .execute(&mut *conn)
            .await?;
        Ok(())
    }

    /// Lets the feed go on behind a delivery that the receiver has accepted.
    pub(crate) async fn delivered(
        conn: &mut Conn,
        run: RunId,
        taken: &TakenDelivery,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE page_feeds SET due_at = $3, delivery_id = NULL
             WHERE run_id = $1 AND delivery_id = $2",
        )
        .bind(run.get())
        .bind(taken.id.get())
        .bind(to_ms(now))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// The feed of a run, if it is due. Nobody tells it of pages until the transaction ends, and
    /// later statements see those that it was told of.
    pub(crate) async fn lock_due(
        conn: &mut Conn,
        run: RunId,
        now: DateTime<Utc>,
    ) -> Result<Option<FeedRow>, StoreError> {
        // A run's worker commits under its lock of the run's row; the workers of parts do not.
        let lock = if IS_SHARED { "FOR NO KEY UPDATE OF f" } else { "" };
        let sql = format!(
            "SELECT f.project_id, f.url, f.target, f.told_to, r.status
             FROM page_feeds f JOIN runs r ON r.id = f.run_id
             WHERE f.run_id = $1 AND f.due_at <= $2 {lock}"
        );
        let feed = sqlx::query_as(sqlx::AssertSqlSafe(sql.as_str()))
            .bind(run.get())
            .bind(to_ms(now))
            .fetch_optional(&mut *conn)
            .await?;
        Ok(feed)
    }

    /// Writes the delivery of the pages up to `through`.
    pub(crate) async fn send(
        conn: &mut Conn,
        run: RunId,
        feed: &FeedRow,
        (message_id, through, now): (&str, i64, DateTime<Utc>),
    ) -> Result<(), StoreError> {
        let delivery: i64 = sqlx::query_scalar(
            "INSERT INTO deliveries (project_id, run_id, message_id, event, url, target,
                 pages_after, pages_through, next_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) RETURNING id",
        )
        .bind(feed.project_id)
        .bind(run.get())
        .bind(message_id)
        .bind(Event::Page.as_str())
        .bind(feed.url.as_str())
        .bind(feed.target.as_str())
        .bind(feed.told_to)
        .bind(through)
        .bind(to_ms(now))
        .fetch_one(&mut *conn)
        .await?;
        sqlx::query(
            "UPDATE page_feeds SET told_to = $2, due_at = NULL, delivery_id = $3 WHERE run_id = $1",
        )
        .bind(run.get())
        .bind(through)
        .bind(delivery)
        .execute(&mut *conn)
        .await?;
        sqlx::query(
            "DELETE FROM deliveries
             WHERE run_id = $1 AND event = $2 AND state = 'delivered' AND id NOT IN (
                 SELECT id FROM deliveries WHERE run_id = $1 AND event = $2
                 ORDER BY id DESC LIMIT $3)",
        )
        .bind(run.get())
        .bind(Event::Page.as_str())
        .bind(KEPT)
        .execute(&mut *conn)
        .await?;
        sql::runs::set_webhook_status(conn, run, "pending").await?;
        sql::notices::tell(conn, Topic::Work).await
    }
}

impl TakenDelivery {
    /// The pages that it tells of.
    pub fn pages(&self) -> Option<&TakenPages> {
        match &self.subject {
            DeliverySubject::Pages(pages) => Some(pages),
            DeliverySubject::Run(_)
            | DeliverySubject::Job { .. }
            | DeliverySubject::Plugin { .. } => None,
        }
    }
}

impl Store {
    /// Lets the run's webhook be told of every page, from the first one on. Does nothing if that
    /// is so already, or if the lease is no longer held.
    #[crate::boxed]
    pub async fn open_page_feed(
        &self,
        lease: Lease,
        url: &str,
        target: &str,
    ) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "INSERT INTO page_feeds (run_id, project_id, url, target)
                 SELECT id, project_id, $3, $4 FROM runs
                 WHERE id = $1 AND lease_epoch = $2 AND status = 'running'
                 ON CONFLICT (run_id) DO NOTHING",
            )
            .bind(lease.run.get())
            .bind(lease.epoch)
            .bind(url)
            .bind(target)
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Runs with pages that their webhook may have to be told of now.
    #[crate::boxed]
    pub async fn due_page_feeds(
        &self,
        now: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<RunId>, StoreError> {
        let runs: Vec<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT run_id FROM page_feeds WHERE due_at <= $1 ORDER BY due_at LIMIT $2",
            )
            .bind(to_ms(now))
            .bind(i64::from(limit))
            .fetch_all(pool)
            .await?
        });
        Ok(runs.into_iter().map(RunId).collect())
    }

    /// When the next feed of pages is due after `now`.
    #[crate::boxed]
    pub async fn next_page_feed(
        &self,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let next: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(
                "SELECT CAST(min(due_at) AS BIGINT) FROM page_feeds WHERE due_at > $1",
            )
            .bind(to_ms(now))
            .fetch_one(pool)
            .await?
        });
        Ok(next.map(from_ms))
    }

    /// Writes the next delivery of a run's pages, if it is time for one. `message_id` has to be
    /// new.
    #[crate::boxed]
    pub async fn send_pages(
        &self,
        run: RunId,
        message_id: &str,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            // Locks the run's row first, as ends and deletion do.
            sql::runs::count_webhook_attempts(tx, run, 0).await?;
            // Another node may have been first.
            let Some(feed) = sql::page_feeds::lock_due(tx, run, now).await? else {
                return Ok(());
            };
            let pages: Vec<PageSize> = sqlx::query_as(
                "SELECT id, fetched_at, CAST(octet_length(url) + octet_length(final_url)
                     + COALESCE(octet_length(title), 0)
                     + COALESCE(octet_length(content_type), 0) + 200 AS BIGINT) AS bytes
                 FROM pages WHERE project_id = $4 AND run_id = $1 AND id > $2
                 ORDER BY id LIMIT $3",
            )
            .bind(run.get())
            .bind(feed.told_to)
            .bind(i64::from(MAX_PAGES))
            .bind(feed.project_id)
            .fetch_all(&mut *tx)
            .await?;
            let is_over = matches!(feed.status.as_str(), "done" | "failed");
            match step(&pages, is_over, to_ms(now)) {
                Step::Send(through) => {
                    sql::page_feeds::send(tx, run, &feed, (message_id, through, now)).await
                }
                Step::End => {
                    sqlx::query("DELETE FROM page_feeds WHERE run_id = $1")
                        .bind(run.get())
                        .execute(&mut *tx)
                        .await?;
                    sql::runs::sum_up_webhook(tx, run, None).await
                }
                other => {
                    let due = match other {
                        Step::Wait(until) => Some(until),
                        _ => None,
                    };
                    sqlx::query("UPDATE page_feeds SET due_at = $2 WHERE run_id = $1")
                        .bind(run.get())
                        .bind(due)
                        .execute(&mut *tx)
                        .await?;
                    Ok(())
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(id: i64, bytes: i64) -> PageSize {
        PageSize {
            id,
            fetched_at: 1_000,
            bytes,
        }
    }

    #[test]
    fn pages_wait_for_others_a_second_at_most() {
        let two = [page(7, 300), page(9, 300)];
        assert_eq!(step(&two, false, 1_500), Step::Wait(2_000));
        assert_eq!(step(&two, false, 2_000), Step::Send(9));
        assert_eq!(step(&two, true, 1_500), Step::Send(9));
        assert_eq!(step(&[], false, 1_500), Step::Idle);
        assert_eq!(step(&[], true, 1_500), Step::End);
    }

    #[test]
    fn a_delivery_has_bounded_pages_and_bytes() {
        let many: Vec<PageSize> = (1..=500).map(|id| page(id, 300)).collect();
        assert_eq!(step(&many, false, 1_000), Step::Send(500));
        let large = [page(1, MAX_BYTES / 2), page(2, MAX_BYTES / 2), page(3, 1)];
        assert_eq!(step(&large, false, 1_000), Step::Send(2));
        // One page is sent however large it is.
        let huge = [page(1, MAX_BYTES * 2), page(2, 1)];
        assert_eq!(step(&huge, false, 1_000), Step::Send(1));
    }
}

//! Reservations of pages for work in progress, so that parallel work cannot exceed a cap.
//!
//! A reservation is a row with an expiry. What a project may still use is its caps minus the
//! billed and the reserved pages, both read in one statement, under a lock on the project's row
//! (on SQLite only one transaction writes at a time anyway). Billing shrinks the reservation in
//! the transaction that records the usage event, so that pages are never counted twice or not at
//! all. A process that dies has billed only what it stored, and its reservations end at the row's
//! `expires_at`.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike as _, Utc};
use orbweaver_core::ids::{ProjectId, ReservationId};

use crate::db::{per_database, push_list, signed, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{day, to_ms};

/// Reservations renewed per statement.
const RENEWED: usize = 500;

/// Pages of the two kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Standard pages.
    pub pages: u64,
    /// Cloud pages; they also count against the page caps.
    pub cloud_pages: u64,
}

impl Amount {
    /// Only standard pages.
    pub const fn pages(pages: u64) -> Self {
        Self {
            pages,
            cloud_pages: 0,
        }
    }

    /// Only cloud pages.
    pub const fn cloud(cloud_pages: u64) -> Self {
        Self {
            pages: 0,
            cloud_pages,
        }
    }

    /// Sum of both kinds, which the page caps limit.
    pub const fn total(self) -> u64 {
        self.pages.saturating_add(self.cloud_pages)
    }

    /// Whether both are 0.
    pub const fn is_zero(self) -> bool {
        self.pages == 0 && self.cloud_pages == 0
    }

    /// This amount minus `other`; each kind is at least 0.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self {
            pages: self.pages.saturating_sub(other.pages),
            cloud_pages: self.cloud_pages.saturating_sub(other.cloud_pages),
        }
    }

    /// Sum of two amounts.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            pages: self.pages.saturating_add(other.pages),
            cloud_pages: self.cloud_pages.saturating_add(other.cloud_pages),
        }
    }
}

/// Caps on pages; `None`: no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCaps {
    /// Pages and cloud pages per UTC day.
    pub day: Option<u64>,
    /// Pages and cloud pages per calendar month, UTC.
    pub month: Option<u64>,
    /// Cloud pages per UTC day.
    pub cloud_day: Option<u64>,
}

impl PageCaps {
    /// Whether there is no cap at all.
    pub const fn are_none(&self) -> bool {
        self.day.is_none() && self.month.is_none() && self.cloud_day.is_none()
    }
}

/// A cap, as the reason why a reservation is refused or reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCap {
    /// [`PageCaps::day`].
    Day,
    /// [`PageCaps::month`].
    Month,
    /// [`PageCaps::cloud_day`].
    CloudDay,
}

/// A request for a reservation.
#[derive(Clone, Copy, Debug)]
pub struct ReservationRequest {
    /// Requested pages.
    pub want: Amount,
    /// Whether a smaller reservation is acceptable, if it is not empty. Only for requests of one
    /// kind of page; a request of both kinds gets all or nothing.
    pub partial: bool,
    /// Current time; decides which day is billed.
    pub now: DateTime<Utc>,
    /// When the reservation expires.
    pub expires: DateTime<Utc>,
}

/// The answer to an [`ReservationRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationResult {
    /// The reserved pages; if they are fewer than requested, with the cap that limits them.
    Reserved(ReservationId, Amount, Option<ReachedCap>),
    /// A cap leaves too little; nothing is reserved.
    Capped(ReachedCap),
}

/// A cap that leaves less than was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedCap {
    /// The cap.
    pub cap: PageCap,
    /// Whether billed pages alone leave as little. If not, other reservations do, and what is left of
    /// them when they end can be reserved again.
    pub is_billed: bool,
    /// Whether reservations of several pages, made in advance, take what was requested: what is left of
    /// them is given back soon. A reservation of one page is work under way, which is likely billed.
    pub is_held_ahead: bool,
}

#[derive(Clone, Copy, Debug, Default, sqlx_macros::FromRow)]
struct Counted {
    today: i64,
    cloud: i64,
    month: i64,
    /// The reserved ones among these.
    held_today: i64,
    held_cloud: i64,
    held_month: i64,
    /// Those among these in reservations of several pages.
    ahead_today: i64,
    ahead_cloud: i64,
    ahead_month: i64,
}

impl Counted {
    /// Without the reserved ones.
    fn billed(self) -> Self {
        Self {
            today: self.today - self.held_today,
            cloud: self.cloud - self.held_cloud,
            month: self.month - self.held_month,
            ..Self::default()
        }
    }

    /// Without those that are reserved in advance.
    fn under_way(self) -> Self {
        Self {
            today: self.today - self.ahead_today,
            cloud: self.cloud - self.ahead_cloud,
            month: self.month - self.ahead_month,
            ..Self::default()
        }
    }
}

impl Store {
    /// Reserves pages. Exact across all nodes: the sum of billed and reserved pages never
    /// exceeds a cap.
    #[crate::boxed]
    pub async fn reserve(
        &self,
        project: ProjectId,
        caps: &PageCaps,
        request: &ReservationRequest,
    ) -> Result<ReservationResult, StoreError> {
        let today = day(request.now);
        let first = first_of_month(request.now);
        transact!(self.db, tx => {
            sql::projects::lock(tx, project).await?;
            let counted: Counted = sqlx::query_as(
                "SELECT
                     CAST(COALESCE(SUM(CASE WHEN day = $2 THEN pages + cloud_pages ELSE 0 END), 0)
                          AS BIGINT) AS today,
                     CAST(COALESCE(SUM(CASE WHEN day = $2 THEN cloud_pages ELSE 0 END), 0)
                          AS BIGINT) AS cloud,
                     CAST(COALESCE(SUM(pages + cloud_pages), 0) AS BIGINT) AS month,
                     CAST(COALESCE(SUM(CASE WHEN day = $2 THEN held ELSE 0 END), 0)
                          AS BIGINT) AS held_today,
                     CAST(COALESCE(SUM(CASE WHEN day = $2 THEN held_cloud ELSE 0 END), 0)
                          AS BIGINT) AS held_cloud,
                     CAST(COALESCE(SUM(held), 0) AS BIGINT) AS held_month,
                     CAST(COALESCE(SUM(CASE WHEN day = $2 AND held > 1 THEN held ELSE 0 END), 0)
                          AS BIGINT) AS ahead_today,
                     CAST(COALESCE(SUM(CASE WHEN day = $2 AND held > 1 THEN held_cloud ELSE 0 END),
                          0) AS BIGINT) AS ahead_cloud,
                     CAST(COALESCE(SUM(CASE WHEN held > 1 THEN held ELSE 0 END), 0)
                          AS BIGINT) AS ahead_month
                 FROM (
                     SELECT day, pages, cloud_pages, 0 AS held, 0 AS held_cloud FROM usage_days
                     WHERE project_id = $1 AND day >= $3 AND day <= $2
                     UNION ALL
                     SELECT day, pages, cloud_pages, pages + cloud_pages, cloud_pages
                     FROM quota_reservations
                     WHERE project_id = $1 AND day >= $3 AND day <= $2 AND expires_at > $4
                 ) AS counted",
            )
            .bind(project.get())
            .bind(&today)
            .bind(&first)
            .bind(to_ms(request.now))
            .fetch_one(&mut *tx)
            .await?;
            let verdict = judge(caps, counted, request);
            let is_the_same = |counted| {
                let without = judge(caps, counted, request);
                without.is_err() || without == verdict
            };
            let is_billed = is_the_same(counted.billed());
            let is_held_ahead = !is_the_same(counted.under_way());
            let reached = |cap| ReachedCap { cap, is_billed, is_held_ahead };
            let (granted, short) = match verdict {
                Ok((granted, short)) => (granted, short.map(reached)),
                Err(cap) => return Ok(ReservationResult::Capped(reached(cap))),
            };
            let id: i64 = sqlx::query_scalar(
                "INSERT INTO quota_reservations (project_id, day, pages, cloud_pages, expires_at)
                 VALUES ($1, $2, $3, $4, $5) RETURNING id",
            )
            .bind(project.get())
            .bind(&today)
            .bind(signed(granted.pages))
            .bind(signed(granted.cloud_pages))
            .bind(to_ms(request.expires))
            .fetch_one(&mut *tx)
            .await?;
            Ok(ReservationResult::Reserved(ReservationId(id), granted, short))
        })
    }

    /// Releases a part of a reservation; written with the next batch. Never blocks.
    pub fn release(&self, reservation: ReservationId, amount: Amount) {
        self.writer.release(reservation, amount);
    }

    /// Waits until everything that this process released before is written. Returns whether
    /// there was something.
    ///
    /// # Errors
    /// When the writer has ended.
    #[crate::boxed]
    pub async fn released(&self) -> Result<bool, StoreError> {
        self.writer.released().await
    }

    /// Extends reservations that are still in use.
    #[crate::boxed]
    pub async fn renew(
        &self,
        reservations: &[ReservationId],
        expires: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        for chunk in reservations.chunks(RENEWED) {
            transact!(self.db, tx => {
                let mut update = sqlx::QueryBuilder::new(
                    "UPDATE quota_reservations SET expires_at = ",
                );
                update.push_bind(to_ms(expires)).push(" WHERE id IN ");
                push_list(&mut update, chunk.iter().map(|id| id.get()));
                update.build().execute(&mut *tx).await?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The reservable amount, and the cap if it is less than requested; or, as the error, the cap
/// that blocks for the longest time.
fn judge(
    caps: &PageCaps,
    counted: Counted,
    request: &ReservationRequest,
) -> Result<(Amount, Option<PageCap>), PageCap> {
    let left = |cap: Option<u64>, used: i64| {
        cap.map_or(u64::MAX, |cap| {
            cap.saturating_sub(u64::try_from(used).unwrap_or(0))
        })
    };
    let (day, month) = (
        left(caps.day, counted.today),
        left(caps.month, counted.month),
    );
    let cloud = left(caps.cloud_day, counted.cloud);
    let (want, total) = (request.want, request.want.total());
    if total <= day && total <= month && want.cloud_pages <= cloud {
        return Ok((want, None));
    }
    let cap = if total > month {
        PageCap::Month
    } else if total > day {
        PageCap::Day
    } else {
        PageCap::CloudDay
    };
    let most = day.min(month);
    if request.partial && want.cloud_pages == 0 && most > 0 {
        return Ok((Amount::pages(want.pages.min(most)), Some(cap)));
    }
    if request.partial && want.pages == 0 && most.min(cloud) > 0 {
        let pages = want.cloud_pages.min(most).min(cloud);
        return Ok((Amount::cloud(pages), Some(cap)));
    }
    Err(cap)
}

/// First day of the month as `YYYY-MM-01`.
pub(crate) fn first_of_month(time: DateTime<Utc>) -> String {
    let date = time.date_naive();
    date.with_day(1)
        .unwrap_or(date)
        .format("%Y-%m-%d")
        .to_string()
}

per_database! {
    /// Subtracts amounts from reservations; deletes rows that are used up. The map's order prevents
    /// deadlocks between nodes.
    pub(crate) async fn shrink(
        conn: &mut Conn,
        taken: &BTreeMap<ReservationId, Amount>,
    ) -> Result<(), StoreError> {
        for (reservation, amount) in taken {
            let (pages, cloud_pages) = (signed(amount.pages), signed(amount.cloud_pages));
            let gone = sqlx::query(
                "DELETE FROM quota_reservations
                 WHERE id = $1 AND pages <= $2 AND cloud_pages <= $3",
            )
            .bind(reservation.get())
            .bind(pages)
            .bind(cloud_pages)
            .execute(&mut *conn)
            .await?;
            if gone.rows_affected() == 0 {
                sqlx::query(
                    "UPDATE quota_reservations SET
                         pages = CASE WHEN pages > $2 THEN pages - $2 ELSE 0 END,
                         cloud_pages =
                             CASE WHEN cloud_pages > $3 THEN cloud_pages - $3 ELSE 0 END
                     WHERE id = $1",
                )
                .bind(reservation.get())
                .bind(pages)
                .bind(cloud_pages)
                .execute(&mut *conn)
                .await?;
            }
        }
        Ok(())
    }

    /// Deletes all reservations.
    pub(crate) async fn delete_all(conn: &mut Conn) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM quota_reservations").execute(&mut *conn).await?;
        Ok(())
    }

    /// Deletes reservations that expired until `now`; returns how many.
    pub(crate) async fn delete_ended(conn: &mut Conn, now: i64) -> Result<u64, StoreError> {
        let done = sqlx::query("DELETE FROM quota_reservations WHERE expires_at <= $1")
            .bind(now)
            .execute(&mut *conn)
            .await?;
        Ok(done.rows_affected())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(want: Amount, partial: bool, counted: (i64, i64, i64)) -> Result<Amount, PageCap> {
        let caps = PageCaps {
            day: Some(200),
            month: Some(1_500),
            cloud_day: Some(100),
        };
        let (today, cloud, month) = counted;
        let request = ReservationRequest {
            want,
            partial,
            now: DateTime::UNIX_EPOCH,
            expires: DateTime::UNIX_EPOCH,
        };
        let counted = Counted {
            today,
            cloud,
            month,
            ..Counted::default()
        };
        judge(&caps, counted, &request).map(|(granted, _)| granted)
    }

    #[test]
    fn each_cap_limits_and_the_longest_wait_is_reported() {
        let one = Amount::pages(1);
        assert_eq!(judged(one, false, (199, 0, 199)), Ok(one));
        assert_eq!(judged(one, false, (200, 0, 200)), Err(PageCap::Day));
        assert_eq!(judged(one, false, (200, 0, 1_500)), Err(PageCap::Month));
        let cloud = Amount::cloud(1);
        assert_eq!(
            judged(cloud, false, (100, 100, 100)),
            Err(PageCap::CloudDay)
        );
        assert_eq!(judged(cloud, false, (200, 0, 200)), Err(PageCap::Day));
        let both = one.plus(cloud);
        assert_eq!(judged(both, true, (199, 0, 199)), Err(PageCap::Day));
    }

    #[test]
    fn a_partial_request_accepts_less() {
        assert_eq!(
            judged(Amount::pages(64), true, (190, 0, 190)),
            Ok(Amount::pages(10))
        );
        assert_eq!(
            judged(Amount::cloud(64), true, (95, 95, 95)),
            Ok(Amount::cloud(5))
        );
        assert_eq!(
            judged(Amount::pages(64), true, (200, 0, 200)),
            Err(PageCap::Day)
        );
        assert_eq!(
            judged(Amount::pages(64), false, (190, 0, 190)),
            Err(PageCap::Day)
        );
    }
}

//! Pages set aside for work under way, so that parallel work cannot overshoot a cap.
//!
//! A reservation is a row with an end. What a project may still do is its caps less what is
//! billed and what is reserved, both read in one statement, behind a lock of the project's
//! row (on SQLite every write is alone anyway). Billing shrinks the reservation in the
//! transaction that records the usage event, so the two never both count and never both
//! miss. A process that dies bills nothing that it has not stored, and what it held ends
//! with the row's `expires_at`.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike as _, Utc};
use orbweaver_core::ids::{ProjectId, ReservationId};

use crate::db::{Store, per_database, signed, transact};
use crate::error::StoreError;
use crate::time::{day, to_ms};

/// Reservations renewed by one statement.
const RENEWED: usize = 500;

/// Pages of the two kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Standard pages.
    pub pages: u64,
    /// Cloud pages; they count against the page caps, too.
    pub cloud_pages: u64,
}

impl Amount {
    /// Standard pages alone.
    pub const fn pages(pages: u64) -> Self {
        Self {
            pages,
            cloud_pages: 0,
        }
    }

    /// Cloud pages alone.
    pub const fn cloud(cloud_pages: u64) -> Self {
        Self {
            pages: 0,
            cloud_pages,
        }
    }

    /// Both kinds together: what the page caps compare.
    pub const fn total(self) -> u64 {
        self.pages.saturating_add(self.cloud_pages)
    }

    /// Whether both are 0.
    pub const fn is_zero(self) -> bool {
        self.pages == 0 && self.cloud_pages == 0
    }

    /// This amount minus `other`, of each kind at least 0.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self {
            pages: self.pages.saturating_sub(other.pages),
            cloud_pages: self.cloud_pages.saturating_sub(other.cloud_pages),
        }
    }

    /// Both together.
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

/// The cap that leaves too little.
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
pub struct Ask {
    /// How much.
    pub want: Amount,
    /// Less will do, as long as it is something. For asks of one kind of page; an ask of
    /// both kinds gets all or nothing.
    pub partial: bool,
    /// When; decides which day is billed.
    pub now: DateTime<Utc>,
    /// When the reservation ends by itself.
    pub expires: DateTime<Utc>,
}

/// The answer to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// So much is set aside; less than was asked for where a cap is named.
    Some(ReservationId, Amount, Option<PageCap>),
    /// A cap leaves too little.
    Capped(PageCap),
}

#[derive(Clone, Copy, Debug, sqlx_macros::FromRow)]
struct Counted {
    today: i64,
    cloud: i64,
    month: i64,
}

impl Store {
    /// Reserves pages. Exact on all nodes: the sum of billed and reserved pages never
    /// passes a cap.
    #[crate::boxed]
    pub async fn reserve(
        &self,
        project: ProjectId,
        caps: &PageCaps,
        ask: &Ask,
    ) -> Result<Granted, StoreError> {
        let today = day(ask.now);
        let first = first_of_month(ask.now);
        transact!(self.db, tx => {
            sql::projects::lock(tx, project).await?;
            let counted: Counted = sqlx::query_as(
                "SELECT
                     CAST(COALESCE(SUM(CASE WHEN day = $2 THEN pages + cloud_pages ELSE 0 END), 0)
                          AS BIGINT) AS today,
                     CAST(COALESCE(SUM(CASE WHEN day = $2 THEN cloud_pages ELSE 0 END), 0)
                          AS BIGINT) AS cloud,
                     CAST(COALESCE(SUM(pages + cloud_pages), 0) AS BIGINT) AS month
                 FROM (
                     SELECT day, pages, cloud_pages FROM usage_days
                     WHERE project_id = $1 AND day >= $3 AND day <= $2
                     UNION ALL
                     SELECT day, pages, cloud_pages FROM quota_reservations
                     WHERE project_id = $1 AND day >= $3 AND day <= $2 AND expires_at > $4
                 ) AS counted",
            )
            .bind(project.get())
            .bind(&today)
            .bind(&first)
            .bind(to_ms(ask.now))
            .fetch_one(&mut *tx)
            .await?;
            let (granted, short) = match judge(caps, counted, ask) {
                Ok(granted) => granted,
                Err(cap) => return Ok(Granted::Capped(cap)),
            };
            let id: i64 = sqlx::query_scalar(
                "INSERT INTO quota_reservations (project_id, day, pages, cloud_pages, expires_at)
                 VALUES ($1, $2, $3, $4, $5) RETURNING id",
            )
            .bind(project.get())
            .bind(&today)
            .bind(signed(granted.pages))
            .bind(signed(granted.cloud_pages))
            .bind(to_ms(ask.expires))
            .fetch_one(&mut *tx)
            .await?;
            Ok(Granted::Some(ReservationId(id), granted, short))
        })
    }

    /// Releases a part of a reservation; written with the next batch. Never waits.
    pub fn release(&self, reservation: ReservationId, amount: Amount) {
        self.writer.release(reservation, amount);
    }

    /// Postpones the end of reservations that are still in use.
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
                update.push_bind(to_ms(expires)).push(" WHERE id IN (");
                let mut ids = update.separated(", ");
                for id in chunk {
                    ids.push_bind(id.get());
                }
                update.push(")");
                update.build().execute(&mut *tx).await?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// How much may be had, and the cap where that is less than was asked for; else the cap that
/// stands in the way for the longest.
fn judge(
    caps: &PageCaps,
    counted: Counted,
    ask: &Ask,
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
    let (want, total) = (ask.want, ask.want.total());
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
    if ask.partial && want.cloud_pages == 0 && most > 0 {
        return Ok((Amount::pages(want.pages.min(most)), Some(cap)));
    }
    if ask.partial && want.pages == 0 && most.min(cloud) > 0 {
        let pages = want.cloud_pages.min(most).min(cloud);
        return Ok((Amount::cloud(pages), Some(cap)));
    }
    Err(cap)
}

/// `YYYY-MM-01`.
pub(crate) fn first_of_month(time: DateTime<Utc>) -> String {
    let date = time.date_naive();
    date.with_day(1)
        .unwrap_or(date)
        .format("%Y-%m-%d")
        .to_string()
}

per_database! {
    /// Takes amounts off reservations; rows that are used up go. The map's order keeps two
    /// nodes from waiting for each other.
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

    /// Ends all reservations.
    pub(crate) async fn delete_all(conn: &mut Conn) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM quota_reservations").execute(&mut *conn).await?;
        Ok(())
    }

    /// Removes reservations that ended until `now`: how many.
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
        let ask = Ask {
            want,
            partial,
            now: DateTime::UNIX_EPOCH,
            expires: DateTime::UNIX_EPOCH,
        };
        let counted = Counted {
            today,
            cloud,
            month,
        };
        judge(&caps, counted, &ask).map(|(granted, _)| granted)
    }

    #[test]
    fn each_cap_counts_and_the_longest_wait_is_named() {
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
    fn less_will_do_where_the_ask_says_so() {
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

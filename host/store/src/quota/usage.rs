//! Usage: append-only events of chargeable calls, and their totals per day.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use orbweaver_core::ids::{PageId, ProjectId, ReservationId};

use super::Amount;
use crate::db::{per_database, push_list, read, signed};
use crate::error::StoreError;
use crate::pages::NewPage;
use crate::store::Store;
use crate::time::{day, from_ms, to_ms};

/// Most that one call is billed, in millionths of a US dollar: nothing that is called costs a
/// thousandth of it, and the sums of nearly a billion such calls fit a column.
pub const MAX_COST_MICROS: u64 = 10_000_000_000;

/// A chargeable call.
#[derive(Clone, Debug)]
pub struct NewUsage {
    /// The project that is billed.
    pub project: ProjectId,
    /// Unique in the project: calls with the same token are billed once.
    pub token: String,
    /// Name of the call: `scan`, `bulk` …
    pub call: &'static str,
    /// Standard pages.
    pub pages: u64,
    /// Cloud pages.
    pub cloud_pages: u64,
    /// Cost in millionths of a US dollar. At most [`MAX_COST_MICROS`] of it is billed.
    pub cost_micros: u64,
    /// Time of the call; decides the billed day.
    pub at: DateTime<Utc>,
    /// Reservation from which the pages are subtracted.
    pub reservation: Option<ReservationId>,
}

/// Totals of a UTC day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageDay {
    /// The day.
    pub date: NaiveDate,
    /// Standard pages.
    pub pages: u64,
    /// Cloud pages.
    pub cloud_pages: u64,
    /// Cost in millionths of a US dollar.
    pub cost_micros: u64,
}

/// Totals of a UTC day and a kind of call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageCall {
    /// The day.
    pub date: NaiveDate,
    /// Name of the call: `scan`, `bulk` …
    pub call: String,
    /// Standard pages.
    pub pages: u64,
    /// Cloud pages.
    pub cloud_pages: u64,
    /// Cost in millionths of a US dollar.
    pub cost_micros: u64,
}

/// A usage event that is new.
#[derive(sqlx_macros::FromRow)]
struct Billed {
    project_id: i64,
    call: String,
    ts: i64,
    pages: i64,
    cloud_pages: i64,
    cost_micros: i64,
}

/// Adds to the total of a day.
const ADD_TO_DAY: &str = "INSERT INTO usage_days (project_id, day, pages, cloud_pages, cost_micros)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (project_id, day) DO UPDATE SET
        pages = usage_days.pages + excluded.pages,
        cloud_pages = usage_days.cloud_pages + excluded.cloud_pages,
        cost_micros = usage_days.cost_micros + excluded.cost_micros";

/// Adds to the total of a day and a kind of call.
const ADD_TO_CALL: &str =
    "INSERT INTO usage_calls (project_id, day, pages, cloud_pages, cost_micros, call)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (project_id, day, call) DO UPDATE SET
        pages = usage_calls.pages + excluded.pages,
        cloud_pages = usage_calls.cloud_pages + excluded.cloud_pages,
        cost_micros = usage_calls.cost_micros + excluded.cost_micros";

/// Sums of pages, cloud pages and cost, by project, day and kind of call. The map's order prevents
/// deadlocks between nodes.
fn sums(billed: &[Billed]) -> BTreeMap<(i64, String, &str), [i64; 3]> {
    let mut sums: BTreeMap<_, [i64; 3]> = BTreeMap::new();
    for event in billed {
        let key = (
            event.project_id,
            day(from_ms(event.ts)),
            event.call.as_str(),
        );
        let sum = sums.entry(key).or_default();
        let add = [event.pages, event.cloud_pages, event.cost_micros];
        for (total, more) in sum.iter_mut().zip(add) {
            *total = total.saturating_add(more);
        }
    }
    sums
}

/// Amounts to subtract from reservations for these events.
fn taken(events: &[&NewUsage]) -> BTreeMap<ReservationId, Amount> {
    let mut taken: BTreeMap<ReservationId, Amount> = BTreeMap::new();
    for event in events {
        if let Some(reservation) = event.reservation {
            let sum = taken.entry(reservation).or_default();
            *sum = sum.plus(Amount {
                pages: event.pages,
                cloud_pages: event.cloud_pages,
            });
        }
    }
    taken
}

per_database! {
    /// Records usage events: each token once, with the totals per day, and subtracts them from
    /// their reservations. Code that stores a paid result bills it here in the same transaction.
    pub(crate) async fn bill(conn: &mut Conn, events: &[&NewUsage]) -> Result<(), StoreError> {
        // The number of parameters per statement is limited, on SQLite to 32,766.
        for events in events.chunks(4_000) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO usage_events
                     (project_id, token, call, pages, cloud_pages, cost_micros, ts) ",
            );
            insert.push_values(events, |mut row, event| {
                row.push_bind(event.project.get())
                    .push_bind(event.token.as_str())
                    .push_bind(event.call)
                    .push_bind(signed(event.pages))
                    .push_bind(signed(event.cloud_pages))
                    .push_bind(signed(event.cost_micros.min(MAX_COST_MICROS)))
                    .push_bind(to_ms(event.at));
            });
            // Only inserted rows are returned: a known token was billed before.
            insert.push(
                " ON CONFLICT (project_id, token) DO NOTHING
                  RETURNING project_id, call, ts, pages, cloud_pages, cost_micros",
            );
            let billed: Vec<Billed> = insert.build_query_as().fetch_all(&mut *conn).await?;
            add_to_totals(conn, &billed).await?;
        }
        sql::reservations::shrink(conn, &taken(events)).await
    }

    async fn add_to_totals(conn: &mut Conn, billed: &[Billed]) -> Result<(), StoreError> {
        // SQLite takes several statements at once: each way to its thread and back is waited for.
        let at_once = [ADD_TO_DAY, ADD_TO_CALL].join(";");
        let statements: &[&str] = if IS_SHARED {
            &[ADD_TO_DAY, ADD_TO_CALL]
        } else {
            &[&at_once]
        };
        for ((project, day, call), [pages, cloud_pages, cost_micros]) in sums(billed) {
            for statement in statements {
                let mut add = sqlx::query(sqlx::AssertSqlSafe(*statement))
                    .bind(project)
                    .bind(day.as_str())
                    .bind(pages)
                    .bind(cloud_pages)
                    .bind(cost_micros);
                if *statement != ADD_TO_DAY {
                    add = add.bind(call);
                }
                add.execute(&mut *conn).await?;
            }
        }
        Ok(())
    }
}

#[derive(sqlx_macros::FromRow)]
struct DayRow {
    day: String,
    pages: i64,
    cloud_pages: i64,
    cost_micros: i64,
}

#[derive(sqlx_macros::FromRow)]
struct CallRow {
    day: String,
    call: String,
    pages: i64,
    cloud_pages: i64,
    cost_micros: i64,
}

/// The date of a stored day.
fn date(day: &str) -> Result<NaiveDate, StoreError> {
    let damaged = |_| StoreError::Damaged(format!("day: {day}"));
    day.parse().map_err(damaged)
}

impl Store {
    /// Bills a call, once per token; committed when this returns.
    #[crate::boxed]
    pub async fn bill(&self, usage: NewUsage) -> Result<(), StoreError> {
        self.writer.scan(None, Some(usage)).await.map(|_| ())
    }

    /// Stores a page and bills its call in one transaction; committed when this returns.
    #[crate::boxed]
    pub async fn save_page(
        &self,
        page: NewPage,
        usage: Option<NewUsage>,
    ) -> Result<Option<PageId>, StoreError> {
        self.writer.scan(Some(page), usage).await
    }

    /// Totals per day from `first` on, oldest first; days without usage are left out.
    #[crate::boxed]
    pub async fn usage_days(
        &self,
        project: ProjectId,
        first: NaiveDate,
    ) -> Result<Vec<UsageDay>, StoreError> {
        let rows: Vec<DayRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT day, pages, cloud_pages, cost_micros FROM usage_days
                 WHERE project_id = $1 AND day >= $2 ORDER BY day",
            )
            .bind(project.get())
            .bind(first.format("%Y-%m-%d").to_string())
            .fetch_all(pool)
            .await?
        });
        rows.into_iter()
            .map(|row| {
                Ok(UsageDay {
                    date: date(&row.day)?,
                    pages: u64::try_from(row.pages).unwrap_or_default(),
                    cloud_pages: u64::try_from(row.cloud_pages).unwrap_or_default(),
                    cost_micros: u64::try_from(row.cost_micros).unwrap_or_default(),
                })
            })
            .collect()
    }

    /// Totals per day and kind of call from `first` on, oldest first, then by call.
    #[crate::boxed]
    pub async fn usage_calls(
        &self,
        project: ProjectId,
        first: NaiveDate,
    ) -> Result<Vec<UsageCall>, StoreError> {
        let rows: Vec<CallRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT day, call, pages, cloud_pages, cost_micros FROM usage_calls
                 WHERE project_id = $1 AND day >= $2 ORDER BY day, call",
            )
            .bind(project.get())
            .bind(first.format("%Y-%m-%d").to_string())
            .fetch_all(pool)
            .await?
        });
        rows.into_iter()
            .map(|row| {
                Ok(UsageCall {
                    date: date(&row.day)?,
                    call: row.call,
                    pages: u64::try_from(row.pages).unwrap_or_default(),
                    cloud_pages: u64::try_from(row.cloud_pages).unwrap_or_default(),
                    cost_micros: u64::try_from(row.cost_micros).unwrap_or_default(),
                })
            })
            .collect()
    }

    /// Cloud usage billed since `since`, to the millisecond: cloud pages, and the cost of all calls in
    /// millionths of a US dollar. A call may cost something without a cloud page.
    #[crate::boxed]
    pub async fn cloud_usage_since(
        &self,
        project: ProjectId,
        since: DateTime<Utc>,
    ) -> Result<(u64, u64), StoreError> {
        let (pages, cost): (i64, i64) = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT CAST(COALESCE(SUM(cloud_pages), 0) AS BIGINT),
                        CAST(COALESCE(SUM(cost_micros), 0) AS BIGINT)
                 FROM usage_events
                 WHERE project_id = $1 AND ts > $2 AND (cloud_pages > 0 OR cost_micros > 0)",
            )
            .bind(project.get())
            .bind(to_ms(since))
            .fetch_one(pool)
            .await?
        });
        Ok((
            u64::try_from(pages).unwrap_or_default(),
            u64::try_from(cost).unwrap_or_default(),
        ))
    }

    /// Totals of all usage events: pages, cloud pages, millionths of a US dollar. For checking the
    /// totals per day, which must be equal.
    #[crate::boxed]
    pub async fn usage_total(&self, project: ProjectId) -> Result<(u64, u64, u64), StoreError> {
        let (pages, cloud, cost): (i64, i64, i64) = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT CAST(COALESCE(SUM(pages), 0) AS BIGINT),
                        CAST(COALESCE(SUM(cloud_pages), 0) AS BIGINT),
                        CAST(COALESCE(SUM(cost_micros), 0) AS BIGINT)
                 FROM usage_events WHERE project_id = $1",
            )
            .bind(project.get())
            .fetch_one(pool)
            .await?
        });
        Ok((
            u64::try_from(pages).unwrap_or_default(),
            u64::try_from(cloud).unwrap_or_default(),
            u64::try_from(cost).unwrap_or_default(),
        ))
    }

    /// Those of these tokens that are already billed.
    #[crate::boxed]
    pub async fn billed_tokens(
        &self,
        project: ProjectId,
        tokens: &[String],
    ) -> Result<Vec<String>, StoreError> {
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        read!(self.db, pool => {
            let mut select = sqlx::QueryBuilder::new(
                "SELECT token FROM usage_events WHERE project_id = ",
            );
            select.push_bind(project.get()).push(" AND token IN ");
            push_list(&mut select, tokens.iter().map(|token| token.as_str()));
            Ok(select.build_query_scalar().fetch_all(pool).await?)
        })
    }
}

//! What is billed: append-only events and their sums per day.

use chrono::{DateTime, NaiveDate, Utc};
use orbweaver_core::ids::{PageId, ProjectId};

use crate::db::{Store, read};
use crate::error::StoreError;
use crate::pages::NewPage;

/// A chargeable call.
#[derive(Clone, Debug)]
pub struct NewUsage {
    /// Who pays.
    pub project: ProjectId,
    /// Unique in the project: the same call with the same token is billed once.
    pub token: String,
    /// Which call: `scan`, `bulk` …
    pub call: &'static str,
    /// Standard pages.
    pub pages: u64,
    /// Cloud pages.
    pub cloud_pages: u64,
    /// Cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// When.
    pub at: DateTime<Utc>,
}

/// Sums of a UTC day.
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

#[derive(sqlx::FromRow)]
struct Row {
    day: String,
    pages: i64,
    cloud_pages: i64,
    cost_micros: i64,
}

impl Store {
    /// Bills a call, once per token; committed when this returns.
    pub async fn bill(&self, usage: NewUsage) -> Result<(), StoreError> {
        self.writer.scan(None, Some(usage)).await.map(|_| ())
    }

    /// Stores a page and bills its call in one transaction; committed when this returns.
    pub async fn save_page(
        &self,
        page: NewPage,
        usage: Option<NewUsage>,
    ) -> Result<Option<PageId>, StoreError> {
        self.writer.scan(Some(page), usage).await
    }

    /// Sums per day from `first` on, oldest first; days without usage are left out.
    pub async fn usage_days(
        &self,
        project: ProjectId,
        first: NaiveDate,
    ) -> Result<Vec<UsageDay>, StoreError> {
        let rows: Vec<Row> = read!(self.db, pool => {
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
                    date: row
                        .day
                        .parse()
                        .map_err(|_| StoreError::Damaged(format!("day: {}", row.day)))?,
                    pages: u64::try_from(row.pages).unwrap_or_default(),
                    cloud_pages: u64::try_from(row.cloud_pages).unwrap_or_default(),
                    cost_micros: u64::try_from(row.cost_micros).unwrap_or_default(),
                })
            })
            .collect()
    }
}

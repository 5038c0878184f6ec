//! Usage of a project in this month, cached where no other process bills.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use moka::sync::Cache;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::{Amount, Store, StoreError};

/// Number of projects whose usage is cached.
const KEPT: u64 = 10_000;
/// Longest time in the cache: another program may use the same database file.
const FRESH: Duration = Duration::from_secs(1);

/// Pages of both kinds and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagesAndCost {
    /// Number of pages.
    pub amount: Amount,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
}

/// A project's usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageTotals {
    /// The current UTC day.
    pub date: NaiveDate,
    /// Usage of that day.
    pub today: PagesAndCost,
    /// Usage of the calendar month up to that day.
    pub month: PagesAndCost,
    /// Queued and running crawl runs.
    pub concurrent_runs: u32,
}

/// Reads the usage of projects. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Usage {
    store: Store,
    kept: Cache<ProjectId, Arc<CachedTotals>>,
}

#[derive(Debug)]
struct CachedTotals {
    changes: u64,
    at: Instant,
    used: UsageTotals,
}

impl Usage {
    /// Creates it with an empty cache.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            kept: Cache::new(KEPT),
        }
    }

    /// Usage of today and this month. It is exact: everything billed before this call is
    /// included.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn current(
        &self,
        project: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<UsageTotals, StoreError> {
        let date = now.date_naive();
        // Read before the figures, so that a change in between is noticed.
        let changes = self.store.changes();
        if let Some(changes) = changes
            && let Some(kept) = self.kept.get(&project)
            && kept.changes == changes
            && kept.used.date == date
            && kept.at.elapsed() < FRESH
        {
            return Ok(kept.used);
        }
        let used = self.read(project, date).await?;
        if let Some(changes) = changes {
            let kept = CachedTotals {
                changes,
                at: Instant::now(),
                used,
            };
            self.kept.insert(project, Arc::new(kept));
        }
        Ok(used)
    }

    async fn read(&self, project: ProjectId, date: NaiveDate) -> Result<UsageTotals, StoreError> {
        let first = date.with_day(1).unwrap_or(date);
        let mut used = UsageTotals {
            date,
            today: PagesAndCost::default(),
            month: PagesAndCost::default(),
            concurrent_runs: self.store.active_runs(project).await?,
        };
        for day in self.store.usage_days(project, first).await? {
            if day.date > date {
                continue;
            }
            let amount = Amount {
                pages: day.pages,
                cloud_pages: day.cloud_pages,
            };
            used.month.amount = used.month.amount.plus(amount);
            let cost = used.month.cost_micros.saturating_add(day.cost_micros);
            used.month.cost_micros = cost;
            if day.date == date {
                used.today = PagesAndCost {
                    amount,
                    cost_micros: day.cost_micros,
                };
            }
        }
        Ok(used)
    }
}

/// Millionths of a US dollar in dollars.
pub fn dollars(micros: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact up to nine billion dollars"
    )]
    let micros = micros as f64;
    micros / 1e6
}

/// The used part of a cap in percent, with two decimals, 0 to 100; `None` without a cap.
pub fn percent(used: u64, cap: Option<u64>) -> Option<f64> {
    let cap = cap?;
    if used >= cap {
        return Some(100.0);
    }
    // In hundredths, rounded down, so that 100 means that nothing is left.
    let hundredths = u128::from(used) * 10_000 / u128::from(cap);
    u32::try_from(hundredths)
        .ok()
        .map(|hundredths| f64::from(hundredths) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_end_at_100_and_not_before() {
        for (used, cap, expected) in [
            (0, Some(200), Some(0.0)),
            (1, Some(200), Some(0.5)),
            (199_999, Some(200_000), Some(99.99)),
            (200, Some(200), Some(100.0)),
            (300, Some(200), Some(100.0)),
            (0, Some(0), Some(100.0)),
            (u64::MAX - 1, Some(u64::MAX), Some(99.99)),
            (5, None, None),
        ] {
            assert_eq!(percent(used, cap), expected, "{used} of {cap:?}");
        }
    }
}

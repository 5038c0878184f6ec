//! The difference between two runs, by the content hashes of their pages.
//!
//! A page is identified by its normalised URL. A status of 408, 425, 429 or 5xx is a temporary
//! failure that says nothing about the page's content, so such a page is never `changed`: if
//! both runs have it, it counts as unchanged; if only the new run has it, it is ignored. Three
//! more rules hold between two runs of one monitor:
//!
//! - A page that failed temporarily in the old run is compared with the last earlier run of the
//!   monitor that has its content.
//! - A page that a run could not fetch, or had not reached when it ended, is neither `removed`
//!   because it is absent there, nor `added` because it is present in the other run.
//! - The same holds for every page absent from a run that ended early (at a budget or a cap),
//!   or from a run in which a page of the other run failed: unseen links may have led to it.

use orbweaver_core::ids::{MonitorId, ProjectId, RunId};
use orbweaver_core::webhook::DiffCounts;

use super::unreliable;
use crate::db::{Store, read};
use crate::error::StoreError;
use crate::runs::{Run, SkipReason};

/// A page of one run only, or of both with different content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentPage {
    /// URL as requested; for pages of both runs that of the new run.
    pub url: String,
    /// Content hash in the old run.
    pub old_hash: Option<String>,
    /// Content hash in the new run.
    pub new_hash: Option<String>,
}

/// The difference between two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunDiff {
    /// Pages of the new run only, in its order.
    pub added: Vec<DifferentPage>,
    /// Pages of the old run only, in its order.
    pub removed: Vec<DifferentPage>,
    /// Pages with different content, in the order of the new run.
    pub changed: Vec<DifferentPage>,
    /// Pages with the same content.
    pub unchanged: u64,
}

#[derive(sqlx_macros::FromRow)]
struct Count {
    class: String,
    pages: i64,
}

#[derive(sqlx_macros::FromRow)]
struct Row {
    class: String,
    url: String,
    old_hash: Option<String>,
    new_hash: Option<String>,
}

/// Every page of either run with its class. Parameters: $1 old run, $2 new run, $3 project, $4 the
/// monitor of both or 0, $5 and $6 whether the old and the new run ended early (1 or 0).
macro_rules! classes {
    () => {
        concat!(
            "SELECT n.id, n.url, ",
            "CASE WHEN o.id IS NOT NULL AND ", unreliable!("o.status"), " THEN ",
            before!("n.url_key"), " ELSE o.content_hash END AS old_hash, ",
            "n.content_hash AS new_hash,
             CASE
                 WHEN ", unreliable!("n.status"), " THEN
                     CASE WHEN o.id IS NULL THEN 'unknown' ELSE 'unchanged' END
                 WHEN o.id IS NULL THEN
                     CASE WHEN $4 <> 0 AND ($5 = 1 OR n.key_hash IN (
                             SELECT key_hash FROM frontier WHERE run_id = $1 AND state IN (0, 2)))
                         THEN 'unknown' ELSE 'added' END
                 WHEN ", unreliable!("o.status"), " THEN
                     CASE WHEN $4 = 0 THEN 'unchanged'
                          WHEN ", before!("n.url_key"), " IS NULL THEN 'added'
                          WHEN ", before!("n.url_key"), " = n.content_hash THEN 'unchanged'
                          ELSE 'changed' END
                 WHEN o.content_hash = n.content_hash
                     OR (o.content_hash IS NULL AND n.content_hash IS NULL) THEN 'unchanged'
                 ELSE 'changed'
             END AS class
             FROM pages n
             LEFT JOIN pages o ON o.run_id = $1 AND o.url_key = n.url_key
             WHERE n.run_id = $2 AND n.project_id = $3
             UNION ALL
             SELECT o.id, o.url, o.content_hash AS old_hash, NULL AS new_hash,
             CASE WHEN $4 <> 0 AND ($6 = 1 OR o.key_hash IN (
                     SELECT key_hash FROM frontier WHERE run_id = $2 AND state IN (0, 2)))
                 THEN 'unknown' ELSE 'removed' END AS class
             FROM pages o
             WHERE o.run_id = $1 AND o.project_id = $3
               AND NOT EXISTS (SELECT 1 FROM pages n WHERE n.run_id = $2 AND n.url_key = o.url_key)"
        )
    };
}

/// The last content hash in the monitor's runs before the old one.
macro_rules! before {
    ($key:literal) => {
        concat!(
            "(SELECT b.content_hash FROM runs r JOIN pages b ON b.run_id = r.id AND b.url_key = ",
            $key,
            " WHERE r.monitor_id = $4 AND r.id < $1 AND NOT ",
            unreliable!("b.status"),
            " ORDER BY r.id DESC LIMIT 1)"
        )
    };
}

/// The runs to compare, with the facts that the rules need.
struct Pair {
    old: RunId,
    new: RunId,
    monitor: Option<MonitorId>,
    old_short: bool,
    new_short: bool,
}

impl Pair {
    fn of(old: &Run, new: &Run) -> Self {
        Self {
            old: old.id,
            new: new.id,
            monitor: old.monitor.filter(|_| old.monitor == new.monitor),
            old_short: ended_early(old),
            new_short: ended_early(new),
        }
    }

    /// The monitor's id as a parameter: 0 if there is none.
    fn monitor(&self) -> i64 {
        self.monitor.map_or(0, |id| id.get())
    }
}

/// Whether a run ended before it had fetched all its pages.
fn ended_early(run: &Run) -> bool {
    run.error_message.is_some()
        || run.progress.queued > 0
        || run.progress.skipped_for(SkipReason::Budget) > 0
}

impl Store {
    /// The difference between two runs of the project. It is empty if one of the runs does not
    /// exist.
    #[crate::boxed]
    pub async fn diff(
        &self,
        project: ProjectId,
        old: RunId,
        new: RunId,
    ) -> Result<RunDiff, StoreError> {
        let mut diff = RunDiff::default();
        let Some((old, new)) = self.pair(project, old, new).await? else {
            return Ok(diff);
        };
        let pair = self.compared(&old, &new).await?;
        let rows: Vec<Row> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT class, url, old_hash, new_hash FROM (",
                classes!(),
                ") pages WHERE class IN ('added', 'removed', 'changed') ORDER BY id"
            ))
            .bind(pair.old.get())
            .bind(pair.new.get())
            .bind(project.get())
            .bind(pair.monitor())
            .bind(i64::from(pair.old_short))
            .bind(i64::from(pair.new_short))
            .fetch_all(pool)
            .await?
        });
        for row in rows {
            let list = match row.class.as_str() {
                "added" => &mut diff.added,
                "removed" => &mut diff.removed,
                _ => &mut diff.changed,
            };
            list.push(DifferentPage {
                url: row.url,
                old_hash: row.old_hash,
                new_hash: row.new_hash,
            });
        }
        diff.unchanged = self.count(project, &pair).await?.unchanged;
        Ok(diff)
    }

    /// Counts of the difference between two runs; `None` unless both belong to the project.
    /// `early`: the new run is about to end before it has fetched all its pages.
    #[crate::boxed]
    pub async fn count_diff(
        &self,
        project: ProjectId,
        old: RunId,
        new: RunId,
        early: bool,
    ) -> Result<Option<DiffCounts>, StoreError> {
        let Some((old, new)) = self.pair(project, old, new).await? else {
            return Ok(None);
        };
        let mut pair = self.compared(&old, &new).await?;
        pair.new_short |= early;
        self.count(project, &pair).await.map(Some)
    }

    async fn pair(
        &self,
        project: ProjectId,
        old: RunId,
        new: RunId,
    ) -> Result<Option<(Run, Run)>, StoreError> {
        let (old, new) = (self.run(project, old).await?, self.run(project, new).await?);
        Ok(old.zip(new))
    }

    /// The pair, with whether pages absent from each run may have been hidden there.
    async fn compared(&self, old: &Run, new: &Run) -> Result<Pair, StoreError> {
        let mut pair = Pair::of(old, new);
        if pair.monitor.is_some() {
            pair.old_short = pair.old_short || self.hides(old.id, new.id).await?;
            pair.new_short = pair.new_short || self.hides(new.id, old.id).await?;
        }
        Ok(pair)
    }

    /// Whether a page with content in the other run failed temporarily in this run, or could not
    /// be fetched.
    async fn hides(&self, run: RunId, other: RunId) -> Result<bool, StoreError> {
        let found: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar(concat!(
                "SELECT k.id FROM pages k
                 LEFT JOIN pages t ON t.run_id = $1 AND t.url_key = k.url_key
                 WHERE k.run_id = $2 AND NOT ", unreliable!("k.status"),
                " AND (", unreliable!("t.status"),
                " OR (t.id IS NULL AND k.key_hash IN (
                     SELECT key_hash FROM frontier WHERE run_id = $1 AND state IN (0, 2))))
                 LIMIT 1"
            ))
            .bind(run.get())
            .bind(other.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(found.is_some())
    }

    async fn count(&self, project: ProjectId, pair: &Pair) -> Result<DiffCounts, StoreError> {
        let rows: Vec<Count> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT class, count(*) AS pages FROM (", classes!(), ") pages GROUP BY class"
            ))
            .bind(pair.old.get())
            .bind(pair.new.get())
            .bind(project.get())
            .bind(pair.monitor())
            .bind(i64::from(pair.old_short))
            .bind(i64::from(pair.new_short))
            .fetch_all(pool)
            .await?
        });
        let pages_of = |class| {
            rows.iter()
                .find(|row| row.class == class)
                .map_or(0, |row| u64::try_from(row.pages).unwrap_or_default())
        };
        Ok(DiffCounts {
            added: pages_of("added"),
            removed: pages_of("removed"),
            changed: pages_of("changed"),
            unchanged: pages_of("unchanged"),
        })
    }
}

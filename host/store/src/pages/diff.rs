//! The difference between two runs, by the content hashes of their pages.
//!
//! A page is identified by its normalised URL. A status of 408, 425, 429 or 5xx is a temporary
//! failure that says nothing about the page's content, so a page with one in either run is
//! `unavailable`: it has neither changed nor stayed as it was, and is no difference that a monitor
//! tells of. A page that answered 2xx and now answers 404 or 410 is `gone`, not `changed`. Of two errors
//! only the statuses are compared: the text of an error page may be another for every request.
//!
//! A page of the old run alone is `removed` only if the new run would have come to it. It is `unvisited`
//! where the new run could not fetch it, does not go as deep, has not begun, ended early (at a budget or a
//! cap, or with URLs that waited), or could not read a sitemap to its end that the old run could.
//!
//! Three more rules hold between two runs of one monitor:
//!
//! - A page that failed temporarily in the old run alone is compared with the monitor's last run
//!   before that had its content: it is `unavailable` if it has that content again, `gone` or `changed` if
//!   not, and `added` if no run had any.
//! - A page that the old run could not fetch, or had not come to when it ended, is not `added`
//!   by its absence there.
//! - Neither is any page that is absent from an old run which ended early, could not read a sitemap that
//!   the new run could, or in which a page of the new run failed temporarily, could not be fetched or was
//!   refused (401, 403): links that nobody saw may have led to it. By the same measure a page that is
//!   absent from the new run is `unvisited`. A page that is not `added` for these rules is of no kind, and
//!   is not counted.

use orbweaver_core::ids::{MonitorId, PageId, ProjectId, RunId};
use orbweaver_core::webhook::{DiffCounts, DiffUrls};

use super::unreliable;
use crate::db::read_replica;
use crate::error::StoreError;
use crate::runs::{Run, RunState, SkipReason};
use crate::store::Store;

/// URLs of each kind that a webhook names.
const MOST_URLS: usize = 100;
/// Bytes of all URLs that a webhook names.
const MAX_URL_BYTES: usize = 64 << 10;
/// Differing pages that are read for these.
const MOST_ROWS: i64 = 1_000;

/// A page of only one run, or of two with different content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentPage {
    /// URL as requested; for pages of both runs that of the new run.
    pub url: String,
    /// Content hash in the old run.
    pub old_hash: Option<String>,
    /// Content hash in the new run.
    pub new_hash: Option<String>,
    /// HTTP status in the old run.
    pub old_status: Option<u16>,
    /// HTTP status in the new run.
    pub new_status: Option<u16>,
    /// The page in the old run.
    pub old_page: Option<PageId>,
    /// The page in the new run.
    pub new_page: Option<PageId>,
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
    /// Pages that answered 2xx in the old run and answer 404 or 410 in the new one.
    pub gone: Vec<DifferentPage>,
    /// Pages of the old run that the new one did not come to, in the old run's order.
    pub unvisited: Vec<DifferentPage>,
    /// Pages that failed temporarily in one of the runs, or in both, so that their content is not
    /// compared, in the order of the new run.
    pub unavailable: Vec<DifferentPage>,
    /// Pages with the same content.
    pub unchanged: u64,
}

#[derive(sqlx_macros::FromRow)]
struct Count {
    class: String,
    pages: i64,
}

#[derive(sqlx_macros::FromRow)]
struct DiffRow {
    class: String,
    url: String,
    old_hash: Option<String>,
    new_hash: Option<String>,
    old_status: Option<i64>,
    new_status: Option<i64>,
    old_page: Option<i64>,
    new_page: Option<i64>,
}

#[derive(sqlx_macros::FromRow)]
struct UrlRow {
    class: String,
    url: String,
}

/// Every page of either run with its class: $1 old run, $2 new run, $3 project, $4 the
/// monitor of both or 0, $5 and $6 whether the old and the new run ended early (1 or 0), $7
/// how many links from the seed the new run goes.
macro_rules! classes {
    () => {
        concat!(
            "SELECT n.id, n.url, ",
            "CASE WHEN o.id IS NOT NULL AND ",
            unreliable!("o.status"),
            " THEN ",
            before!("n.url_key"),
            " ELSE o.content_hash END AS old_hash, ",
            "n.content_hash AS new_hash, o.status AS old_status, n.status AS new_status,
             o.id AS old_page, n.id AS new_page,
             CASE
                 WHEN ",
            unreliable!("n.status"),
            " THEN 'unavailable'
                 WHEN o.id IS NULL THEN
                     CASE WHEN $4 <> 0 AND ($5 = 1 OR n.key_hash IN (
                             SELECT key_hash FROM frontier
                             WHERE project_id = $3 AND run_id = $1 AND state IN (0, 2)))
                         THEN 'unknown' ELSE 'added' END
                 WHEN ",
            unreliable!("o.status"),
            " THEN
                     CASE WHEN $4 = 0 THEN 'unavailable'
                          WHEN ",
            before!("n.url_key"),
            " IS NULL THEN 'added'
                          WHEN ",
            before!("n.url_key"),
            " = n.content_hash THEN 'unavailable'
                          WHEN n.status IN (404, 410) THEN 'gone'
                          ELSE 'changed' END
                 WHEN o.status BETWEEN 200 AND 299 AND n.status IN (404, 410) THEN 'gone'
                 WHEN o.status = n.status AND n.status >= 400 THEN 'unchanged'
                 WHEN o.content_hash = n.content_hash
                     OR (o.content_hash IS NULL AND n.content_hash IS NULL) THEN 'unchanged'
                 ELSE 'changed'
             END AS class
             FROM pages n
             LEFT JOIN pages o
                 ON o.project_id = $3 AND o.run_id = $1 AND o.url_key = n.url_key
             WHERE n.run_id = $2 AND n.project_id = $3
             UNION ALL
             SELECT o.id, o.url, o.content_hash AS old_hash, NULL AS new_hash,
             o.status AS old_status, NULL AS new_status, o.id AS old_page, NULL AS new_page,
             CASE WHEN $6 = 1 OR o.depth > $7 OR o.key_hash IN (
                     SELECT key_hash FROM frontier
                     WHERE project_id = $3 AND run_id = $2 AND state IN (0, 2))
                 THEN 'unvisited' ELSE 'removed' END AS class
             FROM pages o
             WHERE o.run_id = $1 AND o.project_id = $3
               AND NOT EXISTS (SELECT 1 FROM pages n
                   WHERE n.project_id = $3 AND n.run_id = $2 AND n.url_key = o.url_key)"
        )
    };
}

/// The last content hash in the monitor's runs before the old one.
macro_rules! before {
    ($key:literal) => {
        concat!(
            "(SELECT b.content_hash FROM runs r
              JOIN pages b ON b.project_id = $3 AND b.run_id = r.id AND b.url_key = ",
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
    /// Links from the seed that the new run follows.
    depth: i64,
}

impl Pair {
    fn new(old: &Run, new: &Run) -> Self {
        Self {
            old: old.id,
            new: new.id,
            monitor: old.monitor.filter(|_| old.monitor == new.monitor),
            old_short: ended_early(old),
            new_short: ended_early(new),
            depth: depth(new),
        }
    }

    /// The monitor's id as a parameter: 0 if there is none.
    fn monitor(&self) -> i64 {
        self.monitor.map_or(0, |id| id.get())
    }
}

/// What the rules need of a run's specification.
#[derive(Default, serde::Deserialize)]
struct Spec {
    depth: Option<i64>,
    seed_kind: Option<String>,
}

impl Spec {
    fn of(run: &Run) -> Self {
        serde_json::from_str(&run.spec).unwrap_or_default()
    }
}

/// The depth limit of a run.
fn depth(run: &Run) -> i64 {
    Spec::of(run).depth.unwrap_or(i64::MAX)
}

/// Whether a run reads sitemaps.
fn reads_sitemaps(run: &Run) -> bool {
    Spec::of(run).seed_kind.as_deref() == Some("sitemap")
}

/// Whether a run ended before it had fetched all its pages, or has not begun.
fn ended_early(run: &Run) -> bool {
    run.status == RunState::Queued
        || run.error_message.is_some()
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
        let rows: Vec<DiffRow> = read_replica!(self, pool => {
            sqlx::query_as(concat!(
                "SELECT class, url, old_hash, new_hash, old_status, new_status, old_page, new_page
                 FROM (", classes!(), ") pages
                 WHERE class IN ('added', 'removed', 'changed', 'gone', 'unvisited', 'unavailable')
                 ORDER BY id"
            ))
            .bind(pair.old.get())
            .bind(pair.new.get())
            .bind(project.get())
            .bind(pair.monitor())
            .bind(i64::from(pair.old_short))
            .bind(i64::from(pair.new_short))
            .bind(pair.depth)
            .fetch_all(pool)
            .await?
        });
        for row in rows {
            let list = match row.class.as_str() {
                "added" => &mut diff.added,
                "removed" => &mut diff.removed,
                "gone" => &mut diff.gone,
                "unvisited" => &mut diff.unvisited,
                "unavailable" => &mut diff.unavailable,
                _ => &mut diff.changed,
            };
            let status = |status: Option<i64>| status.and_then(|status| u16::try_from(status).ok());
            list.push(DifferentPage {
                url: row.url,
                old_hash: row.old_hash,
                new_hash: row.new_hash,
                old_status: status(row.old_status),
                new_status: status(row.new_status),
                old_page: row.old_page.map(PageId),
                new_page: row.new_page.map(PageId),
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

    /// URLs of the first pages that differ between two runs, in the order of storing, and after them of
    /// those that are unavailable; empty unless both runs are the project's. `early` as for [`count_diff`](Self::count_diff).
    #[crate::boxed]
    pub async fn diff_urls(
        &self,
        project: ProjectId,
        old: RunId,
        new: RunId,
        early: bool,
    ) -> Result<DiffUrls, StoreError> {
        let mut urls = DiffUrls {
            complete: true,
            ..DiffUrls::default()
        };
        let Some((old, new)) = self.pair(project, old, new).await? else {
            return Ok(urls);
        };
        let mut pair = self.compared(&old, &new).await?;
        pair.new_short |= early;
        let rows: Vec<UrlRow> = read_replica!(self, pool => {
            sqlx::query_as(concat!(
                "SELECT class, url FROM (", classes!(), ") pages
                 WHERE class IN ('added', 'removed', 'changed', 'gone', 'unavailable')
                 ORDER BY CASE class WHEN 'unavailable' THEN 1 ELSE 0 END, id LIMIT $8"
            ))
            .bind(pair.old.get())
            .bind(pair.new.get())
            .bind(project.get())
            .bind(pair.monitor())
            .bind(i64::from(pair.old_short))
            .bind(i64::from(pair.new_short))
            .bind(pair.depth)
            .bind(MOST_ROWS)
            .fetch_all(pool)
            .await?
        });
        urls.complete = (rows.len() as i64) < MOST_ROWS;
        let mut bytes = 0;
        for row in rows {
            let list = match row.class.as_str() {
                "added" => &mut urls.added,
                "removed" => &mut urls.removed,
                "gone" => &mut urls.gone,
                "unavailable" => &mut urls.unavailable,
                _ => &mut urls.changed,
            };
            bytes += row.url.len();
            if list.len() < MOST_URLS && bytes <= MAX_URL_BYTES {
                list.push(row.url);
            } else {
                urls.complete = false;
            }
        }
        Ok(urls)
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
        let mut pair = Pair::new(old, new);
        pair.old_short = pair.old_short || self.lists_less(old, new).await?;
        pair.new_short = pair.new_short || self.lists_less(new, old).await?;
        if pair.monitor.is_some() {
            pair.old_short = pair.old_short || self.hides(old.project, old.id, new.id).await?;
            pair.new_short = pair.new_short || self.hides(new.project, new.id, old.id).await?;
        }
        Ok(pair)
    }

    /// Whether a page with content in the other run failed temporarily in this run, could not
    /// be fetched, or was refused here and not there.
    async fn hides(
        &self,
        project: ProjectId,
        run: RunId,
        other: RunId,
    ) -> Result<bool, StoreError> {
        let found: Option<i64> = read_replica!(self, pool => {
            sqlx::query_scalar(concat!(
                "SELECT k.id FROM pages k
                 LEFT JOIN pages t
                     ON t.project_id = $3 AND t.run_id = $1 AND t.url_key = k.url_key
                 WHERE k.project_id = $3 AND k.run_id = $2 AND NOT ", unreliable!("k.status"),
                " AND (", unreliable!("t.status"),
                " OR (t.status IN (401, 403) AND k.status BETWEEN 200 AND 299)
                 OR (t.id IS NULL AND k.key_hash IN (
                     SELECT key_hash FROM frontier
                     WHERE project_id = $3 AND run_id = $1 AND state IN (0, 2))))
                 LIMIT 1"
            ))
            .bind(run.get())
            .bind(other.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(found.is_some())
    }

    /// Whether a sitemap that was read to its end in the other run could not be read in this run,
    /// or only in part: nobody saw what it lists.
    async fn lists_less(&self, run: &Run, other: &Run) -> Result<bool, StoreError> {
        if !reads_sitemaps(run) {
            return Ok(false);
        }
        let found: Option<i64> = read_replica!(self, pool => {
            sqlx::query_scalar(
                "SELECT e.seq FROM run_errors e
                 WHERE e.project_id = $3 AND e.run_id = $1 AND e.seq < 0
                   AND e.url NOT IN (SELECT k.url FROM run_errors k
                       WHERE k.project_id = $3 AND k.run_id = $2 AND k.seq < 0)
                 LIMIT 1",
            )
            .bind(run.id.get())
            .bind(other.id.get())
            .bind(run.project.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(found.is_some())
    }

    async fn count(&self, project: ProjectId, pair: &Pair) -> Result<DiffCounts, StoreError> {
        let rows: Vec<Count> = read_replica!(self, pool => {
            sqlx::query_as(concat!(
                "SELECT class, count(*) AS pages FROM (", classes!(), ") pages GROUP BY class"
            ))
            .bind(pair.old.get())
            .bind(pair.new.get())
            .bind(project.get())
            .bind(pair.monitor())
            .bind(i64::from(pair.old_short))
            .bind(i64::from(pair.new_short))
            .bind(pair.depth)
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
            gone: pages_of("gone"),
            unvisited: pages_of("unvisited"),
            unavailable: pages_of("unavailable"),
        })
    }
}

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
//! cap, or with URLs that waited), or could not read a sitemap to its end that the old run could. A run
//! could not fetch a page, too, if a URL that leads to it in the other run by a redirect could not be
//! fetched, or failed temporarily. A page that failed temporarily in the old run, and is absent from the new
//! one, is `unavailable`: there may never have been one, as where a URL that redirects answered 503.
//!
//! Three more rules hold between two runs of one monitor:
//!
//! - A page that failed temporarily in the old run alone is compared with the monitor's last run
//!   before that had its content: it is `unavailable` if it has that content again, `gone` or `changed` if
//!   not, and `added` if no run had any. If it is absent now, and a run had its content, it is `removed`.
//! - A page that the old run could not fetch, or had not come to when it ended, is not `added`
//!   by its absence there.
//! - Neither is any page that is absent from an old run which ended early, could not read a sitemap that
//!   the new run could, or in which a page of the new run, or one that a hook dropped there, failed
//!   temporarily or could not be fetched, or a page was refused (401, 403): links that nobody saw may have
//!   led to it. By the same measure a page that is absent from the new run is `unvisited`. A page that is
//!   not `added` for these rules is of no kind, and is not counted.
//! - What these rules leave open is told as soon as other runs answer it, because the next run is compared
//!   with this one. If earlier runs have shown every page that the old run hides, a page that none of them
//!   has is `added`. A page whose content differs from what the last run before had of it is `changed` or
//!   `gone`. And a page that was `unvisited` in the old run, and is absent again, is `removed` if the two
//!   together show every page that may lead to it.

use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_core::webhook::{DiffCounts, DiffUrls};

use super::compared::Pair;
use super::diff_sql::{before, classes, failed};
use super::unreliable;
use crate::db::read_replica;
use crate::error::StoreError;
use crate::store::Store;

/// URLs of each kind that a webhook names.
const MOST_URLS: usize = 100;
/// Bytes of all URLs that a webhook names.
const MAX_URL_BYTES: usize = 64 << 10;
/// Differing pages that are read for these.
const MOST_ROWS: i64 = 1_000;

/// A query of [`classes!`] with its parameters, `$1` to `$10`.
macro_rules! of_pair {
    ($project:expr, $pair:expr, $sql:expr) => {
        sqlx::query_as($sql)
            .bind($pair.old.get())
            .bind($pair.new.get())
            .bind($project.get())
            .bind($pair.monitor())
            .bind($pair.absence as i64)
            .bind(i64::from($pair.new_short))
            .bind($pair.depth)
            .bind($pair.carried[0])
            .bind($pair.carried[1])
            .bind($pair.carried[2])
    };
}

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
    /// The page in the old run; where that failed temporarily on it, in the run whose content counts.
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
            of_pair!(project, pair, concat!(
                "SELECT class, url, old_hash, new_hash, old_status, new_status, old_page, new_page
                 FROM (", classes!(), ") pages
                 WHERE class IN ('added', 'removed', 'changed', 'gone', 'unvisited', 'unavailable')
                 ORDER BY id"
            ))
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
        match self.pair_at_end(project, old, new, early).await? {
            Some(pair) => self.count(project, &pair).await.map(Some),
            None => Ok(None),
        }
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
        let Some(pair) = self.pair_at_end(project, old, new, early).await? else {
            return Ok(urls);
        };
        let rows: Vec<UrlRow> = read_replica!(self, pool => {
            of_pair!(project, pair, concat!(
                "SELECT class, url FROM (", classes!(), ") pages
                 WHERE class IN ('added', 'removed', 'changed', 'gone', 'unavailable')
                 ORDER BY CASE class WHEN 'unavailable' THEN 1 ELSE 0 END, id LIMIT $11"
            ))
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

    /// Two runs of the project, compared; `early` as for [`count_diff`](Self::count_diff).
    async fn pair_at_end(
        &self,
        project: ProjectId,
        old: RunId,
        new: RunId,
        early: bool,
    ) -> Result<Option<Pair>, StoreError> {
        let Some((old, new)) = self.pair(project, old, new).await? else {
            return Ok(None);
        };
        let mut pair = self.compared(&old, &new).await?;
        if early {
            pair.cut();
        }
        Ok(Some(pair))
    }

    async fn count(&self, project: ProjectId, pair: &Pair) -> Result<DiffCounts, StoreError> {
        let rows: Vec<Count> = read_replica!(self, pool => {
            of_pair!(project, pair, concat!(
                "SELECT class, count(*) AS pages FROM (", classes!(), ") pages GROUP BY class"
            ))
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

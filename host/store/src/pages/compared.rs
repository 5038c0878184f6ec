//! What two runs that are compared show of each other's pages: the facts that the rules of
//! [`diff`](super::diff) need.

use orbweaver_core::ids::{MonitorId, ProjectId, RunId};

use super::diff_sql::{failed, failed_after, hidden, last_before, never_shown, untold};
use super::unreliable;
use crate::db::read_replica;
use crate::error::StoreError;
use crate::runs::{Run, RunState, SkipReason};
use crate::store::Store;

/// Runs before the old one whose pages may be found to be removed only now: so many runs in a row may hide
/// the same pages.
const MOST_CARRIED: usize = 3;

/// The runs to compare, with the facts that the rules need.
pub(super) struct Pair {
    pub(super) old: RunId,
    pub(super) new: RunId,
    pub(super) monitor: Option<MonitorId>,
    pub(super) absence: Absence,
    pub(super) new_short: bool,
    /// Links from the seed that the new run follows.
    pub(super) depth: i64,
    /// Earlier runs whose pages count as the old run's, or 0.
    pub(super) carried: [i64; MOST_CARRIED],
}

/// What it means that the old run does not have a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// There was none.
    Telling = 0,
    /// Nothing: it may have been hidden.
    Hidden = 1,
    /// That it is new, if no earlier run has it either: together they have shown all pages.
    Shown = 2,
}

impl Pair {
    fn new(old: &Run, new: &Run) -> Self {
        Self {
            old: old.id,
            new: new.id,
            monitor: old.monitor.filter(|_| old.monitor == new.monitor),
            absence: match ended_early(old) {
                true => Absence::Hidden,
                false => Absence::Telling,
            },
            new_short: ended_early(new),
            depth: depth(new),
            carried: [0; MOST_CARRIED],
        }
    }

    /// The new run is about to end before it has fetched all its pages.
    pub(super) fn cut(&mut self) {
        self.new_short = true;
        self.carried = [0; MOST_CARRIED];
    }

    /// The monitor's id as a parameter: 0 if there is none.
    pub(super) fn monitor(&self) -> i64 {
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
    /// Both runs, if both belong to the project.
    pub(super) async fn pair(
        &self,
        project: ProjectId,
        old: RunId,
        new: RunId,
    ) -> Result<Option<(Run, Run)>, StoreError> {
        let (old, new) = (self.run(project, old).await?, self.run(project, new).await?);
        Ok(old.zip(new))
    }

    /// The pair, with whether pages absent from each run may have been hidden there.
    pub(super) async fn compared(&self, old: &Run, new: &Run) -> Result<Pair, StoreError> {
        let mut pair = Pair::new(old, new);
        if self.lists_less(old, new).await? {
            pair.absence = Absence::Hidden;
        }
        pair.new_short = pair.new_short || self.lists_less(new, old).await?;
        let Some(monitor) = pair.monitor else {
            return Ok(pair);
        };
        if pair.absence == Absence::Telling && self.hides(old, new).await? {
            pair.absence = match self.hides_for_good(old, new, monitor).await? {
                true => Absence::Hidden,
                false => Absence::Shown,
            };
        }
        pair.new_short = pair.new_short || self.hides(new, old).await?;
        if new.previous == Some(old.id) && !ended_early(new) {
            pair.carried = self.carried(old, new, monitor).await?;
        }
        Ok(pair)
    }

    /// The runs before the old one of whose pages only the new run tells that they are removed.
    async fn carried(
        &self,
        old: &Run,
        new: &Run,
        monitor: MonitorId,
    ) -> Result<[i64; MOST_CARRIED], StoreError> {
        let mut found = [0; MOST_CARRIED];
        let mut later = old.clone();
        for slot in &mut found {
            let Some(before) = later.previous else { break };
            let Some(before) = self.run(old.project, before).await? else {
                break;
            };
            // What a run did not come to may still be there, and of dropped pages nothing is known.
            if ended_early(&later)
                || before.progress.dropped > 0
                || self.lists_less(&later, &before).await?
                || self.lists_less(new, &before).await?
                || !self.hides_until(&before, old, monitor).await?
            {
                break;
            }
            if !self.hides_until(&before, new, monitor).await? {
                *slot = before.id.get();
            }
            later = before;
        }
        Ok(found)
    }

    /// Whether the monitor's runs after this one, up to another, hide a page that it has.
    async fn hides_until(
        &self,
        run: &Run,
        last: &Run,
        monitor: MonitorId,
    ) -> Result<bool, StoreError> {
        let of = [last.id.get(), run.id.get(), run.project.get()];
        self.finds(untold!(), of, Some(monitor)).await
    }

    /// Whether no run before has shown a page that this run hides, though it may have been there.
    async fn hides_for_good(
        &self,
        run: &Run,
        other: &Run,
        monitor: MonitorId,
    ) -> Result<bool, StoreError> {
        let dropped = other.progress.dropped;
        if dropped > 0 && self.hides_dropped(run.project, run.id, other.id).await? {
            return Ok(true);
        }
        let of = [run.id.get(), other.id.get(), run.project.get()];
        self.finds(never_shown!(), of, Some(monitor)).await
    }

    /// Whether links to pages may have been seen in the other run alone.
    async fn hides(&self, run: &Run, other: &Run) -> Result<bool, StoreError> {
        let (project, run, dropped) = (run.project, run.id, other.progress.dropped);
        Ok(self.hides_pages(project, run, other.id).await?
            || (dropped > 0 && self.hides_dropped(project, run, other.id).await?))
    }

    /// Whether a page with content in the other run failed temporarily in this run, could not
    /// be fetched, or was refused here and not there; or, if it is absent here, a URL that led to it there.
    async fn hides_pages(
        &self,
        project: ProjectId,
        run: RunId,
        other: RunId,
    ) -> Result<bool, StoreError> {
        let of = [run.get(), other.get(), project.get()];
        self.finds(concat!(hidden!(), " LIMIT 1"), of, None).await
    }

    /// Whether a page that hooks dropped in the other run failed temporarily in this run, or could not be
    /// fetched.
    async fn hides_dropped(
        &self,
        project: ProjectId,
        run: RunId,
        other: RunId,
    ) -> Result<bool, StoreError> {
        let of = [run.get(), other.get(), project.get()];
        let sql = concat!(
            "SELECT t.seq FROM frontier t
             JOIN frontier k ON k.project_id = $3 AND k.run_id = $2
                 AND k.key_hash = t.key_hash AND k.state = 1
             WHERE t.project_id = $3 AND t.run_id = $1
               AND (t.state IN (0, 2) OR t.key_hash IN (
                   SELECT key_hash FROM pages
                   WHERE project_id = $3 AND run_id = $1 AND ",
            unreliable!("status"),
            "))
               AND COALESCE(k.redirect_to, k.key_hash) NOT IN (
                   SELECT key_hash FROM pages
                   WHERE project_id = $3 AND run_id = $2 AND key_hash IS NOT NULL)
             LIMIT 1"
        );
        self.finds(sql, of, None).await
    }

    /// Whether a sitemap that was read to its end in the other run could not be read in this run,
    /// or only in part: nobody saw what it lists.
    async fn lists_less(&self, run: &Run, other: &Run) -> Result<bool, StoreError> {
        if !reads_sitemaps(run) {
            return Ok(false);
        }
        let sql = "SELECT e.seq FROM run_errors e
             WHERE e.project_id = $3 AND e.run_id = $1 AND e.seq < 0
               AND e.url NOT IN (SELECT k.url FROM run_errors k
                   WHERE k.project_id = $3 AND k.run_id = $2 AND k.seq < 0)
             LIMIT 1";
        let of = [run.id.get(), other.id.get(), run.project.get()];
        self.finds(sql, of, None).await
    }

    /// Whether a query finds a row. $1 and $2 are runs, $3 is their project, $4 the monitor if the query
    /// needs it.
    async fn finds(
        &self,
        sql: &'static str,
        of: [i64; 3],
        monitor: Option<MonitorId>,
    ) -> Result<bool, StoreError> {
        let monitor = monitor.map(|id| id.get());
        let found: Option<i64> = read_replica!(self, pool => {
            let mut query = sqlx::query_scalar(sql);
            for id in of.into_iter().chain(monitor) {
                query = query.bind(id);
            }
            query.fetch_optional(pool).await?
        });
        Ok(found.is_some())
    }
}

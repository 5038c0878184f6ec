//! The tables `run_parts` and `run_reports`: work on one run by several nodes.
//!
//! The worker that leases a run decides alone what is fetched. It may lend URLs to a part of the
//! run, which another node leases. That node fetches them and commits, in one transaction, their
//! pages, their bills and a report for each URL; the run's worker reads the reports and commits
//! what follows from them (states of URLs, discovered URLs, counters) as for its own fetches.
//! A lease of a part has an epoch, as that of a run.

mod lease;
mod reports;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use super::Run;
use crate::db::{per_database, pieces, push_list};
use crate::error::StoreError;
use crate::notices::Topic;

/// The right to work on a part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartLease {
    /// The run.
    pub run: RunId,
    /// Number of the part within the run.
    pub part: i64,
    /// The project that owns the run.
    pub project: ProjectId,
    /// Number of leases of the part so far; every write names it.
    pub epoch: i64,
}

/// A leased part of a run.
#[derive(Clone, Debug)]
pub struct LeasedPart {
    /// Its lease.
    pub lease: PartLease,
    /// The run, which another worker leases.
    pub run: Run,
    /// Concurrent requests of the part; `None`: as many as the origin can handle.
    pub concurrency: Option<u32>,
}

/// A part as its run's worker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartState {
    /// Its number.
    pub part: i64,
    /// The end of its lease; the beginning of 1970 if nobody leases it.
    pub lease_until: DateTime<Utc>,
}

/// What became of a lent URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReport {
    /// Its position in the order of discovery.
    pub seq: i64,
    /// A JSON object that only the engine reads.
    pub report: String,
}

/// A report of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReport {
    /// Its place in the order of the part's reports.
    pub id: i64,
    /// The URL's position in the order of discovery.
    pub seq: i64,
    /// Whether its page was stored with the report.
    pub stored: bool,
    /// A JSON object that only the engine reads.
    pub report: String,
}

/// What a batch of a run with parts has besides.
#[derive(Clone, Debug, Default)]
pub struct BatchParts {
    /// The part whose worker writes the batch; `None` for the run's worker.
    pub part: Option<PartLease>,
    /// Reports of the part, about URLs whose pages are in the batch, and others.
    pub reports: Vec<NewReport>,
    /// URLs whose reports the run's worker has read: these are deleted.
    pub read: Vec<i64>,
    /// Whether other nodes store pages of the run, too. Pages get their ids in the order of the
    /// commits then.
    pub has_parts: bool,
}

per_database! {
    /// Whether the lease of a part is held. Until the transaction ends, nobody can take it.
    pub(crate) async fn hold(conn: &mut Conn, lease: PartLease) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "UPDATE run_parts SET lease_epoch = lease_epoch
             WHERE run_id = $1 AND part = $2 AND lease_epoch = $3",
        )
        .bind(lease.run.get())
        .bind(lease.part)
        .bind(lease.epoch)
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Waits until no other transaction stores pages of these runs, so that the ids of a run's pages
    /// rise in the order in which they can be read: who reads behind an id misses none.
    pub(crate) async fn in_order(conn: &mut Conn, runs: &[RunId]) -> Result<(), StoreError> {
        if IS_SHARED {
            for run in runs {
                // The two-number form, so that it meets no other use of such locks.
                sqlx::query("SELECT pg_advisory_xact_lock(1, CAST($1 % 2147483647 AS INTEGER))")
                    .bind(run.get())
                    .execute(&mut *conn)
                    .await?;
            }
        }
        Ok(())
    }

    /// Stores reports of a part; `is_stored` tells which of them have a page. The run's worker is
    /// told. What became of a URL that does not wait any more was read before.
    pub(crate) async fn report(
        conn: &mut Conn,
        lease: PartLease,
        reports: &[NewReport],
        is_stored: impl Fn(i64) -> bool,
    ) -> Result<(), StoreError> {
        for piece in pieces(reports) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO run_reports (project_id, run_id, part, seq, stored, report) SELECT ",
            );
            insert
                .push_bind(lease.project.get())
                .push(", ")
                .push_bind(lease.run.get())
                .push(", ")
                .push_bind(lease.part)
                .push(", v.column1, v.column2, v.column3 FROM (");
            insert.push_values(piece, |mut row, new| {
                row.push_bind(new.seq)
                    .push_bind(i64::from(is_stored(new.seq)))
                    .push_bind(new.report.as_str());
            });
            insert
                .push(") AS v WHERE EXISTS (SELECT 1 FROM frontier f WHERE f.project_id = ")
                .push_bind(lease.project.get())
                .push(" AND f.run_id = ")
                .push_bind(lease.run.get())
                .push(
                    " AND f.seq = v.column1 AND f.state = 0)
                      ON CONFLICT (project_id, run_id, seq) DO NOTHING",
                );
            insert.build().execute(&mut *conn).await?;
        }
        if !reports.is_empty() {
            sql::notices::tell(conn, Topic::Parts).await?;
        }
        Ok(())
    }

    /// Deletes reports that the run's worker has read; returns how many of them have a page.
    pub(crate) async fn forget_reports(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        seqs: &[i64],
    ) -> Result<u64, StoreError> {
        let mut pages = 0;
        for piece in pieces(seqs) {
            let mut delete =
                sqlx::QueryBuilder::new("DELETE FROM run_reports WHERE project_id = ");
            delete
                .push_bind(project.get())
                .push(" AND run_id = ")
                .push_bind(run.get())
                .push(" AND seq IN ");
            push_list(&mut delete, piece.iter().copied());
            delete.push(" RETURNING stored");
            let stored: Vec<i64> = delete.build_query_scalar().fetch_all(&mut *conn).await?;
            pages += stored.iter().filter(|stored| **stored == 1).count() as u64;
        }
        Ok(pages)
    }

    /// Ends all leases of a run's parts and removes the parts. What was lent waits again. The
    /// reports stay.
    pub(crate) async fn close_all(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
    ) -> Result<(), StoreError> {
        let done = sqlx::query("DELETE FROM run_parts WHERE run_id = $1")
            .bind(run.get())
            .execute(&mut *conn)
            .await?;
        // Also what was written as lent after its part had been closed.
        sql::frontier::take_back(conn, project, run, None).await?;
        if done.rows_affected() > 0 {
            sql::notices::tell(conn, Topic::Parts).await?;
        }
        Ok(())
    }

    /// Deletes the reports of an ended run; pages of those that nobody has read are counted.
    pub(crate) async fn end(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
    ) -> Result<(), StoreError> {
        close_all(&mut *conn, project, run).await?;
        let pages: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM run_reports WHERE project_id = $2 AND run_id = $1 AND stored = 1",
        )
        .bind(run.get())
        .bind(project.get())
        .fetch_one(&mut *conn)
        .await?;
        sql::runs::count_stored(conn, run, pages.unsigned_abs(), 0).await?;
        delete_reports(conn, project, run).await?;
        Ok(())
    }

    /// Deletes all reports of a run: how many.
    pub(crate) async fn delete_reports(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query("DELETE FROM run_reports WHERE project_id = $2 AND run_id = $1")
            .bind(run.get())
            .bind(project.get())
            .execute(&mut *conn)
            .await?;
        Ok(done.rows_affected())
    }
}

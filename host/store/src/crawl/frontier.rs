//! The table `frontier`: the URLs that a run has discovered, and their states.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use crate::db::{per_database, pieces, push_list, read, read_replica};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::runs::PartLease;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// Redirects read per query, so that no connection is held for a whole run.
const REDIRECTS: i64 = 2_000;

/// A newly discovered URL.
#[derive(Clone, Debug)]
pub struct NewFrontier {
    /// Position in the order of discovery.
    pub seq: i64,
    /// The link as written, resolved.
    pub url: String,
    /// Hash of its normalised URL.
    pub key_hash: u64,
    /// Number of links from the seed.
    pub depth: u32,
    /// URLs of higher priority are fetched first.
    pub priority: i32,
}

/// New state of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontierChange {
    /// It was fetched.
    Done {
        /// Position in the order of discovery.
        seq: i64,
        /// Hash of the key of the page that it redirects to within the scope.
        redirect_to: Option<u64>,
    },
    /// It will be fetched again later.
    Again {
        /// Position in the order of discovery.
        seq: i64,
        /// Number of failed fetches so far.
        attempts: u32,
        /// Earliest time of the next fetch.
        next_at: DateTime<Utc>,
    },
    /// It waits, and is now fetched by the worker of a part of the run.
    Lent {
        /// Position in the order of discovery.
        seq: i64,
        /// Number of the part.
        part: i64,
        /// Its place in what is lent to the part.
        number: i64,
        /// Number of links from the seed, which may be fewer than when it was discovered.
        depth: u32,
    },
    /// It was given up.
    Failed {
        /// Position in the order of discovery.
        seq: i64,
    },
    /// It failed temporarily ([`is_unreliable`](crate::crawl::is_unreliable)), and no page says so, because a
    /// hook dropped it; or it is the seed, with its page or without: no monitor's run is compared with
    /// the run. As if it was given up.
    Unavailable {
        /// Position in the order of discovery.
        seq: i64,
        /// Hash of the key of the page that it redirects to within the scope.
        redirect_to: Option<u64>,
    },
    /// It is skipped: by robots.txt, because another URL redirects to it, or because it redirects to a
    /// page that the fetch of another URL stores. That page may be written later, so the URL does not
    /// count as fetched: a resumed run must not take the page for one that it has.
    Skipped {
        /// Position in the order of discovery.
        seq: i64,
        /// Hash of the key that leads to the page: of the URL that redirects to this one, or of the page
        /// that this one redirects to.
        redirect_to: Option<u64>,
    },
}

/// A URL that waits to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontierRow {
    /// Position in the order of discovery.
    pub seq: i64,
    /// The link as written, resolved.
    pub url: String,
    /// Number of links from the seed.
    pub depth: u32,
    /// Number of failed fetches so far.
    pub attempts: u32,
    /// Earliest time of the next fetch.
    pub next_at: DateTime<Utc>,
    /// URLs of higher priority are fetched first.
    pub priority: i32,
}

/// A URL lent to a part of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LentUrl {
    /// Its place in what was lent to the part.
    pub number: i64,
    /// The URL.
    pub url: FrontierRow,
}

/// A URL that a run has discovered, in any state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRow {
    /// Position in the order of discovery.
    pub seq: i64,
    /// The link as written, resolved.
    pub url: String,
    /// Hash of its normalised URL.
    pub key_hash: u64,
    /// Number of links from the seed.
    pub depth: u32,
    /// Whether it waits to be fetched.
    pub queued: bool,
    /// Whether it was fetched.
    pub done: bool,
    /// If it was fetched: hash of the page that it redirects to within the scope. If it was skipped: see
    /// [`FrontierChange::Skipped`].
    pub redirect_to: Option<u64>,
}

#[derive(sqlx_macros::FromRow)]
struct QueuedRow {
    seq: i64,
    url: String,
    depth: i64,
    attempts: i64,
    next_at: i64,
    priority: i64,
}

impl From<QueuedRow> for FrontierRow {
    fn from(row: QueuedRow) -> Self {
        Self {
            seq: row.seq,
            url: row.url,
            depth: u32::try_from(row.depth).unwrap_or_default(),
            attempts: u32::try_from(row.attempts).unwrap_or_default(),
            next_at: from_ms(row.next_at),
            priority: i32::try_from(row.priority).unwrap_or_default(),
        }
    }
}

#[derive(sqlx_macros::FromRow)]
struct LentRow {
    lent: i64,
    #[sqlx(flatten)]
    url: QueuedRow,
}

#[derive(sqlx_macros::FromRow)]
struct StateRow {
    seq: i64,
    url: String,
    key_hash: i64,
    depth: i64,
    state: i64,
    redirect_to: Option<i64>,
}

#[derive(sqlx_macros::FromRow)]
struct RedirectRow {
    seq: i64,
    key_hash: i64,
    redirect_to: i64,
}

/// State of a URL, as stored in the column.
#[derive(Clone, Copy)]
enum UrlState {
    Queued = 0,
    Done = 1,
    Failed = 2,
    Skipped = 3,
}

/// A row's new values.
struct NewState {
    seq: i64,
    state: UrlState,
    attempts: u32,
    next_at: Option<DateTime<Utc>>,
    redirect_to: Option<u64>,
}

impl NewState {
    const fn new(seq: i64, state: UrlState) -> Self {
        Self {
            seq,
            state,
            attempts: 0,
            next_at: None,
            redirect_to: None,
        }
    }
}

/// Splits changes: URLs that are simply done, which one statement updates, and the others.
fn split(changes: &[FrontierChange]) -> (Vec<i64>, Vec<NewState>) {
    let mut done = Vec::with_capacity(changes.len());
    let mut others = Vec::new();
    for change in changes {
        match *change {
            FrontierChange::Done {
                seq,
                redirect_to: None,
            } => done.push(seq),
            FrontierChange::Done { seq, redirect_to } => others.push(NewState {
                redirect_to,
                ..NewState::new(seq, UrlState::Done)
            }),
            FrontierChange::Again {
                seq,
                attempts,
                next_at,
            } => others.push(NewState {
                attempts,
                next_at: Some(next_at),
                ..NewState::new(seq, UrlState::Queued)
            }),
            FrontierChange::Lent { .. } => {}
            FrontierChange::Failed { seq } => others.push(NewState::new(seq, UrlState::Failed)),
            FrontierChange::Unavailable { seq, redirect_to } => others.push(NewState {
                redirect_to,
                ..NewState::new(seq, UrlState::Failed)
            }),
            FrontierChange::Skipped { seq, redirect_to } => others.push(NewState {
                redirect_to,
                ..NewState::new(seq, UrlState::Skipped)
            }),
        }
    }
    (done, others)
}

per_database! {
    /// Adds URLs discovered on pages of a run, each once.
    pub(crate) async fn insert(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        discovered: &[NewFrontier],
    ) -> Result<(), StoreError> {
        for piece in pieces(discovered) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO frontier (project_id, run_id, seq, url, key_hash, depth, priority, state) ",
            );
            insert.push_values(piece, |mut row, new| {
                row.push_bind(project.get())
                    .push_bind(run.get())
                    .push_bind(new.seq)
                    .push_bind(new.url.as_str())
                    .push_bind(new.key_hash.cast_signed())
                    .push_bind(i64::from(new.depth))
                    .push_bind(i64::from(new.priority))
                    .push("0");
            });
            insert.push(" ON CONFLICT (project_id, run_id, seq) DO NOTHING");
            insert.build().execute(&mut *conn).await?;
        }
        Ok(())
    }

    /// Writes new states of a run's URLs.
    pub(crate) async fn change(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        changes: &[FrontierChange],
    ) -> Result<(), StoreError> {
        let (done, others) = split(changes);
        for new in others {
            sqlx::query(
                "UPDATE frontier SET state = $3, attempts = $4, next_at = $5, redirect_to = $6
                 WHERE run_id = $1 AND seq = $2 AND project_id = $7",
            )
            .bind(run.get())
            .bind(new.seq)
            .bind(new.state as i64)
            .bind(i64::from(new.attempts))
            .bind(new.next_at.map_or(0, to_ms))
            .bind(new.redirect_to.map(u64::cast_signed))
            .bind(project.get())
            .execute(&mut *conn)
            .await?;
        }
        for piece in pieces(&done) {
            let mut update =
                sqlx::QueryBuilder::new("UPDATE frontier SET state = 1 WHERE project_id = ");
            update
                .push_bind(project.get())
                .push(" AND run_id = ")
                .push_bind(run.get())
                .push(" AND seq IN ");
            push_list(&mut update, piece.iter().copied());
            update.build().execute(&mut *conn).await?;
        }
        Ok(())
    }

    /// Lends URLs to parts of a run, whose workers are told.
    pub(crate) async fn lend(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        changes: &[FrontierChange],
    ) -> Result<(), StoreError> {
        let lent: Vec<[i64; 4]> = changes
            .iter()
            .filter_map(|change| match *change {
                FrontierChange::Lent { seq, part, number, depth } => {
                    Some([seq, part, number, i64::from(depth)])
                }
                _ => None,
            })
            .collect();
        for piece in pieces(&lent) {
            let mut update = sqlx::QueryBuilder::new(
                "UPDATE frontier SET part = v.column2, lent = v.column3, depth = v.column4 FROM (",
            );
            update.push_values(piece, |mut row, values| {
                for value in values {
                    row.push_bind(*value);
                }
            });
            update
                .push(") AS v WHERE frontier.project_id = ")
                .push_bind(project.get())
                .push(" AND frontier.run_id = ")
                .push_bind(run.get())
                .push(" AND frontier.seq = v.column1");
            update.build().execute(&mut *conn).await?;
        }
        if !lent.is_empty() {
            sql::notices::tell(conn, Topic::Parts).await?;
        }
        Ok(())
    }

    /// Lets what was lent to a part wait again, or to any part.
    pub(crate) async fn take_back(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        part: Option<i64>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE frontier SET part = NULL, lent = NULL
             WHERE project_id = $3 AND run_id = $1
               AND part IS NOT NULL AND (part = $2 OR $2 < 0) AND state = 0",
        )
        .bind(run.get())
        .bind(part.unwrap_or(-1))
        .bind(project.get())
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Deletes the first URLs of a run, at most `limit`; returns how many.
    pub(crate) async fn delete_of_run(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "DELETE FROM frontier WHERE project_id = $3 AND run_id = $1 AND seq IN (
                 SELECT seq FROM frontier WHERE project_id = $3 AND run_id = $1
                 ORDER BY seq LIMIT $2)",
        )
        .bind(run.get())
        .bind(limit)
        .bind(project.get())
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected())
    }
}

impl Store {
    /// Queued URLs of a leased run behind the position `after` that are not lent, in the order of
    /// discovery.
    #[crate::boxed]
    pub async fn frontier_queued(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<FrontierRow>, StoreError> {
        let rows: Vec<QueuedRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT seq, url, depth, attempts, next_at, priority FROM frontier
                 WHERE project_id = $4 AND run_id = $1 AND seq > $2 AND state = 0 AND part IS NULL
                 ORDER BY seq LIMIT $3",
            )
            .bind(run.get())
            .bind(after)
            .bind(i64::from(limit))
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(FrontierRow::from).collect())
    }

    /// URLs lent to a part after place `after` that have no report yet, in the order of lending.
    #[crate::boxed]
    pub async fn lent_urls(
        &self,
        lease: PartLease,
        after: i64,
        limit: u32,
    ) -> Result<Vec<LentUrl>, StoreError> {
        let rows: Vec<LentRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT f.lent, f.seq, f.url, f.depth, f.attempts, f.next_at, f.priority
                 FROM frontier f
                 WHERE f.project_id = $5 AND f.run_id = $1 AND f.part = $2 AND f.lent > $3
                   AND f.state = 0
                   AND NOT EXISTS (SELECT 1 FROM run_reports r
                                   WHERE r.project_id = $5 AND r.run_id = $1 AND r.seq = f.seq)
                 ORDER BY f.lent LIMIT $4",
            )
            .bind(lease.run.get())
            .bind(lease.part)
            .bind(after)
            .bind(i64::from(limit))
            .bind(lease.project.get())
            .fetch_all(pool)
            .await?
        });
        let lent = rows.into_iter().map(|row| LentUrl {
            number: row.lent,
            url: row.url.into(),
        });
        Ok(lent.collect())
    }

    /// All known URLs of a leased run after position `seq`, in the order of discovery.
    #[crate::boxed]
    pub async fn frontier_known(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KnownRow>, StoreError> {
        let rows: Vec<StateRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT seq, url, key_hash, depth, state, redirect_to FROM frontier
                 WHERE project_id = $4 AND run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
            )
            .bind(run.get())
            .bind(after)
            .bind(i64::from(limit))
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        Ok(rows
            .into_iter()
            .map(|row| KnownRow {
                seq: row.seq,
                url: row.url,
                key_hash: row.key_hash.cast_unsigned(),
                depth: u32::try_from(row.depth).unwrap_or_default(),
                queued: row.state == 0,
                done: row.state == 1,
                redirect_to: row.redirect_to.map(i64::cast_unsigned),
            })
            .collect())
    }

    /// URLs of a run that redirect within its scope, each with its target. Instead of that, a URL
    /// that was skipped because another one redirects to it has that one, which has the target. The
    /// target of a URL that was skipped because another fetch has its page may redirect, too.
    pub(crate) async fn frontier_redirects(
        &self,
        project: ProjectId,
        run: RunId,
    ) -> Result<Vec<(u64, u64)>, StoreError> {
        let mut redirects = Vec::new();
        let mut after = -1;
        loop {
            let rows: Vec<RedirectRow> = read_replica!(self, pool => {
                sqlx::query_as(
                    "SELECT seq, key_hash, redirect_to FROM frontier
                     WHERE project_id = $4 AND run_id = $1 AND seq > $2
                       AND redirect_to IS NOT NULL
                     ORDER BY seq LIMIT $3",
                )
                .bind(run.get())
                .bind(after)
                .bind(REDIRECTS)
                .bind(project.get())
                .fetch_all(pool)
                .await?
            });
            let Some(last) = rows.last() else {
                return Ok(redirects);
            };
            after = last.seq;
            redirects.extend(rows.iter().map(|row| {
                let (from, to) = (row.key_hash, row.redirect_to);
                (from.cast_unsigned(), to.cast_unsigned())
            }));
        }
    }
}

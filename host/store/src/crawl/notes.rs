//! The table `run_notes`: what plugins said of URLs of a run. Links and pages that hooks left out
//! (`hook`), and failures (`plugin`); each URL once for each plugin.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{ProjectId, RunId};

use super::errors::FailedUrl;
use crate::db::{per_database, pieces, read, read_replica, signed, storable, transact};
use crate::error::StoreError;
use crate::runs::Lease;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// A hook left out a link or a page.
    Hook,
    /// A plugin failed.
    Plugin,
}

impl NoteKind {
    /// The name in answers and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Plugin => "plugin",
        }
    }
}

/// A note to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    /// Its kind.
    pub kind: NoteKind,
    /// The plugin's name; of an extractor its role.
    pub plugin: String,
    /// The URL that it is about.
    pub url: String,
    /// Hash of the normalised URL.
    pub key_hash: u64,
    /// The reason, or the error.
    pub message: String,
    /// When it was made.
    pub noted_at: DateTime<Utc>,
}

/// A stored note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunNote {
    /// Its place in the order of storing.
    pub id: i64,
    /// The plugin's name; of an extractor its role.
    pub plugin: String,
    /// The URL that it is about.
    pub url: String,
    /// Hash of the normalised URL.
    pub key_hash: u64,
    /// The reason, or the error.
    pub message: String,
    /// When it was made.
    pub noted_at: DateTime<Utc>,
}

#[derive(sqlx_macros::FromRow)]
struct NoteRow {
    id: i64,
    plugin: String,
    url: String,
    key_hash: i64,
    message: String,
    noted_at: i64,
}

impl From<NoteRow> for RunNote {
    fn from(row: NoteRow) -> Self {
        Self {
            id: row.id,
            plugin: row.plugin,
            url: row.url,
            key_hash: row.key_hash.cast_unsigned(),
            message: row.message,
            noted_at: from_ms(row.noted_at),
        }
    }
}

/// A URL that a run gave up, or a page on which a plugin failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// It gave no answer.
    Url(FailedUrl),
    /// A plugin failed on it.
    Plugin(RunNote),
}

impl RunFailure {
    /// Hash of the normalised URL.
    pub fn key_hash(&self) -> u64 {
        match self {
            Self::Url(failed) => failed.key_hash,
            Self::Plugin(note) => note.key_hash,
        }
    }

    /// Its place in the list of a run's failures.
    pub fn place(&self) -> FailurePlace {
        match self {
            Self::Url(failed) => FailurePlace::Url(failed.seq),
            Self::Plugin(note) => FailurePlace::Plugin(note.id),
        }
    }
}

/// A place in the list of a run's failures: URLs that gave no answer, then failures of plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePlace {
    /// After this URL, by its place in the order of discovery.
    Url(i64),
    /// After this note, by its id.
    Plugin(i64),
}

impl FailurePlace {
    /// Before the first failure.
    pub const START: Self = Self::Url(i64::MIN);
}

per_database! {
    /// Stores notes of a run, each URL once for each plugin.
    pub(crate) async fn insert(
        conn: &mut Conn,
        lease: Lease,
        notes: &[NewNote],
    ) -> Result<(), StoreError> {
        for piece in pieces(notes) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO run_notes
                     (run_id, project_id, kind, plugin, url, key_hash, message, noted_at) ",
            );
            insert.push_values(piece, |mut row, note| {
                row.push_bind(lease.run.get())
                    .push_bind(lease.project.get())
                    .push_bind(note.kind.as_str())
                    .push_bind(note.plugin.as_str())
                    .push_bind(storable(&note.url))
                    .push_bind(note.key_hash.cast_signed())
                    .push_bind(storable(&note.message))
                    .push_bind(to_ms(note.noted_at));
            });
            insert.push(" ON CONFLICT (run_id, kind, plugin, key_hash) DO NOTHING");
            insert.build().execute(&mut *conn).await?;
        }
        Ok(())
    }

    /// Removes up to `limit` notes of a run; returns how many.
    pub(crate) async fn delete_of_run(
        conn: &mut Conn,
        run: RunId,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "DELETE FROM run_notes WHERE id IN (
                 SELECT id FROM run_notes WHERE run_id = $1 ORDER BY kind, id LIMIT $2)",
        )
        .bind(run.get())
        .bind(limit)
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected())
    }
}

impl Store {
    /// Stores failures of plugins that belong to no page, and counts them; `false` if the lease is
    /// no longer held.
    #[crate::boxed]
    pub async fn note_failures(&self, lease: Lease, notes: &[NewNote]) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            if !sql::runs::count_plugin_errors(tx, lease, notes.len() as u64).await? {
                return Ok(false);
            }
            sql::run_notes::insert(tx, lease, notes).await?;
            Ok(true)
        })
    }

    /// Notes of one kind of a run of the project, in the order of storing: those after `after`, of
    /// these after leaving out `offset`, at most `limit`.
    #[crate::boxed]
    pub async fn run_notes(
        &self,
        project: ProjectId,
        run: RunId,
        kind: NoteKind,
        after: i64,
        offset: u64,
        limit: u32,
    ) -> Result<Vec<RunNote>, StoreError> {
        let rows: Vec<NoteRow> = read_replica!(self, pool => {
            sqlx::query_as(
                "SELECT id, plugin, url, key_hash, message, noted_at FROM run_notes
                 WHERE run_id = $1 AND kind = $6 AND id > $2 AND project_id = $3
                   AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND project_id = $3)
                 ORDER BY id LIMIT $4 OFFSET $5",
            )
            .bind(run.get())
            .bind(after)
            .bind(project.get())
            .bind(i64::from(limit))
            .bind(signed(offset))
            .bind(kind.as_str())
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(RunNote::from).collect())
    }

    /// How many notes of one kind a run of the project has after `after`.
    pub(super) async fn count_notes(
        &self,
        project: ProjectId,
        run: RunId,
        kind: NoteKind,
        after: i64,
    ) -> Result<u64, StoreError> {
        let count: i64 = read_replica!(self, pool => {
            sqlx::query_scalar(
                "SELECT count(*) FROM run_notes
                 WHERE run_id = $1 AND kind = $2 AND id > $3 AND project_id = $4",
            )
            .bind(run.get())
            .bind(kind.as_str())
            .bind(after)
            .bind(project.get())
            .fetch_one(pool)
            .await?
        });
        Ok(count.unsigned_abs())
    }

    /// How many notes a run has.
    #[crate::boxed]
    pub async fn count_run_notes(&self, run: RunId) -> Result<u64, StoreError> {
        let count: i64 = read!(self.db, pool => {
            sqlx::query_scalar("SELECT count(*) FROM run_notes WHERE run_id = $1")
                .bind(run.get())
                .fetch_one(pool)
                .await?
        });
        Ok(count.unsigned_abs())
    }

    /// Failures of a run of the project: URLs that gave no answer, in the order of discovery, then
    /// failures of plugins. Those after `after`, of these after leaving out `offset`, at most
    /// `limit`.
    #[crate::boxed]
    pub async fn run_failures(
        &self,
        project: ProjectId,
        run: RunId,
        after: FailurePlace,
        offset: u64,
        limit: u32,
    ) -> Result<Vec<RunFailure>, StoreError> {
        let (mut failures, mut skip) = (Vec::new(), offset);
        let mut after_note = i64::MIN;
        match after {
            FailurePlace::Plugin(id) => after_note = id,
            FailurePlace::Url(seq) => {
                let urls = self.run_errors(project, run, seq, offset, limit).await?;
                skip = if urls.is_empty() && offset > 0 {
                    offset.saturating_sub(self.count_run_errors(project, run, seq).await?)
                } else {
                    0
                };
                failures.extend(urls.into_iter().map(RunFailure::Url));
            }
        }
        let left = limit.saturating_sub(u32::try_from(failures.len()).unwrap_or(limit));
        if left > 0 {
            let notes = self
                .run_notes(project, run, NoteKind::Plugin, after_note, skip, left)
                .await?;
            failures.extend(notes.into_iter().map(RunFailure::Plugin));
        }
        Ok(failures)
    }

    async fn count_run_errors(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
    ) -> Result<u64, StoreError> {
        let count: i64 = read_replica!(self, pool => {
            sqlx::query_scalar(
                "SELECT count(*) FROM run_errors
                 WHERE run_id = $1 AND project_id = $2 AND seq > $3",
            )
            .bind(run.get())
            .bind(project.get())
            .bind(after)
            .fetch_one(pool)
            .await?
        });
        Ok(count.unsigned_abs())
    }
}

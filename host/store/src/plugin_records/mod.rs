//! What plugins logged, and their failed calls: kept for their authors, bounded for each plugin, and
//! deleted after some days.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{per_database, read, signed, transact};
use crate::error::StoreError;
use crate::plugin_state::StateOwner;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// What a line and a call are part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordOrigin {
    /// Version of the plugin's manifest.
    pub version: String,
    /// Id of the request; empty if there is none.
    pub request_id: String,
    /// `crawl` or `actor`; empty if it is no run.
    pub run_kind: String,
    /// The run's id.
    pub run_id: Option<i64>,
}

/// A line that a plugin logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginLine {
    /// When.
    pub at: DateTime<Utc>,
    /// What it is part of.
    pub origin: RecordOrigin,
    /// `trace` to `error`.
    pub level: String,
    /// One line, without credentials.
    pub message: String,
}

/// A failed call of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginCall {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// What it is part of.
    pub origin: RecordOrigin,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// JSON object: what was called, with its input, without credentials.
    pub input: String,
    /// SHA-256 of the whole input, lower-case hex.
    pub input_digest: String,
    /// The page's text, if the call had a page that is small enough.
    pub body: Option<String>,
    /// Why the call cannot be made again; empty if it can.
    pub not_replayable: String,
    /// The error's code.
    pub code: String,
    /// Its message, without credentials.
    pub message: String,
    /// CPU time in microseconds.
    pub cpu_us: u64,
    /// Wall time in microseconds.
    pub wall_us: u64,
    /// Largest memory in bytes.
    pub memory: u64,
}

impl PluginCall {
    fn bytes(&self) -> u64 {
        let body = self.body.as_ref().map_or(0, String::len);
        (self.input.len() + self.message.len() + body) as u64 + OVERHEAD
    }
}

/// Bytes that a record counts besides its texts.
const OVERHEAD: u64 = 256;

/// A record to write, and whose it is: the project is that of the call.
#[derive(Clone, Debug)]
pub enum PluginRecord {
    /// A line.
    Line(StateOwner, PluginLine),
    /// A failed call.
    Call(StateOwner, Box<PluginCall>),
}

impl PluginRecord {
    /// Whose it is.
    pub fn owner(&self) -> &StateOwner {
        match self {
            Self::Line(owner, _) | Self::Call(owner, _) => owner,
        }
    }
}

/// Most records of one plugin in one project.
#[derive(Clone, Copy, Debug)]
pub struct RecordBounds {
    /// Lines.
    pub lines: u32,
    /// Bytes of the lines.
    pub line_bytes: u64,
    /// Failed calls.
    pub calls: u32,
    /// Bytes of the calls.
    pub call_bytes: u64,
}

/// Which records to list: newest first.
#[derive(Clone, Copy, Debug)]
pub struct RecordPage<'a> {
    /// Only records with a smaller id.
    pub before: i64,
    /// Most records.
    pub limit: u32,
    /// Only lines of these levels; empty: all.
    pub levels: &'a [&'a str],
    /// Only records of this request; empty: all.
    pub request_id: &'a str,
}

#[derive(sqlx_macros::FromRow)]
struct LineRow {
    id: i64,
    ts: i64,
    version: String,
    request_id: String,
    run_kind: String,
    run_id: Option<i64>,
    level: String,
    message: String,
}

impl From<LineRow> for (i64, PluginLine) {
    fn from(row: LineRow) -> Self {
        let line = PluginLine {
            at: from_ms(row.ts),
            origin: RecordOrigin {
                version: row.version,
                request_id: row.request_id,
                run_kind: row.run_kind,
                run_id: row.run_id,
            },
            level: row.level,
            message: row.message,
        };
        (row.id, line)
    }
}

#[derive(sqlx_macros::FromRow)]
struct CallRow {
    id: i64,
    ts: i64,
    version: String,
    request_id: String,
    run_kind: String,
    run_id: Option<i64>,
    digest: String,
    input: String,
    input_digest: String,
    // Bytes, because texts of PostgreSQL have no NUL.
    body: Option<Vec<u8>>,
    not_replayable: String,
    code: String,
    message: String,
    cpu_us: i64,
    wall_us: i64,
    memory: i64,
}

impl From<CallRow> for (i64, PluginCall) {
    fn from(row: CallRow) -> Self {
        let number = |value| u64::try_from(value).unwrap_or_default();
        let call = PluginCall {
            at: from_ms(row.ts),
            origin: RecordOrigin {
                version: row.version,
                request_id: row.request_id,
                run_kind: row.run_kind,
                run_id: row.run_id,
            },
            digest: row.digest,
            input: row.input,
            input_digest: row.input_digest,
            body: row.body.and_then(|body| String::from_utf8(body).ok()),
            not_replayable: row.not_replayable,
            code: row.code,
            message: row.message,
            cpu_us: number(row.cpu_us),
            wall_us: number(row.wall_us),
            memory: number(row.memory),
        };
        (row.id, call)
    }
}

/// Rows deleted in one transaction.
const SWEEP: i64 = 500;

per_database! {
    pub(crate) async fn insert_line(
        conn: &mut Conn,
        owner: &StateOwner,
        line: &PluginLine,
    ) -> Result<(), StoreError> {
        let bytes = line.message.len() as u64 + OVERHEAD;
        // A project that is deleted meanwhile gets no row.
        sqlx::query(
            "INSERT INTO plugin_logs (project_id, own, kind, name, ts, version, request_id,
                 run_kind, run_id, level, message, bytes)
             SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM projects WHERE id = $1",
        )
        .bind(owner.project.get())
        .bind(i64::from(owner.own))
        .bind(owner.kind.as_str())
        .bind(owner.name.as_str())
        .bind(to_ms(line.at))
        .bind(line.origin.version.as_str())
        .bind(line.origin.request_id.as_str())
        .bind(line.origin.run_kind.as_str())
        .bind(line.origin.run_id)
        .bind(line.level.as_str())
        .bind(line.message.as_str())
        .bind(signed(bytes))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    pub(crate) async fn insert_call(
        conn: &mut Conn,
        owner: &StateOwner,
        call: &PluginCall,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO plugin_calls (project_id, own, kind, name, ts, version, request_id,
                 run_kind, run_id, digest, input, input_digest, body, not_replayable, code, message,
                 cpu_us, wall_us, memory, bytes)
             SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                 $19, $20 FROM projects WHERE id = $1",
        )
        .bind(owner.project.get())
        .bind(i64::from(owner.own))
        .bind(owner.kind.as_str())
        .bind(owner.name.as_str())
        .bind(to_ms(call.at))
        .bind(call.origin.version.as_str())
        .bind(call.origin.request_id.as_str())
        .bind(call.origin.run_kind.as_str())
        .bind(call.origin.run_id)
        .bind(call.digest.as_str())
        .bind(call.input.as_str())
        .bind(call.input_digest.as_str())
        .bind(call.body.as_deref().map(str::as_bytes))
        .bind(call.not_replayable.as_str())
        .bind(call.code.as_str())
        .bind(call.message.as_str())
        .bind(signed(call.cpu_us))
        .bind(signed(call.wall_us))
        .bind(signed(call.memory))
        .bind(signed(call.bytes()))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Deletes the oldest lines of a plugin beyond its bounds.
    pub(crate) async fn trim_lines(
        conn: &mut Conn,
        owner: &StateOwner,
        bounds: &RecordBounds,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM plugin_logs
             WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND id IN (
                 SELECT id FROM (
                     SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS place,
                            SUM(bytes) OVER (ORDER BY id DESC) AS total
                     FROM plugin_logs
                     WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4
                 ) AS kept WHERE place > $5 OR total > $6
             )",
        )
        .bind(owner.project.get())
        .bind(i64::from(owner.own))
        .bind(owner.kind.as_str())
        .bind(owner.name.as_str())
        .bind(i64::from(bounds.lines))
        .bind(signed(bounds.line_bytes))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Deletes the oldest failed calls of a plugin beyond its bounds.
    pub(crate) async fn trim_calls(
        conn: &mut Conn,
        owner: &StateOwner,
        bounds: &RecordBounds,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM plugin_calls
             WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND id IN (
                 SELECT id FROM (
                     SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS place,
                            SUM(bytes) OVER (ORDER BY id DESC) AS total
                     FROM plugin_calls
                     WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4
                 ) AS kept WHERE place > $5 OR total > $6
             )",
        )
        .bind(owner.project.get())
        .bind(i64::from(owner.own))
        .bind(owner.kind.as_str())
        .bind(owner.name.as_str())
        .bind(i64::from(bounds.calls))
        .bind(signed(bounds.call_bytes))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Deletes some records that are older than a time; returns how many.
    pub(crate) async fn delete_before(conn: &mut Conn, before: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        for statement in [
            "DELETE FROM plugin_logs WHERE id IN (
                 SELECT id FROM plugin_logs WHERE ts < $1 ORDER BY ts LIMIT $2)",
            "DELETE FROM plugin_calls WHERE id IN (
                 SELECT id FROM plugin_calls WHERE ts < $1 ORDER BY ts LIMIT $2)",
        ] {
            let done = sqlx::query(statement)
                .bind(before)
                .bind(SWEEP)
                .execute(&mut *conn)
                .await?;
            deleted += done.rows_affected();
        }
        Ok(deleted)
    }

    /// Deletes all records of a plugin: of a project's own in that project, else in all projects.
    pub(crate) async fn delete_of_plugin(
        conn: &mut Conn,
        project: Option<ProjectId>,
        kind: &str,
        name: &str,
    ) -> Result<(), StoreError> {
        for statement in [
            "DELETE FROM plugin_logs
             WHERE own = $1 AND kind = $2 AND name = $3 AND ($4 = 0 OR project_id = $4)",
            "DELETE FROM plugin_calls
             WHERE own = $1 AND kind = $2 AND name = $3 AND ($4 = 0 OR project_id = $4)",
        ] {
            sqlx::query(statement)
                .bind(i64::from(project.is_some()))
                .bind(kind)
                .bind(name)
                .bind(project.map_or(0, ProjectId::get))
                .execute(&mut *conn)
                .await?;
        }
        Ok(())
    }
}

impl Store {
    /// Writes records in one transaction, and deletes the oldest ones of each plugin beyond its bounds.
    #[crate::boxed]
    pub async fn save_plugin_records(
        &self,
        records: &[PluginRecord],
        bounds: RecordBounds,
    ) -> Result<(), StoreError> {
        transact!(quiet true, self.db, tx => {
            let mut lines: Vec<&StateOwner> = Vec::new();
            let mut calls: Vec<&StateOwner> = Vec::new();
            for record in records {
                let owners = match record {
                    PluginRecord::Line(owner, line) => {
                        sql::plugin_records::insert_line(tx, owner, line).await?;
                        &mut lines
                    }
                    PluginRecord::Call(owner, call) => {
                        sql::plugin_records::insert_call(tx, owner, call).await?;
                        &mut calls
                    }
                };
                if !owners.contains(&record.owner()) {
                    owners.push(record.owner());
                }
            }
            for owner in lines {
                sql::plugin_records::trim_lines(tx, owner, &bounds).await?;
            }
            for owner in calls {
                sql::plugin_records::trim_calls(tx, owner, &bounds).await?;
            }
            Ok(())
        })
    }

    /// Lines that a plugin logged in a project, newest first, with their ids.
    #[crate::boxed]
    pub async fn plugin_lines(
        &self,
        owner: &StateOwner,
        page: &RecordPage<'_>,
    ) -> Result<Vec<(i64, PluginLine)>, StoreError> {
        let levels = page.levels.join(",");
        let rows: Vec<LineRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, ts, version, request_id, run_kind, run_id, level, message
                 FROM plugin_logs
                 WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND id < $5
                   AND ($6 = '' OR ',' || $6 || ',' LIKE '%,' || level || ',%')
                   AND ($7 = '' OR request_id = $7)
                 ORDER BY id DESC LIMIT $8",
            )
            .bind(owner.project.get())
            .bind(i64::from(owner.own))
            .bind(owner.kind.as_str())
            .bind(owner.name.as_str())
            .bind(page.before)
            .bind(levels.as_str())
            .bind(page.request_id)
            .bind(i64::from(page.limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(<(i64, PluginLine)>::from).collect())
    }

    /// Failed calls of a plugin in a project, newest first, with their ids and without their bodies.
    #[crate::boxed]
    pub async fn plugin_calls(
        &self,
        owner: &StateOwner,
        page: &RecordPage<'_>,
    ) -> Result<Vec<(i64, PluginCall)>, StoreError> {
        let rows: Vec<CallRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, ts, version, request_id, run_kind, run_id, digest, input, input_digest,
                        NULL AS body, not_replayable, code, message, cpu_us, wall_us, memory
                 FROM plugin_calls
                 WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND id < $5
                   AND ($6 = '' OR request_id = $6)
                 ORDER BY id DESC LIMIT $7",
            )
            .bind(owner.project.get())
            .bind(i64::from(owner.own))
            .bind(owner.kind.as_str())
            .bind(owner.name.as_str())
            .bind(page.before)
            .bind(page.request_id)
            .bind(i64::from(page.limit))
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(<(i64, PluginCall)>::from).collect())
    }

    /// A failed call of a plugin in a project, with its body.
    #[crate::boxed]
    pub async fn plugin_call(
        &self,
        owner: &StateOwner,
        id: i64,
    ) -> Result<Option<PluginCall>, StoreError> {
        let row: Option<CallRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, ts, version, request_id, run_kind, run_id, digest, input, input_digest,
                        body, not_replayable, code, message, cpu_us, wall_us, memory
                 FROM plugin_calls
                 WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND id = $5",
            )
            .bind(owner.project.get())
            .bind(i64::from(owner.own))
            .bind(owner.kind.as_str())
            .bind(owner.name.as_str())
            .bind(id)
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(|row| <(i64, PluginCall)>::from(row).1))
    }

    /// Deletes all records of a plugin: of a project's own in that project, of the instance's in all.
    #[crate::boxed]
    pub async fn delete_plugin_records(
        &self,
        project: Option<ProjectId>,
        kind: &str,
        name: &str,
    ) -> Result<(), StoreError> {
        transact!(quiet true, self.db, tx => {
            sql::plugin_records::delete_of_plugin(tx, project, kind, name).await
        })
    }

    /// Deletes records that are older than a time, in small transactions. Returns their number.
    #[crate::boxed]
    pub async fn sweep_plugin_records(&self, before: DateTime<Utc>) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let gone: Result<u64, StoreError> = transact!(quiet true, self.db, tx => {
                sql::plugin_records::delete_before(tx, to_ms(before)).await
            });
            let gone = gone?;
            swept += gone;
            if gone == 0 {
                return Ok(swept);
            }
        }
    }
}

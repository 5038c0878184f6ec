//! What plugins logged, and their failed calls: kept for their authors, bounded for each plugin, and
//! deleted after some days.

mod calls;
mod lines;

pub use calls::PluginCall;
pub use lines::PluginLine;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{per_database, signed, storable, transact};
use crate::error::StoreError;
use crate::plugin_state::StateOwner;
use crate::store::Store;
use crate::time::to_ms;

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

/// Where records of one kind are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {
    Lines,
    Calls,
}

impl Table {
    const fn name(self) -> &'static str {
        match self {
            Self::Lines => "plugin_logs",
            Self::Calls => "plugin_calls",
        }
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
        .bind(storable(&line.message))
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
        .bind(storable(&call.message))
        .bind(signed(call.cpu_us))
        .bind(signed(call.wall_us))
        .bind(signed(call.memory))
        .bind(signed(call.bytes()))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Deletes the oldest records of a plugin in a table beyond a number and a sum of bytes.
    pub(crate) async fn trim(
        conn: &mut Conn,
        table: Table,
        owner: &StateOwner,
        most: u32,
        most_bytes: u64,
    ) -> Result<(), StoreError> {
        let table = table.name();
        let sql = format!(
            "DELETE FROM {table}
             WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4 AND id IN (
                 SELECT id FROM (
                     SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS place,
                            SUM(bytes) OVER (ORDER BY id DESC) AS total
                     FROM {table}
                     WHERE project_id = $1 AND own = $2 AND kind = $3 AND name = $4
                 ) AS kept WHERE place > $5 OR total > $6
             )"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(owner.project.get())
            .bind(i64::from(owner.own))
            .bind(owner.kind.as_str())
            .bind(owner.name.as_str())
            .bind(i64::from(most))
            .bind(signed(most_bytes))
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
                let (most, bytes) = (bounds.lines, bounds.line_bytes);
                sql::plugin_records::trim(tx, Table::Lines, owner, most, bytes).await?;
            }
            for owner in calls {
                let (most, bytes) = (bounds.calls, bounds.call_bytes);
                sql::plugin_records::trim(tx, Table::Calls, owner, most, bytes).await?;
            }
            Ok(())
        })
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

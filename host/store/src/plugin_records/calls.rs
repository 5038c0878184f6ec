//! Failed calls of plugins.

use chrono::{DateTime, Utc};

use super::{OVERHEAD, RecordOrigin, RecordPage};
use crate::db::read;
use crate::error::StoreError;
use crate::plugin_state::StateOwner;
use crate::store::Store;
use crate::time::from_ms;

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
    pub(super) fn bytes(&self) -> u64 {
        let body = self.body.as_ref().map_or(0, String::len);
        (self.input.len() + self.message.len() + body) as u64 + OVERHEAD
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

impl Store {
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
}

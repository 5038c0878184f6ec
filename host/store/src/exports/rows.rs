//! Rows of the table `exports`.

use orbweaver_core::ids::{ExportId, ProjectId, RunId};

use super::BucketExport;
use crate::error::StoreError;
use crate::time::from_ms;

#[derive(sqlx_macros::FromRow)]
pub(super) struct ExportRow {
    pub(super) id: i64,
    pub(super) project_id: i64,
    run_id: i64,
    status: String,
    request: String,
    request_id: String,
    enqueued_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    cancel_requested: i64,
    attempts: i64,
    pages: i64,
    bytes: i64,
    upload: Option<String>,
    error_code: Option<String>,
    error_message: Option<String>,
}

/// The columns of [`ExportRow`].
macro_rules! columns {
    () => {
        "id, project_id, run_id, status, request, request_id, enqueued_at, started_at,
         finished_at, cancel_requested, attempts, pages, bytes, upload, error_code,
         error_message"
    };
}
pub(super) use columns;

impl TryFrom<ExportRow> for BucketExport {
    type Error = StoreError;

    fn try_from(row: ExportRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: ExportId(row.id),
            project: ProjectId(row.project_id),
            run: RunId(row.run_id),
            status: row.status.parse().map_err(StoreError::Damaged)?,
            request: row.request,
            request_id: row.request_id,
            enqueued_at: from_ms(row.enqueued_at),
            started_at: row.started_at.map(from_ms),
            finished_at: row.finished_at.map(from_ms),
            cancel_requested: row.cancel_requested != 0,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            pages: row.pages.unsigned_abs(),
            bytes: row.bytes.unsigned_abs(),
            upload: row.upload,
            error: row.error_code.zip(row.error_message),
        })
    }
}

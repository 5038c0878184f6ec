//! Reading stored bodies.

use orbweaver_blobs::{BlobError, Place};
use orbweaver_core::ids::{BlobId, ProjectId};

use super::encoding::StoredBody;
use super::rows::digest;
use crate::db::{number, read};
use crate::error::StoreError;
use crate::store::Store;

#[derive(sqlx_macros::FromRow)]
struct BodyRow {
    hash: Vec<u8>,
    size: i64,
    encoding: String,
    bytes: Option<Vec<u8>>,
    segment_offset: Option<i64>,
    segment_length: Option<i64>,
    segment: Option<String>,
}

impl Store {
    /// A stored body of the project.
    ///
    /// # Errors
    /// [`StoreError::Blobs`] if the blob store fails, lacks the body's segment, or has other bytes
    /// there.
    #[crate::boxed]
    pub async fn body(
        &self,
        project: ProjectId,
        blob: BlobId,
    ) -> Result<Option<StoredBody>, StoreError> {
        match self.try_body(project, blob).await {
            // The body moved or was deleted since its row was read.
            Err(StoreError::Blobs(BlobError::Missing(_))) => self.try_body(project, blob).await,
            done => done,
        }
    }

    async fn try_body(
        &self,
        project: ProjectId,
        blob: BlobId,
    ) -> Result<Option<StoredBody>, StoreError> {
        let row: Option<BodyRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT hash, size, encoding, bytes, segment_offset, segment_length,
                        (SELECT name FROM segments WHERE segments.id = segment_id) AS segment
                 FROM blobs WHERE id = $1 AND project_id = $2",
            )
            .bind(blob.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        let Some(row) = row else {
            return Ok(None);
        };
        let hash = digest(row.hash)?;
        let bytes = match (row.bytes, row.segment) {
            (Some(bytes), _) => bytes.into(),
            (None, Some(segment)) => {
                let place = place(row.segment_offset, row.segment_length)?;
                let record = self.blob_store()?.record(&segment, place).await?;
                if record.hash != hash || record.project != project.get() {
                    return Err(BlobError::Damaged {
                        segment,
                        problem: "another body is there".to_owned(),
                    }
                    .into());
                }
                record.bytes
            }
            (None, None) => {
                return Err(StoreError::Damaged("a body without bytes".to_owned()));
            }
        };
        Ok(Some(StoredBody {
            hash,
            size: number(row.size, "size")?,
            encoding: row.encoding.parse().map_err(StoreError::Damaged)?,
            bytes,
        }))
    }

    /// The blob store that segments are read from.
    pub(super) fn blob_store(&self) -> Result<&orbweaver_blobs::Blobs, StoreError> {
        self.blobs.as_ref().ok_or_else(|| {
            BlobError::Settings(
                "bodies are in a blob store, and none is configured; set --blobs (ORBWEAVER_BLOBS)"
                    .to_owned(),
            )
            .into()
        })
    }
}

/// Position of a record, from the columns of a row.
pub(super) fn place(offset: Option<i64>, length: Option<i64>) -> Result<Place, StoreError> {
    Ok(Place {
        offset: number(offset.unwrap_or(-1), "segment_offset")?,
        length: number(length.unwrap_or(-1), "segment_length")?,
    })
}

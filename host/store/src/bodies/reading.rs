//! Reading stored bodies.

use std::collections::{BTreeMap, HashMap};

use futures::{StreamExt as _, stream};
use orbweaver_blobs::{BlobError, Blobs, Place, Record};
use orbweaver_core::ids::{BlobId, PageId, ProjectId};

use super::encoding::StoredBody;
use super::rows::digest;
use crate::db::{number, pieces, push_list, read_replica};
use crate::error::StoreError;
use crate::store::Store;

/// Segments of which bodies are read ahead at the same time.
const SEGMENTS_AT_ONCE: usize = 8;

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

/// Where the body of a page is: in the database, or in a segment.
#[derive(sqlx_macros::FromRow)]
struct AheadRow {
    id: i64,
    hash: Vec<u8>,
    size: i64,
    encoding: String,
    length: i64,
    segment_offset: Option<i64>,
    segment: Option<String>,
}

/// The body of a page, from the database.
#[derive(sqlx_macros::FromRow)]
struct InlineRow {
    id: i64,
    hash: Vec<u8>,
    size: i64,
    encoding: String,
    bytes: Vec<u8>,
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
            Err(StoreError::Blobs(BlobError::Missing(_))) => {
                let again = self.try_body(project, blob).await;
                if let Err(StoreError::Blobs(BlobError::Missing(segment))) = &again
                    && let Err(error) = self.note_lost(segment).await
                {
                    tracing::warn!(%error, "cannot note that the blob store has lost a segment");
                }
                again
            }
            done => done,
        }
    }

    async fn try_body(
        &self,
        project: ProjectId,
        blob: BlobId,
    ) -> Result<Option<StoredBody>, StoreError> {
        let row: Option<BodyRow> = read_replica!(self, pool => {
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
                is_body(&segment, &record, project, &hash)?;
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

    /// Reads the bodies of some pages together, at most `most` bytes of them, where
    /// [`body`](Self::body) needs a statement or a request for each. What cannot be read is left
    /// out; `body` says why.
    ///
    /// # Errors
    /// If the database fails.
    #[crate::boxed]
    pub async fn bodies_ahead(
        &self,
        project: ProjectId,
        pages: &[PageId],
        most: u64,
    ) -> Result<HashMap<PageId, StoredBody>, StoreError> {
        let mut bodies = HashMap::new();
        let mut segments: BTreeMap<String, Vec<AheadRow>> = BTreeMap::new();
        let mut left = most;
        for piece in pieces(pages) {
            // Their lengths first: a body for which there is no room is not read.
            let rows: Vec<AheadRow> = read_replica!(self, pool => {
                let mut select = sqlx::QueryBuilder::new(
                    "SELECT p.id, b.hash, b.size, b.encoding,
                            CAST(COALESCE(b.segment_length, length(b.bytes)) AS BIGINT) AS length,
                            b.segment_offset, s.name AS segment
                     FROM pages p JOIN blobs b ON b.id = p.blob_id AND b.project_id = p.project_id
                     LEFT JOIN segments s ON s.id = b.segment_id
                     WHERE p.project_id = ",
                );
                select.push_bind(project.get()).push(" AND p.id IN ");
                push_list(&mut select, piece.iter().map(|page| page.get()));
                select.push(" ORDER BY p.id");
                select.build_query_as().fetch_all(pool).await?
            });
            let mut inline = Vec::new();
            for row in rows {
                let length = u64::try_from(row.length).ok();
                let Some(rest) = length.and_then(|length| left.checked_sub(length)) else {
                    continue;
                };
                left = rest;
                match &row.segment {
                    Some(segment) => segments.entry(segment.clone()).or_default().push(row),
                    None => inline.push(PageId(row.id)),
                }
            }
            self.inline_bodies(project, &inline, &mut bodies).await?;
        }
        let Some(blobs) = &self.blobs else {
            return Ok(bodies);
        };
        let read = segments.into_iter().map(|(segment, rows)| async move {
            ahead(blobs, project, &segment, rows)
                .await
                .inspect_err(|error| tracing::debug!(segment, %error, "bodies are not read ahead"))
                .unwrap_or_default()
        });
        let mut read = stream::iter(read).buffer_unordered(SEGMENTS_AT_ONCE);
        while let Some(read) = read.next().await {
            bodies.extend(read);
        }
        Ok(bodies)
    }

    /// Adds the bodies of pages that are in the database.
    async fn inline_bodies(
        &self,
        project: ProjectId,
        pages: &[PageId],
        bodies: &mut HashMap<PageId, StoredBody>,
    ) -> Result<(), StoreError> {
        for piece in pieces(pages) {
            let rows: Vec<InlineRow> = read_replica!(self, pool => {
                let mut select = sqlx::QueryBuilder::new(
                    "SELECT p.id, b.hash, b.size, b.encoding, b.bytes
                     FROM pages p JOIN blobs b ON b.id = p.blob_id AND b.project_id = p.project_id
                     WHERE b.bytes IS NOT NULL AND p.project_id = ",
                );
                select.push_bind(project.get()).push(" AND p.id IN ");
                push_list(&mut select, piece.iter().map(|page| page.get()));
                select.build_query_as().fetch_all(pool).await?
            });
            let read = rows.into_iter().filter_map(|row| {
                let body = StoredBody {
                    hash: digest(row.hash).ok()?,
                    size: number(row.size, "size").ok()?,
                    encoding: row.encoding.parse().ok()?,
                    bytes: row.bytes.into(),
                };
                Some((PageId(row.id), body))
            });
            bodies.extend(read);
        }
        Ok(())
    }

    /// The blob store that segments are read from.
    pub(super) fn blob_store(&self) -> Result<&Blobs, StoreError> {
        self.blobs.as_ref().ok_or_else(|| {
            BlobError::Settings(
                "bodies are in a blob store, and none is configured; set --blobs (ORBWEAVER_BLOBS)"
                    .to_owned(),
            )
            .into()
        })
    }
}

/// Bodies of one segment.
async fn ahead(
    blobs: &Blobs,
    project: ProjectId,
    segment: &str,
    rows: Vec<AheadRow>,
) -> Result<Vec<(PageId, StoredBody)>, StoreError> {
    let places: Vec<Place> = rows
        .iter()
        .map(|row| place(row.segment_offset, Some(row.length)))
        .collect::<Result<_, _>>()?;
    let records = blobs.records(segment, &places).await?;
    let bodies = rows.into_iter().zip(records).filter_map(|(row, record)| {
        let record = record.ok()?;
        let hash = digest(row.hash).ok()?;
        is_body(segment, &record, project, &hash).ok()?;
        let body = StoredBody {
            hash,
            size: number(row.size, "size").ok()?,
            encoding: row.encoding.parse().ok()?,
            bytes: record.bytes,
        };
        Some((PageId(row.id), body))
    });
    Ok(bodies.collect())
}

/// Whether a record has the project's body with this hash.
fn is_body(
    segment: &str,
    record: &Record,
    project: ProjectId,
    hash: &[u8; 32],
) -> Result<(), BlobError> {
    if record.hash == *hash && record.project == project.get() {
        return Ok(());
    }
    Err(BlobError::Damaged {
        segment: segment.to_owned(),
        problem: "another body is there".to_owned(),
    })
}

/// Position of a record, from the columns of a row.
pub(super) fn place(offset: Option<i64>, length: Option<i64>) -> Result<Place, StoreError> {
    Ok(Place {
        offset: number(offset.unwrap_or(-1), "segment_offset")?,
        length: number(length.unwrap_or(-1), "segment_length")?,
    })
}

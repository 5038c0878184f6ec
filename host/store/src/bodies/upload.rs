//! Writing a commit's bodies to the blob store, before the transaction with their rows.

use std::collections::{HashMap, HashSet};

use orbweaver_blobs::{BlobError, Blobs, Place, RecordBody};
use orbweaver_core::ids::ProjectId;

use super::encoding::StoredBody;
use super::rows::{BodyKey, NewBody, digest};
use super::segments::SegmentRow;
use crate::db::{pieces, push_list, read, signed};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::to_ms;

/// A segment that the blob store has confirmed, and that no row refers to yet. If the transaction
/// fails, the sweeper finds it.
#[derive(Debug)]
pub(crate) struct Uploaded {
    pub(crate) row: SegmentRow,
    places: HashMap<BodyKey, Place>,
}

impl Uploaded {
    /// The record of a body.
    pub(crate) fn place(&self, key: &BodyKey) -> Option<Place> {
        self.places.get(key).copied()
    }
}

impl Store {
    /// Writes those bodies to a segment that are not stored yet. `None` if they are few: these wait
    /// in the database until they fill a segment, so that a slow crawl does not make an object for
    /// each page.
    pub(crate) async fn upload(
        &self,
        blobs: &Blobs,
        bodies: &[NewBody<'_>],
    ) -> Result<Option<Uploaded>, StoreError> {
        let least = blobs.options().least_segment;
        let bytes = |bodies: &[NewBody<'_>]| -> usize {
            bodies.iter().map(|new| new.body.bytes.len()).sum()
        };
        if bodies.is_empty() || bytes(bodies) < least {
            return Ok(None);
        }
        let known = self.known_bodies(bodies).await?;
        let new: Vec<NewBody<'_>> = bodies
            .iter()
            .filter(|new| !known.contains(&(new.project, new.body.hash)))
            .copied()
            .collect();
        if new.is_empty() || bytes(&new) < least {
            return Ok(None);
        }
        let records = new
            .iter()
            .map(|new| record(new.project, new.body))
            .collect();
        let uploaded = write(blobs, records).await?;
        Ok(Some(uploaded))
    }

    /// Those of the bodies that are stored.
    async fn known_bodies(&self, bodies: &[NewBody<'_>]) -> Result<HashSet<BodyKey>, StoreError> {
        let mut by_project: HashMap<ProjectId, Vec<&[u8; 32]>> = HashMap::new();
        for new in bodies {
            by_project
                .entry(new.project)
                .or_default()
                .push(&new.body.hash);
        }
        let mut known = HashSet::new();
        for (project, hashes) in by_project {
            for piece in pieces(&hashes) {
                let found: Vec<Vec<u8>> = read!(self.db, pool => {
                    let mut select =
                        sqlx::QueryBuilder::new("SELECT hash FROM blobs WHERE project_id = ");
                    select.push_bind(project.get()).push(" AND hash IN ");
                    push_list(&mut select, piece.iter().map(|hash| hash.as_slice()));
                    select.build_query_scalar().fetch_all(pool).await?
                });
                for hash in found {
                    known.insert((project, digest(hash)?));
                }
            }
        }
        Ok(known)
    }
}

/// A body as a record of a segment. Its bytes are shared, not copied.
pub(super) fn record(project: ProjectId, body: &StoredBody) -> RecordBody {
    RecordBody {
        project: project.get(),
        hash: body.hash,
        size: body.size,
        encoding: body.encoding.as_str().to_owned(),
        bytes: body.bytes.clone(),
    }
}

/// Writes records to a new segment, which the blob store confirms.
pub(super) async fn write(blobs: &Blobs, records: Vec<RecordBody>) -> Result<Uploaded, StoreError> {
    let mut builder = blobs.segment();
    let keys: Vec<BodyKey> = records
        .iter()
        .map(|record| (ProjectId(record.project), record.hash))
        .collect();
    let created_at = to_ms(blobs.now());
    // A SHA-256 over all of them.
    let built = tokio::task::spawn_blocking(move || {
        for record in &records {
            builder.add(record);
        }
        builder.finish()
    });
    let segment = built.await.map_err(|error| BlobError::Unavailable {
        operation: "put",
        message: error.to_string(),
    })?;
    blobs.put(&segment).await?;
    Ok(Uploaded {
        row: SegmentRow {
            bytes: signed(segment.bytes.len() as u64),
            name: segment.name,
            created_at,
        },
        places: keys.into_iter().zip(segment.places).collect(),
    })
}

//! Pages of a monitor's previous run, used for conditional requests.

use orbweaver_core::content::Kind;
use orbweaver_core::ids::{BlobId, ProjectId, RunId};

use super::kind_of;
use crate::accounts::CloudMode;
use crate::db::{number, read};
use crate::error::StoreError;
use crate::indexed_key::indexed_key;
use crate::store::Store;

/// A page as stored by an earlier run.
#[derive(Clone, Debug)]
pub struct PreviousPage {
    /// Normalised URL.
    pub url_key: String,
    /// The URL that answered.
    pub final_url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
    /// Hash of the visible content, lower-case hex.
    pub content_hash: Option<String>,
    /// Kind of its body.
    pub kind: Kind,
    /// Response headers, a JSON array of `[name, value]`.
    pub headers: String,
    /// Extracted metadata as JSON, for pages without a body.
    pub metadata: Option<String>,
    /// The body's row.
    pub blob: Option<BlobId>,
    /// Its title.
    pub title: Option<String>,
    /// Its canonical URL.
    pub canonical: Option<String>,
    /// Its robots directives as text.
    pub robots: Option<String>,
    /// Outputs of the run's additional extractors.
    pub extensions: Option<String>,
    /// Its Content-Type header.
    pub content_type: Option<String>,
    /// Whether a browser rendered it.
    pub rendered: bool,
    /// Its links, compressed.
    pub links: Vec<u8>,
}

#[derive(sqlx_macros::FromRow)]
struct PreviousRow {
    url_key: String,
    final_url: String,
    status: i64,
    bytes: i64,
    content_hash: Option<String>,
    kind: String,
    headers: String,
    metadata: Option<String>,
    blob_id: Option<i64>,
    title: Option<String>,
    canonical: Option<String>,
    robots: Option<String>,
    extensions: Option<String>,
    content_type: Option<String>,
    cloud_mode: String,
    links: Option<Vec<u8>>,
}

impl TryFrom<PreviousRow> for PreviousPage {
    type Error = StoreError;

    fn try_from(row: PreviousRow) -> Result<Self, StoreError> {
        Ok(Self {
            url_key: row.url_key,
            final_url: row.final_url,
            status: number(row.status, "status")?,
            bytes: number(row.bytes, "bytes")?,
            content_hash: row.content_hash,
            kind: kind_of(&row.kind)?,
            headers: row.headers,
            metadata: row.metadata,
            blob: row.blob_id.map(BlobId),
            title: row.title,
            canonical: row.canonical,
            robots: row.robots,
            extensions: row.extensions,
            content_type: row.content_type,
            rendered: row.cloud_mode == CloudMode::Browser.as_str(),
            links: row.links.unwrap_or_default(),
        })
    }
}

impl Store {
    /// The page of a run of the project by its normalised URL; `None`, too, if the blob store has lost its
    /// body: it is to be fetched as if it were new.
    #[crate::boxed]
    pub async fn previous_page(
        &self,
        project: ProjectId,
        run: RunId,
        url_key: &str,
    ) -> Result<Option<PreviousPage>, StoreError> {
        let row: Option<PreviousRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT p.url_key, p.final_url, p.status, p.bytes, p.content_hash, p.kind,
                        p.headers, p.metadata, p.blob_id, p.title, p.canonical, p.robots,
                        p.extensions, p.content_type, p.cloud_mode, l.links
                 FROM pages p LEFT JOIN page_links l ON l.page_id = p.id AND l.project_id = $3
                 LEFT JOIN blobs b ON b.id = p.blob_id AND b.project_id = $3
                 LEFT JOIN segments s ON s.id = b.segment_id
                 WHERE p.run_id = $1 AND p.url_key = $2 AND p.project_id = $3
                   AND s.lost_at IS NULL",
            )
            .bind(run.get())
            .bind(indexed_key(url_key))
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(PreviousPage::try_from).transpose()
    }
}

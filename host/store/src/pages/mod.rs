//! Stored pages, of scans and of crawl runs: every statement on `pages`, `page_links` and
//! `page_records`.

mod compared;
mod diff;
mod diff_sql;
mod graph;
pub(crate) mod links;
mod list;
pub(crate) mod new_page;
mod packed;
mod previous;
pub(crate) mod records;
pub(crate) mod rows;

pub use diff::{DifferentPage, RunDiff};
pub use graph::Orphan;
pub use links::{LinkRows, LinkedPage, PackedLinks};
pub use list::{PageItem, PageRange, PageRecord, PageSummary};
pub use new_page::{NewPage, NewRecord};
pub use packed::{
    LinkSlice, StoredLink, each_link, pack_links, pack_targets, slice_links, unpack_links,
    unpack_targets,
};
pub use previous::PreviousPage;
pub use records::RunRecord;
pub use rows::CrawledPage;

use chrono::{DateTime, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{BlobId, PageId, ProjectId};

use crate::accounts::CloudMode;
use crate::bodies::encoding::StoredBody;
use crate::bodies::rows::digest;
use crate::db::{number, read};
use crate::error::StoreError;
use crate::indexed_key::indexed_key;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// A stored page; its body is read separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPage {
    /// Its id.
    pub id: PageId,
    /// URL as requested.
    pub url: String,
    /// The URL that answered.
    pub final_url: String,
    /// HTTP status.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
    /// When the response arrived.
    pub fetched_at: DateTime<Utc>,
    /// Hash of the visible content, lower-case hex.
    pub content_hash: Option<String>,
    /// Kind of its body.
    pub kind: Kind,
    /// Response headers, a JSON array of `[name, value]`.
    pub headers: String,
    /// The body's row and the SHA-256 of the decoded body.
    pub body: Option<(BlobId, [u8; 32])>,
    /// The body itself, if it was read ahead ([`Store::bodies_ahead`]).
    pub ahead: Option<StoredBody>,
}

/// Conditions on a stored page that may answer a scan.
#[derive(Clone, Copy, Debug)]
pub struct CacheQuery<'a> {
    /// The normalised URL.
    pub url_key: &'a str,
    /// The user agent as requested; empty if the service chooses.
    pub user_agent: &'a str,
    /// How the page must have been fetched.
    pub cloud_mode: CloudMode,
    /// Earliest acceptable time of its response.
    pub since: DateTime<Utc>,
}

#[derive(sqlx_macros::FromRow)]
pub(crate) struct PageRow {
    id: i64,
    url: String,
    final_url: String,
    status: i64,
    bytes: i64,
    fetched_at: i64,
    content_hash: Option<String>,
    kind: String,
    headers: String,
    blob_id: Option<i64>,
    hash: Option<Vec<u8>>,
}

impl TryFrom<PageRow> for StoredPage {
    type Error = StoreError;

    fn try_from(row: PageRow) -> Result<Self, StoreError> {
        let body = match (row.blob_id, row.hash) {
            (Some(id), Some(hash)) => Some((BlobId(id), digest(hash)?)),
            _ => None,
        };
        Ok(Self {
            id: PageId(row.id),
            url: row.url,
            final_url: row.final_url,
            status: number(row.status, "status")?,
            bytes: number(row.bytes, "bytes")?,
            fetched_at: from_ms(row.fetched_at),
            content_hash: row.content_hash,
            kind: kind_of(&row.kind)?,
            headers: row.headers,
            body,
            ahead: None,
        })
    }
}

impl Store {
    /// The newest page of the project that satisfies the query.
    #[crate::boxed]
    pub async fn cached_page(
        &self,
        project: ProjectId,
        query: &CacheQuery<'_>,
    ) -> Result<Option<StoredPage>, StoreError> {
        let row: Option<PageRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT p.id, p.url, p.final_url, p.status, p.bytes, p.fetched_at,
                        p.content_hash, p.kind, p.headers, p.blob_id, b.hash
                 FROM pages p LEFT JOIN blobs b ON b.id = p.blob_id AND b.project_id = $1
                 WHERE p.project_id = $1 AND p.url_key = $2 AND p.fetched_at >= $3
                   AND p.user_agent = $4 AND p.cloud_mode = $5
                   AND (p.run_id IS NULL OR EXISTS (SELECT 1 FROM runs r WHERE r.id = p.run_id))
                 ORDER BY p.fetched_at DESC, p.id DESC LIMIT 1",
            )
            .bind(project.get())
            .bind(indexed_key(query.url_key))
            .bind(to_ms(query.since))
            .bind(query.user_agent)
            .bind(query.cloud_mode.as_str())
            .fetch_optional(pool)
            .await?
        });
        row.map(StoredPage::try_from).transpose()
    }
}

/// Whether a status is a temporary failure, which says nothing about the page's content.
pub const fn is_unreliable(status: u16) -> bool {
    matches!(status, 408 | 425 | 429) || status >= 500
}

/// SQL: as [`is_unreliable`].
macro_rules! unreliable {
    ($status:literal) => {
        concat!("(", $status, " IN (408, 425, 429) OR ", $status, " >= 500)")
    };
}
pub(crate) use unreliable;

pub(crate) const fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Html => "html",
        Kind::Text => "text",
        Kind::Document => "document",
        Kind::Other => "other",
    }
}

pub(crate) fn kind_of(word: &str) -> Result<Kind, StoreError> {
    match word {
        "html" => Ok(Kind::Html),
        "text" => Ok(Kind::Text),
        "document" => Ok(Kind::Document),
        "other" => Ok(Kind::Other),
        _ => Err(StoreError::Damaged(format!("kind: {word}"))),
    }
}

//! The table `page_links`: the links of crawled pages, in compressed rows.

use orbweaver_core::ids::{PageId, ProjectId, RunId};

use super::CrawledPage;
use crate::db::{per_database, pieces, read_replica};
use crate::error::StoreError;
use crate::store::Store;

/// Most pages whose targets one statement reads.
const TARGETS_PAGES: u32 = 1_000;
/// Stored bytes of targets after which one statement reads no further page.
const TARGETS_BYTES: u64 = 1 << 20;

/// Stored sizes of the links of a run's pages, from a page on.
const LINK_SIZES: &str = "SELECT page_id, CAST(length(links) AS BIGINT) AS bytes
     FROM page_links WHERE run_id = $1 AND page_id >= $2 AND project_id = $3
     ORDER BY page_id LIMIT $4";
/// Stored sizes of the targets of a run's pages, from a page on.
const TARGET_SIZES: &str = "SELECT page_id, CAST(length(targets) AS BIGINT) AS bytes
     FROM page_links WHERE run_id = $1 AND page_id >= $2 AND project_id = $3
     ORDER BY page_id LIMIT $4";

/// A page's links as they are stored; [`unpack_links`](super::unpack_links) unpacks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedLinks {
    /// The page they are on.
    pub page: PageId,
    /// The compressed links.
    pub links: Vec<u8>,
}

/// Links of some pages of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkRows {
    /// One row per page, by ascending page id.
    pub rows: Vec<PackedLinks>,
    /// Whether there may be more.
    pub more: bool,
}

#[derive(sqlx_macros::FromRow)]
struct LinkSize {
    page_id: i64,
    bytes: i64,
}

/// Hashes of the targets of a page's links; [`unpack_targets`](super::unpack_targets) decodes
/// them.
#[derive(Debug)]
pub(crate) struct PackedTargets {
    pub(crate) page: PageId,
    pub(crate) targets: Vec<u8>,
}

/// A crawled page with links, and where they lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedPage {
    /// Its id.
    pub page: PageId,
    /// The URL that was requested.
    pub url: String,
    /// Hash of its normalised URL.
    pub key_hash: u64,
    /// Links from the seed when it was fetched.
    pub depth: u32,
    /// Hashes of the targets of its links; [`unpack_targets`](super::unpack_targets) decodes them.
    pub targets: Vec<u8>,
}

#[derive(sqlx_macros::FromRow)]
struct LinkedRow {
    page_id: i64,
    url: String,
    key_hash: Option<i64>,
    depth: Option<i64>,
    targets: Vec<u8>,
}

impl From<LinkedRow> for LinkedPage {
    fn from(row: LinkedRow) -> Self {
        Self {
            page: PageId(row.page_id),
            url: row.url,
            key_hash: row.key_hash.unwrap_or_default().cast_unsigned(),
            depth: row
                .depth
                .and_then(|depth| u32::try_from(depth).ok())
                .unwrap_or_default(),
            targets: row.targets,
        }
    }
}

/// Reads a row of a page's id and one packed column.
macro_rules! from_packed_row {
    ($row:ident, $column:ident) => {
        impl<'r, R> sqlx::FromRow<'r, R> for $row
        where
            R: sqlx::Row,
            &'static str: sqlx::ColumnIndex<R>,
            i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
            Vec<u8>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        {
            fn from_row(row: &'r R) -> sqlx::Result<Self> {
                Ok(Self {
                    page: PageId(row.try_get("page_id")?),
                    $column: row.try_get(stringify!($column))?,
                })
            }
        }
    };
}

from_packed_row!(PackedLinks, links);
from_packed_row!(PackedTargets, targets);

per_database! {
    /// Stores the links of pages, under their page ids.
    pub(crate) async fn insert(
        conn: &mut Conn,
        pages: &[(i64, &CrawledPage)],
    ) -> Result<(), StoreError> {
        for piece in pieces(pages) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO page_links (page_id, run_id, project_id, targets, links) ",
            );
            insert.push_values(piece, |mut row, (id, page)| {
                row.push_bind(*id)
                    .push_bind(page.page.run.map(|run| run.get()))
                    .push_bind(page.page.project.get())
                    .push_bind(page.targets.as_slice())
                    .push_bind(page.links.as_slice());
            });
            insert.build().execute(&mut *conn).await?;
        }
        Ok(())
    }

    /// Deletes the links of a run's pages from `first` to `last`.
    pub(crate) async fn delete_between(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        first: i64,
        last: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM page_links
             WHERE project_id = $4 AND run_id = $1 AND page_id BETWEEN $2 AND $3",
        )
        .bind(run.get())
        .bind(first)
        .bind(last)
        .bind(project.get())
        .execute(&mut *conn)
        .await?;
        Ok(())
    }
}

impl Store {
    /// Links of a run's pages, by ascending page id, from page `from` on: at most `limit` pages,
    /// and none after `max_bytes` stored bytes are reached.
    #[crate::boxed]
    pub async fn run_links(
        &self,
        project: ProjectId,
        run: RunId,
        from: PageId,
        limit: u32,
        max_bytes: u64,
    ) -> Result<LinkRows, StoreError> {
        let Some((last, more)) = self
            .last_within(LINK_SIZES, project, run, from.get(), limit, max_bytes)
            .await?
        else {
            return Ok(LinkRows::default());
        };
        let rows: Vec<PackedLinks> = read_replica!(self, pool => {
            sqlx::query_as(
                "SELECT page_id, links FROM page_links
                 WHERE run_id = $1 AND page_id BETWEEN $2 AND $3 AND project_id = $4
                 ORDER BY page_id",
            )
            .bind(run.get())
            .bind(from.get())
            .bind(last)
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        Ok(LinkRows { rows, more })
    }

    /// The last of a run's pages from page `from` on that is within `limit` pages, and the first
    /// one that reaches `max_bytes`; whether there may be further ones. `None` if there is no
    /// page.
    async fn last_within(
        &self,
        sizes: &'static str,
        project: ProjectId,
        run: RunId,
        from: i64,
        limit: u32,
        max_bytes: u64,
    ) -> Result<Option<(i64, bool)>, StoreError> {
        let sizes: Vec<LinkSize> = read_replica!(self, pool => {
            sqlx::query_as(sizes)
                .bind(run.get())
                .bind(from)
                .bind(project.get())
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        let mut bytes = 0;
        let within = sizes.iter().take_while(|size| {
            let has_room = bytes < max_bytes;
            bytes += u64::try_from(size.bytes).unwrap_or_default();
            has_room
        });
        let Some(last) = within.last().map(|size| size.page_id) else {
            return Ok(None);
        };
        let is_last = sizes.last().is_some_and(|size| size.page_id == last);
        Ok(Some((last, !is_last || sizes.len() >= limit as usize)))
    }

    /// Links of one page of a run; `None` if it has none, or is not a page of the run.
    #[crate::boxed]
    pub async fn page_links(
        &self,
        project: ProjectId,
        run: RunId,
        page: PageId,
    ) -> Result<Option<PackedLinks>, StoreError> {
        read_replica!(self, pool => {
            Ok(sqlx::query_as(
                "SELECT page_id, links FROM page_links
                 WHERE page_id = $1 AND run_id = $2 AND project_id = $3",
            )
            .bind(page.get())
            .bind(run.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?)
        })
    }

    /// A run's pages with links, by ascending page id, after page `after`: as many as fit into one
    /// megabyte, at least one. Empty behind the last page.
    #[crate::boxed]
    pub async fn linked_pages(
        &self,
        project: ProjectId,
        run: RunId,
        after: PageId,
    ) -> Result<Vec<LinkedPage>, StoreError> {
        let Some((first, last)) = self.targets_within(project, run, after.get()).await? else {
            return Ok(Vec::new());
        };
        let rows: Vec<LinkedRow> = read_replica!(self, pool => {
            sqlx::query_as(
                "SELECT l.page_id, p.url, p.key_hash, p.depth, l.targets
                 FROM page_links l JOIN pages p ON p.id = l.page_id AND p.project_id = $4
                 WHERE l.run_id = $1 AND l.page_id BETWEEN $2 AND $3 AND l.project_id = $4
                 ORDER BY l.page_id",
            )
            .bind(run.get())
            .bind(first)
            .bind(last)
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(LinkedPage::from).collect())
    }

    /// The first and the last id of the pages after `after` whose targets one statement reads;
    /// `None` behind the last page.
    async fn targets_within(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
    ) -> Result<Option<(i64, i64)>, StoreError> {
        let first = after.saturating_add(1);
        let within = self
            .last_within(
                TARGET_SIZES,
                project,
                run,
                first,
                TARGETS_PAGES,
                TARGETS_BYTES,
            )
            .await?;
        Ok(within.map(|(last, _)| (first, last)))
    }

    /// Targets of a run's pages, by ascending page id, after page `after`: as many pages as fit
    /// into [`TARGETS_BYTES`], at least one. Empty behind the last page.
    pub(crate) async fn run_targets(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
    ) -> Result<Vec<PackedTargets>, StoreError> {
        let Some((first, last)) = self.targets_within(project, run, after).await? else {
            return Ok(Vec::new());
        };
        read_replica!(self, pool => {
            Ok(sqlx::query_as(
                "SELECT page_id, targets FROM page_links
                 WHERE run_id = $1 AND page_id BETWEEN $2 AND $3 AND project_id = $4
                 ORDER BY page_id",
            )
            .bind(run.get())
            .bind(first)
            .bind(last)
            .bind(project.get())
            .fetch_all(pool)
            .await?)
        })
    }
}

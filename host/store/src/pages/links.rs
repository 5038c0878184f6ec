//! The table `page_links`: the links of crawled pages, in compressed rows.

use orbweaver_core::ids::{PageId, ProjectId, RunId};

use super::CrawledPage;
use crate::db::{Store, per_database, pieces, read};
use crate::error::StoreError;

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

/// The page and one packed column of a row.
fn packed<'r, R>(row: &'r R, column: &'static str) -> sqlx::Result<(PageId, Vec<u8>)>
where
    R: sqlx::Row,
    &'static str: sqlx::ColumnIndex<R>,
    i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    Vec<u8>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    Ok((PageId(row.try_get("page_id")?), row.try_get(column)?))
}

impl<'r, R> sqlx::FromRow<'r, R> for PackedLinks
where
    R: sqlx::Row,
    &'static str: sqlx::ColumnIndex<R>,
    i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    Vec<u8>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (page, links) = packed(row, "links")?;
        Ok(Self { page, links })
    }
}

impl<'r, R> sqlx::FromRow<'r, R> for PackedTargets
where
    R: sqlx::Row,
    &'static str: sqlx::ColumnIndex<R>,
    i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    Vec<u8>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (page, targets) = packed(row, "targets")?;
        Ok(Self { page, targets })
    }
}

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
        run: RunId,
        first: i64,
        last: i64,
    ) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM page_links WHERE run_id = $1 AND page_id BETWEEN $2 AND $3")
            .bind(run.get())
            .bind(first)
            .bind(last)
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
        let sizes: Vec<LinkSize> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT page_id, CAST(length(links) AS BIGINT) AS bytes FROM page_links
                 WHERE run_id = $1 AND page_id >= $2 AND project_id = $3
                 ORDER BY page_id LIMIT $4",
            )
            .bind(run.get())
            .bind(from.get())
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
        let Some(last) = within.last() else {
            return Ok(LinkRows::default());
        };
        let rows: Vec<PackedLinks> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT page_id, links FROM page_links
                 WHERE run_id = $1 AND page_id BETWEEN $2 AND $3 AND project_id = $4
                 ORDER BY page_id",
            )
            .bind(run.get())
            .bind(from.get())
            .bind(last.page_id)
            .bind(project.get())
            .fetch_all(pool)
            .await?
        });
        let is_last = sizes
            .last()
            .is_some_and(|size| size.page_id == last.page_id);
        let more = !is_last || sizes.len() >= limit as usize;
        Ok(LinkRows { rows, more })
    }

    /// Links of one page of a run; `None` if it has none, or is not a page of the run.
    #[crate::boxed]
    pub async fn page_links(
        &self,
        project: ProjectId,
        run: RunId,
        page: PageId,
    ) -> Result<Option<PackedLinks>, StoreError> {
        read!(self.db, pool => {
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

    /// Targets of a run's pages, by ascending page id, after page `after`; at most `limit` pages.
    pub(crate) async fn run_targets(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<PackedTargets>, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_as(
                "SELECT page_id, targets FROM page_links
                 WHERE run_id = $1 AND page_id > $2 AND project_id = $3
                 ORDER BY page_id LIMIT $4",
            )
            .bind(run.get())
            .bind(after)
            .bind(project.get())
            .bind(limit)
            .fetch_all(pool)
            .await?)
        })
    }
}

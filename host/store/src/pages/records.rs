//! The table `page_records`: the records that hooks made of crawled pages.

use orbweaver_core::ids::{PageId, ProjectId, RunId};

use super::new_page::NewRecord;
use super::rows::CrawledPage;
use crate::db::{per_database, pieces, read_replica, signed};
use crate::error::StoreError;
use crate::store::Store;

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Its page.
    pub page: PageId,
    /// Its place among the page's records, from 0.
    pub place: i64,
    /// The page's URL.
    pub url: String,
    /// The name of the hook that made it.
    pub hook: String,
    /// JSON text.
    pub data: String,
}

#[derive(sqlx_macros::FromRow)]
struct RecordRow {
    page_id: i64,
    place: i64,
    url: String,
    hook: String,
    data: String,
}

impl From<RecordRow> for RunRecord {
    fn from(row: RecordRow) -> Self {
        Self {
            page: PageId(row.page_id),
            place: row.place,
            url: row.url,
            hook: row.hook,
            data: row.data,
        }
    }
}

per_database! {
    /// Stores the records of pages, under their page ids.
    pub(crate) async fn insert(
        conn: &mut Conn,
        pages: &[(i64, &CrawledPage)],
    ) -> Result<(), StoreError> {
        let rows: Vec<(i64, &CrawledPage, i64, &NewRecord)> = pages
            .iter()
            .flat_map(|(id, page)| {
                let records = (0_i64..).zip(&page.records);
                records.map(|(place, record)| (*id, *page, place, record))
            })
            .collect();
        for piece in pieces(&rows) {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO page_records (page_id, place, run_id, project_id, hook, data) ",
            );
            insert.push_values(piece, |mut row, (id, page, place, record)| {
                row.push_bind(*id)
                    .push_bind(*place)
                    .push_bind(page.page.run.map(|run| run.get()))
                    .push_bind(page.page.project.get())
                    .push_bind(record.hook.as_str())
                    .push_bind(record.data.as_str());
            });
            insert.build().execute(&mut *conn).await?;
        }
        Ok(())
    }

    /// Deletes the records of a run's pages from `first` to `last`.
    pub(crate) async fn delete_between(
        conn: &mut Conn,
        project: ProjectId,
        run: RunId,
        first: i64,
        last: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM page_records
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
    /// Records of a run of the project, by page and place: those after `after`, of these after
    /// leaving out `offset`, at most `limit`.
    #[crate::boxed]
    pub async fn run_records(
        &self,
        project: ProjectId,
        run: RunId,
        after: (PageId, i64),
        offset: u64,
        limit: u32,
    ) -> Result<Vec<RunRecord>, StoreError> {
        let (page, place) = after;
        let rows: Vec<RecordRow> = read_replica!(self, pool => {
            sqlx::query_as(
                "SELECT r.page_id, r.place, p.url, r.hook, r.data
                 FROM page_records r JOIN pages p ON p.id = r.page_id AND p.project_id = $4
                 WHERE r.run_id = $1 AND (r.page_id, r.place) > ($2, $3) AND r.project_id = $4
                   AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND project_id = $4)
                 ORDER BY r.page_id, r.place LIMIT $5 OFFSET $6",
            )
            .bind(run.get())
            .bind(page.get())
            .bind(place)
            .bind(project.get())
            .bind(i64::from(limit))
            .bind(signed(offset))
            .fetch_all(pool)
            .await?
        });
        Ok(rows.into_iter().map(RunRecord::from).collect())
    }

    /// The records of a page of the project, by place: hook and JSON text.
    #[crate::boxed]
    pub async fn page_records(
        &self,
        project: ProjectId,
        page: PageId,
    ) -> Result<Vec<(String, String)>, StoreError> {
        Ok(read_replica!(self, pool => {
            sqlx::query_as(
                "SELECT hook, data FROM page_records
                 WHERE page_id = $1 AND project_id = $2 ORDER BY place",
            )
            .bind(page.get())
            .bind(project.get())
            .fetch_all(pool)
            .await?
        }))
    }
}

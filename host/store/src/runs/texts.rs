//! The table `run_texts`: what the sites of runs tell language models.

use orbweaver_core::ids::{ProjectId, RunId};

use super::rows::{RunRow, columns};
use super::{Lease, Run};
use crate::db::{per_database, read, storable};
use crate::error::StoreError;
use crate::store::Store;

/// What a run's site tells language models. These files may have megabytes, so they are read only where
/// they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteTexts {
    /// Its llms.txt.
    pub llms_txt: Option<String>,
    /// Its llms-full.txt.
    pub llms_full_txt: Option<String>,
}

#[derive(sqlx_macros::FromRow)]
struct TextsRow {
    #[sqlx(flatten)]
    run: RunRow,
    llms_txt: Option<String>,
    llms_full_txt: Option<String>,
}

per_database! {
    /// Stores the texts of a run's site, in place of those before.
    pub(crate) async fn put(
        conn: &mut Conn,
        lease: Lease,
        llms_txt: Option<&str>,
        llms_full_txt: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO run_texts (run_id, project_id, llms_txt, llms_full_txt)
             VALUES ($1, $2, $3, $4)
             ON CONFLICT (run_id) DO UPDATE
                 SET llms_txt = excluded.llms_txt, llms_full_txt = excluded.llms_full_txt",
        )
        .bind(lease.run.get())
        .bind(lease.project.get())
        .bind(llms_txt.map(storable))
        .bind(llms_full_txt.map(storable))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }
}

impl Store {
    /// A run of the project, with the texts of its site.
    #[crate::boxed]
    pub async fn run_with_texts(
        &self,
        project: ProjectId,
        id: RunId,
    ) -> Result<Option<(Run, SiteTexts)>, StoreError> {
        let row: Option<TextsRow> = read!(self.db, pool => {
            sqlx::query_as(concat!(
                "SELECT llms_txt, llms_full_txt, ", columns!(), " FROM runs
                 LEFT JOIN (SELECT run_id, llms_txt, llms_full_txt FROM run_texts) t
                     ON t.run_id = id
                 WHERE id = $1 AND project_id = $2"
            ))
            .bind(id.get())
            .bind(project.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(|row| {
            let texts = SiteTexts {
                llms_txt: row.llms_txt,
                llms_full_txt: row.llms_full_txt,
            };
            Ok((row.run.try_into()?, texts))
        })
        .transpose()
    }
}

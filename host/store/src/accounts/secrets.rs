//! Secrets of projects: created once, kept until replaced.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use crate::db::{read, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::to_ms;

impl Store {
    /// The project's secret with this name. If there is none, `fresh` is stored; of two parallel
    /// calls, both return the one stored first.
    #[crate::boxed]
    pub async fn project_secret(
        &self,
        project: ProjectId,
        name: &str,
        fresh: &[u8],
        now: DateTime<Utc>,
    ) -> Result<Vec<u8>, StoreError> {
        const KNOWN: &str = "SELECT value FROM project_secrets WHERE project_id = $1 AND name = $2";
        let known: Option<Vec<u8>> = read!(self.db, pool => {
            sqlx::query_scalar(KNOWN)
                .bind(project.get())
                .bind(name)
                .fetch_optional(pool)
                .await?
        });
        if let Some(secret) = known {
            return Ok(secret);
        }
        transact!(self.db, tx => {
            sqlx::query(
                "INSERT INTO project_secrets (project_id, name, value, created_at)
                 VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            )
            .bind(project.get())
            .bind(name)
            .bind(fresh)
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            Ok(sqlx::query_scalar(KNOWN)
                .bind(project.get())
                .bind(name)
                .fetch_one(&mut *tx)
                .await?)
        })
    }
}

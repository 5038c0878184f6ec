//! The tables and columns of the database.

use crate::db::Db;
use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// Every table and column, sorted: both databases must have the same. The full-text index is
    /// left out, because it differs between the databases.
    #[crate::boxed]
    pub async fn columns(&self) -> Result<Vec<(String, String)>, StoreError> {
        Ok(match &self.db {
            Db::Lite(lite) => {
                sqlx::query_as(
                    "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
                     WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
                       AND t.name <> '_sqlx_migrations' AND t.name NOT LIKE 'search_index%'
                     ORDER BY t.name, c.name",
                )
                .fetch_all(&lite.read)
                .await?
            }
            Db::Pg(pool) => {
                sqlx::query_as(
                    "SELECT table_name::text, column_name::text FROM information_schema.columns
                     WHERE table_schema = current_schema() AND table_name <> '_sqlx_migrations'
                       AND table_name <> 'search_index'
                       AND NOT (SELECT relispartition FROM pg_class
                                WHERE pg_class.oid = table_name::regclass)
                     ORDER BY table_name COLLATE \"C\", column_name COLLATE \"C\"",
                )
                .fetch_all(pool)
                .await?
            }
        })
    }
}

//! Memory that the database's library holds.

use crate::db::Db;
use crate::{Store, StoreError};

impl Store {
    /// Gives back what the connections to a SQLite file have cached of it: up to 16 MiB for the one that
    /// writes, 4 MiB for each of the others. The operating system has the same pages in its own cache, so
    /// that this costs no reading from disk. Readers at work are left alone; the writing connection is waited
    /// for as by any writer. Does nothing on PostgreSQL.
    ///
    /// # Errors
    /// The database cannot be asked.
    #[crate::boxed]
    pub async fn release_memory(&self) -> Result<(), StoreError> {
        const RELEASE: &str = "PRAGMA shrink_memory";
        let Db::Lite(lite) = &self.db else {
            return Ok(());
        };
        // A connection is put behind the others, so that each has its turn.
        for _ in 0..lite.read.num_idle() {
            let Some(mut idle) = lite.read.try_acquire() else {
                break;
            };
            sqlx::query(RELEASE).execute(&mut *idle).await?;
        }
        let (turn, mut writing) = lite.write.acquire().await?;
        sqlx::query(RELEASE).execute(&mut *writing).await?;
        turn.keep(writing);
        Ok(())
    }
}

//! One blob store belongs to one database, which deletes the segments that it does not know.

use orbweaver_blobs::{Blobs, MARKER};

use crate::db::{read, transact};
use crate::error::StoreError;
use crate::store::Store;

/// Name of the setting with the id that the blob store's marker has, too.
const DATABASE_ID: &str = "blobs.database_id";

impl Store {
    /// Checks at the start that the blob store belongs to this database and has its bodies; a new
    /// blob store is marked.
    ///
    /// # Errors
    /// [`StoreError::Open`], which names the setting and says what to do; [`StoreError::Blobs`] if the
    /// blob store cannot be reached.
    #[crate::boxed]
    pub async fn join_blobs(&self) -> Result<(), StoreError> {
        let Some(blobs) = &self.blobs else {
            return match self.has_segments().await? {
                false => Ok(()),
                true => Err(StoreError::Open(
                    "bodies of this database are in a blob store; set --blobs (ORBWEAVER_BLOBS) \
                     to it, or move them with `orbweaver blobs move --to database` first"
                        .to_owned(),
                )),
            };
        };
        if !self.judge_blobs(blobs).await? {
            let id = self.database_id(blobs).await?;
            blobs.set_owner(&id).await?;
        }
        Ok(())
    }

    /// Whether the blob store has this database's mark; `false` if it is new. Only reads.
    ///
    /// # Errors
    /// As [`join_blobs`](Self::join_blobs).
    #[crate::boxed]
    pub async fn judge_blobs(&self, blobs: &Blobs) -> Result<bool, StoreError> {
        // Some stores say of a missing bucket only that it lacks the object.
        blobs.list(None, 1).await?;
        let owner = blobs.owner().await?;
        let id = self.known_database_id().await?;
        let url = &blobs.options().url;
        match owner {
            Some(owner) if Some(&owner) == id.as_ref() => Ok(true),
            Some(_) => Err(StoreError::Open(format!(
                "--blobs (ORBWEAVER_BLOBS): {url} belongs to another database, as its object \
                 {MARKER} says; give each database a prefix of its own"
            ))),
            None if self.has_segments().await? => Err(StoreError::Open(format!(
                "--blobs (ORBWEAVER_BLOBS): {url} lacks the bodies of this database; correct the \
                 URL, or copy all objects there from the old place, {MARKER} too"
            ))),
            None => Ok(false),
        }
    }

    /// Whether bodies are in segments.
    async fn has_segments(&self) -> Result<bool, StoreError> {
        let found: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT id FROM blobs WHERE segment_id IS NOT NULL LIMIT 1")
                .fetch_optional(pool)
                .await?
        });
        Ok(found.is_some())
    }

    /// The database's id, if a node has made it.
    async fn known_database_id(&self) -> Result<Option<String>, StoreError> {
        Ok(read!(self.db, pool => {
            sqlx::query_scalar("SELECT value FROM settings WHERE name = $1")
                .bind(DATABASE_ID)
                .fetch_optional(pool)
                .await?
        }))
    }

    /// The database's id, which the first node makes.
    async fn database_id(&self, blobs: &Blobs) -> Result<String, StoreError> {
        let now = blobs.now().timestamp_millis().unsigned_abs();
        let new = format!("{now:016x}{:016x}", blobs.options().node);
        transact!(self.db, tx => {
            sqlx::query(
                "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
            )
            .bind(DATABASE_ID)
            .bind(&new)
            .execute(&mut *tx)
            .await?;
            Ok(sqlx::query_scalar("SELECT value FROM settings WHERE name = $1")
                .bind(DATABASE_ID)
                .fetch_one(&mut *tx)
                .await?)
        })
    }
}

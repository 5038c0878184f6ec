//! The handle to the database that every module adds its methods to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use orbweaver_blobs::Blobs;
use tokio::sync::watch;

use crate::change_watch::{ChangeWatch, ChangeWatches};
use crate::db::{self, Db, Options, read};
use crate::error::StoreError;
use crate::logs::recent::RecentLogs;
use crate::notices::Topic;
use crate::reach::Reach;
use crate::refusals::Refusals;
use crate::replicas::Replicas;
use crate::writer::Writer;

/// Handle to the database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) db: Db,
    pub(crate) writer: Arc<Writer>,
    pub(crate) recent: RecentLogs,
    pub(crate) watches: Arc<ChangeWatches>,
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) blobs: Option<Blobs>,
    pub(crate) removals: Arc<AtomicU64>,
    pub(crate) reach: Arc<Reach>,
    pub(crate) refusals: Arc<Refusals>,
}

impl Store {
    /// Connects, migrates the schema and starts the writer task.
    ///
    /// # Errors
    /// [`StoreError::Open`], which says what to check.
    #[crate::boxed]
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let db = db::open(options).await?;
        let replicas = Replicas::new(options)?;
        let blobs = options.blobs.clone();
        let stages = blobs.as_ref().is_some_and(Blobs::takes_new);
        let recent = RecentLogs::default();
        let queue = options.writer_queue;
        let writer = Arc::new(Writer::start(db.clone(), recent.clone(), queue, stages));
        let refusals = match &db {
            Db::Lite(lite) => Arc::clone(&lite.refusals),
            Db::Pg(_) => Arc::default(),
        };
        let store = Self {
            db,
            writer,
            recent,
            watches: Arc::new(ChangeWatches::new(db::direct(options)?)),
            replicas: Arc::new(replicas),
            blobs,
            removals: Arc::default(),
            reach: Arc::default(),
            refusals,
        };
        store.know_logs().await?;
        Ok(store)
    }

    /// `sqlite` or `postgres`.
    pub fn kind(&self) -> &'static str {
        match self.db {
            Db::Lite(_) => "sqlite",
            Db::Pg(_) => "postgres",
        }
    }

    /// The blob store, if one is configured.
    pub fn blobs(&self) -> Option<&Blobs> {
        self.blobs.as_ref()
    }

    /// The blob store, if new bodies go there.
    pub(crate) fn blobs_for_new(&self) -> Option<&Blobs> {
        self.blobs.as_ref().filter(|blobs| blobs.takes_new())
    }

    /// Whether other processes may also write to the database.
    pub fn is_shared(&self) -> bool {
        matches!(self.db, Db::Pg(_))
    }

    /// The end of a statement that selects rows to work on: PostgreSQL skips rows that another
    /// node has selected; SQLite has one writer at a time.
    pub(crate) const fn skip_locked(&self) -> &'static str {
        match self.db {
            Db::Lite(_) => "",
            Db::Pg(_) => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// The end of a statement that selects rows which must not change until the transaction ends;
    /// SQLite has one writer at a time.
    pub(crate) const fn lock_shared(&self) -> &'static str {
        match self.db {
            Db::Lite(_) => "",
            Db::Pg(_) => " FOR SHARE",
        }
    }

    /// A number that changes with every commit of this process that may change usage; `None`
    /// if other processes write too, so that reads must not be cached.
    pub fn changes(&self) -> Option<u64> {
        match &self.db {
            Db::Lite(lite) => Some(lite.changes.load(Ordering::Acquire)),
            Db::Pg(_) => None,
        }
    }

    /// A number that changes with every commit of this process that removes stored pages, so that
    /// what was made of a page before may no longer be served.
    pub fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    /// Counts a commit that removed stored pages.
    pub(crate) fn count_removal(&self) {
        self.removals.fetch_add(1, Ordering::AcqRel);
    }

    /// A number that changes when a node tells of a change of `topic`; after the first
    /// [`watch_changes`](Self::watch_changes), on PostgreSQL. It is a hint: notices may be lost, or never come.
    pub fn notices(&self, topic: Topic) -> watch::Receiver<u64> {
        self.watches.notices().of(topic).subscribe()
    }

    /// Whether notices of other nodes arrive at present.
    pub fn listens(&self) -> bool {
        self.watches.notices().listens()
    }

    /// Changes from now on, by this process or another one. Within a Tokio runtime.
    pub fn watch_changes(&self) -> ChangeWatch {
        self.watches.subscribe(&self.db)
    }

    /// Checks that the database answers.
    #[crate::boxed]
    pub async fn ping(&self) -> Result<(), StoreError> {
        read!(self.db, pool => {
            sqlx::query_scalar::<_, i64>("SELECT CAST(1 AS BIGINT)").fetch_one(pool).await?;
            Ok(())
        })
    }

    /// What the clock of PostgreSQL says, in milliseconds since 1970; `None` on SQLite, which has none of its own.
    #[crate::boxed]
    pub async fn database_time(&self) -> Result<Option<i64>, StoreError> {
        let Db::Pg(pool) = &self.db else {
            return Ok(None);
        };
        let time = sqlx::query_scalar(
            "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)",
        );
        let told = db::answered(db::PATIENCE, async { Ok(time.fetch_one(pool).await?) });
        Ok(Some(told.await?))
    }

    /// Writes all queued jobs and closes all connections.
    #[crate::boxed]
    pub async fn close(&self) {
        self.writer.stop().await;
        self.watches.stop();
        self.replicas.close().await;
        match &self.db {
            Db::Lite(lite) => {
                lite.checkpoints.stop().await;
                lite.read.close().await;
                lite.write.close().await;
                lite.presence.leave();
            }
            Db::Pg(pool) => pool.close().await,
        }
    }
}

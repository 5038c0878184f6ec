//! The one connection that writes to a SQLite file.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Sqlite;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqlitePool;
use tokio::sync::{Mutex, MutexGuard, Notify};
use tokio::time::timeout;

/// Hands the connection from one writer to the next, in the order of asking. sqlx's pool alone would start
/// a task after every transaction and ask the connection's thread whether it lives, for which
/// the next writer waits. So it sees the connection only after a failure, and at the end.
#[derive(Clone, Debug)]
pub(crate) struct WriteConnection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: SqlitePool,
    kept: Mutex<Option<PoolConnection<Sqlite>>>,
    /// Told of the end of each turn.
    ends: Notify,
    /// The longest wait for the writers before.
    patience: Duration,
}

/// A writer's turn. Others wait until it is dropped.
pub(crate) struct Turn<'a> {
    kept: MutexGuard<'a, Option<PoolConnection<Sqlite>>>,
    ends: &'a Notify,
}

impl WriteConnection {
    /// `pool` has at most one connection.
    pub(crate) fn new(pool: SqlitePool, patience: Duration) -> Self {
        Self(Arc::new(Inner {
            pool,
            kept: Mutex::default(),
            ends: Notify::new(),
            patience,
        }))
    }

    /// Waits for the turn. The connection is to be given to [`Turn::keep`] if it is in order; else it
    /// is dropped, and the pool checks it.
    ///
    /// # Errors
    /// [`sqlx::Error::PoolTimedOut`] if the writers before take too long;
    /// [`sqlx::Error::PoolClosed`]; the file cannot be opened again.
    pub(crate) async fn acquire(&self) -> Result<(Turn<'_>, PoolConnection<Sqlite>), sqlx::Error> {
        let inner = &self.0;
        let mut kept = match inner.kept.try_lock() {
            Ok(kept) => kept,
            Err(_) => timeout(inner.patience, inner.kept.lock())
                .await
                .map_err(|_| sqlx::Error::PoolTimedOut)?,
        };
        let connection = match kept.take() {
            Some(connection) => connection,
            None => inner.pool.acquire().await?,
        };
        let ends = &inner.ends;
        Ok((Turn { kept, ends }, connection))
    }

    /// Returns once a writer's turn has ended since the last return. One task may wait for it.
    pub(crate) async fn kept(&self) {
        self.0.ends.notified().await;
    }

    /// Makes [`kept`](Self::kept) return.
    pub(crate) fn tell(&self) {
        self.0.ends.notify_one();
    }

    /// Closes the connection when those that wait for it now have had their turn.
    pub(crate) async fn close(&self) {
        let mut kept = self.0.kept.lock().await;
        if let Some(connection) = kept.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "the database's file was not closed properly");
        }
        self.0.pool.close().await;
    }
}

impl Drop for Inner {
    /// Leaves nothing to the pool, which would start a task: the last user may end outside of a runtime.
    fn drop(&mut self) {
        if let Some(connection) = self.kept.get_mut().take() {
            drop(connection.leak());
        }
    }
}

impl Turn<'_> {
    /// Leaves the connection to the next writer.
    pub(crate) fn keep(self, connection: PoolConnection<Sqlite>) {
        self.ends.notify_one();
        self.put_back(connection);
    }

    /// As [`keep`](Self::keep), of a turn in which nothing was written.
    pub(crate) fn put_back(mut self, connection: PoolConnection<Sqlite>) {
        *self.kept = Some(connection);
    }
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqlitePoolOptions;

    use super::*;

    /// A database in memory, which is lost with its connection.
    async fn memory(patience: Duration) -> WriteConnection {
        let options = SqlitePoolOptions::new().max_connections(1);
        let pool = options.connect("sqlite::memory:").await.unwrap();
        WriteConnection::new(pool, patience)
    }

    async fn execute(writers: &WriteConnection, sql: &'static str) -> Result<(), sqlx::Error> {
        let (turn, mut connection) = writers.acquire().await?;
        let done = sqlx::query(sql).execute(&mut *connection).await;
        turn.keep(connection);
        done.map(|_| ())
    }

    #[tokio::test]
    async fn a_writer_waits_for_the_one_before_and_gets_its_connection() {
        let writers = memory(Duration::from_secs(60)).await;
        execute(&writers, "CREATE TABLE t (a)").await.unwrap();
        let (turn, connection) = writers.acquire().await.unwrap();
        let next = tokio::spawn({
            let writers = writers.clone();
            async move { execute(&writers, "INSERT INTO t VALUES (1)").await }
        });
        tokio::task::yield_now().await;
        assert!(!next.is_finished());
        turn.keep(connection);
        next.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_writer_does_not_wait_for_ever() {
        let writers = memory(Duration::from_millis(1)).await;
        let _turn = writers.acquire().await.unwrap();
        let late = writers.acquire().await.map(drop);
        assert!(matches!(late, Err(sqlx::Error::PoolTimedOut)), "{late:?}");
    }

    #[tokio::test]
    async fn what_a_writer_left_undone_is_undone_before_the_next() {
        use sqlx::Connection as _;
        let writers = memory(Duration::from_secs(60)).await;
        execute(&writers, "CREATE TABLE t (a)").await.unwrap();
        {
            let (_turn, mut connection) = writers.acquire().await.unwrap();
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
            let insert = sqlx::query("INSERT INTO t VALUES (1)");
            insert.execute(&mut *transaction).await.unwrap();
        }
        let (turn, mut connection) = writers.acquire().await.unwrap();
        let count = sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM t");
        assert_eq!(count.fetch_one(&mut *connection).await.unwrap(), 0);
        turn.keep(connection);
    }

    #[test]
    fn the_last_user_may_end_without_a_runtime() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let writers = runtime.block_on(async {
            let writers = memory(Duration::from_secs(60)).await;
            execute(&writers, "CREATE TABLE t (a)").await.unwrap();
            writers
        });
        drop(writers);
    }

    #[tokio::test]
    async fn a_closed_connection_is_replaced_and_none_is_given_after_the_end() {
        let writers = memory(Duration::from_secs(60)).await;
        execute(&writers, "CREATE TABLE t (a)").await.unwrap();
        let (turn, mut connection) = writers.acquire().await.unwrap();
        connection.close_on_drop();
        drop((turn, connection));
        // Another database in memory: the table can be made again.
        execute(&writers, "CREATE TABLE t (a)").await.unwrap();
        writers.close().await;
        let late = writers.acquire().await.map(drop);
        assert!(matches!(late, Err(sqlx::Error::PoolClosed)), "{late:?}");
    }
}

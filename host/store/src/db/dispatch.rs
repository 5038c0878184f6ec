//! Code shared by both databases.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::SqlitePool;

use super::checkpoint::Checkpoints;
use super::write::WriteConnection;
use crate::error::StoreError;
use crate::presence::Presence;
use crate::refusals::Refusals;

/// The database in use. SQLite has a single connection for writes, so that writers wait for it
/// instead of failing with "database is locked".
#[derive(Clone, Debug)]
pub(crate) enum Db {
    Lite(Lite),
    Pg(PgPool),
}

#[derive(Clone, Debug)]
pub(crate) struct Lite {
    pub(crate) read: SqlitePool,
    pub(crate) write: WriteConnection,
    pub(crate) checkpoints: Arc<Checkpoints>,
    /// Number of commits so far, except those of request logs alone.
    pub(crate) changes: Arc<AtomicU64>,
    pub(crate) presence: Presence,
    pub(crate) refusals: Arc<Refusals>,
}

impl Lite {
    /// Counts a commit.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

/// Begins a transaction of PostgreSQL. A node that stalls in the middle of one (a paused machine, a network that
/// drops packets) is not seen to be gone by the server, which would keep its locks for hours: the session
/// ends, and other nodes go on. The server counts the time until a statement has arrived whole, and one may have the
/// bodies of many pages, so this is longer than a lease.
pub(crate) const BEGIN: &str = if cfg!(test) {
    "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '2s'"
} else {
    "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '30s'"
};

/// How long PostgreSQL may take for a transaction or a read. Many times what the slowest one needs: a
/// connection whose other end is gone without a word gives neither an answer nor an error.
pub(crate) const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 5 } else { 300 });

/// The same for a read of a row or two that other work waits for.
pub(crate) const PROMPT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 10 });

/// How long a connection may take until it is ready for its next user, after one that did not answer.
const RELEASE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 30 });

/// Whether a connection did not answer before: so may others, which were used at that time.
static SILENCE: AtomicBool = AtomicBool::new(false);

/// A pool for PostgreSQL. It gives up a connection that is silent when its user leaves it: otherwise the pool
/// waits for its answer without a limit, and for so long it keeps its place.
pub(crate) fn postgres_pool() -> PgPoolOptions {
    PgPoolOptions::new().after_release(|connection, _| {
        Box::pin(async move {
            if !SILENCE.load(Ordering::Relaxed) {
                return Ok(true);
            }
            let ready = tokio::time::timeout(RELEASE, connection.ping()).await;
            ready.map_err(|_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))??;
            Ok(true)
        })
    })
}

/// The error of a connection that did not answer within this time.
pub(crate) fn unanswered(patience: Duration) -> StoreError {
    SILENCE.store(true, Ordering::Relaxed);
    let late = std::io::Error::new(
        std::io::ErrorKind::TimedOut,
        format!("no answer of PostgreSQL within {patience:?}"),
    );
    sqlx::Error::Io(late).into()
}

/// What a read of PostgreSQL returns, if it does within this time. Without a bound it would wait for as long as
/// TCP tries, and longer.
pub(crate) async fn answered<T>(
    patience: Duration,
    read: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    // Left after the error is made, which has its connection given up.
    let mut read = std::pin::pin!(read);
    let done = tokio::time::timeout(patience, read.as_mut()).await;
    done.unwrap_or_else(|_| Err(unanswered(patience)))
}

/// Defines the same statements for SQLite and for PostgreSQL.
/// The items are compiled into two modules, `lite` and `pg`. In each of them `Conn` is that
/// database's connection, `IS_SHARED` tells whether other nodes may write at the same time
/// (PostgreSQL), and `sql` gives access to the statements of all other modules
/// ([`crate::sql`]). Within [`transact!`] and [`read!`], `sql` is the module of the database
/// in use:
///
///
/// ```text
/// per_database! {
///     pub(crate) async fn touch(conn: &mut Conn, key: KeyId) -> Result<(), StoreError> { … }
/// }
/// transact!(self.db, tx => { sql::keys::touch(tx, key).await })
/// ```
macro_rules! per_database {
    ($($item:item)*) => {
        /// For SQLite.
        pub(crate) mod lite {
            #[allow(unused_imports, reason = "not every module uses other modules' statements")]
            use {super::*, $crate::sql::lite as sql};

            type Conn = sqlx::SqliteConnection;
            #[allow(dead_code, reason = "few statements differ")]
            const IS_SHARED: bool = false;

            $($item)*
        }

        /// For PostgreSQL.
        pub(crate) mod pg {
            #[allow(unused_imports, reason = "not every module uses other modules' statements")]
            use {super::*, $crate::sql::pg as sql};

            type Conn = sqlx::PgConnection;
            #[allow(dead_code, reason = "few statements differ")]
            const IS_SHARED: bool = true;

            $($item)*
        }
    };
}

/// Runs a read on the pool of the database in use:
/// `read!(db, pool => query.fetch_all(pool).await)`.
macro_rules! read {
    ($db:expr, $pool:ident => $body:expr) => {
        match &$db {
            $crate::db::Db::Lite(lite) => {
                let $pool = &lite.read;
                $body
            }
            $crate::db::Db::Pg(pool) => {
                let $pool = pool;
                let read = async { Ok::<_, $crate::StoreError>($body) };
                $crate::db::answered($crate::db::PATIENCE, read).await?
            }
        }
    };
}

/// As [`read!`], of a store: from a replica of the database that has every commit up to now
/// ([`crate::replicas`]), else from the database itself. For reads that are long, or of many rows.
macro_rules! read_replica {
    ($store:expr, $pool:ident => $body:expr) => {
        match &$store.db {
            $crate::db::Db::Lite(lite) => {
                let $pool = &lite.read;
                $body
            }
            $crate::db::Db::Pg(database) => {
                let found = match $store.replicas.caught_up(database).await {
                    None => None,
                    Some(replica) => {
                        let $pool = replica.pool();
                        let read = async { Ok::<_, $crate::StoreError>($body) };
                        replica.finish(read).await
                    }
                };
                match found {
                    Some(found) => found,
                    None => {
                        let $pool = database;
                        let read = async { Ok::<_, $crate::StoreError>($body) };
                        $crate::db::answered($crate::db::PATIENCE, read).await?
                    }
                }
            }
        }
    };
}

/// Runs statements in a transaction and commits; rolls back if the body returns an error.
/// `transact!(db, tx => { query.execute(&mut *tx).await?; Ok(()) })`.
///
/// With `quiet`, the commit does not count as a change of usage.
macro_rules! transact {
    ($db:expr, $tx:ident => $body:expr) => {
        $crate::db::transact!(quiet false, $db, $tx => $body)
    };
    (quiet $quiet:expr, $db:expr, $tx:ident => $body:expr) => {
        match &$db {
            $crate::db::Db::Lite(lite) => {
                use sqlx::Connection as _;
                let (turn, mut connection) = lite.write.acquire().await?;
                let begun = connection.begin_with("BEGIN IMMEDIATE").await;
                let begun = begun.map_err($crate::StoreError::from);
                lite.refusals.note_failure(&begun);
                let mut transaction = begun?;
                let result: Result<_, $crate::StoreError> = async {
                    #[allow(unused_imports, reason = "the body may use only its own statements")]
                    use $crate::sql::lite as sql;
                    let $tx = &mut *transaction;
                    $body
                }
                .await;
                let (result, ended) = match result {
                    Ok(value) => match transaction.commit().await {
                        Ok(()) => {
                            if !$quiet {
                                lite.changed();
                            }
                            (Ok(value), true)
                        }
                        Err(error) => (Err(error.into()), false),
                    },
                    Err(error) => (Err(error), transaction.rollback().await.is_ok()),
                };
                // SQLite ends a transaction by itself if the disk is full or fails, without telling
                // the connection, which would then refuse every later transaction.
                if ended {
                    turn.keep(connection);
                } else {
                    connection.close_on_drop();
                }
                lite.refusals.note(&result);
                result
            }
            $crate::db::Db::Pg(pool) => {
                use sqlx::Connection as _;
                let mut connection = pool.acquire().await?;
                let done = tokio::time::timeout($crate::db::PATIENCE, async {
                    let mut transaction = connection.begin_with($crate::db::BEGIN).await?;
                    let result: Result<_, $crate::StoreError> = async {
                        #[allow(
                            unused_imports,
                            reason = "the body may use only its own statements"
                        )]
                        use $crate::sql::pg as sql;
                        let $tx = &mut *transaction;
                        $body
                    }
                    .await;
                    match result {
                        Ok(value) => transaction
                            .commit()
                            .await
                            .map(|()| value)
                            .map_err($crate::StoreError::from),
                        Err(error) => {
                            transaction.rollback().await?;
                            Err(error)
                        }
                    }
                })
                .await;
                done.unwrap_or_else(|_| {
                    // Nothing answers on it any more, and the next user would wait as long.
                    connection.close_on_drop();
                    Err($crate::db::unanswered($crate::db::PATIENCE))
                })
            }
        }
    };
}

pub(crate) use {per_database, read, read_replica, transact};

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::AtomicI32;

    use super::*;
    use crate::db::Options;
    use crate::store::Store;
    use orbweaver_core::ids::{BlobId, ProjectId};
    use orbweaver_postgres::Postgres;

    /// A database with one row, over one connection.
    async fn one_row() -> (String, PgPool) {
        let url = Postgres::shared().database().unwrap();
        let pool = one(&url).await;
        sqlx::raw_sql("CREATE TABLE t (n BIGINT); INSERT INTO t VALUES (0)")
            .execute(&pool)
            .await
            .unwrap();
        (url, pool)
    }

    async fn one(url: &str) -> PgPool {
        let one = postgres_pool().max_connections(1);
        one.connect(url).await.unwrap()
    }

    async fn add(db: &Db) -> Result<i64, StoreError> {
        transact!(db, tx => {
            Ok(sqlx::query_scalar("UPDATE t SET n = n + 1 RETURNING n").fetch_one(&mut *tx).await?)
        })
    }

    #[tokio::test]
    async fn a_node_that_stalls_in_a_transaction_keeps_no_row_from_others() {
        let (url, stalled) = one_row().await;
        let mut transaction = stalled.begin_with(BEGIN).await.unwrap();
        sqlx::query("UPDATE t SET n = n + 1")
            .execute(&mut *transaction)
            .await
            .unwrap();
        // Its update is undone, and this one comes through.
        let other = Db::Pg(one(&url).await);
        let added = tokio::time::timeout(Duration::from_secs(60), async {
            loop {
                match add(&other).await {
                    Err(error) if error.is_transient() => {}
                    done => break done,
                }
            }
        });
        assert_eq!(added.await.unwrap().unwrap(), 1);
        // Awake again, it is told so, and may do its work again.
        let late = sqlx::query("UPDATE t SET n = n + 1").execute(&mut *transaction);
        let error = StoreError::from(late.await.unwrap_err());
        assert!(error.is_transient(), "{error}");
        drop(transaction);
        assert_eq!(add(&Db::Pg(stalled)).await.unwrap(), 2);
    }

    async fn bound(db: &Db) -> Result<String, StoreError> {
        transact!(db, tx => {
            Ok(sqlx::query_scalar("SELECT current_setting('idle_in_transaction_session_timeout')")
                .fetch_one(&mut *tx)
                .await?)
        })
    }

    #[tokio::test]
    async fn every_transaction_has_that_bound() {
        let (_, pool) = one_row().await;
        assert_eq!(bound(&Db::Pg(pool)).await.unwrap(), "2s");
    }

    async fn add_and_hang(db: &Db) -> Result<(), StoreError> {
        transact!(db, tx => {
            sqlx::query("UPDATE t SET n = n + 1").execute(&mut *tx).await?;
            pending().await
        })
    }

    async fn read_and_hang(db: &Db) -> Result<(), StoreError> {
        read!(db, _pool => pending::<()>().await);
        Ok(())
    }

    #[tokio::test]
    async fn a_connection_that_gives_no_answer_is_an_error_and_is_replaced() {
        let (_, pool) = one_row().await;
        let db = Db::Pg(pool);
        let error = add_and_hang(&db).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert!(error.to_string().contains("no answer"), "{error}");
        let error = read_and_hang(&db).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert_eq!(add(&db).await.unwrap(), 1);
    }

    /// Sends a signal to the server's process of a connection.
    fn signal(name: &str, process: i32) {
        let process = process.to_string();
        let mut kill = std::process::Command::new("kill");
        let sent = kill.args(["-s", name, &process]).status();
        assert!(sent.unwrap().success());
    }

    async fn read_in_silence(db: &Db, stopped: &AtomicI32) -> Result<i64, StoreError> {
        read!(db, pool => {
            let mut connection = pool.acquire().await?;
            let process = sqlx::query_scalar("SELECT pg_backend_pid()");
            let process = process.fetch_one(&mut *connection).await?;
            signal("STOP", process);
            stopped.store(process, Ordering::Relaxed);
            Ok(sqlx::query_scalar("SELECT n FROM t").fetch_one(&mut *connection).await?)
        })
    }

    #[tokio::test]
    async fn a_silent_connection_does_not_keep_its_place_in_the_pool() {
        let (_, pool) = one_row().await;
        let (db, stopped) = (Db::Pg(pool), AtomicI32::new(0));
        let read = read_in_silence(&db, &stopped).await;
        let added = add(&db).await;
        signal("CONT", stopped.load(Ordering::Relaxed));
        assert!(read.unwrap_err().is_transient());
        assert_eq!(added.unwrap(), 1);
    }

    #[tokio::test]
    async fn reads_without_an_answer_end_wherever_they_go() {
        let url = Postgres::shared().database().unwrap();
        let store = Store::open(&Options::url(&url)).await.unwrap();
        let other = one(&url).await;
        let mut lock = other.begin().await.unwrap();
        let locked = sqlx::raw_sql("LOCK TABLE settings, blobs");
        locked.execute(&mut *lock).await.unwrap();
        let body = store.body(ProjectId(1), BlobId(1));
        let (version, body) = tokio::join!(store.accounts_version(), body);
        for error in [version.map(drop).unwrap_err(), body.map(drop).unwrap_err()] {
            assert!(error.is_transient(), "{error}");
            assert!(error.to_string().contains("no answer"), "{error}");
        }
        lock.rollback().await.unwrap();
        store.accounts_version().await.unwrap();
    }
}

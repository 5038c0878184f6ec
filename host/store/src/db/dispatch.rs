//! Code shared by both databases.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::postgres::PgPool;
use sqlx::sqlite::SqlitePool;

use super::checkpoint::Checkpoints;
use super::write::WriteConnection;
use crate::presence::Presence;

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
}

impl Lite {
    /// Counts a commit.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
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
                $body
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
                        $body
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
                let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
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
                result
            }
            $crate::db::Db::Pg(pool) => {
                let mut transaction = pool.begin().await?;
                let result: Result<_, $crate::StoreError> = async {
                    #[allow(unused_imports, reason = "the body may use only its own statements")]
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
                        .map_err(Into::into),
                    Err(error) => {
                        transaction.rollback().await?;
                        Err(error)
                    }
                }
            }
        }
    };
}

pub(crate) use {per_database, read, read_replica, transact};

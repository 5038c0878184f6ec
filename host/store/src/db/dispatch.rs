//! One piece of code for either database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::postgres::PgPool;
use sqlx::sqlite::SqlitePool;

use crate::presence::Presence;

/// Either database. SQLite has one connection for every write, so that writers queue here
/// instead of failing with "database is locked".
#[derive(Clone, Debug)]
pub(crate) enum Db {
    Lite(Lite),
    Pg(PgPool),
}

#[derive(Clone, Debug)]
pub(crate) struct Lite {
    pub(crate) read: SqlitePool,
    pub(crate) write: SqlitePool,
    /// Commits so far, request logs alone not counted.
    pub(crate) changes: Arc<AtomicU64>,
    pub(crate) presence: Presence,
}

impl Lite {
    /// Notes a commit.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

/// Defines the same statements for SQLite and for PostgreSQL.
///
/// The items are stamped into two modules, `lite` and `pg`. In each of them `Conn` is that
/// database's connection, `IS_SHARED` tells whether other nodes may write at the same time
/// (PostgreSQL), and `sql` is the door to the statements of all other modules
/// ([`crate::sql`]). Within [`transact!`] and [`read!`], `sql` is the module of the database
/// at hand:
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
            #[allow(unused_imports, reason = "not every module calls another one's statements")]
            use {super::*, $crate::sql::lite as sql};

            type Conn = sqlx::SqliteConnection;
            #[allow(dead_code, reason = "few statements differ")]
            const IS_SHARED: bool = false;

            $($item)*
        }

        /// For PostgreSQL.
        pub(crate) mod pg {
            #[allow(unused_imports, reason = "not every module calls another one's statements")]
            use {super::*, $crate::sql::pg as sql};

            type Conn = sqlx::PgConnection;
            #[allow(dead_code, reason = "few statements differ")]
            const IS_SHARED: bool = true;

            $($item)*
        }
    };
}

/// Runs a read on whichever pool: `read!(db, pool => query.fetch_all(pool).await)`.
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

/// Runs statements in a transaction and commits; rolls back when the body is an error.
/// `transact!(db, tx => { query.execute(&mut *tx).await?; Ok(()) })`.
///
/// With `quiet`, the commit does not count as a change of what projects used.
macro_rules! transact {
    ($db:expr, $tx:ident => $body:expr) => {
        $crate::db::transact!(quiet false, $db, $tx => $body)
    };
    (quiet $quiet:expr, $db:expr, $tx:ident => $body:expr) => {
        match &$db {
            $crate::db::Db::Lite(lite) => {
                use sqlx::Connection as _;
                let mut connection = lite.write.acquire().await?;
                let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
                let result: Result<_, $crate::StoreError> = async {
                    #[allow(unused_imports, reason = "own statements need no other module")]
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
                // SQLite ends a transaction by itself where the disk is full or fails, which
                // the connection does not hear of: it would refuse every transaction after.
                if !ended {
                    connection.close_on_drop();
                }
                result
            }
            $crate::db::Db::Pg(pool) => {
                let mut transaction = pool.begin().await?;
                let result: Result<_, $crate::StoreError> = async {
                    #[allow(unused_imports, reason = "own statements need no other module")]
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

pub(crate) use {per_database, read, transact};

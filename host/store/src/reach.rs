//! Whether PostgreSQL can be reached at all. A statement on a database that is down fails only when the
//! pool's patience is over, and callers would wait for each other's. So once there is a doubt, a connection is
//! tried, which a server that is down refuses at once; until one is made, calls fail without waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::PgPool;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::db::Db;
use crate::error::StoreError;
use crate::store::Store;

/// A server that gives no connection within this time is out of reach.
const CONNECT: Duration = Duration::from_secs(2);
/// How long what an attempt found is taken for true.
const FRESH: Duration = Duration::from_secs(1);

/// What is known of the server.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// A statement failed for want of an answer, and no connection was made since.
    doubted: AtomicBool,
    /// When a connection was last tried, and whether it was made.
    tried: Mutex<Option<(Instant, bool)>>,
}

impl Reach {
    /// Whether a connection can be made. One caller tries, and the others wait for what it finds.
    async fn is_there(&self, pool: &PgPool) -> bool {
        let mut tried = self.tried.lock().await;
        if let Some((at, found)) = *tried
            && at.elapsed() < FRESH
        {
            return found;
        }
        let found = timeout(CONNECT, connects(pool)).await.unwrap_or(false);
        if found {
            self.doubted.store(false, Ordering::Relaxed);
        }
        *tried = Some((Instant::now(), found));
        found
    }
}

/// Whether the server takes connections. One that refuses this one alone, as where it has its most, is there.
async fn connects(pool: &PgPool) -> bool {
    match pool.connect_options().connect().await {
        Ok(connection) => {
            // It is made all the same.
            let _ = connection.close().await;
            true
        }
        Err(error) => !is_gone(&error),
    }
}

/// Whether an error says that there is no server, or one that starts or stops.
fn is_gone(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        sqlx::Error::Database(error) => {
            let code = error.code();
            code.is_some_and(|code| code.starts_with("57P"))
        }
        _ => false,
    }
}

impl Store {
    /// Fails where PostgreSQL was in doubt and takes no connection; costs nothing otherwise.
    ///
    /// # Errors
    /// A transient one.
    #[crate::boxed]
    pub async fn reach(&self) -> Result<(), StoreError> {
        let Db::Pg(pool) = &self.db else {
            return Ok(());
        };
        let doubted = self.reach.doubted.load(Ordering::Relaxed) || self.watches.notices().broke();
        if !doubted || self.reach.is_there(pool).await {
            return Ok(());
        }
        let down = std::io::Error::new(
            std::io::ErrorKind::NotConnected,
            "PostgreSQL takes no connections",
        );
        Err(sqlx::Error::Io(down).into())
    }

    /// Has the next [`reach`](Self::reach) try a connection, if this error may be of a server that is gone.
    pub fn doubt(&self, error: &StoreError) {
        if let StoreError::Database(error) = error
            && is_gone(error)
        {
            self.reach.doubted.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_postgres::Postgres;

    use super::*;
    use crate::db::Options;

    #[tokio::test]
    async fn a_database_that_is_down_is_known_at_once_and_so_is_its_return() {
        let server = Postgres::start(&[], drop).unwrap();
        let store = Store::open(&Options::url(server.database().unwrap())).await;
        let store = store.unwrap();
        store.reach().await.unwrap();
        server.crash().unwrap();
        // Until the listener knows or a statement fails, nothing is in doubt.
        store.doubt(&sqlx::Error::PoolTimedOut.into());
        let asked = async || {
            store.reach().await?;
            store.accounts_version().await
        };
        let back = async {
            while let Err(error) = asked().await {
                assert!(error.is_transient(), "{error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(Duration::from_secs(60), back).await.unwrap();
        server.stop().unwrap();
        store.doubt(&sqlx::Error::PoolTimedOut.into());
        // What the last attempt found is forgotten.
        *store.reach.tried.lock().await = None;
        let done = futures::future::join_all((0..10).map(|_| store.reach())).await;
        assert!(done.iter().all(Result::is_err));
        // One attempt found it for all, and not the pool, which waits until its patience is over.
        assert!(matches!(*store.reach.tried.lock().await, Some((_, false))));
        assert!(store.reach.doubted.load(Ordering::Relaxed));
    }
}

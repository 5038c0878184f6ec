//! Notices from node to node: on PostgreSQL, a transaction that changes what other nodes wait for
//! says so with NOTIFY, and each process has one connection that listens. So they learn of it within
//! milliseconds of the commit, and not at their next look.
//!
//! Notices only hasten: every wait also looks by itself ([`change_watch`](crate::change_watch)), because a notice is
//! lost while the connection is down, and a pooler in front of the database (PgBouncer, by
//! transaction) delivers none. On SQLite there are none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use tokio::sync::watch;

use crate::db::per_database;
use crate::error::StoreError;

/// The channel; its notices reach the sessions of the same database.
const CHANNEL: &str = "orbweaver";
/// Pause before the next attempt to listen.
const PAUSE: Duration = Duration::from_secs(5);
/// The same after a connection that broke.
const QUICK_PAUSE: Duration = Duration::from_millis(100);

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Projects and keys.
    Accounts,
    /// Uploaded plugins.
    Plugins,
    /// Runs, jobs and deliveries.
    Work,
    /// Parts of runs: what is lent to them, and their reports.
    Parts,
}

impl Topic {
    const ALL: [Self; 4] = [Self::Accounts, Self::Plugins, Self::Work, Self::Parts];

    /// The word in the notice.
    const fn word(self) -> &'static str {
        match self {
            Self::Accounts => "accounts",
            Self::Plugins => "plugins",
            Self::Work => "work",
            Self::Parts => "parts",
        }
    }
}

per_database! {
    /// Tells all nodes, once the transaction commits. The same notice twice in a transaction is sent
    /// once.
    pub(crate) async fn tell(conn: &mut Conn, topic: Topic) -> Result<(), StoreError> {
        if IS_SHARED {
            sqlx::query("SELECT pg_notify($1, $2)")
                .bind(CHANNEL)
                .bind(topic.word())
                .execute(&mut *conn)
                .await?;
        }
        Ok(())
    }
}

/// Notices as they arrive: a number for each topic that changes with it.
#[derive(Clone, Debug)]
pub(crate) struct Notices(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    accounts: watch::Sender<u64>,
    plugins: watch::Sender<u64>,
    work: watch::Sender<u64>,
    parts: watch::Sender<u64>,
    listens: AtomicBool,
    /// The connection that listens was up, and broke.
    broke: AtomicBool,
}

impl Default for Notices {
    fn default() -> Self {
        Self(Arc::new(Inner {
            accounts: watch::Sender::new(0),
            plugins: watch::Sender::new(0),
            work: watch::Sender::new(0),
            parts: watch::Sender::new(0),
            listens: AtomicBool::new(false),
            broke: AtomicBool::new(false),
        }))
    }
}

impl Notices {
    pub(crate) fn of(&self, topic: Topic) -> &watch::Sender<u64> {
        match topic {
            Topic::Accounts => &self.0.accounts,
            Topic::Plugins => &self.0.plugins,
            Topic::Work => &self.0.work,
            Topic::Parts => &self.0.parts,
        }
    }

    /// Whether the connection that listens is up.
    pub(crate) fn listens(&self) -> bool {
        self.0.listens.load(Ordering::Acquire)
    }

    /// Whether that connection was up, and is not any more: the server may be gone.
    pub(crate) fn broke(&self) -> bool {
        self.0.broke.load(Ordering::Acquire)
    }

    /// Counts a notice for each topic: some may have been lost.
    fn all(&self) {
        for topic in Topic::ALL {
            self.of(topic).send_modify(|count| *count += 1);
        }
    }

    fn arrived(&self, word: &str) {
        // A newer node may have topics that this one does not know.
        if let Some(topic) = Topic::ALL.into_iter().find(|topic| topic.word() == word) {
            self.of(topic).send_modify(|count| *count += 1);
        }
    }

    /// Listens at this server as long as the pool is open.
    pub(crate) async fn listen(self, pool: PgPool, at: PgConnectOptions) {
        // A connection of its own: those of the pool are for statements.
        let own = PgPoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(at);
        loop {
            let ended = self.listen_until_it_fails(&own).await;
            if self.0.listens.swap(false, Ordering::AcqRel) {
                self.0.broke.store(true, Ordering::Release);
            }
            if pool.is_closed() {
                return;
            }
            let pause = match ended {
                Ok(()) => QUICK_PAUSE,
                Err(error) => {
                    tracing::debug!(%error, "cannot listen for notices");
                    PAUSE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Returns without an error when the connection breaks.
    async fn listen_until_it_fails(&self, pool: &PgPool) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        self.0.listens.store(true, Ordering::Release);
        self.0.broke.store(false, Ordering::Release);
        self.all();
        loop {
            match listener.try_recv().await? {
                Some(notice) => self.arrived(notice.payload()),
                // The connection broke.
                None => return Ok(()),
            }
        }
    }
}

//! Streaming replicas of the PostgreSQL database, for long reads.
//!
//! A read from a replica sees every commit that any node had been told of when the read began. Therefore
//! each read first asks the database for the end of its log, which costs one round trip and touches
//! no table, and is given a replica that has replayed the log up to there ([`Replicas::caught_up`]). A replica
//! that has not done so within [`REPLAY_TIMEOUT`] is left alone for [`COOLDOWN`], and the database itself
//! answers. So it does where a replica fails in the middle of a read.
//!
//! Positions mean nothing between two histories: after a failover, a replica may still follow the old
//! database, or have become a database of its own. The setting [`HISTORY_SETTING`] names the timeline, and a
//! random id besides. It is written on the timeline that it names, so a replica that shows the
//! database's mark has the database's history.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgPool;
use tokio::time::{Instant, sleep, timeout};

use crate::db::{self, Db, Options, PROMPT, answered, postgres_pool};
use crate::error::StoreError;
use crate::store::Store;

/// How long a read waits for a replica to replay what is missing. Replicas are milliseconds behind
/// as a rule.
const REPLAY_TIMEOUT: Duration = Duration::from_millis(100);
/// Time between two looks at a replica that is behind.
const POLL_INTERVAL: Duration = Duration::from_millis(4);
/// How long a replica that was behind, or failed, is not asked.
const COOLDOWN: Duration = Duration::from_secs(2);
/// Longest time of one statement on a replica: one that does not answer any more is given up.
const STATEMENT: Duration = Duration::from_secs(60);
/// Longest time of a look at the state of a replica.
const STATE: Duration = Duration::from_secs(1);
/// The setting that names the database's history: its timeline, eight hexadecimal digits, and a random id.
const HISTORY_SETTING: &str = "replicas.mark";

/// What a replica must have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Goal {
    /// Position in the log.
    position: i64,
    mark: String,
}

/// What a replica has.
#[derive(Debug, sqlx_macros::FromRow)]
struct Replayed {
    in_recovery: bool,
    position: i64,
    mark: Option<String>,
    /// Milliseconds since the last replayed commit.
    age_ms: i64,
}

impl Replayed {
    /// Whether it is a replica of the database, as far as it has come.
    fn follows(&self, goal: &Goal) -> bool {
        self.in_recovery && self.mark.as_ref() == Some(&goal.mark)
    }

    fn reaches(&self, goal: &Goal) -> bool {
        self.follows(goal) && self.position >= goal.position
    }
}

/// A replica at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaState {
    /// It follows the database.
    Follows {
        /// Bytes of the log that it has not replayed.
        behind_bytes: u64,
        /// Milliseconds since the last commit that it has replayed; 0 if it has all.
        behind_ms: u64,
    },
    /// It answers, but is no replica of the database, or has not yet replayed its last failover.
    Apart,
    /// It does not answer.
    Down,
}

impl ReplicaState {
    /// Why it answers no reads; `None` if it does.
    pub const fn problem(&self) -> Option<&'static str> {
        match self {
            Self::Follows { .. } => None,
            Self::Apart => Some("does not follow the database"),
            Self::Down => Some("does not answer"),
        }
    }
}

impl fmt::Display for ReplicaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.problem()) {
            (_, Some(problem)) => f.write_str(problem),
            (Self::Follows { behind_bytes, .. }, _) => {
                write!(f, "follows, {behind_bytes} bytes behind")
            }
            (_, None) => Ok(()),
        }
    }
}

/// A replica.
#[derive(Debug)]
pub(crate) struct Replica {
    pool: PgPool,
    rests_until: Mutex<Option<Instant>>,
}

/// The replicas of a database; none on SQLite.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    all: Vec<Replica>,
    /// Reads so far: they take turns.
    turn: AtomicUsize,
}

impl Replicas {
    /// Connects to none of them yet: a replica that is down must keep no node from its work.
    pub(crate) fn new(options: &Options) -> Result<Self, StoreError> {
        let replicas = options.replica_urls.iter().map(|url| {
            let pool = postgres_pool()
                .max_connections(options.connections.max(2))
                .acquire_timeout(options.acquire_timeout)
                .connect_lazy_with(db::postgres_at("database.replica_urls", url)?);
            Ok(Replica {
                pool,
                rests_until: Mutex::new(None),
            })
        });
        Ok(Self {
            all: replicas.collect::<Result<_, StoreError>>()?,
            turn: AtomicUsize::new(0),
        })
    }

    /// A replica that has every commit which the database has now.
    pub(crate) async fn caught_up(&self, database: &PgPool) -> Option<&Replica> {
        if self.all.iter().all(Replica::rests) {
            return None;
        }
        // If the database fails, the read itself says so.
        let goal = answered(PROMPT, goal(database)).await.ok()?;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let count = self.all.len();
        let in_turn = (0..count).filter_map(|place| self.all.get(turn.wrapping_add(place) % count));
        for replica in in_turn.filter(|replica| !replica.rests()) {
            let outcome = match timeout(REPLAY_TIMEOUT, replica.reach(&goal)).await {
                Ok(Ok(true)) => {
                    counted("replica");
                    return Some(replica);
                }
                Ok(Ok(false)) => "apart",
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a replica of the database does not answer");
                    "failed"
                }
                Err(_) => "behind",
            };
            counted(outcome);
            replica.rest();
        }
        None
    }

    pub(crate) async fn close(&self) {
        for replica in &self.all {
            replica.pool.close().await;
        }
    }
}

/// Counts a read, or an attempt to read, by what a replica did.
fn counted(outcome: &'static str) {
    metrics::counter!("orbweaver_database_replica_reads_total", "outcome" => outcome).increment(1);
}

impl Replica {
    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// What a read from the replica returned; `None` if the replica failed, so that the database has to
    /// answer.
    pub(crate) async fn finish<T>(
        &self,
        read: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        match answered(STATEMENT, read).await {
            Ok(found) => return Some(found),
            Err(error) => tracing::warn!(%error, "a read from a replica failed"),
        }
        counted("failed");
        self.rest();
        None
    }

    fn rests(&self) -> bool {
        let until = *self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    fn rest(&self) {
        let until = Some(Instant::now() + COOLDOWN);
        *self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Waits until the replica has replayed that far; `false` if it never will.
    async fn reach(&self, goal: &Goal) -> Result<bool, StoreError> {
        loop {
            let replayed = self.replayed().await?;
            if replayed.reaches(goal) {
                return Ok(true);
            }
            if !replayed.follows(goal) {
                return Ok(false);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn replayed(&self) -> Result<Replayed, StoreError> {
        Ok(sqlx::query_as(
            "SELECT pg_is_in_recovery() AS in_recovery,
                    CAST(COALESCE(pg_last_wal_replay_lsn() - '0/0', 0) AS BIGINT) AS position,
                    (SELECT value FROM settings WHERE name = $1) AS mark,
                    CAST(COALESCE(extract(epoch FROM now() - pg_last_xact_replay_timestamp()) * 1000, 0)
                        AS BIGINT) AS age_ms",
        )
        .bind(HISTORY_SETTING)
        .fetch_one(&self.pool)
        .await?)
    }

    async fn state(&self, goal: &Goal) -> Result<ReplicaState, StoreError> {
        let replayed = self.replayed().await?;
        if !replayed.follows(goal) {
            return Ok(ReplicaState::Apart);
        }
        let behind = goal.position.saturating_sub(replayed.position);
        Ok(ReplicaState::Follows {
            behind_bytes: u64::try_from(behind).unwrap_or_default(),
            behind_ms: match behind {
                ..=0 => 0,
                _ => u64::try_from(replayed.age_ms).unwrap_or_default(),
            },
        })
    }
}

/// The end of the database's log, with its mark, which is made where the timeline has none.
async fn goal(database: &PgPool) -> Result<Goal, StoreError> {
    let (position, timeline, mark): (i64, String, Option<String>) = sqlx::query_as(
        "SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS BIGINT),
                left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
                (SELECT value FROM settings WHERE name = $1)",
    )
    .bind(HISTORY_SETTING)
    .fetch_one(database)
    .await?;
    if let Some(mark) = mark.filter(|mark| mark.starts_with(&timeline)) {
        return Ok(Goal { position, mark });
    }
    let mark: String = sqlx::query_scalar(
        "INSERT INTO settings (name, value) VALUES ($1, $2 || '-' || CAST(gen_random_uuid() AS TEXT))
         ON CONFLICT (name) DO UPDATE SET value = CASE
             WHEN starts_with(settings.value, $2) THEN settings.value ELSE excluded.value END
         RETURNING value",
    )
    .bind(HISTORY_SETTING)
    .bind(&timeline)
    .fetch_one(database)
    .await?;
    Ok(Goal { position, mark })
}

impl Store {
    /// The state of each replica, in the order of the settings. Empty without replicas.
    ///
    /// # Errors
    /// If the database itself fails.
    #[crate::boxed]
    pub async fn replicas(&self) -> Result<Vec<ReplicaState>, StoreError> {
        let Db::Pg(database) = &self.db else {
            return Ok(Vec::new());
        };
        if self.replicas.all.is_empty() {
            return Ok(Vec::new());
        }
        let goal = answered(PROMPT, goal(database)).await?;
        let looks = self.replicas.all.iter().map(|replica| async {
            match timeout(STATE, replica.state(&goal)).await {
                Ok(Ok(state)) => state,
                Ok(Err(_)) | Err(_) => ReplicaState::Down,
            }
        });
        Ok(futures::future::join_all(looks).await)
    }

    /// Sets the gauges of the replicas.
    ///
    /// # Errors
    /// If the database itself fails.
    #[crate::boxed]
    pub async fn measure_replicas(&self) -> Result<(), StoreError> {
        for (place, state) in self.replicas().await?.into_iter().enumerate() {
            let replica = place.to_string();
            let (up, bytes, ms) = match state {
                ReplicaState::Follows {
                    behind_bytes,
                    behind_ms,
                } => (1.0, behind_bytes, behind_ms),
                ReplicaState::Apart | ReplicaState::Down => (0.0, 0, 0),
            };
            metrics::gauge!("orbweaver_database_replica_up", "replica" => replica.clone()).set(up);
            #[expect(
                clippy::cast_precision_loss,
                reason = "metrics are floating-point numbers"
            )]
            {
                metrics::gauge!("orbweaver_database_replica_lag_bytes", "replica" => replica.clone())
                    .set(bytes as f64);
                metrics::gauge!("orbweaver_database_replica_lag_seconds", "replica" => replica)
                    .set(ms as f64 / 1_000.0);
            }
        }
        Ok(())
    }
}

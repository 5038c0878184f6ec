//! Opening a database, and running statements on SQLite and PostgreSQL.

mod checkpoint;
mod dispatch;
mod migrations;
mod statement;
mod write;

pub(crate) use dispatch::{
    BEGIN, Db, Lite, PATIENCE, PROMPT, answered, per_database, postgres_pool, read, read_replica,
    transact, unanswered,
};
pub(crate) use statement::{by_project, none_of, number, pieces, push_list, signed, storable};

use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use orbweaver_blobs::Blobs;
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};

use crate::error::StoreError;
use crate::logs::partitions;
use crate::presence::Presence;
use checkpoint::Checkpoints;
use write::WriteConnection;

/// How to connect to a database.
#[derive(Clone, Debug)]
pub struct Options {
    /// `sqlite:PATH` (created if missing) or `postgres://…`.
    pub url: String,
    /// The PostgreSQL server itself, if `url` is that of a pooler that gives each transaction
    /// another session: for migrations and LISTEN, which need one.
    pub direct_url: Option<String>,
    /// Streaming replicas of the PostgreSQL server, for long reads.
    pub replica_urls: Vec<String>,
    /// Number of connections: for reads (SQLite) or for all (PostgreSQL).
    pub connections: u32,
    /// Longest wait of a call for a free connection.
    pub acquire_timeout: Duration,
    /// Size of the writer's queue; when it is full, callers wait.
    pub writer_queue: usize,
    /// Where bodies of pages are; `None`: in the database.
    pub blobs: Option<Blobs>,
}

impl Options {
    /// A SQLite file with default options.
    pub fn sqlite(path: &Path) -> Self {
        Self::url(format!("sqlite:{}", path.display()))
    }

    /// Any database with default options.
    pub fn url(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            direct_url: None,
            replica_urls: Vec::new(),
            connections: 8,
            acquire_timeout: Duration::from_secs(5),
            writer_queue: 4_096,
            blobs: None,
        }
    }
}

/// Connects and migrates the schema.
///
/// # Errors
/// [`StoreError::Open`], which says what to check.
pub(crate) async fn open(options: &Options) -> Result<Db, StoreError> {
    if options.url.starts_with("postgres:") || options.url.starts_with("postgresql:") {
        open_postgres(options).await
    } else if options.url.starts_with("sqlite:") {
        open_sqlite(options).await
    } else {
        Err(StoreError::Open(
            "the database URL must start with sqlite: or postgres://".to_owned(),
        ))
    }
}

async fn open_sqlite(options: &Options) -> Result<Db, StoreError> {
    let failed = |error: sqlx::Error| {
        StoreError::Open(format!(
            "cannot open {}: {error}; check that its folder exists and can be written",
            options.url
        ))
    };
    let connect = SqliteConnectOptions::from_str(&options.url)
        .map_err(failed)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(10))
        .pragma("cache_size", "-16384")
        .pragma("temp_store", "memory")
        .pragma("journal_size_limit", "67108864")
        // Of a new file. Bodies and links of pages have many kilobytes, and the words of a crawl are
        // written in long pieces: half as many pages to write, to sum up and to look for.
        .page_size(8_192)
        // Pages, 128 MiB: only if `checkpoint` does not come to it.
        .pragma("wal_autocheckpoint", "16384")
        .statement_cache_capacity(256)
        // The rows of one statement, so that SQLite's thread does not wait for ours in between.
        .row_buffer_size(256);
    let file = connect.get_filename().to_owned();
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(options.acquire_timeout)
        .test_before_acquire(false)
        // Setting auto_vacuum writes to the file, so only here. It has an effect only before the
        // first table is created, so on the connection that migrates.
        .connect_with(connect.clone().auto_vacuum(SqliteAutoVacuum::Incremental))
        .await
        .map_err(failed)?;
    let mut migrations = sqlx_macros::migrate!("../../migrations/sqlite");
    migrations
        .set_ignore_missing(true)
        .run(&write)
        .await
        .map_err(migrations::failed)?;
    let least = sqlx::query_scalar(migrations::LEAST)
        .fetch_optional(&write)
        .await?;
    migrations::may_use(&migrations, least)?;
    let write = WriteConnection::new(write, options.acquire_timeout);
    let checkpoints = Checkpoints::start(connect.clone(), write.clone());
    let read = SqlitePoolOptions::new()
        .max_connections(options.connections.max(1))
        .acquire_timeout(options.acquire_timeout)
        .test_before_acquire(false)
        .connect_with(
            connect
                .read_only(false)
                .pragma("query_only", "on")
                // All connections share the operating system's page cache.
                .pragma("cache_size", "-4096"),
        )
        .await
        .map_err(failed)?;
    Ok(Db::Lite(Lite {
        read,
        write,
        checkpoints: Arc::new(checkpoints),
        changes: Arc::new(AtomicU64::new(0)),
        presence: Presence::at(&file),
        refusals: Arc::default(),
    }))
}

async fn open_postgres(options: &Options) -> Result<Db, StoreError> {
    let cannot_connect = |what: &'static str| {
        move |error: sqlx::Error| {
            let why = said(&error);
            StoreError::Open(format!(
                "cannot connect to PostgreSQL at {what}: {why}; check that it runs, and the user \
                 and database in the URL"
            ))
        }
    };
    let at = postgres_at("database_url", &options.url)?;
    let connected = postgres_pool()
        .max_connections(options.connections.max(2))
        .acquire_timeout(options.acquire_timeout)
        .connect_with(at.clone())
        .await;
    let pool = match connected {
        // It tried again and again, and does not tell why.
        Err(sqlx::Error::PoolTimedOut) => Err(no_connection(&at).await),
        connected => connected,
    }
    .map_err(cannot_connect("database_url"))?;
    let mut migrations = sqlx_macros::migrate!("../../migrations/postgres");
    migrations.set_ignore_missing(true);
    let (setting, at) = match direct(options)? {
        Some(direct) => (DIRECT_URL, direct),
        None => ("database_url", postgres_at("database_url", &options.url)?),
    };
    let session = PgPoolOptions::new()
        .max_connections(1)
        // The whole schema may take longer than a statement that is worth a warning.
        .connect_with(at.disable_statement_logging())
        .await
        .map_err(cannot_connect(setting))?;
    let migrated = migrations::run(&migrations, &session).await;
    session.close().await;
    migrated?;
    if let Err(error) = partitions::begin(&pool).await {
        // Purges try it again; until then entries are where they are deleted row by row.
        tracing::warn!(%error, "cannot make partitions of the request log");
    }
    Ok(Db::Pg(pool))
}

/// What an error says. sqlx adds a line of PostgreSQL's own source, which looks like one of a file here.
fn said(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(said) => said.message().to_owned(),
        other => other.to_string(),
    }
}

/// Why there is no connection.
async fn no_connection(at: &PgConnectOptions) -> sqlx::Error {
    match tokio::time::timeout(Duration::from_secs(2), at.connect()).await {
        Ok(Err(error)) => error,
        Ok(Ok(_)) | Err(_) => sqlx::Error::PoolTimedOut,
    }
}

/// The server itself, if the database is behind a pooler.
pub(crate) fn direct(options: &Options) -> Result<Option<PgConnectOptions>, StoreError> {
    let url = options.direct_url.as_deref();
    url.map(|url| postgres_at(DIRECT_URL, url)).transpose()
}

/// The setting of [`Options::direct_url`], for messages.
const DIRECT_URL: &str = "database.direct_url";

pub(crate) fn postgres_at(setting: &str, url: &str) -> Result<PgConnectOptions, StoreError> {
    // The URL may contain a password, so messages omit it.
    let connect = PgConnectOptions::from_str(url)
        .map_err(|_| StoreError::Open(format!("{setting}: the PostgreSQL URL is malformed")))?;
    Ok(connect
        .application_name("orbweaver")
        // Numbers come in binary, and poolers refuse this parameter.
        .extra_float_digits(None))
}

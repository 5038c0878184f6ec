//! Copies SQLite's write-ahead log back into the file, beside the writers.
//!
//! SQLite itself does this in the commit that finds the log longer than a bound: that writer, and
//! all behind it, wait until tens of megabytes are copied and on the disk. Here a connection of
//! its own copies half a second after a commit, which no writer and no reader waits for. As a copy
//! also puts the log on the disk, a power failure loses little more than the last half second;
//! a crash of the program alone loses nothing in any case.
//! <https://sqlite.org/wal.html#application_initiated_checkpoints>

use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;

use super::write::WriteConnection;

/// Time from a commit to the copy, so that pages which many commits change are copied once.
const GATHER: Duration = Duration::from_millis(500);
/// Time after a failure, such as a full disk.
const PAUSE: Duration = Duration::from_secs(5);
/// Frames, which are changed pages: from this length on the log has to begin anew. 32 MiB of a
/// new file.
const LONG: i64 = 4_096;
/// Frames that may be left to copy in a writer's turn.
const FEW: i64 = 256;
/// Copies before a writer's turn is taken at the latest, if writers are as fast as the copies.
const COPIES: usize = 4;

/// The task; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    ends: Arc<Notify>,
    task: Mutex<JoinHandle<()>>,
}

impl Checkpoints {
    /// `connect`: to the file that `write` writes to. Within a Tokio runtime.
    pub(crate) fn start(connect: SqliteConnectOptions, write: WriteConnection) -> Self {
        let ends = Arc::new(Notify::new());
        let task = tokio::spawn(run(connect, write, Arc::clone(&ends)));
        Self {
            ends,
            task: Mutex::new(task),
        }
    }

    /// Ends the task and closes its connection. The last connection to the file that is closed copies
    /// what is left and removes the log; of two that are closed at the same time neither does.
    pub(crate) async fn stop(&self) {
        self.ends.notify_one();
        let mut task = self.task.lock().await;
        if !task.is_finished() {
            // An error tells that it was aborted or panicked, which ends it as well.
            let _ = (&mut *task).await;
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.task.get_mut().abort();
    }
}

async fn run(connect: SqliteConnectOptions, write: WriteConnection, ends: Arc<Notify>) {
    let mut kept = None;
    tokio::select! {
        () = copies(&connect, &mut kept, &write) => {}
        () = ends.notified() => {}
    }
    if let Some(connection) = kept
        && let Err(error) = connection.close().await
    {
        tracing::warn!(%error, "the database's file was not closed properly");
    }
}

/// Copies for as long as there are writers.
async fn copies(
    connect: &SqliteConnectOptions,
    kept: &mut Option<SqliteConnection>,
    write: &WriteConnection,
) {
    let mut failed = false;
    loop {
        write.kept().await;
        tokio::time::sleep(GATHER).await;
        match round(connect, kept, write).await {
            Ok(()) => failed = false,
            Err(sqlx::Error::PoolClosed) => return,
            Err(error) => {
                // Writers tell of the same fault where it matters; the log only grows.
                if !failed {
                    tracing::warn!(%error, "the write-ahead log was not copied into the database's file");
                }
                failed = true;
                *kept = None;
                tokio::time::sleep(PAUSE).await;
                write.tell();
            }
        }
    }
}

/// Copies what there is, and lets the log begin anew if it is long.
async fn round(
    connect: &SqliteConnectOptions,
    kept: &mut Option<SqliteConnection>,
    write: &WriteConnection,
) -> Result<(), sqlx::Error> {
    let connection = match kept {
        Some(connection) => connection,
        None => kept.insert(connect.connect().await?),
    };
    let mut length = copy(connection).await?;
    if length < LONG {
        return Ok(());
    }
    for _ in 1..COPIES {
        let before = length;
        length = copy(connection).await?;
        if length - before <= FEW {
            break;
        }
    }
    // A writer begins the log anew if at its begin everything is copied, so nothing may be written
    // between the last copy and that begin.
    let (turn, mut writing) = write.acquire().await?;
    copy(&mut writing).await?;
    turn.put_back(writing);
    Ok(())
}

/// Copies as much of the log as readers permit. Returns the log's length in frames when the copy
/// began.
async fn copy(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let (_, length, _): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)")
        .fetch_one(connection)
        .await?;
    Ok(length)
}

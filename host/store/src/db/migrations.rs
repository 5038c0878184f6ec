//! Brings a database to this program's schema, while other nodes may be at work on it.

use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::PgPool;

use crate::error::StoreError;

/// Attempts at a migration that waits for the transactions of nodes at work, which wait for it.
const ATTEMPTS: u32 = 20;
/// Time between them.
const PAUSE: Duration = Duration::from_millis(200);
/// PostgreSQL's code of a transaction that it ended because two waited for each other.
const DEADLOCK: &str = "40P01";

/// Runs the migrations that a PostgreSQL database does not have. `session` is a pool of one connection,
/// which the caller then closes: the lock of the migrations belongs to it, also after a failure.
pub(super) async fn run(migrations: &Migrator, session: &PgPool) -> Result<(), StoreError> {
    for attempt in 1.. {
        match migrations.run(session).await {
            Ok(()) => break,
            // It is a transaction, of which nothing is left.
            Err(error) if is_deadlock(&error) && attempt < ATTEMPTS => {
                tracing::info!("a migration is tried again: {error}");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    may_use(
        migrations,
        sqlx::query_scalar(LEAST).fetch_optional(session).await?,
    )
}

fn is_deadlock(error: &MigrateError) -> bool {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return false;
    };
    let error = error.as_database_error();
    error.is_some_and(|error| error.code().as_deref() == Some(DEADLOCK))
}

/// Reads which migration a program must know at least; `migrations/README.md` says when that rises.
pub(super) const LEAST: &str = "SELECT value FROM settings WHERE name = 'schema.least'";

/// Whether this program may use the database. It need not know the last migrations, so that nodes
/// are upgraded one by one, and an older one may start again in between.
pub(super) fn may_use(known: &Migrator, least: Option<String>) -> Result<(), StoreError> {
    let least = least.and_then(|least| least.parse().ok()).unwrap_or(0);
    let last = known.iter().map(|known| known.version).max().unwrap_or(0);
    if least > last {
        return Err(StoreError::Open(format!(
            "the database was changed by a newer program: it needs one that knows migration \
             {least}, and this one knows {last}; start the newer program"
        )));
    }
    Ok(())
}

pub(super) fn failed(error: MigrateError) -> StoreError {
    StoreError::Open(format!(
        "cannot migrate the database: {error}; was it used by a newer version?"
    ))
}

#[cfg(test)]
mod tests {
    use orbweaver_postgres::Postgres;
    use sqlx::migrate::{Migration, MigrationType};
    use sqlx::postgres::PgPoolOptions;
    use sqlx::{AssertSqlSafe, SqlSafeStr as _};

    use super::*;

    #[tokio::test]
    async fn a_migration_that_meets_a_deadlock_is_run_again() {
        let url = Postgres::shared().database().unwrap();
        let pool = PgPool::connect(&url).await.unwrap();
        let tables =
            "CREATE TABLE settings (name TEXT, value TEXT); CREATE TABLE a (); CREATE TABLE b ()";
        sqlx::raw_sql(tables).execute(&pool).await.unwrap();
        let sql = "ALTER TABLE a ADD COLUMN later TEXT; ALTER TABLE b ADD COLUMN later TEXT";
        let migration = Migration::new(
            1,
            "later".into(),
            MigrationType::Simple,
            AssertSqlSafe(sql).into_sql_str(),
            false,
        );
        let migrations = Migrator::with_migrations(vec![migration]);
        // A node at work, which is not the one that PostgreSQL ends.
        let mut work = pool.begin().await.unwrap();
        sqlx::raw_sql("SET LOCAL deadlock_timeout = '1h'; LOCK TABLE b IN ROW EXCLUSIVE MODE")
            .execute(&mut *work)
            .await
            .unwrap();
        let migrated = tokio::spawn({
            let one = PgPoolOptions::new().max_connections(1);
            let session = one.connect(&url).await.unwrap();
            async move { run(&migrations, &session).await }
        });
        let waits =
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'b'::regclass AND NOT granted)";
        while !sqlx::query_scalar::<_, bool>(waits)
            .fetch_one(&pool)
            .await
            .unwrap()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sqlx::raw_sql("LOCK TABLE a IN ROW EXCLUSIVE MODE")
            .execute(&mut *work)
            .await
            .unwrap();
        work.commit().await.unwrap();
        migrated.await.unwrap().unwrap();
        sqlx::raw_sql("SELECT a.later, b.later FROM a, b")
            .execute(&pool)
            .await
            .unwrap();
    }
}

//! Brings a database to this program's schema, while other nodes may be at work on it.

use std::time::{Duration, Instant};

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::PgPool;

use super::said;
use crate::error::StoreError;

/// How long a migration waits for the tables that nodes at work use. Their statements queue behind it
/// meanwhile. It is shorter than PostgreSQL's `deadlock_timeout` (1 s by default), so that of a node and a
/// migration that wait for each other it is the migration that ends.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '500ms'";
/// Time between two attempts, in which nodes go on.
const PAUSE: Duration = Duration::from_millis(200);
/// How long it is tried. Other nodes that start wait for this lock, too.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(300);
/// PostgreSQL's codes of a transaction that another one was in the way of: `lock_not_available`,
/// `deadlock_detected`.
const IN_THE_WAY: [&str; 2] = ["55P03", "40P01"];

/// Runs the migrations that a PostgreSQL database does not have. `session` is a pool of one connection,
/// which the caller then closes: the lock of the migrations belongs to it, also after a failure.
pub(super) async fn run(migrations: &Migrator, session: &PgPool) -> Result<(), StoreError> {
    let until = Instant::now() + MIGRATION_TIMEOUT;
    sqlx::query(LOCK_TIMEOUT).execute(session).await?;
    loop {
        match migrations.run(session).await {
            Ok(()) => break,
            // It is a transaction, of which nothing is left.
            Err(error) if was_in_the_way(&error) && Instant::now() < until => {
                tracing::info!("a migration is tried again: {error}");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    // A pooler may give the server's session to others.
    sqlx::query("RESET lock_timeout").execute(session).await?;
    may_use(
        migrations,
        sqlx::query_scalar(LEAST).fetch_optional(session).await?,
    )
}

fn was_in_the_way(error: &MigrateError) -> bool {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return false;
    };
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| IN_THE_WAY.contains(&code.as_ref()))
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

/// Why the tables cannot be brought up to date, and what to look at.
pub(super) fn failed(error: MigrateError) -> StoreError {
    StoreError::Open(match error {
        MigrateError::VersionMismatch(migration) => format!(
            "the database was made by another build: its migration {migration} is not the one of this \
             program; use the program that made it, or make the database anew if that was a build of \
             before the first release"
        ),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => format!(
            "cannot bring the tables of the database up to date: {}; check that it takes writes, and \
             that its user may create and change tables",
            said(&error)
        ),
        error => format!("cannot bring the tables of the database up to date: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use orbweaver_postgres::Postgres;
    use sqlx::migrate::{Migration, MigrationType};
    use sqlx::postgres::PgPoolOptions;
    use sqlx::{AssertSqlSafe, SqlSafeStr as _};

    use super::*;

    #[tokio::test]
    async fn a_migration_gives_way_to_a_node_at_work_and_is_run_again() {
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
        // A node at work, of which PostgreSQL ends the statement if it waits for the migration too long.
        let mut work = pool.begin().await.unwrap();
        sqlx::raw_sql("SET LOCAL deadlock_timeout = '900ms'; LOCK TABLE b IN ROW EXCLUSIVE MODE")
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

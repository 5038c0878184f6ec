//! Runs tests once per database.

use std::path::Path;
use std::sync::OnceLock;

use orbweaver_postgres::Postgres;
use orbweaver_store::{Options, Store};
use sqlx::PgConnection;
use tempfile::TempDir;

/// Options of a new, empty SQLite file, which is deleted with the folder.
pub fn sqlite() -> (Options, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Options::sqlite(&folder.path().join("test.db")), folder)
}

/// Names the folder of a PostgreSQL server for the tests of a process, if they are not to start one.
pub const SERVER: &str = "ORBWEAVER_TEST_POSTGRES";

/// Options of a new PostgreSQL database, which has the schema and no rows.
pub fn postgres() -> Options {
    let copy = server().copy(async |url| {
        Store::open(&Options::url(url)).await?.close().await;
        Ok(())
    });
    Options::url(copy.unwrap())
}

/// Options of a new PostgreSQL database without the schema.
pub fn postgres_without_schema() -> Options {
    Options::url(server().database().unwrap())
}

fn server() -> &'static Postgres {
    static GIVEN: OnceLock<Option<Postgres>> = OnceLock::new();
    let given = GIVEN.get_or_init(|| {
        let folder = std::env::var_os(SERVER)?;
        Some(Postgres::attach(Path::new(&folder)).unwrap())
    });
    given.as_ref().unwrap_or_else(|| Postgres::shared())
}

/// Turns each function into one test per database. It takes the options of an empty database.
macro_rules! on_both_databases {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test] async fn $name() {
                let (options, _folder) = crate::support::sqlite();
                super::$name(options).await;
            })*
        }
        mod postgres {
            $(#[tokio::test] async fn $name() {
                super::$name(crate::support::postgres()).await;
            })*
        }
    };
}

pub(crate) use on_both_databases;

/// Sessions that wait for a lock of this one.
pub async fn waiting_for(watch: &mut PgConnection, held: &mut PgConnection) -> Vec<i32> {
    let holder: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(held)
        .await
        .unwrap();
    let waiting = "SELECT pid FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))";
    sqlx::query_scalar(waiting)
        .bind(holder)
        .fetch_all(watch)
        .await
        .unwrap()
}

/// Returns once a session waits for a lock of this one.
pub async fn until_waiting_for(watch: &mut PgConnection, held: &mut PgConnection) {
    while waiting_for(watch, held).await.is_empty() {}
}

/// Returns once a session waits for a lock of one of these.
pub async fn until_waiting_for_any(watch: &mut PgConnection, holders: &[i32]) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE pg_blocking_pids(pid) && $1::int[]";
    loop {
        let waiting: i64 = sqlx::query_scalar(waiting)
            .bind(holders)
            .fetch_one(&mut *watch)
            .await
            .unwrap();
        if waiting > 0 {
            return;
        }
    }
}

//! Checks the rules of `migrations/README.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orbweaver_store::{Options, Store, StoreError};
use sha2::{Digest as _, Sha256};
use sqlx::{Connection as _, PgConnection, SqliteConnection};

use crate::support::{postgres, postgres_without_schema, sqlite};

fn migrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations")
}

fn files(database: &str) -> BTreeSet<String> {
    std::fs::read_dir(migrations().join(database))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[tokio::test]
async fn both_databases_have_the_same_tables_and_columns() {
    let (options, _folder) = sqlite();
    let sqlite = Store::open(&options).await.unwrap();
    let postgres = Store::open(&postgres()).await.unwrap();
    let (sqlite, postgres) = (
        sqlite.columns().await.unwrap(),
        postgres.columns().await.unwrap(),
    );
    assert!(sqlite.len() > 150, "{sqlite:?}");
    assert_eq!(sqlite, postgres);
}

#[test]
fn both_databases_have_the_same_migrations_numbered_without_a_gap() {
    let names = files("sqlite");
    assert_eq!(names, files("postgres"));
    assert!(!names.is_empty());
    for (name, number) in names.iter().zip(1..) {
        assert!(name.starts_with(&format!("{number:04}_")), "{name}");
        assert!(name.ends_with(".sql"), "{name}");
    }
}

#[test]
fn released_migrations_are_never_changed() {
    let released = std::fs::read_to_string(migrations().join("RELEASED")).unwrap();
    let lines = released.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let (digest, file) = line.split_once("  ").unwrap();
        let sql = std::fs::read(migrations().join(file)).unwrap();
        let message = format!("{file} was released: correct it with a new migration");
        assert_eq!(hex::encode(Sha256::digest(&sql)), digest, "{message}");
    }
}

/// As a newer program leaves a database, with the number of the least that may use it.
async fn changed_by_a_newer_one(options: &Options, least: &str) -> Result<Store, StoreError> {
    let store = Store::open(options).await.unwrap();
    store.set_setting("schema.least", least).await.unwrap();
    store.close().await;
    Store::open(options).await
}

#[tokio::test]
async fn a_program_starts_on_a_database_unless_it_is_too_old_for_it() {
    let (lite, _folder) = sqlite();
    for options in [lite, postgres()] {
        let store = changed_by_a_newer_one(&options, "1").await.unwrap();
        store.ping().await.unwrap();
        store.close().await;
        let refused = changed_by_a_newer_one(&options, "9999").await;
        let message = refused.map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("knows migration 9999"), "{message}");
    }
}

/// Why the store does not open.
async fn refused(options: &Options) -> String {
    let opened = Store::open(options).await;
    opened.map(|_| ()).unwrap_err().to_string()
}

/// As if the file of the first migration had been another one.
const ANOTHER: &str = "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1";

#[tokio::test]
async fn a_database_of_another_build_is_told_from_one_that_cannot_be_written_to() {
    let (lite, _folder) = sqlite();
    Store::open(&lite).await.unwrap().close().await;
    let mut connection = SqliteConnection::connect(&lite.url).await.unwrap();
    let changed = sqlx::query(ANOTHER).execute(&mut connection).await;
    assert_eq!(changed.unwrap().rows_affected(), 1);
    connection.close().await.unwrap();
    let message = refused(&lite).await;
    assert!(message.contains("made by another build"), "{message}");

    let options = postgres_without_schema();
    let mut connection = PgConnection::connect(&options.url).await.unwrap();
    let only_reads = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', \
                      current_database()); END $$";
    sqlx::raw_sql(only_reads)
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    let message = refused(&options).await;
    assert!(message.contains("check that it takes writes"), "{message}");
    assert!(!message.contains("another build"), "{message}");
}

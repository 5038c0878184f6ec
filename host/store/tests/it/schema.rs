//! Checks the rules of `migrations/README.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orbweaver_store::Store;
use sha2::{Digest as _, Sha256};

use crate::support::{postgres, sqlite};

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

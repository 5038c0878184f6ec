//! `deploy/citus/distribute.sql`, against the rules of Citus, which no test here can run. Its functions
//! only note what they were asked.

use std::collections::BTreeMap;

use orbweaver_postgres::Postgres;
use orbweaver_store::Store;
use sqlx::postgres::PgPool;

use super::explained;

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../deploy/citus/distribute.sql"
);
/// Citus' functions, as far as the script needs them.
const FUNCTIONS: &str = "
    CREATE TABLE citus_tables (name TEXT PRIMARY KEY, distributed_by TEXT, colocated_with TEXT);
    CREATE FUNCTION create_reference_table(name TEXT) RETURNS VOID LANGUAGE SQL AS
        'INSERT INTO citus_tables VALUES (name, NULL, NULL)';
    CREATE FUNCTION create_distributed_table(name TEXT, distributed_by TEXT, colocate_with TEXT)
        RETURNS VOID LANGUAGE SQL AS
        'INSERT INTO citus_tables VALUES (name, distributed_by, colocate_with)'";

/// A new database in the form that the script makes.
async fn distributed() -> PgPool {
    let server = Postgres::shared();
    let url = server.database().unwrap();
    let options = orbweaver_store::Options::url(url.clone());
    Store::open(&options).await.unwrap().close().await;
    server.execute(&url, FUNCTIONS).unwrap();
    server.run_file(&url, SCRIPT.as_ref()).unwrap();
    PgPool::connect(&url).await.unwrap()
}

/// Each table that the script names, with whether it is distributed (else it is on every node).
async fn tables(pool: &PgPool) -> BTreeMap<String, bool> {
    let rows: Vec<(String, Option<String>)> =
        sqlx::query_as("SELECT name, distributed_by FROM citus_tables")
            .fetch_all(pool)
            .await
            .unwrap();
    for (name, by) in &rows {
        assert!(by.as_deref().is_none_or(|by| by == "project_id"), "{name}");
    }
    rows.into_iter()
        .map(|(name, by)| (name, by.is_some()))
        .collect()
}

#[tokio::test]
async fn keys_of_distributed_tables_have_the_project() {
    let pool = distributed().await;
    let tables = tables(&pool).await;
    let keys: Vec<(String, String, Vec<String>)> = sqlx::query_as(
        "SELECT CAST(t.relname AS TEXT), CAST(c.relname AS TEXT),
                ARRAY(SELECT CAST(attname AS TEXT) FROM pg_attribute WHERE attrelid = c.oid)
         FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class c ON c.oid = i.indexrelid
         WHERE i.indisunique AND t.relnamespace = CAST('public' AS regnamespace)",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    let mut seen = 0;
    for (table, index, columns) in keys {
        if tables.get(&table) == Some(&true) {
            assert!(
                columns.iter().any(|column| column == "project_id"),
                "{index}"
            );
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen}");
}

/// A foreign key: its name, its table and the one it refers to, its columns and those.
type ForeignKey = (String, String, String, Vec<String>, Vec<String>);

#[tokio::test]
async fn foreign_keys_stay_on_one_node() {
    let pool = distributed().await;
    let tables = tables(&pool).await;
    let keys: Vec<ForeignKey> = sqlx::query_as(
        "SELECT CAST(k.conname AS TEXT), CAST(t.relname AS TEXT), CAST(r.relname AS TEXT),
                ARRAY(SELECT CAST(attname AS TEXT) FROM unnest(k.conkey) WITH ORDINALITY u (n, i)
                      JOIN pg_attribute ON attrelid = k.conrelid AND attnum = n ORDER BY i),
                ARRAY(SELECT CAST(attname AS TEXT) FROM unnest(k.confkey) WITH ORDINALITY u (n, i)
                      JOIN pg_attribute ON attrelid = k.confrelid AND attnum = n ORDER BY i)
         FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid JOIN pg_class r ON r.oid = k.confrelid
         WHERE k.contype = 'f'",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert!(keys.len() > 30, "{}", keys.len());
    for (key, from, to, columns, referred) in keys {
        let place = |name: &str| tables.get(name).copied();
        let project = |names: &[String]| names.iter().position(|name| name == "project_id");
        match (place(&from), place(&to)) {
            // Between shards of one project.
            (Some(true), Some(true)) => {
                assert!(project(&columns).is_some(), "{key}");
                assert_eq!(project(&columns), project(&referred), "{key}");
            }
            // To a table that every node has; between tables that none distributes.
            (_, Some(false)) | (None, None) => {}
            (_, to_place) => panic!("{key}: from {from} to {to} ({to_place:?})"),
        }
    }
}

#[tokio::test]
async fn nothing_that_is_distributed_is_partitioned_twice() {
    let pool = distributed().await;
    let levels: Vec<(String, i64)> = sqlx::query_as(
        "SELECT name, (SELECT CAST(COALESCE(max(level), 0) AS BIGINT)
                       FROM pg_partition_tree(CAST(name AS regclass)))
         FROM citus_tables WHERE distributed_by IS NOT NULL",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    for (table, level) in levels {
        let wanted = i64::from(table == "request_log");
        assert_eq!(level, wanted, "{table}");
    }
}

/// Statements of one project may be whatever PostgreSQL understands. They must not join its shards with
/// tables that only the coordinator has.
pub async fn check(statements: &explained::Statements) {
    let pool = distributed().await;
    let tables = tables(&pool).await;
    let mut wrong = Vec::new();
    for (text, asked) in statements {
        let is_distributed = |table: &&String| tables.get(*table) == Some(&true);
        let local = |table: &&String| !tables.contains_key(*table);
        let mixes = asked.tables.iter().any(|table| is_distributed(&table))
            && asked.tables.iter().any(|table| local(&table));
        if mixes {
            wrong.push(format!("{:?} {text}", asked.tables));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

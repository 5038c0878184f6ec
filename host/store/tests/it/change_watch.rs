//! Waiting for a change of the database.

use std::time::Duration;

use orbweaver_store::{ChangeWatch, KeyHash, NewKey, NewProject, Options, Store, Topic};
use sqlx::Connection as _;
use tokio::time::timeout;

crate::support::on_both_databases! {
    a_change_by_another_process_is_told
    every_task_that_waits_is_told
}

/// Several times as long as between two looks at the database.
const LONG: Duration = Duration::from_secs(20);
/// Patience with one notice: nothing else raises these numbers.
const SOON: Duration = Duration::from_secs(10);
const QUIET: Duration = Duration::from_millis(900);

/// Waits until what was changed before the test's own change has been told. PostgreSQL tells of
/// the other tests' databases, too, so there it does not end.
async fn settle(store: &Store, changes: &mut ChangeWatch) {
    while !store.is_shared() && timeout(QUIET, changes.changed()).await.is_ok() {}
}

async fn a_change_by_another_process_is_told(options: Options) {
    let (store, other) = (
        Store::open(&options).await.unwrap(),
        Store::open(&options).await.unwrap(),
    );
    let mut changes = store.watch_changes();
    settle(&store, &mut changes).await;
    other.set_setting("colour", "blue").await.unwrap();
    timeout(LONG, changes.changed()).await.unwrap();
    assert_eq!(store.setting("colour").await.unwrap().unwrap(), "blue");
    // A change that came while nobody waited is told, too.
    let mut witness = store.watch_changes();
    settle(&store, &mut changes).await;
    settle(&store, &mut witness).await;
    store.set_setting("colour", "red").await.unwrap();
    timeout(LONG, witness.changed()).await.unwrap();
    timeout(LONG, changes.changed()).await.unwrap();
}

#[tokio::test]
async fn without_a_change_nothing_is_told() {
    let (options, _folder) = crate::support::sqlite();
    let store = Store::open(&options).await.unwrap();
    let mut changes = store.watch_changes();
    settle(&store, &mut changes).await;
    store.ping().await.unwrap();
    store.setting("colour").await.unwrap();
    assert!(timeout(QUIET, changes.changed()).await.is_err());
}

async fn every_task_that_waits_is_told(options: Options) {
    let store = Store::open(&options).await.unwrap();
    let (mut one, mut two) = (store.watch_changes(), store.watch_changes());
    settle(&store, &mut one).await;
    settle(&store, &mut two).await;
    store.set_setting("colour", "blue").await.unwrap();
    let both = async { tokio::join!(one.changed(), two.changed()) };
    timeout(LONG, both).await.unwrap();
}

/// Polling does not count notices, so each one that is counted has come.
#[tokio::test]
async fn on_postgres_another_node_tells_of_work_and_keys_at_once() {
    let options = crate::support::postgres();
    let store = Store::open(&options).await.unwrap();
    let other = Store::open(&options).await.unwrap();
    let _changes = store.watch_changes();
    timeout(LONG, async {
        while !store.listens() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    let (mut accounts, mut plugins) = (
        store.notices(Topic::Accounts),
        store.notices(Topic::Plugins),
    );
    let mut work = store.notices(Topic::Work);
    for (round, name) in ["a", "b", "c"].into_iter().enumerate() {
        accounts.mark_unchanged();
        let new = NewProject {
            name,
            tier: "free",
            actor: "cli",
            key: NewKey {
                hash: KeyHash::digest(name),
                prefix: "orb_12345678",
                label: None,
            },
        };
        let project = other
            .create_project(&new, crate::given::now())
            .await
            .unwrap();
        timeout(SOON, accounts.changed()).await.unwrap().unwrap();
        work.mark_unchanged();
        let run = crate::given::new_run(project, "https://a.example/");
        crate::given::create(&other, &run).await;
        timeout(SOON, work.changed()).await.unwrap().unwrap();
        assert!(!plugins.has_changed().unwrap(), "round {round}");
        plugins.mark_unchanged();
    }
}

/// A pooler in transaction mode takes LISTEN and tells nothing; here, a database without the schema stands
/// in for what it cannot do.
#[tokio::test]
async fn on_postgres_migrations_and_notices_go_to_the_server_itself() {
    let server = crate::support::postgres_without_schema();
    let options = Options {
        direct_url: Some(server.url.clone()),
        ..crate::support::postgres_without_schema()
    };
    let store = Store::open(&options).await.unwrap();
    let _changes = store.watch_changes();
    let mut accounts = store.notices(Topic::Accounts);
    timeout(LONG, accounts.changed()).await.unwrap().unwrap();
    let mut connection = sqlx::PgConnection::connect(&server.url).await.unwrap();
    let tables: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM pages")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(tables, 0);
    accounts.mark_unchanged();
    sqlx::query("SELECT pg_notify('orbweaver', 'accounts')")
        .execute(&mut connection)
        .await
        .unwrap();
    timeout(SOON, accounts.changed()).await.unwrap().unwrap();
    // The statements go to the pooler, here a database without tables.
    assert!(store.projects().await.is_err());
}

/// Notices come again after the connection that listens was cut.
#[tokio::test]
async fn on_postgres_a_cut_connection_is_made_again() {
    let options = crate::support::postgres();
    let store = Store::open(&options).await.unwrap();
    let _changes = store.watch_changes();
    let mut accounts = store.notices(Topic::Accounts);
    // Listening counts as a notice, because earlier ones may have been lost.
    timeout(LONG, accounts.changed()).await.unwrap().unwrap();
    accounts.mark_unchanged();
    let mut connection = sqlx::PgConnection::connect(&options.url).await.unwrap();
    let cut: Vec<bool> = sqlx::query_scalar(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(cut, [true]);
    timeout(LONG, accounts.changed()).await.unwrap().unwrap();
    timeout(LONG, async {
        while !store.listens() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

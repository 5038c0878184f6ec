//! Waiting for a change of the database.

use std::time::Duration;

use orbweaver_store::{Options, Pulse, Store};
use tokio::time::timeout;

crate::support::on_both_databases! {
    a_change_by_another_process_is_told
    every_task_that_waits_is_told
}

/// Several times as long as between two looks at the database.
const LONG: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(900);

/// Waits until what was changed before the test's own change has been told. PostgreSQL tells of
/// the other tests' databases, too, so there it does not end.
async fn settle(store: &Store, pulse: &mut Pulse) {
    while !store.is_shared() && timeout(QUIET, pulse.changed()).await.is_ok() {}
}

async fn a_change_by_another_process_is_told(options: Options) {
    let (store, other) = (
        Store::open(&options).await.unwrap(),
        Store::open(&options).await.unwrap(),
    );
    let mut pulse = store.pulse();
    settle(&store, &mut pulse).await;
    other.set_setting("colour", "blue").await.unwrap();
    timeout(LONG, pulse.changed()).await.unwrap();
    assert_eq!(store.setting("colour").await.unwrap().unwrap(), "blue");
    // A change that came while nobody waited is told, too.
    let mut witness = store.pulse();
    settle(&store, &mut pulse).await;
    settle(&store, &mut witness).await;
    store.set_setting("colour", "red").await.unwrap();
    timeout(LONG, witness.changed()).await.unwrap();
    timeout(LONG, pulse.changed()).await.unwrap();
}

#[tokio::test]
async fn without_a_change_nothing_is_told() {
    let (options, _folder) = crate::support::sqlite();
    let store = Store::open(&options).await.unwrap();
    let mut pulse = store.pulse();
    settle(&store, &mut pulse).await;
    store.ping().await.unwrap();
    store.setting("colour").await.unwrap();
    assert!(timeout(QUIET, pulse.changed()).await.is_err());
}

async fn every_task_that_waits_is_told(options: Options) {
    let store = Store::open(&options).await.unwrap();
    let (mut one, mut two) = (store.pulse(), store.pulse());
    settle(&store, &mut one).await;
    settle(&store, &mut two).await;
    store.set_setting("colour", "blue").await.unwrap();
    let both = async { tokio::join!(one.changed(), two.changed()) };
    timeout(LONG, both).await.unwrap();
}

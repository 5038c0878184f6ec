//! Work that one process does at a time.

use chrono::TimeDelta;
use orbweaver_store::{ExclusiveWork, Options, Store};

use crate::given::now;

crate::support::on_both_databases! {
    one_process_at_a_time_does_the_work
}

async fn one_process_at_a_time_does_the_work(options: Options) {
    let store = Store::open(&options).await.unwrap();
    let other = Store::open(&options).await.unwrap();
    let begin = async |node: &Store, seconds: i64| {
        let at = now() + TimeDelta::seconds(seconds);
        node.begin_exclusive_work(ExclusiveWork::Shrinking, at)
            .await
            .unwrap()
    };
    let (one, two) = tokio::join!(begin(&store, 0), begin(&other, 0));
    assert!(one != two);
    // Other work is another one's.
    let sweep = other.begin_exclusive_work(ExclusiveWork::BlobSweep, now());
    assert!(sweep.await.unwrap());
    let later = now() + TimeDelta::seconds(40);
    store
        .keep_exclusive_work(ExclusiveWork::Shrinking, later)
        .await
        .unwrap();
    assert!(!begin(&other, 60).await);
    store
        .end_exclusive_work(ExclusiveWork::Shrinking, later)
        .await
        .unwrap();
    assert!(begin(&other, 60).await);
    // Its process has ended.
    assert!(!begin(&store, 61).await);
    assert!(begin(&store, 200).await);
}

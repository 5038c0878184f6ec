//! Bodies that the blob store has lost.

use orbweaver_store::blobs::{BlobError, NewBodies};
use orbweaver_store::{Options, StoreError};

use crate::blobs::{Ground, HOUR, all_readable, bodies_of, read, run, sweep};

crate::support::on_both_databases! {
    bodies_that_the_blob_store_has_lost_keep_no_others_in_it
    a_lost_body_is_stored_anew_when_it_is_fetched_again
}

async fn bodies_that_the_blob_store_has_lost_keep_no_others_in_it(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    run(&store, project, &[1, 2]).await;
    run(&store, project, &[3, 4]).await;
    let last = run(&store, project, &[5]).await;
    let segments = ground.segments();
    let [gone, damaged, _] = &segments[..] else {
        panic!("a segment for each run");
    };
    std::fs::remove_file(gone).unwrap();
    // One bit of the second record: the first one is whole.
    let mut bytes = std::fs::read(damaged).unwrap();
    let end = bytes.len() - 8;
    bytes[end] ^= 1;
    std::fs::write(damaged, bytes).unwrap();

    let back = ground
        .again(|blobs| blobs.new_bodies = NewBodies::Database)
        .await;
    let (mut after, mut moved) = (0, Vec::new());
    loop {
        let step = back.move_to_database(after).await.unwrap();
        let Some(next) = step.next else { break };
        after = next;
        assert_eq!(step.problem.is_some(), step.lost > 0);
        moved.push((step.bodies, step.lost));
    }
    assert_eq!(moved, [(0, 2), (1, 1), (1, 0)]);
    all_readable(&back, project, last, &[5]).await;
}

async fn a_lost_body_is_stored_anew_when_it_is_fetched_again(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let first = run(&store, project, &[1, 2]).await;
    std::fs::remove_file(&ground.segments()[0]).unwrap();
    let seed = "https://example.org/1";
    let previous = async || store.previous_page(project, first, seed).await.unwrap();
    assert!(previous().await.is_some(), "nobody has noticed it");
    for blob in bodies_of(&store, project, first).await {
        let error = read(&store, project, blob).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Blobs(BlobError::Missing(_))),
            "{error}"
        );
    }
    assert!(previous().await.is_none(), "it is asked for as a new page");
    let second = run(&store, project, &[1, 2, 3]).await;
    all_readable(&store, project, first, &[1, 2]).await;
    all_readable(&store, project, second, &[1, 2, 3]).await;
    assert!(previous().await.is_some());
    // They go on to the blob store, and nothing is left of the segment.
    ground.advance(301);
    assert_eq!(sweep(&store).await.packed, 2);
    all_readable(&store, project, second, &[1, 2, 3]).await;
    ground.advance(24 * HOUR + 1);
    assert_eq!(sweep(&store).await.deleted, 1);
    assert_eq!(ground.segments().len(), 2);
}

//! What becomes of segments whose bodies are deleted, and of what nobody refers to.

use std::path::PathBuf;
use std::time::Duration;

use orbweaver_store::crawl::{Committed, RunBatch};
use orbweaver_store::{Options, StoreError, Swept};

use crate::blobs::{Ground, HOUR, all_readable, bodies_of, delete, run, sweep, text};
use crate::given::{batch, create, lease, new_run, page};

crate::support::on_both_databases! {
    a_segment_goes_with_its_last_body
    a_segment_that_is_mostly_dead_is_rewritten
    a_segment_without_rows_is_deleted_after_the_grace_time
    what_was_left_unfinished_is_deleted_after_the_grace_time
    a_commit_after_the_grace_time_fails_and_is_done_again
}

async fn a_segment_goes_with_its_last_body(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let at = new_run(project, "").enqueued_at;
    let first = run(&store, project, &[1, 2]).await;
    let second = run(&store, project, &[2]).await;
    delete(&store, project, first, at).await;
    delete(&store, project, second, at).await;
    assert_eq!(sweep(&store).await.deleted, 0);
    assert_eq!(ground.segments().len(), 1, "a backup may need it");
    ground.advance(24 * HOUR + 1);
    assert_eq!(sweep(&store).await.deleted, 1);
    assert!(ground.segments().is_empty());
    // Sweeping again, and after the row is forgotten, finds nothing.
    for _ in 0..2 {
        ground.advance(8 * 24 * HOUR);
        assert_eq!(sweep(&store).await, Swept::default());
    }
}

async fn a_segment_that_is_mostly_dead_is_rewritten(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let at = new_run(project, "").enqueued_at;
    let first = run(&store, project, &[1, 2, 3, 4]).await;
    let rest = run(&store, project, &[4]).await;
    let old = ground.segments();
    delete(&store, project, first, at).await;
    let swept = sweep(&store).await;
    assert_eq!((swept.rewritten, swept.deleted), (1, 0));
    assert_eq!(ground.segments().len(), 2);
    std::fs::remove_file(&old[0]).unwrap();
    all_readable(&store, project, rest, &[4]).await;
    ground.advance(24 * HOUR + 60);
    let swept = sweep(&store).await;
    assert_eq!((swept.rewritten, swept.deleted), (0, 1), "no longer sparse");
    all_readable(&store, project, rest, &[4]).await;
}

async fn a_segment_without_rows_is_deleted_after_the_grace_time(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground
        .open(|blobs| blobs.keep_deleted = Duration::ZERO)
        .await;
    let kept = run(&store, project, &[1]).await;
    // A process that ended between the upload and the commit.
    let crashed = ground.blobs(|blobs| blobs.node = 8);
    crashed.put(&crashed.segment().finish()).await.unwrap();
    assert_eq!(ground.segments().len(), 2);
    ground.advance(HOUR - 60);
    assert_eq!(
        sweep(&store).await,
        Swept::default(),
        "a commit may be under way"
    );
    assert_eq!(ground.segments().len(), 2);
    ground.advance(120);
    let swept = sweep(&store).await;
    assert_eq!((swept.orphans, swept.deleted), (1, 1));
    assert_eq!(ground.segments().len(), 1);
    all_readable(&store, project, kept, &[1]).await;
}

async fn what_was_left_unfinished_is_deleted_after_the_grace_time(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground.open(|_| {}).await;
    let kept = run(&store, project, &[1]).await;
    // A process was killed while it wrote; the last name is nobody's.
    let segment = ground.segments().remove(0);
    let of_segment = |end: &str| PathBuf::from(format!("{}{end}", segment.display()));
    let unfinished = [
        of_segment("#1"),
        ground.folder.path().join("orbweaver-database#12"),
    ];
    let other = of_segment("#old");
    for file in unfinished.iter().chain([&other]) {
        std::fs::write(file, b"half").unwrap();
    }
    ground.advance(HOUR - 60);
    sweep(&store).await;
    assert!(unfinished.iter().all(|file| file.exists()));
    ground.advance(120);
    sweep(&store).await;
    assert!(!unfinished.iter().any(|file| file.exists()));
    assert!(segment.exists() && other.exists());
    all_readable(&store, project, kept, &[1]).await;
}

async fn a_commit_after_the_grace_time_fails_and_is_done_again(options: Options) {
    let ground = Ground::new(options);
    let (store, project) = ground
        .open(|blobs| blobs.keep_deleted = Duration::ZERO)
        .await;
    let row = create(&store, &new_run(project, "https://a.example/")).await;
    let leased = lease(&store, "one", row.enqueued_at).await.unwrap();
    // The slow process has the next name, and uploads; the sweeper takes the name.
    let slow = ground.again(|blobs| blobs.node = 9).await;
    let early = ground.blobs(|blobs| blobs.node = 9);
    early.put(&early.segment().finish()).await.unwrap();
    ground.advance(HOUR + 60);
    assert_eq!(sweep(&store).await.orphans, 1);
    ground.advance(-HOUR - 60);
    let work = RunBatch {
        pages: vec![page(&leased, 1, text(1).as_bytes())],
        ..batch(&leased)
    };
    let late = slow.commit_crawl(std::slice::from_ref(&work)).await;
    assert!(matches!(late, Err(StoreError::Database(_))), "{late:?}");
    assert!(bodies_of(&store, project, row.id).await.is_empty());
    let again = slow.commit_crawl(&[work]).await.unwrap();
    assert_eq!(again, [Committed::Written]);
    all_readable(&store, project, row.id, &[1]).await;
}

//! Rows that several transactions change are locked in one order, so that nodes never deadlock.
//! Each test holds a row, lets the store wait for it, and looks at what the store holds meanwhile.

use chrono::TimeDelta;
use orbweaver_core::ids::{BlobId, ProjectId};
use orbweaver_store::crawl::{BatchParts, Committed, LeasedRun, RunBatch};
use orbweaver_store::{NewPage, Options, Store, StoredBody};
use sqlx::{Connection as _, PgConnection};

use crate::given::{batch, create, lease, new_run, now, open, page};
use crate::support::{postgres, until_waiting_for, until_waiting_for_any, waiting_for};

/// Two stored bodies: the one that was stored first has the higher hash.
struct Bodies {
    store: Store,
    project: ProjectId,
    run: LeasedRun,
    /// Their rows, and what is in them.
    first: (i64, Vec<u8>),
    second: (i64, Vec<u8>),
}

/// Two texts, the one with the higher hash first.
fn texts() -> [Vec<u8>; 2] {
    let mut texts = [b"one".to_vec(), b"two".to_vec()];
    texts.sort_by_key(|text| std::cmp::Reverse(StoredBody::pack(text).hash));
    texts
}

async fn row_of(other: &mut PgConnection, project: ProjectId, text: &[u8]) -> i64 {
    sqlx::query_scalar("SELECT id FROM blobs WHERE project_id = $1 AND hash = $2")
        .bind(project.get())
        .bind(StoredBody::pack(text).hash.to_vec())
        .fetch_one(other)
        .await
        .unwrap()
}

impl Bodies {
    async fn new(options: &Options) -> Self {
        let (store, project) = open(options).await;
        create(&store, &new_run(project, "https://example.org/")).await;
        let run = lease(&store, "a", now()).await.unwrap();
        let [first, second] = texts();
        for (seq, text) in (0..).zip([&first, &second]) {
            commit(&store, &pages(&run, &[(seq, text)])).await;
        }
        let mut other = PgConnection::connect(&options.url).await.unwrap();
        let ids = (
            row_of(&mut other, project, &first).await,
            row_of(&mut other, project, &second).await,
        );
        assert!(ids.0 < ids.1);
        Self {
            store,
            project,
            run,
            first: (ids.0, first),
            second: (ids.1, second),
        }
    }

    /// As a transaction of another node locks bodies: in the order of their rows. The second lock
    /// is had while the store waits for the first one.
    async fn second_is_free(&self, other: &mut PgConnection) {
        sqlx::query("SELECT id FROM blobs WHERE project_id = $1 AND id = $2 FOR UPDATE NOWAIT")
            .bind(self.project.get())
            .bind(self.second.0)
            .execute(other)
            .await
            .expect("the store holds a later row and waits for an earlier one");
    }
}

async fn hold(other: &mut PgConnection, bodies: &Bodies, blob: i64) {
    sqlx::query("SELECT id FROM blobs WHERE project_id = $1 AND id = $2 FOR UPDATE")
        .bind(bodies.project.get())
        .bind(blob)
        .execute(other)
        .await
        .unwrap();
}

fn pages(run: &LeasedRun, of: &[(i64, &Vec<u8>)]) -> RunBatch {
    RunBatch {
        pages: of.iter().map(|(seq, text)| page(run, *seq, text)).collect(),
        ..batch(run)
    }
}

async fn commit(store: &Store, work: &RunBatch) {
    let done = store.commit_crawl(std::slice::from_ref(work)).await;
    assert_eq!(done.unwrap(), [Committed::Written]);
}

fn scan(bodies: &Bodies, text: &[u8]) -> NewPage {
    NewPage {
        run: None,
        ..page(&bodies.run, 0, text).page
    }
}

#[tokio::test]
async fn a_commit_locks_known_bodies_in_the_order_of_their_rows() {
    let options = postgres();
    let bodies = Bodies::new(&options).await;
    let mut other = PgConnection::connect(&options.url).await.unwrap();
    let mut watch = PgConnection::connect(&options.url).await.unwrap();
    let mut held = other.begin().await.unwrap();
    hold(&mut held, &bodies, bodies.first.0).await;
    // Both are known by their hashes, or one of them by its row, as of a page that has not changed.
    for (seq, shared) in [(10, None), (12, Some(0)), (14, Some(1))] {
        let mut work = pages(
            &bodies.run,
            &[(seq, &bodies.first.1), (seq + 1, &bodies.second.1)],
        );
        if let Some(place) = shared {
            let row = [bodies.first.0, bodies.second.0][place];
            work.pages[place].page.body = None;
            work.pages[place].same_body = Some(BlobId(row));
        }
        let mut writing = std::pin::pin!(commit(&bodies.store, &work));
        tokio::select! {
            () = &mut writing => panic!("the commit did not wait"),
            () = until_waiting_for(&mut watch, &mut held) => {}
        }
        bodies.second_is_free(&mut held).await;
        held.commit().await.unwrap();
        writing.await;
        held = other.begin().await.unwrap();
        hold(&mut held, &bodies, bodies.first.0).await;
    }
    let count = "SELECT refs FROM blobs WHERE project_id = $1 AND id = $2";
    for (blob, _) in [&bodies.first, &bodies.second] {
        let refs: i64 = sqlx::query_scalar(count)
            .bind(bodies.project.get())
            .bind(blob)
            .fetch_one(&mut watch)
            .await
            .unwrap();
        assert_eq!(refs, 4);
    }
}

#[tokio::test]
async fn scans_lock_known_bodies_in_the_order_of_their_rows() {
    let options = postgres();
    let bodies = Bodies::new(&options).await;
    let third = b"three".to_vec();
    commit(&bodies.store, &pages(&bodies.run, &[(2, &third)])).await;
    let mut one = PgConnection::connect(&options.url).await.unwrap();
    let mut two = PgConnection::connect(&options.url).await.unwrap();
    let mut watch = PgConnection::connect(&options.url).await.unwrap();
    let third_row = row_of(&mut watch, bodies.project, &third).await;
    let mut held = one.begin().await.unwrap();
    hold(&mut held, &bodies, bodies.first.0).await;
    let mut before = two.begin().await.unwrap();
    hold(&mut before, &bodies, third_row).await;
    // While the writer waits, two scans gather, which it writes in one transaction then.
    let store = &bodies.store;
    let mut waits = std::pin::pin!(store.save_page(scan(&bodies, &third), None));
    tokio::select! {
        _ = &mut waits => panic!("the scan did not wait"),
        () = until_waiting_for(&mut watch, &mut before) => {}
    }
    let mut both = std::pin::pin!(async {
        tokio::join!(
            store.save_page(scan(&bodies, &bodies.first.1), None),
            store.save_page(scan(&bodies, &bodies.second.1), None),
        )
    });
    assert!(futures::poll!(&mut both).is_pending());
    before.commit().await.unwrap();
    waits.await.unwrap();
    tokio::select! {
        _ = &mut both => panic!("the scans did not wait"),
        () = until_waiting_for(&mut watch, &mut held) => {}
    }
    bodies.second_is_free(&mut held).await;
    held.commit().await.unwrap();
    let (first, second) = both.await;
    assert!(first.unwrap().is_some() && second.unwrap().is_some());
}

/// Nothing is lost if the row goes between being found and being locked.
#[tokio::test]
async fn a_body_that_is_deleted_meanwhile_is_stored_again() {
    let options = postgres();
    let bodies = Bodies::new(&options).await;
    let mut other = PgConnection::connect(&options.url).await.unwrap();
    let mut watch = PgConnection::connect(&options.url).await.unwrap();
    let mut held = other.begin().await.unwrap();
    hold(&mut held, &bodies, bodies.first.0).await;
    let work = pages(
        &bodies.run,
        &[(10, &bodies.first.1), (11, &bodies.second.1)],
    );
    let mut writing = std::pin::pin!(commit(&bodies.store, &work));
    tokio::select! {
        () = &mut writing => panic!("the commit did not wait"),
        () = until_waiting_for(&mut watch, &mut held) => {}
    }
    for statement in [
        "DELETE FROM pages WHERE project_id = $1 AND blob_id = $2",
        "DELETE FROM blobs WHERE project_id = $1 AND id = $2",
    ] {
        sqlx::query(statement)
            .bind(bodies.project.get())
            .bind(bodies.first.0)
            .execute(&mut *held)
            .await
            .unwrap();
    }
    held.commit().await.unwrap();
    writing.await;
    let again = row_of(&mut watch, bodies.project, &bodies.first.1).await;
    assert!(again > bodies.second.0);
    let refs: Vec<(i64, i64)> =
        sqlx::query_as("SELECT id, refs FROM blobs WHERE project_id = $1 ORDER BY id")
            .bind(bodies.project.get())
            .fetch_all(&mut watch)
            .await
            .unwrap();
    assert_eq!(refs, [(bodies.second.0, 2), (again, 1)]);
}

/// The commit of a part's worker locks the part, and then the run's feed of pages.
#[tokio::test]
async fn a_deletion_locks_a_part_before_the_feed_of_its_run() {
    let options = postgres();
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://example.org/")).await;
    let run = lease(&store, "a", now()).await.unwrap();
    let url = "https://receiver.example/";
    store.open_page_feed(run.lease, url, url).await.unwrap();
    assert!(store.open_part(run.lease, 0, None).await.unwrap());
    let until = now() + TimeDelta::seconds(60);
    let part = store.lease_part("b", now(), until, &[]).await.unwrap();
    let work = RunBatch {
        parts: BatchParts {
            part: Some(part.unwrap().lease),
            has_parts: true,
            ..BatchParts::default()
        },
        ..pages(&run, &[(0, &b"body".to_vec())])
    };
    let mut other = PgConnection::connect(&options.url).await.unwrap();
    let mut watch = PgConnection::connect(&options.url).await.unwrap();
    // The commit waits for this between the two.
    let mut held = other.begin().await.unwrap();
    sqlx::query("LOCK TABLE pages IN SHARE MODE")
        .execute(&mut *held)
        .await
        .unwrap();
    let mut writing = std::pin::pin!(commit(&store, &work));
    tokio::select! {
        () = &mut writing => panic!("the commit did not wait"),
        () = until_waiting_for(&mut watch, &mut held) => {}
    }
    let committing = waiting_for(&mut watch, &mut held).await;
    let id = run.lease.run;
    let mut deleting = std::pin::pin!(store.delete_run(project, id, now()));
    tokio::select! {
        _ = &mut deleting => panic!("the deletion did not wait"),
        () = until_waiting_for_any(&mut watch, &committing) => {}
    }
    sqlx::query("SELECT run_id FROM page_feeds WHERE run_id = $1 FOR UPDATE NOWAIT")
        .bind(id.get())
        .execute(&mut watch)
        .await
        .expect("the deletion holds the feed and waits for the part");
    held.commit().await.unwrap();
    let ((), deleted) = tokio::join!(writing, deleting);
    assert!(deleted.unwrap());
    assert!(store.run(project, id).await.unwrap().is_none());
}

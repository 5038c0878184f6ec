//! Parts of runs: leases, what is lent, and reports.

use chrono::TimeDelta;
use orbweaver_store::crawl::{
    BatchParts, Committed, Ending, FrontierChange, LeasedRun, NewFrontier, NewReport, PartLease,
    RunBatch,
};
use orbweaver_store::{NewUsage, Store};
use sqlx::Connection as _;

use crate::given::{batch, create, lease, new_run, now, open, page};
use crate::support::postgres;

fn discovered(seq: i64) -> NewFrontier {
    NewFrontier {
        seq,
        url: format!("https://example.org/{seq}"),
        key_hash: seq.unsigned_abs(),
        depth: 4,
        priority: 0,
    }
}

fn lent(seq: i64, part: i64, number: i64) -> FrontierChange {
    FrontierChange::Lent {
        seq,
        part,
        number,
        depth: 3,
    }
}

/// A run with URLs 0 to 9, of which 0 to 4 are lent to part 0.
async fn begun() -> (Store, LeasedRun) {
    let (store, project) = open(&postgres()).await;
    create(&store, &new_run(project, "https://example.org/")).await;
    let run = lease(&store, "a", now()).await.unwrap();
    assert!(store.open_part(run.lease, 0, Some(7)).await.unwrap());
    let work = RunBatch {
        discovered: (0..10).map(discovered).collect(),
        changes: (0..5).map(|seq| lent(seq, 0, seq + 1)).collect(),
        ..batch(&run)
    };
    assert_eq!(
        store.commit_crawl(&[work]).await.unwrap(),
        [Committed::Written]
    );
    (store, run)
}

async fn take(store: &Store, owner: &str, seconds: i64) -> Option<PartLease> {
    let at = now() + TimeDelta::seconds(seconds);
    let until = at + TimeDelta::seconds(10);
    let leased = store.lease_part(owner, at, until, &[]).await.unwrap()?;
    assert_eq!(leased.concurrency, Some(7));
    Some(leased.lease)
}

/// A batch of the part's worker: pages of these URLs, each with a report.
fn reported(run: &LeasedRun, part: PartLease, seqs: &[i64]) -> RunBatch {
    RunBatch {
        pages: seqs.iter().map(|seq| page(run, *seq, b"body")).collect(),
        parts: BatchParts {
            part: Some(part),
            has_parts: true,
            reports: seqs
                .iter()
                .map(|seq| NewReport {
                    seq: *seq,
                    report: "{}".to_owned(),
                })
                .collect(),
            ..BatchParts::default()
        },
        ..batch(run)
    }
}

async fn waiting(store: &Store, part: PartLease, after: i64) -> Vec<i64> {
    let lent = store.lent_urls(part, after, 100).await.unwrap();
    lent.iter().map(|lent| lent.url.seq).collect()
}

async fn queued(store: &Store, run: &LeasedRun) -> Vec<i64> {
    let rows = store
        .frontier_queued(run.lease.project, run.lease.run, -1, 100)
        .await
        .unwrap();
    rows.iter().map(|row| row.seq).collect()
}

#[tokio::test]
async fn a_part_is_leased_by_one_worker_and_its_old_one_cannot_write() {
    let (store, run) = begun().await;
    let first = take(&store, "b", 0).await.unwrap();
    assert_eq!(take(&store, "c", 0).await, None);
    assert_eq!(waiting(&store, first, 0).await, [0, 1, 2, 3, 4]);
    assert_eq!(waiting(&store, first, 3).await, [3, 4]);
    assert_eq!(queued(&store, &run).await, [5, 6, 7, 8, 9]);
    let lent = store.lent_urls(first, 0, 1).await.unwrap();
    assert_eq!(lent[0].url.depth, 3, "as it was lent, not as it was found");

    // Its lease runs out.
    let second = take(&store, "c", 11).await.unwrap();
    assert_eq!(second.epoch, first.epoch + 1);
    let both = [reported(&run, first, &[0]), reported(&run, second, &[1])];
    assert_eq!(
        store.commit_crawl(&both).await.unwrap(),
        [Committed::Fenced, Committed::Written]
    );
    assert_eq!(waiting(&store, second, 0).await, [0, 2, 3, 4]);
    let leases = [first, second];
    let held = store
        .extend_part_leases(&leases, now() + TimeDelta::seconds(30))
        .await
        .unwrap();
    assert_eq!(held, [(second, Some(7))]);
    // A worker does not help a run that it knows.
    let at = now() + TimeDelta::seconds(60);
    let none = store
        .lease_part("d", at, at, &[run.lease.run])
        .await
        .unwrap();
    assert!(none.is_none());
}

#[tokio::test]
async fn reports_are_read_once_and_count_their_pages() {
    let (store, run) = begun().await;
    let part = take(&store, "b", 0).await.unwrap();
    // The same page again is stored once.
    let mut work = reported(&run, part, &[0, 1, 2]);
    work.pages[2].page.url_key = work.pages[1].page.url_key.clone();
    assert_eq!(
        store.commit_crawl(&[work]).await.unwrap(),
        [Committed::Written]
    );
    let (project, id) = (run.lease.project, run.lease.run);
    let reports = store
        .run_reports(project, id, Some(0), 0, 10)
        .await
        .unwrap();
    let told: Vec<(i64, bool)> = reports.iter().map(|it| (it.seq, it.stored)).collect();
    assert_eq!(told, [(0, true), (1, true), (2, false)]);
    let found = store.run(run.lease.project, id).await.unwrap().unwrap();
    assert_eq!(found.page_count, 0, "counted by the run's worker");

    let read = RunBatch {
        changes: [0, 1, 2]
            .map(|seq| FrontierChange::Done {
                seq,
                redirect_to: None,
            })
            .to_vec(),
        parts: BatchParts {
            read: vec![0, 1, 2],
            ..BatchParts::default()
        },
        ..batch(&run)
    };
    store.commit_crawl(&[read]).await.unwrap();
    let found = store.run(run.lease.project, id).await.unwrap().unwrap();
    assert_eq!(found.page_count, 2);
    assert_eq!(
        store.run_reports(project, id, None, 0, 10).await.unwrap(),
        []
    );
    assert_eq!(waiting(&store, part, 0).await, [3, 4]);
}

/// As after a connection that was lost before the database told of its commit.
#[tokio::test]
async fn reports_that_are_written_or_read_again_change_nothing() {
    let (store, run) = begun().await;
    let part = take(&store, "b", 0).await.unwrap();
    let (project, id) = (run.lease.project, run.lease.run);
    let work = [reported(&run, part, &[0, 1])];
    let read = [RunBatch {
        changes: [0, 1]
            .map(|seq| FrontierChange::Done {
                seq,
                redirect_to: None,
            })
            .to_vec(),
        parts: BatchParts {
            read: vec![0, 1],
            ..BatchParts::default()
        },
        ..batch(&run)
    }];
    for batches in [&work, &read, &read, &work] {
        let written = store.commit_crawl(batches).await.unwrap();
        assert_eq!(written, [Committed::Written]);
    }
    let found = store.run(project, id).await.unwrap().unwrap();
    assert_eq!(found.page_count, 2);
    let reports = store.run_reports(project, id, None, 0, 10).await.unwrap();
    assert_eq!(reports, [], "they were read");
}

#[tokio::test]
async fn a_closed_part_gives_back_what_it_has_not_reported() {
    let (store, run) = begun().await;
    let (project, id) = (run.lease.project, run.lease.run);
    let part = take(&store, "b", 0).await.unwrap();
    assert!(
        !store.close_part(project, id, 0, now()).await.unwrap(),
        "it is leased"
    );
    let work = reported(&run, part, &[1]);
    store.commit_crawl(&[work]).await.unwrap();
    store.release_part(part).await.unwrap();
    assert!(store.close_part(project, id, 0, now()).await.unwrap());
    assert_eq!(store.parts(id).await.unwrap(), []);
    // That of URL 1 is still to be read.
    assert_eq!(
        store
            .run_reports(project, id, None, 0, 10)
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(queued(&store, &run).await, (0..10).collect::<Vec<_>>());
    let late = reported(&run, part, &[2]);
    assert_eq!(
        store.commit_crawl(&[late]).await.unwrap(),
        [Committed::Fenced]
    );
}

#[tokio::test]
async fn parts_end_with_their_run_and_its_last_pages_count() {
    let (store, run) = begun().await;
    let part = take(&store, "b", 0).await.unwrap();
    let work = reported(&run, part, &[0, 1]);
    store.commit_crawl(&[work]).await.unwrap();
    let ending = Ending {
        done: true,
        ..Ending::default()
    };
    assert!(
        store
            .end_run(run.lease, &ending, None, now())
            .await
            .unwrap()
    );
    let (project, id) = (run.lease.project, run.lease.run);
    let found = store.run(project, id).await.unwrap().unwrap();
    assert_eq!(found.page_count, 2);
    assert_eq!(
        store.run_reports(project, id, None, 0, 10).await.unwrap(),
        []
    );
    let late = reported(&run, part, &[2]);
    assert_eq!(
        store.commit_crawl(&[late]).await.unwrap(),
        [Committed::Fenced]
    );
    // Nobody opens a part of a run that has ended.
    assert!(!store.open_part(run.lease, 1, None).await.unwrap());
}

#[tokio::test]
async fn a_deleted_runs_parts_are_gone_at_once_and_its_reports_later() {
    let (store, run) = begun().await;
    let part = take(&store, "b", 0).await.unwrap();
    let work = reported(&run, part, &[0]);
    store.commit_crawl(&[work]).await.unwrap();
    let (project, id) = (run.lease.project, run.lease.run);
    assert!(store.delete_run(project, id, now()).await.unwrap());
    let late = reported(&run, part, &[1]);
    assert_eq!(
        store.commit_crawl(&[late]).await.unwrap(),
        [Committed::Fenced]
    );
    while !store.remove_deleted().await.unwrap().finished {}
    assert_eq!(
        store.run_reports(project, id, None, 0, 10).await.unwrap(),
        []
    );
}

#[tokio::test]
async fn nodes_store_pages_of_one_run_one_after_the_other() {
    let options = postgres();
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://example.org/")).await;
    let run = lease(&store, "a", now()).await.unwrap();
    assert!(store.open_part(run.lease, 0, Some(7)).await.unwrap());
    let part = take(&store, "b", 0).await.unwrap();
    // As another node does within its commit.
    let mut other = sqlx::PgConnection::connect(&options.url).await.unwrap();
    sqlx::query("SELECT pg_advisory_lock(1, CAST($1 AS INTEGER))")
        .bind(run.lease.run.get())
        .execute(&mut other)
        .await
        .unwrap();
    let work = [reported(&run, part, &[0])];
    let mut commit = std::pin::pin!(store.commit_crawl(&work));
    // It is one of those that wait, and stays there.
    let waits = async {
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        while sqlx::query_scalar::<_, i64>(waiting)
            .fetch_one(&mut other)
            .await
            .unwrap()
            == 0
        {}
        other
    };
    let other = tokio::select! {
        _ = &mut commit => panic!("the commit did not wait"),
        other = waits => other,
    };
    other.close().await.unwrap();
    assert_eq!(commit.await.unwrap(), [Committed::Written]);
}

/// Its worker and the one that deletes it are not the same: the part would be left over.
#[tokio::test]
async fn no_part_is_opened_of_a_run_that_is_being_deleted() {
    let options = postgres();
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://example.org/")).await;
    let run = lease(&store, "a", now()).await.unwrap();
    // As another node does within its deletion.
    let mut other = sqlx::PgConnection::connect(&options.url).await.unwrap();
    let mut deletion = other.begin().await.unwrap();
    sqlx::query("DELETE FROM runs WHERE id = $1")
        .bind(run.lease.run.get())
        .execute(&mut *deletion)
        .await
        .unwrap();
    let mut opening = std::pin::pin!(store.open_part(run.lease, 0, None));
    let waits = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity
             WHERE wait_event_type = 'Lock' AND datname = current_database()";
        while sqlx::query_scalar::<_, i64>(waiting)
            .fetch_one(&mut *deletion)
            .await
            .unwrap()
            == 0
        {
            // Within a transaction, the view stays as it was first read.
            sqlx::query("SELECT pg_stat_clear_snapshot()")
                .execute(&mut *deletion)
                .await
                .unwrap();
        }
    };
    tokio::select! {
        _ = &mut opening => panic!("the part did not wait"),
        () = waits => {}
    }
    deletion.commit().await.unwrap();
    assert!(!opening.await.unwrap());
    assert_eq!(store.parts(run.lease.run).await.unwrap(), []);
}

#[tokio::test]
async fn a_page_that_the_run_has_is_not_billed_again() {
    let (store, run) = begun().await;
    let part = take(&store, "b", 0).await.unwrap();
    let billed = |seqs: &[i64]| RunBatch {
        usage: vec![NewUsage {
            project: run.lease.project,
            token: format!("run:{}:{}", run.lease.run, seqs[0]),
            call: "crawl",
            pages: seqs.len() as u64,
            cloud_pages: 0,
            cost_micros: 0,
            at: now(),
            reservation: None,
        }],
        ..reported(&run, part, seqs)
    };
    let mut work = billed(&[0, 1, 2]);
    work.pages[2].page.url_key = work.pages[1].page.url_key.clone();
    store.commit_crawl(&[work]).await.unwrap();
    let total = store.usage_total(run.lease.project).await.unwrap();
    assert_eq!(total, (2, 0, 0));
    // In a run that renders every page it is a cloud page.
    let mut rendered = billed(&[3, 4]);
    rendered.usage[0].cloud_pages = std::mem::take(&mut rendered.usage[0].pages);
    rendered.pages[0].page.url_key = "https://example.org/0".to_owned();
    store.commit_crawl(&[rendered]).await.unwrap();
    let total = store.usage_total(run.lease.project).await.unwrap();
    assert_eq!(total, (2, 1, 0));
}

//! Reads from streaming replicas of PostgreSQL.

use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_postgres::Postgres;
use orbweaver_store::crawl::{Committed, LeasedRun, PageRange};
use orbweaver_store::{Options, ReplicaState, Store};
use sqlx::postgres::PgPool;

use crate::given::{batch, create, lease, new_run, now, open, page};

/// A database with a run, and a replica of its server.
struct Two {
    primary: Postgres,
    replica: Postgres,
    url: String,
    replica_url: String,
    store: Store,
    run: LeasedRun,
    project: ProjectId,
    pages: i64,
}

impl Two {
    async fn begun() -> Self {
        let primary = Postgres::start(&[], drop).unwrap();
        let url = primary.database().unwrap();
        let (first, project) = open(&Options::url(url.clone())).await;
        create(&first, &new_run(project, "https://example.org/")).await;
        let run = lease(&first, "a", now()).await.unwrap();
        first.close().await;
        let replica = primary.replica().unwrap();
        let replica_url = replica.reached(&primary, &url);
        let options = Options {
            replica_urls: vec![replica_url.clone()],
            ..Options::url(url.clone())
        };
        Self {
            store: Store::open(&options).await.unwrap(),
            primary,
            replica,
            url,
            replica_url,
            run,
            project,
            pages: 0,
        }
    }

    async fn store_page(&mut self) {
        let mut work = batch(&self.run);
        work.pages = vec![page(&self.run, self.pages, b"body")];
        let committed = self.store.commit_crawl(&[work]).await.unwrap();
        assert_eq!(committed, [Committed::Written]);
        self.pages += 1;
    }

    /// Reads the run's pages and checks that none is missing.
    async fn check(&self) {
        let seen = listed(&self.store, self.project, self.run.lease.run).await;
        assert_eq!(seen, self.pages.unsigned_abs());
    }

    /// How many connections of the replica have asked for pages last.
    async fn reads(&self, pool: &PgPool) -> i64 {
        sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE query LIKE 'SELECT id, url, status%FROM pages%'",
        )
        .fetch_one(pool)
        .await
        .unwrap()
    }

    /// Waits until the replica answers a read.
    async fn until_read(&self) {
        let pool = PgPool::connect(&self.replica_url).await.unwrap();
        while self.reads(&pool).await == 0 {
            self.check().await;
            tokio::task::yield_now().await;
        }
    }
}

async fn listed(store: &Store, project: ProjectId, run: RunId) -> u64 {
    let range = PageRange {
        status: None,
        after: PageId(0),
        offset: 0,
        limit: 1_000,
    };
    store.run_pages(project, run, &range).await.unwrap().len() as u64
}

#[tokio::test]
async fn a_replica_answers_and_no_read_misses_a_commit() {
    let mut two = Two::begun().await;
    two.store_page().await;
    two.until_read().await;
    let follows = two.store.replicas().await.unwrap();
    assert!(
        matches!(follows[..], [ReplicaState::Follows { .. }]),
        "{follows:?}"
    );
    for _ in 0..100 {
        two.store_page().await;
        two.check().await;
    }
    // It stands still: the database answers.
    two.replica
        .execute(&two.replica_url, "SELECT pg_wal_replay_pause()")
        .unwrap();
    for _ in 0..10 {
        two.store_page().await;
        two.check().await;
    }
    let [ReplicaState::Follows { behind_bytes, .. }] = two.store.replicas().await.unwrap()[..]
    else {
        panic!("it answers, and follows as far as it has come");
    };
    assert!(behind_bytes > 0);
    two.replica
        .execute(&two.replica_url, "SELECT pg_wal_replay_resume()")
        .unwrap();
    two.check().await;
}

#[tokio::test]
async fn a_replica_that_dies_or_becomes_a_database_of_its_own_is_not_read() {
    let mut two = Two::begun().await;
    two.store_page().await;
    two.until_read().await;
    let wrong = "SELECT pg_promote(); UPDATE pages SET url = 'http://wrong/'; DELETE FROM pages";
    for statement in wrong.split("; ") {
        two.replica.execute(&two.replica_url, statement).unwrap();
    }
    two.check().await;
    assert_eq!(two.store.replicas().await.unwrap(), [ReplicaState::Apart]);
    two.store_page().await;
    two.check().await;
    let gone = Postgres::attach(two.replica.folder()).unwrap();
    std::mem::replace(&mut two.replica, gone).stop().unwrap();
    two.check().await;
    assert_eq!(two.store.replicas().await.unwrap(), [ReplicaState::Down]);
    two.store.close().await;
}

#[tokio::test]
async fn after_a_failover_a_replica_of_the_old_history_is_not_read() {
    let mut two = Two::begun().await;
    two.store_page().await;
    two.until_read().await;
    // Another replica becomes the database; the first one stays with what was the database.
    let other = two.primary.replica().unwrap();
    let url = other.reached(&two.primary, &two.url);
    other.execute(&url, "SELECT pg_promote()").unwrap();
    let options = Options {
        replica_urls: vec![two.replica_url.clone()],
        ..Options::url(url)
    };
    let store = Store::open(&options).await.unwrap();
    // The old database goes on, and its log becomes longer than the new one's.
    two.primary
        .execute(
            &two.url,
            "DELETE FROM runs; CREATE TABLE filler AS SELECT generate_series(1, 99999)",
        )
        .unwrap();
    let run = store.run(two.project, two.run.lease.run).await.unwrap();
    assert!(run.is_some());
    assert_eq!(store.replicas().await.unwrap(), [ReplicaState::Apart]);
    store.close().await;
}

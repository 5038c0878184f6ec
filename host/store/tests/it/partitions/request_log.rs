//! The partitions of the request log.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::ProjectId;
use orbweaver_store::{LogEntry, LogFilter, Options, Retention, Store};
use sqlx::postgres::PgPool;

use crate::given::{now, open};
use crate::support::postgres;

const KEEP: Retention = Retention {
    scans: Duration::from_secs(30 * 86_400),
    request_log: Duration::from_secs(10 * 86_400),
    plugin_records: Duration::from_secs(86_400),
};

fn entry(ts: DateTime<Utc>) -> LogEntry {
    LogEntry {
        ts,
        method: "GET".to_owned(),
        path: "/v1/usage".to_owned(),
        status: 200,
        duration_ms: 1,
        client_ip: "192.0.2.1".to_owned(),
        request_id: "r".to_owned(),
        key_prefix: "k".to_owned(),
    }
}

async fn begun() -> (Options, Store, ProjectId, PgPool) {
    let options = postgres();
    let (store, project) = open(&options).await;
    let pool = PgPool::connect(&options.url).await.unwrap();
    (options, store, project, pool)
}

/// How many entries each partition has, by its name.
async fn partitions(pool: &PgPool) -> Vec<(String, i64)> {
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT CAST(inhrelid AS regclass)::text FROM pg_inherits
         WHERE inhparent = CAST('request_log' AS regclass) ORDER BY 1",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    let mut counts = Vec::new();
    for name in names {
        let count = format!("SELECT count(*) FROM {name}");
        let count = sqlx::query_scalar(sqlx::AssertSqlSafe(count))
            .fetch_one(pool)
            .await;
        counts.push((name, count.unwrap()));
    }
    counts
}

fn name(at: DateTime<Utc>) -> String {
    format!("request_log_{}", at.format("%Y%m%d"))
}

fn has(there: &[(String, i64)], at: DateTime<Utc>) -> bool {
    there.iter().any(|(there, _)| *there == name(at))
}

/// Purges until the partitions are as wanted. A step that others are in the way of is left to the
/// next purge, and PostgreSQL's own maintenance may be.
async fn purge_until(
    (store, pool): (&Store, &PgPool),
    at: DateTime<Utc>,
    wanted: impl Fn(&[(String, i64)]) -> bool,
) {
    let purging = async {
        loop {
            store.purge(&KEEP, at).await.unwrap();
            if wanted(&partitions(pool).await) {
                return;
            }
        }
    };
    let purged = tokio::time::timeout(Duration::from_secs(60), purging).await;
    purged.expect("the partitions are as wanted after some purges");
}

async fn listed(store: &Store, project: ProjectId) -> usize {
    let filter = LogFilter {
        limit: 1_000,
        offset: 0,
        status_min: None,
        status_max: None,
        key_prefix: None,
    };
    store.logs(project, filter).await.unwrap().len()
}

#[tokio::test]
async fn a_node_has_partitions_before_it_logs_and_makes_those_of_the_next_days() {
    let (_options, store, project, pool) = begun().await;
    let made = partitions(&pool).await;
    assert!(made.len() >= 4, "{made:?}");
    let today: i64 = sqlx::query_scalar("SELECT CAST(extract(epoch FROM now()) * 1000 AS BIGINT)")
        .fetch_one(&pool)
        .await
        .unwrap();
    let today = DateTime::from_timestamp_millis(today).unwrap();
    store.log_request(project, entry(today));
    assert_eq!(listed(&store, project).await, 1);
    let made = partitions(&pool).await;
    let (other, days): (Vec<_>, Vec<_>) = made
        .into_iter()
        .partition(|(name, _)| name.ends_with("other"));
    assert_eq!(other, [("request_log_other".to_owned(), 0)]);
    assert_eq!(days.iter().map(|(_, entries)| entries).sum::<i64>(), 1);
    // As weeks later, and again: nothing is made twice.
    let later = today + TimeDelta::days(20);
    for _ in 0..2 {
        // Those of the past are gone.
        purge_until((&store, &pool), later, |there| {
            let mut ahead = (0..3).map(TimeDelta::days);
            there.len() <= 6 && ahead.all(|ahead| has(there, later + ahead))
        })
        .await;
    }
}

#[tokio::test]
async fn a_day_is_dropped_when_its_last_entry_has_expired() {
    let (_options, store, project, pool) = begun().await;
    purge_until((&store, &pool), now(), |there| has(there, now())).await;
    for hours in [0, 24, 48] {
        store.log_request(project, entry(now() + TimeDelta::hours(hours)));
    }
    assert_eq!(listed(&store, project).await, 3);
    let end_of_day =
        now().date_naive().and_hms_opt(0, 0, 0).unwrap().and_utc() + TimeDelta::days(1);
    let age = TimeDelta::days(10);
    store
        .purge(&KEEP, end_of_day + age - TimeDelta::milliseconds(1))
        .await
        .unwrap();
    assert_eq!(listed(&store, project).await, 3);
    purge_until((&store, &pool), end_of_day + age, |there| {
        !has(there, now())
    })
    .await;
    assert_eq!(listed(&store, project).await, 2);
}

#[tokio::test]
async fn entries_without_a_partition_are_kept_and_expire_row_by_row() {
    let (_options, store, project, pool) = begun().await;
    let before = now() - TimeDelta::days(500);
    store.log_request(project, entry(before));
    store.log_request(project, entry(before + TimeDelta::days(1)));
    assert_eq!(listed(&store, project).await, 2);
    // A partition of their day is not made any more, and nothing fails.
    store.purge(&KEEP, before).await.unwrap();
    let there = partitions(&pool).await;
    assert!(!has(&there, before), "{there:?}");
    assert_eq!(listed(&store, project).await, 2);
    let removed = store
        .purge(
            &KEEP,
            before + TimeDelta::days(10) + TimeDelta::milliseconds(1),
        )
        .await;
    assert_eq!(removed.unwrap(), 1);
    assert_eq!(listed(&store, project).await, 1);
}

#[tokio::test]
async fn a_purge_gives_way_to_who_uses_the_log_and_catches_up() {
    let (_options, store, project, pool) = begun().await;
    purge_until((&store, &pool), now(), |there| has(there, now())).await;
    store.log_request(project, entry(now()));
    assert_eq!(listed(&store, project).await, 1);
    let mut reader = pool.begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM request_log")
        .execute(&mut *reader)
        .await
        .unwrap();
    let later = now() + TimeDelta::days(12);
    store.purge(&KEEP, later).await.unwrap();
    assert!(has(&partitions(&pool).await, now()));
    reader.commit().await.unwrap();
    purge_until((&store, &pool), later, |there| !has(there, now())).await;
}

#[tokio::test]
async fn nodes_that_start_and_purge_at_once_make_each_partition_once() {
    let (options, store, _project, pool) = begun().await;
    let later = now() + TimeDelta::days(700);
    let nodes = (0..4).map(|_| {
        let options = options.clone();
        tokio::spawn(async move {
            let node = Store::open(&options).await.unwrap();
            node.purge(&KEEP, later).await.unwrap();
            node.close().await;
        })
    });
    for node in nodes.collect::<Vec<_>>() {
        node.await.unwrap();
    }
    // Whoever came second left it to the first, who may have ended before the last day.
    purge_until((&store, &pool), later, |there| {
        let mut ahead = (0..3).map(TimeDelta::days);
        ahead.all(|ahead| has(there, later + ahead))
    })
    .await;
}

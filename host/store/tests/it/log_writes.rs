//! When entries of the request log are written.

use std::time::Duration;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;
use orbweaver_store::{KeyHash, LogEntry, LogFilter, NewKey, NewProject, NewUsage, Options, Store};
use tokio::time::timeout;

crate::support::on_both_databases! {
    an_entry_that_nobody_asks_for_is_written
    a_bill_is_written_at_once_among_entries
    entries_of_another_process_are_listed_in_their_place
}

/// Many times as long as an entry waits.
const LONG: Duration = Duration::from_secs(20);

async fn project(store: &Store) -> ProjectId {
    let new = NewProject {
        name: "a",
        tier: "self_hosted",
        actor: "cli",
        key: NewKey {
            hash: KeyHash::digest("a"),
            prefix: "orb_12345678",
            label: None,
        },
    };
    store.create_project(&new, now()).await.unwrap()
}

fn now() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

fn entry(number: u32) -> LogEntry {
    LogEntry {
        ts: now(),
        method: "GET".to_owned(),
        path: "/v1/usage".to_owned(),
        status: 200,
        duration_ms: 1,
        client_ip: "127.0.0.1".to_owned(),
        request_id: format!("id-{number}"),
        key_prefix: "orb_12345678".to_owned(),
    }
}

/// The entries that another process sees in the database.
async fn seen(other: &Store, project: ProjectId) -> Vec<String> {
    newest(other, project, 500).await
}

async fn newest(store: &Store, project: ProjectId, limit: u32) -> Vec<String> {
    let filter = LogFilter {
        limit,
        offset: 0,
        status_min: None,
        status_max: None,
        key_prefix: None,
    };
    let entries = store.logs(project, filter).await.unwrap();
    entries
        .iter()
        .map(|entry| entry.request_id.clone())
        .collect()
}

async fn an_entry_that_nobody_asks_for_is_written(options: Options) {
    let store = Store::open(&options).await.unwrap();
    let project = project(&store).await;
    let other = Store::open(&options).await.unwrap();
    let mut changes = other.watch_changes();
    for (number, all) in [(0, &["id-0"][..]), (1, &["id-1", "id-0"])] {
        store.log_request(project, entry(number));
        let written = async {
            while seen(&other, project).await != all {
                changes.changed().await;
            }
        };
        timeout(LONG, written).await.unwrap();
    }
}

async fn a_bill_is_written_at_once_among_entries(options: Options) {
    let store = Store::open(&options).await.unwrap();
    let project = project(&store).await;
    let other = Store::open(&options).await.unwrap();
    for number in 0..600 {
        store.log_request(project, entry(number));
        if number % 100 == 0 {
            let usage = NewUsage {
                project,
                token: format!("scan:{number}"),
                call: if number % 200 == 0 { "scan" } else { "bulk" },
                pages: 1,
                cloud_pages: 0,
                cost_micros: 2,
                at: now(),
                reservation: None,
            };
            store.bill(usage.clone()).await.unwrap();
            // A token is billed once.
            store.bill(usage).await.unwrap();
            let billed = u64::from(number / 100 + 1);
            let (pages, _, cost) = other.usage_total(project).await.unwrap();
            assert_eq!((pages, cost), (billed, 2 * billed));
        }
    }
    let days = other.usage_days(project, now().date_naive()).await.unwrap();
    assert_eq!(days.iter().map(|day| day.pages).sum::<u64>(), 6);
    let calls = other
        .usage_calls(project, now().date_naive())
        .await
        .unwrap();
    let calls: Vec<_> = calls
        .iter()
        .map(|call| (call.call.as_str(), call.pages, call.cost_micros))
        .collect();
    assert_eq!(calls, [("bulk", 3, 6), ("scan", 3, 6)]);
    store.close().await;
    assert_eq!(seen(&other, project).await.len(), 500);
}

async fn entries_of_another_process_are_listed_in_their_place(options: Options) {
    let store = Store::open(&options).await.unwrap();
    let project = project(&store).await;
    let other = Store::open(&options).await.unwrap();
    for number in 0..2 {
        store.log_request(project, entry(number));
    }
    assert_eq!(seen(&store, project).await, ["id-1", "id-0"]);
    other.log_request(project, entry(2));
    assert_eq!(seen(&other, project).await.len(), 3);
    assert_eq!(newest(&store, project, 2).await, ["id-2", "id-1"]);
    // Also once the newest are its own again.
    for number in 3..5 {
        store.log_request(project, entry(number));
        assert_eq!(newest(&store, project, 1).await, [format!("id-{number}")]);
    }
    seen(&store, project).await;
    assert_eq!(newest(&store, project, 3).await, ["id-4", "id-3", "id-2"]);
    assert_eq!(newest(&other, project, 2).await, ["id-4", "id-3"]);
}

//! Several processes on one SQLite file: a service, the command line, and killed processes.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_store::{
    Amount, Claim, Options, PageCaps, ReservationRequest, ReservationResult, Store,
    WorkerLockAttempt,
};
use serde_json::json;
use tempfile::TempDir;

use super::{Served, command, run};
use crate::support::{Client, KEY, Site};

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_works_while_a_service_runs() {
    let data = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    let served = Served::start(command(&data).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
    let issued = run(&data, &["key", "issue", "default"]);
    assert!(issued.status.success());
    let key = String::from_utf8(issued.stdout).unwrap();
    let client = Client::new(served.address, Some(key.trim()));
    assert_eq!(client.get("/v1/usage").await.status, 200);

    // The service runs the crawl, and the command line writes its pages.
    let lines = data.path().join("pages.ndjson");
    let url = site.url("/article");
    let crawled = run(
        &data,
        &[
            "crawl",
            &url,
            "--delay-ms",
            "0",
            "--max-pages",
            "10",
            "--allow-net",
            "127.0.0.0/8",
            "--out",
            lines.to_str().unwrap(),
        ],
    );
    let said = String::from_utf8_lossy(&crawled.stderr).into_owned();
    assert!(crawled.status.success(), "{said}");
    assert!(said.contains("another process"), "{said}");
    assert!(
        said.contains(&served.process.id().to_string()),
        "the process is named: {said}"
    );
    assert_eq!(std::fs::read_to_string(&lines).unwrap().lines().count(), 3);
    let runs = client.get("/v1/crawls").await.ok();
    assert_eq!(runs["items"][0]["page_count"], 3, "{runs}");
    served.signal("TERM");
    served.ended();
}

#[tokio::test]
async fn a_second_service_answers_while_the_first_one_crawls() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let site = Site::start().await;
    let url = format!("sqlite:{}", one.path().join("both.db").display());
    let start = |data: &TempDir| {
        Served::start(
            command(data)
                .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
                .env("ORBWEAVER_DATABASE_URL", &url),
        )
    };
    let (first, second) = (start(&one), start(&two));
    let client = Client::new(second.address, Some(KEY));
    let crawl = async || {
        let body = json!({"url": site.url("/article"), "max_pages": 1, "delay_ms": 0});
        let answer = client.post("/v1/crawls", &body).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        let path = format!("/v1/crawls/{}", answer.json()["id"]);
        let ended = client.until(&path, |answer| answer.ok()["finished_at"].is_string());
        ended.await.ok()["status"].clone()
    };
    assert_eq!(crawl().await, "done");
    first.signal("TERM");
    first.ended();
    assert_eq!(crawl().await, "done", "the second one crawls now");
}

async fn open(folder: &TempDir) -> Store {
    let options = Options::sqlite(&folder.path().join("test.db"));
    let store = Store::open(&options).await.unwrap();
    store.join(now()).await.unwrap();
    store
}

fn now() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

#[tokio::test]
async fn one_process_at_a_time_holds_the_worker_lock() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open(&folder).await, open(&folder).await);
    let WorkerLockAttempt::Acquired(lock) = one.try_lock_worker().await.unwrap() else {
        panic!("nobody holds the lock");
    };
    let WorkerLockAttempt::HeldByOther(process) = two.try_lock_worker().await.unwrap() else {
        panic!("two processes hold the lock");
    };
    assert_eq!(process, Some(std::process::id()));
    drop(lock);
    assert!(matches!(
        two.try_lock_worker().await.unwrap(),
        WorkerLockAttempt::Acquired(_)
    ));
}

/// Reserves all ten pages; returns whether that was possible.
async fn reserve_all(store: &Store) -> bool {
    let project = store.projects().await.unwrap()[0].id;
    let caps = PageCaps {
        day: Some(10),
        ..PageCaps::default()
    };
    let ask = ReservationRequest {
        want: Amount::pages(10),
        partial: false,
        now: now(),
        expires: now() + TimeDelta::minutes(5),
    };
    let granted = store.reserve(project, &caps, &ask).await.unwrap();
    matches!(granted, ReservationResult::Reserved(..))
}

#[tokio::test]
async fn reservations_of_a_dead_process_end_once_no_other_process_runs() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(&folder).await;
    let name = orbweaver_store::NewProject {
        name: "shop",
        tier: "free",
        key: orbweaver_store::NewKey {
            hash: orbweaver_store::KeyHash::digest("key"),
            prefix: "orb_AbCd1234",
            label: None,
        },
        actor: "cli",
    };
    let project = first.create_project(&name, now()).await.unwrap();
    let claim = async |store: &Store| {
        let claim = store.claim_idempotency(project, "/v1/scan", "key", &[0; 32], now());
        claim.await.unwrap()
    };
    assert!(reserve_all(&first).await);
    assert_eq!(claim(&first).await, Claim::Run { since: now() });

    // Another process starts while the first lives: the first keeps all its reservations.
    let second = open(&folder).await;
    assert!(!reserve_all(&second).await);
    assert_eq!(claim(&second).await, Claim::Busy);
    first.close().await;
    let third = open(&folder).await;
    assert!(
        !reserve_all(&third).await,
        "the second process may hold them"
    );

    second.close().await;
    third.close().await;
    let fourth = open(&folder).await;
    assert!(reserve_all(&fourth).await);
    // The request is handled again under the token that it may have been billed with.
    assert_eq!(claim(&fourth).await, Claim::Run { since: now() });
}

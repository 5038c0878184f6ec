//! Deletion, by request or by age, removes the data and frees its space.

use chrono::TimeDelta;
use orbweaver_core::ids::{PageId, RunId};
use orbweaver_crawl::scheduler;
use serde_json::json;

use super::{get, leaf};
use crate::support::Service;
use crate::support::runs::{self, SEED, Written, begin, done, end, without_workers, write};

/// The rows of a run that are still stored.
async fn rows(service: &Service, run: RunId, page: PageId) -> usize {
    let (store, project) = (&service.app.store, runs::project(service).await);
    let known = store
        .frontier_known(project, run, -1, 1_000)
        .await
        .unwrap()
        .len();
    let links = store
        .run_links(project, run, PageId(0), 1_000, u64::MAX)
        .await
        .unwrap()
        .rows
        .len();
    let page = store.page(project, page).await.unwrap();
    known + links + usize::from(page.is_some())
}

#[tokio::test]
async fn a_deleted_run_is_hidden_at_once_and_its_rows_are_removed_soon() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let kept = done(&service, &[leaf(""), leaf("shared")]).await;
        let leased = begin(&service).await;
        let run = leased.lease.run;
        let pages: Vec<Written> = (0..600)
            .map(|n| Written::new(&format!("{n}"), &format!("<p>{n}"), &["a"]))
            .chain([leaf("shared")])
            .collect();
        write(&service, &leased, 0, &pages).await;
        let items = get(&client, run, "/pages").await.ok();
        let page = PageId(items["items"][0]["id"].as_i64().unwrap());
        assert!(rows(&service, run, page).await > 1_000);

        let path = format!("/v1/crawls/{run}");
        let answer = client.send("DELETE", &path, &[], b"").await;
        assert_eq!((answer.status, answer.body.len()), (204, 0));
        for rest in ["", "/pages", "/links", "/orphans", "/events"] {
            get(&client, run, rest).await.error(404, "NOT_FOUND");
        }
        client
            .get(&format!("/v1/pages/{page}"))
            .await
            .error(404, "NOT_FOUND");
        client
            .send("DELETE", &path, &[], b"")
            .await
            .error(404, "NOT_FOUND");
        // Its worker writes nothing more.
        let now = service.app.clock.now();
        let (leases, until) = ([leased.lease], now + TimeDelta::hours(1));
        let left = service.app.store.extend_leases(&leases, until).await;
        assert_eq!(left.unwrap(), []);

        orbweaver_crawl::cleanup::remove(&service.app.crawls)
            .await
            .unwrap();
        while rows(&service, run, page).await > 0 {
            tokio::task::yield_now().await;
        }
        // A body that another run shares is still stored.
        let pages = get(&client, kept, "/pages").await.ok();
        let shared = client
            .get(&format!("/v1/pages/{}", pages["items"][1]["id"]))
            .await;
        assert_eq!(shared.ok()["html"], "<title>shared</title>");
    }
}

#[tokio::test]
async fn deleting_frees_disk_space() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let file = service.app.config().data_dir.join("orbweaver.db");
    let size = || std::fs::metadata(&file).unwrap().len();
    let leased = begin(&service).await;
    for at in 0..8 {
        let pages: Vec<Written> = (0..100)
            .map(|n| Written::new(&format!("{at}/{n}"), &noise(at * 100 + n), &[]))
            .collect();
        write(&service, &leased, at * 100, &pages).await;
    }
    let run = end(&service, &leased).await;
    orbweaver_crawl::cleanup::remove(&service.app.crawls)
        .await
        .unwrap();
    // What was written is in the file once the write-ahead log is copied there; another copy that
    // is under way may put that off.
    let stored = 800 * NOISE as u64 / 2;
    until("the file has all pages", async || {
        service.app.store.release_space().await.unwrap();
        size() > stored
    })
    .await;
    let answer = client
        .send("DELETE", &format!("/v1/crawls/{run}"), &[], b"")
        .await;
    assert_eq!(answer.status, 204);
    until("the file is small", async || {
        orbweaver_crawl::cleanup::remove(&service.app.crawls)
            .await
            .unwrap();
        size() < stored / 2
    })
    .await;
}

/// Waits for a minute at most.
async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("it is not so after a minute: {what}");
}

/// Bytes of a page's noise.
const NOISE: usize = 16 << 10;

/// Hexadecimal digits, of which compression leaves half a byte each.
fn noise(seed: i64) -> String {
    let mut state = seed.unsigned_abs().wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(NOISE);
    while text.len() < NOISE {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{state:016x}"));
    }
    text
}

#[tokio::test]
async fn runs_beyond_the_age_or_count_limit_are_removed() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |config| {
            config.retention.runs_days = 2;
            config.retention.project_mib = 1;
        })
        .await;
        let client = service.client();
        let old = done(&service, &[leaf("")]).await;
        service.clock.advance(TimeDelta::days(1));
        let large: Vec<Written> = (0..100)
            .map(|n| Written::new(&format!("{n}"), &noise(n), &[]))
            .collect();
        let large = done(&service, &large).await;
        let retain = async || {
            orbweaver_crawl::cleanup::retain(&service.app.crawls)
                .await
                .unwrap()
        };
        retain().await;
        assert_eq!(get(&client, old, "").await.status, 200);
        service.clock.advance(TimeDelta::days(1));
        service.clock.advance(TimeDelta::seconds(1));
        let more: Vec<Written> = (0..100)
            .map(|n| Written::new(&format!("{n}"), &noise(n + 1_000), &[]))
            .collect();
        let more = done(&service, &more).await;
        retain().await;
        // The first run is too old, the second is one too many.
        get(&client, old, "").await.error(404, "NOT_FOUND");
        get(&client, large, "").await.error(404, "NOT_FOUND");
        assert_eq!(get(&client, more, "").await.status, 200);
    }
}

#[tokio::test]
async fn data_is_kept_for_more_days_than_there_are() {
    let service = without_workers(false, |config| config.retention.runs_days = u32::MAX).await;
    let run = done(&service, &[leaf("")]).await;
    orbweaver_crawl::cleanup::retain(&service.app.crawls)
        .await
        .unwrap();
    assert_eq!(get(&service.client(), run, "").await.status, 200);
}

/// Two nodes look at the same time, and another task removes what they delete.
#[tokio::test]
async fn a_project_is_shrunk_no_further_than_its_bound() {
    let service = without_workers(true, |config| config.retention.project_mib = 2).await;
    let node = service.node().await;
    let mut runs = Vec::new();
    for run in 0..4 {
        let pages: Vec<Written> = (0..100)
            .map(|n| Written::new(&format!("{n}"), &noise(n + run * 1_000), &[]))
            .collect();
        runs.push(done(&service, &pages).await);
        service.clock.advance(TimeDelta::seconds(1));
    }
    let retained = async {
        tokio::join!(
            orbweaver_crawl::cleanup::retain(&service.app.crawls),
            orbweaver_crawl::cleanup::retain(&node.app.crawls),
        )
    };
    let removing = async {
        loop {
            let removed = orbweaver_crawl::cleanup::remove(&node.app.crawls);
            removed.await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let (one, two) = tokio::select! {
        retained = retained => retained,
        () = removing => unreachable!("it never ends"),
    };
    one.unwrap();
    two.unwrap();
    // Each takes less than a mebibyte, and three more than two.
    let client = service.client();
    for (place, run) in runs.into_iter().enumerate() {
        let expected = if place < 2 { 404 } else { 200 };
        assert_eq!(get(&client, run, "").await.status, expected, "{place}");
    }
}

#[tokio::test]
async fn what_a_monitor_compares_with_is_kept() {
    let service = without_workers(false, |config| {
        config.retention.runs_days = 90;
        config.retention.project_mib = 1;
    })
    .await;
    let client = service.client();
    let body = json!({"url": SEED, "cron": "0 0 1 1 *"});
    let answer = client.post("/v1/crawls", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let large = |from: i64| -> Vec<Written> {
        let pages = from..from + 100;
        pages
            .map(|n| Written::new(&format!("{n}"), &noise(n), &[]))
            .collect()
    };
    let retain = async || {
        let retained = orbweaver_crawl::cleanup::retain(&service.app.crawls).await;
        retained.expect("a database");
    };
    let yearly = async |pages: &[Written]| {
        service.clock.advance(TimeDelta::days(366));
        let fired = scheduler::tick(&service.app.crawls).await;
        assert_eq!(fired.expect("a database"), 1);
        let (store, now) = (&service.app.store, service.app.clock.now());
        let leased = store
            .lease_run("test", now, now + TimeDelta::hours(1))
            .await;
        let leased = leased.expect("a database").expect("the run");
        write(&service, &leased, 0, pages).await;
        end(&service, &leased).await
    };
    let first = yearly(&large(0)).await;
    service.clock.advance(TimeDelta::days(100));
    // A younger run is one too many, and the older one stays.
    let single = done(&service, &large(1_000)).await;
    retain().await;
    assert_eq!(get(&client, first, "").await.status, 200);
    get(&client, single, "").await.error(404, "NOT_FOUND");

    let second = yearly(&large(0)).await;
    let shown = get(&client, second, "").await.ok();
    assert_eq!(shown["previous_run_id"], first.get());
    retain().await;
    get(&client, first, "").await.error(404, "NOT_FOUND");
    assert_eq!(get(&client, second, "").await.status, 200);

    // What else is too much is deleted in the end.
    let third = yearly(&large(2_000)).await;
    let more: Vec<Written> = (0..200)
        .map(|n| Written::new(&format!("{n}"), &noise(n + 3_000), &[]))
        .collect();
    let leased = begin(&service).await;
    write(&service, &leased, 0, &more).await;
    retain().await;
    for run in [second, third] {
        get(&client, run, "").await.error(404, "NOT_FOUND");
    }
}
